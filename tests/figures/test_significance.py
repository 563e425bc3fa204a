"""The picture shows what the result holds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chanceline.figures.significance import draw_test
from chanceline.significance import separation_test
from chanceline.tables.examples import load_example


@pytest.mark.parametrize("permutations", [0, 9])
def test_picture(permutations):
    data = load_example("noise")
    result = separation_test(data.X, data.y, permutations=permutations, budget=200, restarts=0, stop_after=None)
    figure, ax = plt.subplots()
    draw_test(ax, result)
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert {"rigorous bound", "only permutation can speak"} <= labels
    assert "you are here" in {text.get_text() for text in ax.texts}
    curve = next(line for line in ax.lines if line.get_label() == "rigorous bound")
    assert np.array_equal(curve.get_ydata(), result.bound_curve[: len(curve.get_ydata())])
    star = next(line for line in ax.lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == result.n_selected
    bars = [patch for axes in figure.axes[1:] for patch in axes.patches]
    heights = sum(bar.get_height() for bar in bars)
    assert (heights == pytest.approx(1.0)) if permutations else (not bars)
    plt.close(figure)
