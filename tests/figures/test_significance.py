"""The pictures show what the result holds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chanceline.figures.significance import draw_samples
from chanceline.significance import separation_test
from chanceline.tables.examples import load_example


@pytest.fixture(scope="module", params=[0, 39])
def result(request):
    data = load_example("noise")
    return separation_test(
        data.X, data.y, permutations=request.param, budget=200, restarts=0, expected_error=False
    )


def test_front_and_band(result):
    figure, ax = plt.subplots()
    assert result.plot(ax) is ax
    lines = {line.get_label(): line for line in ax.lines}
    observed = lines["your labels"]
    assert observed.get_xdata().tolist() == [point.k for point in result.front]
    assert observed.get_ydata().tolist() == [point.explained for point in result.front]
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == [f"{point.k}\n{point.errors}" for point in result.front]
    assert len(figure.axes) == 1
    if result.permutation is None:
        # The search's set is not one of the path.
        assert "the features named" not in lines
        assert "shuffled labels, median" not in lines
        assert not ax.collections
    else:
        star = lines["the features named"]
        assert (star.get_xdata()[0], star.get_ydata()[0]) == (
            result.evidence.k,
            result.evidence.explained,
        )
        assert lines["shuffled labels, median"].get_ydata().tolist() == [
            point.shuffled.median for point in result.front
        ]
        edge = ax.collections[0].get_paths()[0].vertices
        for point in result.front:
            heights = edge[edge[:, 0] == point.k, 1]
            assert (heights.min(), heights.max()) == (point.shuffled.low, point.shuffled.high)
    plt.close(figure)


def test_every_sample_along_the_rule():
    data = load_example("planted")
    result = separation_test(data.X, data.y, [0], permutations=0, expected_error=False)
    assert result.separating.errors > 0
    figure, ax = plt.subplots()
    draw_samples(ax, result)
    negative, positive = (line for line in ax.lines if line.get_label() in set(result.class_names))
    assert len(negative.get_xdata()) == np.sum(data.y < 0)
    assert len(positive.get_xdata()) == np.sum(data.y > 0)
    rings = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert sum(len(line.get_xdata()) for line in rings) == result.separating.errors
    scores = data.X[:, 0] * result.separating.weights[0] + result.separating.bias
    expected = np.sort(scores[data.y > 0] / np.abs(scores).max())
    np.testing.assert_allclose(np.sort(positive.get_xdata()), expected, rtol=1e-12)
    plt.close(figure)
