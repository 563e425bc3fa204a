"""The finite-size figures: the paper's, the same with the best search, and the two witnesses.

The quick mode makes small runs on the spot, the full mode runs or resumes all sweeps in a store inside the folder, and the
normal mode draws the run that comes with the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from chanceline.experiments.points import QUICK_SWEEPS, SWEEPS, shipped_points, stored_points
from chanceline.experiments.run import iter_run
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import load_sweep
from chanceline.reproduce.experiment_figures import draw_figure
from chanceline.reproduce.folder import Folder

TELL_EVERY = 200  # tasks between two lines of progress


def finite_size(folder: Folder) -> None:
    """All four figures."""
    plan: Mapping[str, Sequence[str]] = QUICK_SWEEPS if folder.quick else SWEEPS
    store = folder.path / ("experiments-quick.sqlite" if folder.quick else "experiments.sqlite")
    if folder.quick or folder.full:
        _run(folder, store, [name for names in plan.values() for name in names])
    for figure, names in plan.items():
        if folder.quick or folder.full:
            points = stored_points(figure, store, names)
        else:
            folder.say(f"{figure}: drawn from the run that comes with the package (the full mode computes it again)")
            points = shipped_points(figure)
        picture, table = draw_figure(figure, points)
        if folder.quick:
            picture.suptitle("from a small run made on the spot: large error bars", fontsize=9)
        # A name of its own: the theory has figures of capacity and entropy too.
        folder.save(f"experiments-{figure}", picture, table)


def _run(folder: Folder, store: Path, names: Sequence[str]) -> None:
    with Store(store, write=True) as results:
        for name in names:
            sweep = load_sweep(name)
            missing = len({task.id for task in sweep.tasks} - results.finished())
            folder.say(f"{sweep}; {missing} to run" + (", a small run made on the spot" if folder.quick else ""))
            for count, _ in enumerate(iter_run(sweep.tasks, n_jobs=-1, store=results, batch=sweep.batch), 1):
                if count % TELL_EVERY == 0:
                    folder.say(f"{name}: {count} of {missing}")
