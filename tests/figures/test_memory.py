"""The pictures show the numbers they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chanceline.figures import memory as memory_figures
from chanceline.figures.memory import draw_cutting, draw_largest_loads, draw_retrieval
from chanceline.memory import Cutting, LargestLoads, Retrieval, hebbian_capacity
from chanceline.theory.capacity import capacity


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_capacity(ax):
    theory = [capacity(rho) for rho in (0.2, 0.4)]
    loads = [
        LargestLoads(11, fan_in, wiring, np.array([4, 6, 9]))
        for fan_in in (4, 2)
        for wiring in ("selected", "random")
    ]
    draw_largest_loads(ax, loads, theory)
    assert texts(ax) == ["selected inputs", "random inputs"]
    curve, hebbian, line, *points = ax.get_lines()
    assert curve.get_ydata().tolist() == [0, *(point.alpha for point in theory)]
    assert hebbian.get_ydata()[1:] == pytest.approx([hebbian_capacity(0.2), hebbian_capacity(0.4)])
    assert line.get_ydata().tolist() == [0, 0.4, 0.8]
    assert points[0].get_xydata().tolist() == [[0.2, 0.6], [0.4, 0.6]]


def test_retrieval(ax):
    result = Retrieval(
        np.array([0.0, 0.1]), np.array([1.0, 0.4]), np.array([0.0, 0.1]), np.array([1.0, 0.0]), 10
    )
    draw_retrieval(ax, {("selected", 0.2): result, ("random", 0.4): result})
    assert texts(ax)[:3] == ["the probe itself", "selected, α = 0.2", "random, α = 0.4"]


def test_cutting(ax):
    result = Cutting(
        "weakest",
        np.array([0.0, 0.5]),
        np.array([1.0, 0.7]),
        np.array([1.0, 0.0]),
        np.array([1.0, 0.3]),
    )
    draw_cutting(ax, {"selected": [result]})
    assert texts(ax) == ["selected, weakest cut"]
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0, 0.7]


def test_the_former_name_of_the_largest_loads_warns():
    with pytest.warns(DeprecationWarning, match=r"is now .*draw_largest_loads; .* in 0\.5"):
        former = memory_figures.draw_capacity
    assert former is draw_largest_loads
