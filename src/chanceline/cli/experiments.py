"""The commands that run experiments: `sweep`, with subcommands for many tasks, and `reproduce`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from chanceline.cli.exit_codes import interrupted_code
from chanceline.cli.options import (
    JobsOption,
    JsonOption,
    QuietOption,
    SchedulerOption,
    drawable,
    writable,
)
from chanceline.cli.terminal import complain, print_answer, print_json, progress_bar, say
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
    jobs: JobsOption = -1,
    scheduler: SchedulerOption = None,
    trials: TrialsOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Run a sweep, or what is missing of it.

    Results are saved as they come and do not depend on the number of jobs or their order. Ctrl-C keeps what is saved;
    running the same command again goes on.

    Example: chanceline sweep run paper-fig3 --store fig3.sqlite -j 2
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline._cluster import cluster
    from chanceline.experiments.run import iter_run
    from chanceline.experiments.store import Store
    from chanceline.experiments.sweeps import load_sweep

    plan = load_sweep(sweep, trials=trials)
    path = store or Path(f"{plan.name}.sqlite")
    n_tasks = len(plan.tasks)
    n_new = 0
    with Store(path, write=True) as results:
        finished_ids = results.finished()
        n_earlier = sum(task.id in finished_ids for task in plan.tasks)  # finished in earlier runs
        if not quiet and n_earlier < n_tasks:
            say(f"{plan}; {n_earlier} already in {path}.")
        # `iter_run` runs the tasks that are not in the store, and saves each result before it
        # yields. Ctrl-C ends the loop, and saved results stay.
        with (
            suppress(KeyboardInterrupt),
            cluster(scheduler),
            progress_bar("tasks", quiet=quiet) as progress,
        ):
            for _ in iter_run(plan.tasks, n_jobs=jobs, store=results, batch=plan.batch):
                n_new += 1
                if progress is not None:
                    progress(n_earlier + n_new, n_tasks)

    record = {
        "sweep": plan.name,
        "store": str(path),
        "tasks": n_tasks,
        "new": n_new,
        "left": n_tasks - n_earlier - n_new,
    }
    report_run(record, quiet=quiet, json=json)


def report_run(record: dict[str, Any], *, quiet: bool, json: bool) -> None:
    """Print how far a sweep has come; if tasks remain, end with the exit code of the signal.

    `record` holds the numbers of `tasks`, of `new` ones that this run has finished, and of those
    `left` to do. Tasks are left only if a signal, such as Ctrl-C, has stopped the run.
    """
    if json:
        print_json(record)
    if record["left"] > 0:
        complain(
            f"stopped with {record['left']} of {record['tasks']} tasks to do; run the same command "
            "again to go on"
        )
        raise typer.Exit(interrupted_code())
    if not quiet and not json:
        say(
            f"{record['sweep']} is complete: {record['tasks']} tasks, {record['new']} of them new, "
            f"in {record['store']}"
        )


@sweep_commands.command()
def status(
    sweep: SweepArgument,
    store: StoreOption = None,
    trials: TrialsOption = None,
    json: JsonOption = False,
) -> None:
    """How much of a sweep is in the store, also while it runs.

    Example: chanceline sweep status paper-fig3 --store fig3.sqlite
    """
    from chanceline.experiments.store import Store
    from chanceline.experiments.sweeps import load_sweep

    plan = load_sweep(sweep, trials=trials)
    path = store or Path(f"{plan.name}.sqlite")
    with Store(path) as results:
        seconds_of_task = results.seconds()  # of every finished task in the store, by its id
    # The store may also hold tasks of other sweeps: take those of this one.
    seconds = [seconds_of_task[task.id] for task in plan.tasks if task.id in seconds_of_task]
    n_finished = len(seconds)
    n_tasks = len(plan.tasks)
    record = {
        "sweep": plan.name,
        "store": str(path),
        "tasks": n_tasks,
        "finished": n_finished,
        "left": n_tasks - n_finished,
        "cpu_seconds": round(sum(seconds), 3),
    }
    sentence = (
        f"{plan.name}: {n_finished} of {n_tasks} tasks in {path}, "
        f"{sum(seconds):.1f} s of one core so far"
    )
    print_answer(record, sentence, json)


@sweep_commands.command()
def export(
    store: Annotated[Path, typer.Argument(help="The results file.")],
    out: Annotated[
        Path,
        typer.Option(help="Where to write; the name ends in .csv or .parquet.", callback=writable),
    ],
    kind: Annotated[str | None, typer.Option(help="Only tasks of this kind.")] = None,
    json: JsonOption = False,
) -> None:
    """Write a store as one table: one row for each task, every parameter and result a column.

    Example: chanceline sweep export fig3.sqlite --out fig3.csv
    """
    from chanceline.experiments.store import Store

    with Store(store) as results:
        n_rows = results.export(out, kind)
    record = {"store": str(store), "table": str(out), "rows": n_rows}
    print_answer(record, f"{n_rows} rows in {out}", json, tell=say)


@sweep_commands.command()
def merge(
    target: Annotated[
        Path, typer.Argument(help="The store that takes the results; made if missing.")
    ],
    sources: Annotated[
        list[Path], typer.Argument(help="Stores to take from; they stay as they are.")
    ],
    json: JsonOption = False,
) -> None:
    """Put the results of several stores (machines, runs) into one.

    Example: chanceline sweep merge all.sqlite monday.sqlite tuesday.sqlite
    """
    from chanceline.experiments.store import Store

    # Read all sources before the target is opened: if a source is refused, not even an empty target
    # is made.
    results: list[Any] = []
    for source in sources:
        results.extend(Store(source).records())
    with Store(target, write=True) as target_store:
        n_new = target_store.add(results)
        n_results = len(target_store)
    record = {"store": str(target), "new": n_new, "results": n_results}
    sentence = f"{n_new} new results in {target}, {n_results} in all"
    print_answer(record, sentence, json, tell=say)


@sweep_commands.command()
def verify(
    stores: Annotated[list[Path], typer.Argument(help="The results files.")],
    json: JsonOption = False,
) -> None:
    """Read every row of stores and check its id and checksum; the first damage found ends with exit code 2.

    Every other command checks the same whenever it reads.

    Example: chanceline sweep verify fig3.sqlite
    """  # noqa: E501 (the help shows these lines as they are)
    from chanceline.experiments.store import Store

    entries = []
    lines = []
    for path in stores:
        # Opening a store reads every row and checks its id and checksum; damage is an error.
        n_results = len(Store(path))
        entries.append({"store": str(path), "results": n_results, "checksums": True})
        lines.append(f"{path}: {n_results} results, every id and checksum fits")
    print_answer({"stores": entries}, "\n".join(lines), json)


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
    json: JsonOption = False,
) -> None:
    """Draw a built-in sweep's figure from a store, finished or not, or from the shipped data.

    Example: chanceline sweep plot paper-fig3 --store fig3.sqlite --out fig3.png
    """
    from chanceline.figures.experiments import draw_sweep

    drawn = draw_sweep(sweep, out, store)
    record = {"sweep": sweep, "figure": str(out), "drawn": drawn}
    print_answer(record, f"{drawn} in {out}", json, tell=say)


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
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Compute every figure and number of the paper again.

    Example: chanceline reproduce --quick --out results
    """
    if quick and full:
        raise InputError("--quick and --full exclude each other; give one of them")
    from chanceline.report import write_reproduce_report
    from chanceline.reproduce.folder import Folder
    from chanceline.reproduce.stages import run_all

    mode = "normal"
    if quick:
        mode = "quick"
    if full:
        mode = "full"
    tell_progress = say
    if quiet:
        tell_progress = ignore  # prints nothing

    # `run_all` adds the figures and numbers that it makes to the folder.
    folder = Folder(out, mode, tell_progress)
    run_all(folder)
    page = write_reproduce_report(out)
    record = {
        "folder": str(out),
        "mode": mode,
        "figures": folder.written,
        "numbers": folder.numbers,
        "report": str(page),
    }
    sentence = (
        f"{len(folder.written)} figures, numbers.csv and provenance.json are in {out}; "
        f"to look at: {page}"
    )
    print_answer(record, sentence, json)


def ignore(sentence: str) -> None:
    """Print nothing: this takes the place of `say` with --quiet."""
