"""Figures from small stores and from the shipped run; the data beside each say what is drawn."""

import pytest

from chanceline.errors import InputError
from chanceline.experiments.figure_points import (
    QUICK_SWEEPS,
    SWEEPS,
    shipped_points,
    stored_points,
)
from chanceline.experiments.run import run
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import builtin_names, load_sweep
from chanceline.figures.experiments import draw_figure, draw_sweep

SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def test_built_in_sweeps_are_what_they_promise():
    for names in (*SWEEPS.values(), *QUICK_SWEEPS.values()):
        assert set(names) <= set(builtin_names())
    paper = load_sweep("paper-fig3")
    points = {(t.parameters["n"], t.parameters["alpha"]) for t in paper.tasks}
    assert {n for n, _ in points} == {64, 128, 256}
    loads = sorted({alpha for _, alpha in points})
    assert len(loads) >= 10
    assert (loads[0], loads[-1]) == (0.1, 1.5)
    assert len(paper.tasks) == len(points) * 1000
    assert {t.parameters["method"] for t in paper.tasks} == {"greedy-biht"}
    # The best search meets the same problems at the same points.
    assert {(t.parameters["n"], t.parameters["alpha"]) for t in load_sweep("best").tasks} == points


@pytest.mark.parametrize("suffix", SIGNATURES)
def test_shipped_run_is_drawn(tmp_path, suffix):
    target = tmp_path / f"figure{suffix}"
    sentence = draw_sweep("paper-fig3", target)
    assert target.read_bytes().startswith(SIGNATURES[suffix])
    assert "the shipped run" in sentence


# Those that solve two curves of theory beside the points.
LONG_FIGURES = ("capacity", "entropy")


@pytest.mark.parametrize(
    "figure",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in LONG_FIGURES else name
        for name in SWEEPS
    ],
)
def test_every_figure_can_be_drawn_from_the_shipped_run(figure):
    points = shipped_points(figure)
    # Every third load: each is solved once more for the theory beside it.
    loads = sorted(points["alpha"].unique())[::3]
    points = points[points["alpha"].isin(loads)]
    picture, table = draw_figure(figure, points)
    assert len(table) > 0
    last = drawn(picture.axes[-1])
    if figure in ("paper-fig3", "best"):
        assert len(picture.axes) == 1
        for n, group in points.groupby("n"):
            x, y = last[f"$N={n}$"]
            assert x == list(group["density"])
            assert y == list(group["load"])
        assert (figure == "best") == any("extrapolated" in label for label in last)
    elif figure == "capacity":
        assert len(picture.axes) == points["inputs"].nunique() + 1
        shown = sorted(value for _, values in last.values() for value in values)
        assert shown == pytest.approx(sorted(table["searched"] - table["rs"]))
    else:
        rhos = sorted(table["rho"].unique(), reverse=True)
        assert len(picture.axes) == 2 * len(rhos)
        for ax, rho in zip(picture.axes, rhos, strict=False):
            shown = {
                value
                for label, (_, values) in drawn(ax).items()
                if "Monte Carlo" in label
                for value in values
            }
            assert shown == set(table.loc[table["rho"] == rho, "both"].dropna())


def drawn(ax):
    """Label → the coordinates of what was drawn with error bars."""
    return {bar.get_label(): tuple(map(list, bar[0].get_data())) for bar in ax.containers}


def test_small_store_is_drawn_and_an_empty_one_explained(tmp_path):
    store = tmp_path / "s.sqlite"
    with Store(store, write=True) as results:
        run(load_sweep("quick-capacity", trials=1).tasks[:1], store=results)
    with pytest.raises(InputError, match="too few results of quick-fig3"):
        stored_points("paper-fig3", store, QUICK_SWEEPS["paper-fig3"])
    with Store(store, write=True) as results:
        tasks = [
            task for task in load_sweep("quick-capacity").tasks if task.parameters["alpha"] == 1.25
        ]
        run([task for task in tasks if task.parameters["trial"] < 4], store=results)
    points = stored_points("capacity", store, QUICK_SWEEPS["capacity"])
    assert set(points["n"]) == {16, 20, 24}
    assert set(points["problems"]) == {4}
    picture, table = draw_figure("capacity", points)
    assert len(picture.axes) == 3
    assert {"searched", "searched_error", "rs", "rsb"} <= set(table.columns)
