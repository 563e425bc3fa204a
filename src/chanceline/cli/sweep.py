"""chanceline sweep: run, resume, look at and export many tasks."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Annotated

import typer

from chanceline.cli.options import Engine, Json, Quiet, Scheduler, Workers
from chanceline.cli.output import complain, print_json, say, show
from chanceline.cli.progress import progress_bar

StoreOption = Annotated[Path | None, typer.Option("--store", help="The results file (SQLite); SWEEP.sqlite by default.")]
SweepArgument = Annotated[str, typer.Argument(metavar="SWEEP", help="A built-in sweep's name, or a TOML file.")]
TrialsOption = Annotated[int | None, typer.Option(min=1, help="At most this many trials a point; a later full run reuses them.")]


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(help="Run experiments over many sizes and loads; stop and go on at will.", no_args_is_help=True)
    group.command("run")(run_command)
    group.command("status")(status_command)
    group.command("export")(export_command)
    group.command("merge")(merge_command)
    group.command("verify")(verify_command)
    group.command("plot")(plot_command)
    app.add_typer(group, name="sweep")


def run_command(
    sweep: SweepArgument,
    store: StoreOption = None,
    workers: Workers = None,
    engine: Engine = "processes",
    scheduler: Scheduler = None,
    trials: TrialsOption = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a sweep, or what is missing of it.

    Results are saved as they come and do not depend on where and in which order they are made. The first Ctrl-C finishes
    what is running and saves; the second stops at once. Running the same command again goes on.

    Example: chanceline sweep run paper-fig3 --store fig3.sqlite --workers 2
    """
    from chanceline._parallel import cluster
    from chanceline.experiments.run import iter_run
    from chanceline.experiments.store import Store
    from chanceline.experiments.sweeps import load_sweep

    plan = load_sweep(sweep, trials=trials)
    path = store or Path(f"{plan.name}.sqlite")
    with Store(path, write=True) as results, _interruptible() as stop:
        finished = results.finished()
        known = sum(task.id in finished for task in plan.tasks)
        new, total = 0, len(plan.tasks)
        if not quiet and known < total:
            say(f"{plan}; {known} already in {path}.")
        try:
            if known < total:
                with cluster(scheduler), progress_bar("tasks", quiet=quiet) as progress:
                    for _ in iter_run(plan.tasks, n_jobs=workers or -1, store=results, batch=plan.batch, stop=stop):
                        new += 1
                        if progress is not None:
                            progress(known + new, total)
        except KeyboardInterrupt:
            complain(f"stopped at once; {known + new} of {total} tasks are in {path}")
            raise typer.Exit(130) from None
    left = total - known - new
    if json:
        print_json({"sweep": plan.name, "store": str(path), "tasks": total, "new": new, "left": left})
    if left:
        complain(f"stopped with {left} of {total} tasks to do; run the same command again to go on")
        raise typer.Exit(130)
    if not quiet and not json:
        say(f"{plan.name} is complete: {total} tasks, {new} of them new, in {path}")


def status_command(sweep: SweepArgument, store: StoreOption = None, trials: TrialsOption = None, json: Json = False) -> None:
    """How much of a sweep is in the store, also while it runs.

    Example: chanceline sweep status paper-fig3 --store fig3.sqlite
    """
    from chanceline.experiments.store import Store
    from chanceline.experiments.sweeps import load_sweep

    plan = load_sweep(sweep, trials=trials)
    path = store or Path(f"{plan.name}.sqlite")
    with Store(path) as results:
        seconds = results.seconds()
    times = [seconds[task.id] for task in plan.tasks if task.id in seconds]
    record = {
        "sweep": plan.name,
        "store": str(path),
        "tasks": len(plan.tasks),
        "finished": len(times),
        "left": len(plan.tasks) - len(times),
        "cpu_seconds": round(sum(times), 3),
    }
    if json:
        print_json(record)
    else:
        done = f"{len(times)} of {len(plan.tasks)} tasks"
        show(f"{plan.name}: {done} in {path}, {sum(times):.1f} s of one core so far")


def export_command(
    store: Annotated[Path, typer.Argument(help="The results file.")],
    out: Annotated[Path, typer.Option(help="Where to write; the name ends in .csv or .parquet.")],
    kind: Annotated[str | None, typer.Option(help="Only tasks of this kind.")] = None,
    json: Json = False,
) -> None:
    """Write a store as one table: one row for each task, every parameter and result a column.

    Example: chanceline sweep export fig3.sqlite --out fig3.csv
    """
    from chanceline._io import check_target
    from chanceline.experiments.store import Store

    check_target(out)
    with Store(store) as results:
        rows = results.export(out, kind)
    if json:
        print_json({"store": str(store), "table": str(out), "rows": rows})
    else:
        say(f"{rows} rows in {out}")


def merge_command(
    target: Annotated[Path, typer.Argument(help="The store that takes the results; made if missing.")],
    sources: Annotated[list[Path], typer.Argument(help="Stores to take from; they stay as they are.")],
    json: Json = False,
) -> None:
    """Put the results of several stores (machines, runs) into one.

    Example: chanceline sweep merge all.sqlite monday.sqlite tuesday.sqlite
    """
    from chanceline.experiments.store import Store

    # Read before the target is opened: if a source is refused, not even an empty target is made.
    records = [record for source in sources for record in Store(source).records()]
    with Store(target, write=True) as results:
        new, total = results.add(records), len(results)
    if json:
        print_json({"store": str(target), "new": new, "results": total})
    else:
        say(f"{new} new results in {target}, {total} in all")


def verify_command(
    stores: Annotated[list[Path], typer.Argument(help="The results files.")],
    json: Json = False,
) -> None:
    """Read every row of stores and check its id and checksum; the first damage found ends with exit code 2.

    Every other command checks the same whenever it reads.

    Example: chanceline sweep verify fig3.sqlite
    """
    from chanceline.experiments.store import Store

    checked = [{"store": str(path), "results": len(Store(path)), "checksums": True} for path in stores]
    if json:
        print_json({"stores": checked})
        return
    for entry in checked:
        show(f"{entry['store']}: {entry['results']} results, every id and checksum fits")


def plot_command(
    sweep: Annotated[str, typer.Argument(metavar="SWEEP", help="paper-fig3, best, entropy or capacity.")],
    out: Annotated[Path, typer.Option(help="Where to draw; .png, .svg or .pdf.")],
    store: Annotated[Path | None, typer.Option(help="The results file; without it, the run that comes with the package.")] = None,
    json: Json = False,
) -> None:
    """Draw a built-in sweep's figure from a store, finished or not, or from the shipped data.

    Example: chanceline sweep plot paper-fig3 --store fig3.sqlite --out fig3.png
    """
    from chanceline.reproduce.experiment_figures import draw_sweep

    drawn = draw_sweep(sweep, out, store)
    if json:
        print_json({"sweep": sweep, "figure": str(out), "drawn": str(drawn)})
    else:
        say(f"{drawn} in {out}")


@contextmanager
def _interruptible() -> Iterator[Event]:
    """The first Ctrl-C sets the event, the second raises KeyboardInterrupt."""
    stop = Event()

    def interrupt(*_: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        complain("finishing what is running and saving it; press Ctrl-C again to stop at once")

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
