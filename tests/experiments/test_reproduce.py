"""The finite-size stage of `reproduce`: small runs on the spot, the shipped run, and a full run that resumes."""

import numpy as np
import pandas as pd
import pytest

from chanceline.experiments.figure_points import shipped_points
from chanceline.experiments.run import run
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import load_sweep
from chanceline.reproduce import stages
from chanceline.reproduce.clusters import separating_sector
from chanceline.reproduce.folder import Folder
from chanceline.theory.symmetric import branch_table

FIGURES = tuple(f"experiments-{name}" for name in ("paper-fig3", "best", "entropy", "capacity"))
SMALL = {
    "paper-fig3": ("small-fig3",),
    "best": ("small-best",),
    "entropy": ("small-entropy",),
    "capacity": ("small-capacity",),
}
TOML = """
name = "{name}"
[[block]]
kind = "{kind}"
trials = {trials}
grid = {grid}
fixed = {fixed}
"""


@pytest.fixture
def small_sweeps(tmp_path):
    """Sweeps of a few cheap tasks for each figure, in place of the built-in ones."""
    blocks = {
        "small-fig3": (
            "smallest",
            2,
            "{n = [16, 24], alpha = [0.5, 1.0]}",
            '{method = "greedy-biht"}',
        ),
        "small-best": (
            "smallest",
            2,
            "{n = [16, 24], alpha = [0.5, 1.0]}",
            '{method = "auto", budget = 20}',
        ),
        "small-entropy": (
            "count",
            12,
            "{n = [8, 10, 12], alpha = [1.0]}",
            '{rho = 0.5, inputs = "sphere"}',
        ),
        "small-capacity": (
            "smallest",
            4,
            "{n = [16, 20, 24], alpha = [1.25]}",
            '{method = "exact", inputs = "sphere"}',
        ),
    }
    paths = {}
    for name, (kind, trials, grid, fixed) in blocks.items():
        paths[name] = tmp_path / f"{name}.toml"
        paths[name].write_text(
            TOML.format(name=name, kind=kind, trials=trials, grid=grid, fixed=fixed)
        )
    return {figure: tuple(str(paths[name]) for name in names) for figure, names in SMALL.items()}


def make(folder, sweeps):
    stages.finite_size_figures(folder, sweeps)
    assert folder.written == list(FIGURES)
    for figure in FIGURES:
        assert len(pd.read_csv(folder.path / f"{figure}.csv")) > 0


@pytest.mark.slow
def test_quick_makes_small_runs_and_says_so(tmp_path, small_sweeps):
    lines = []
    make(Folder(tmp_path / "out", "quick", lines.append), small_sweeps)
    assert sum("made on the spot" in line for line in lines) == 4


def test_the_quick_figure_of_the_paper_has_all_its_sizes(tmp_path, small_sweeps):
    folder = Folder(tmp_path / "out", "quick", lambda line: None)
    stages.finite_size_figures(folder, {"paper-fig3": small_sweeps["paper-fig3"]})
    table = pd.read_csv(folder.path / "experiments-paper-fig3.csv")
    sizes = {is_shipped: set(points["n"]) for is_shipped, points in table.groupby("shipped")}
    assert sizes == {False: {16, 24}, True: {64, 128, 256}}
    svg = (folder.path / "experiments-paper-fig3.svg").read_text()
    assert "the run that comes with the package" in svg


def test_sectors_of_weights_are_those_of_all_directions():
    rng = np.random.default_rng(3)
    angles = np.linspace(0, 2 * np.pi, 3601)[:-1]
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    for n_patterns in (1, 2, 3, 4, 6):
        points = rng.standard_normal((n_patterns, 2))
        separates = np.all(directions @ points.T > 0, axis=1)
        sector = separating_sector(points)
        assert sector.width == pytest.approx(2 * np.pi * separates.mean(), abs=0.004)
        if sector.width > 0:
            middle = sector.start + sector.width / 2
            assert np.all(points @ [np.cos(middle), np.sin(middle)] > 0)


def test_first_figure_shows_how_choices_die_out(tmp_path):
    folder = Folder(tmp_path, "quick", lambda line: None)
    stages.clusters(folder)
    table = pd.read_csv(tmp_path / "clusters.csv")
    n_separating = (table["width"] > 0).groupby(table["patterns"]).sum()
    assert n_separating.tolist() == [28, 26, 7, 0]
    # One more pattern never widens a sector.
    widths = table.pivot_table(index=["first", "second"], columns="patterns", values="width")
    assert np.all(np.diff(widths.to_numpy(), axis=1) <= 1e-12)
    assert folder.written == ["clusters"]


def test_panels_are_dense_where_curves_bend():
    table = branch_table(0.5, 60)
    loads = table["alpha"].to_numpy()
    assert len(loads) == 60
    assert 1.0 in loads
    assert np.all(np.diff(loads) > 0)
    # No corner between three points of the entropy turns by more than a few degrees of the picture.
    x = (loads - loads[0]) / np.ptp(loads)
    y = table["entropy"] / np.ptp(table["entropy"])
    turns = np.abs(np.diff(np.arctan2(np.diff(y), np.diff(x))))
    assert np.degrees(turns).max() < 6


def test_full_runs_resume(tmp_path, small_sweeps):
    lines = []
    store = tmp_path / "out" / "experiments.sqlite"
    (tmp_path / "out").mkdir()
    with Store(store, write=True) as results:
        begun = load_sweep(small_sweeps["entropy"][0]).tasks[:5]
        run(begun, store=results)
    make(Folder(tmp_path / "out", "full", lines.append), small_sweeps)
    assert sum("to run" in line for line in lines) == 4
    assert any("36 tasks" in line and "31 to run" in line for line in lines)
    with Store(store) as results:
        assert {task.id for task in begun} < results.finished()


@pytest.mark.slow
def test_without_either_the_shipped_run_is_drawn_and_said(tmp_path, monkeypatch):
    def some_loads(figure):
        # Each load is solved once more for the theory beside it.
        points = shipped_points(figure)
        return points[points["alpha"].isin(sorted(points["alpha"].unique())[::3])]

    monkeypatch.setattr(stages, "shipped_points", some_loads)
    lines = []
    folder = Folder(tmp_path, "normal", lines.append)
    stages.finite_size_figures(folder)
    assert folder.written == list(FIGURES)
    assert sum("the run that comes with the package" in line for line in lines) == 4
    assert not list(tmp_path.glob("*.sqlite"))
