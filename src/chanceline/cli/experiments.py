"""The commands that run experiments: `sweep` (run, resume, look at and export many tasks) and `reproduce`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import Jobs, Json, Quiet, Scheduler, drawable, writable
from chanceline.cli.terminal import answer, complain, print_json, progress_bar, say
from chanceline.errors import InputError

StoreOption = Annotated[
    Path | None, typer.Option("--store", help="The results file (SQLite); SWEEP.sqlite by default.")
]
SweepArgument = Annotated[
    str, typer.Argument(metavar="SWEEP", help="A built-in sweep's name, or a TOML file.")
]
TrialsOption = Annotated[
    int | None,
    typer.Option(min=1, help="At most this many trials a point; a later full run reuses them."),
]

sweep_commands = typer.Typer(
    help="Run experiments over many sizes and loads; stop and go on at will.", no_args_is_help=True
)


@sweep_commands.command()
def run(
    sweep: SweepArgument,
    store: StoreOption = None,
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    trials: TrialsOption = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a sweep, or what is missing of it.

    Results are saved as they come and do not depend on the number of jobs or their order. Ctrl-C keeps what is saved;
    running the same command again goes on.

    Example: chanceline sweep run paper-fig3 --store fig3.sqlite -j 2
    """
    from chanceline._parallel import cluster
    from chanceline.experiments.run import iter_run
    from chanceline.experiments.store import Store
    from chanceline.experiments.sweeps import load_sweep

    plan = load_sweep(sweep, trials=trials)
    path = store or Path(f"{plan.name}.sqlite")
    with Store(path, write=True) as results:
        finished = results.finished()
        known = sum(task.id in finished for task in plan.tasks)
        new, total = 0, len(plan.tasks)
        if not quiet and known < total:
            say(f"{plan}; {known} already in {path}.")
        with (
            suppress(KeyboardInterrupt),
            cluster(scheduler),
            progress_bar("tasks", quiet=quiet) as progress,
        ):
            for new, _ in enumerate(
                iter_run(plan.tasks, n_jobs=jobs, store=results, batch=plan.batch), 1
            ):
                if progress is not None:
                    progress(known + new, total)
    left = total - known - new
    if json:
        print_json(
            {"sweep": plan.name, "store": str(path), "tasks": total, "new": new, "left": left}
        )
    if left:
        complain(f"stopped with {left} of {total} tasks to do; run the same command again to go on")
        raise typer.Exit(130)
    if not quiet and not json:
        say(f"{plan.name} is complete: {total} tasks, {new} of them new, in {path}")


@sweep_commands.command()
def status(
    sweep: SweepArgument, store: StoreOption = None, trials: TrialsOption = None, json: Json = False
) -> None:
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
    done = f"{len(times)} of {len(plan.tasks)} tasks"
    answer(record, f"{plan.name}: {done} in {path}, {sum(times):.1f} s of one core so far", json)


@sweep_commands.command()
def export(
    store: Annotated[Path, typer.Argument(help="The results file.")],
    out: Annotated[
        Path,
        typer.Option(help="Where to write; the name ends in .csv or .parquet.", callback=writable),
    ],
    kind: Annotated[str | None, typer.Option(help="Only tasks of this kind.")] = None,
    json: Json = False,
) -> None:
    """Write a store as one table: one row for each task, every parameter and result a column.

    Example: chanceline sweep export fig3.sqlite --out fig3.csv
    """
    from chanceline.experiments.store import Store

    with Store(store) as results:
        rows = results.export(out, kind)
    answer(
        {"store": str(store), "table": str(out), "rows": rows}, f"{rows} rows in {out}", json, say
    )


@sweep_commands.command()
def merge(
    target: Annotated[
        Path, typer.Argument(help="The store that takes the results; made if missing.")
    ],
    sources: Annotated[
        list[Path], typer.Argument(help="Stores to take from; they stay as they are.")
    ],
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
    answer(
        {"store": str(target), "new": new, "results": total},
        f"{new} new results in {target}, {total} in all",
        json,
        say,
    )


@sweep_commands.command()
def verify(
    stores: Annotated[list[Path], typer.Argument(help="The results files.")], json: Json = False
) -> None:
    """Read every row of stores and check its id and checksum; the first damage found ends with exit code 2.

    Every other command checks the same whenever it reads.

    Example: chanceline sweep verify fig3.sqlite
    """
    from chanceline.experiments.store import Store

    checked = [
        {"store": str(path), "results": len(Store(path)), "checksums": True} for path in stores
    ]
    lines = [
        f"{entry['store']}: {entry['results']} results, every id and checksum fits"
        for entry in checked
    ]
    answer({"stores": checked}, "\n".join(lines), json)


@sweep_commands.command()
def plot(
    sweep: Annotated[
        str, typer.Argument(metavar="SWEEP", help="paper-fig3, best, entropy or capacity.")
    ],
    out: Annotated[
        Path, typer.Option(help="Where to draw; .png, .svg or .pdf.", callback=drawable)
    ],
    store: Annotated[
        Path | None,
        typer.Option(help="The results file; without it, the run that comes with the package."),
    ] = None,
    json: Json = False,
) -> None:
    """Draw a built-in sweep's figure from a store, finished or not, or from the shipped data.

    Example: chanceline sweep plot paper-fig3 --store fig3.sqlite --out fig3.png
    """
    from chanceline.figures.experiments import draw_sweep

    drawn = draw_sweep(sweep, out, store)
    answer(
        {"sweep": sweep, "figure": str(out), "drawn": str(drawn)}, f"{drawn} in {out}", json, say
    )


def reproduce(
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder for the figures (PNG and SVG) and their data (CSV)."),
    ],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Within a minute: coarser curves, small runs made on the spot."
        ),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Everything at full size; resumes where it was stopped.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compute every figure and number of the paper again.

    Example: chanceline reproduce --quick --out results
    """
    if quick and full:
        raise InputError("--quick and --full exclude each other; give one of them")
    from chanceline.report import write_reproduce_report
    from chanceline.reproduce.folder import Folder
    from chanceline.reproduce.stages import run_all

    mode = "quick" if quick else "full" if full else "normal"
    folder = Folder(out, mode, (lambda line: None) if quiet else say)
    run_all(folder)
    page = write_reproduce_report(out)
    record = {
        "folder": str(out),
        "mode": mode,
        "figures": folder.written,
        "numbers": folder.numbers,
        "report": str(page),
    }
    answer(
        record,
        f"{len(folder.written)} figures, numbers.csv and provenance.json are in {out}; to look at: {page}",
        json,
    )
