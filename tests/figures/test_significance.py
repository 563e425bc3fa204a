"""The pictures show what the result holds."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from chanceline.figures.left_out import draw_calibration, draw_roc
from chanceline.figures.significance import draw_samples
from chanceline.significance import separation_test
from chanceline.significance.left_out_scores import CalibrationBin, RocCurve
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
    # Errors are those of other features than R²: the picture is about R² alone.
    assert ticks == [str(point.k) for point in result.front]
    assert "stepwise least squares" in ax.get_xlabel()
    assert "error" not in ax.get_xlabel()
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
    # Nothing was cross-validated: the axis says so.
    assert ax.get_xlabel().startswith("training score")
    plt.close(figure)


def test_samples_lie_along_cross_validated_scores_where_there_are_any():
    rng = np.random.default_rng(3)
    y = rng.permutation(60) < 30
    X = rng.normal(size=(60, 4)) + 1.2 * y[:, None]
    result = separation_test(X, y, permutations=0)
    scores = result.rule.expected_error.predictions.mean(axis=0)
    ax = Figure().subplots()
    draw_samples(ax, result)
    assert ax.get_xlabel().startswith("cross-validated score")
    (positive,) = (line for line in ax.lines if line.get_label() == result.positive_class)
    drawn = np.sort(positive.get_xdata())
    np.testing.assert_allclose(drawn, np.sort(scores[y] / np.abs(scores).max()), rtol=1e-12)
    rings = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    n_ringed = sum(len(line.get_xdata()) for line in rings)
    assert n_ringed == np.sum((scores > 0) != y) > 0


def test_the_curve_marks_the_threshold_of_the_rule_and_claims_no_area():
    curve = RocCurve(np.array([0.0, 0.2, 1.0]), np.array([0.0, 0.7, 1.0]), 0.7, 0.8)
    ax = Figure().subplots()
    draw_roc(ax, curve, ("well", "ill"))
    _, line, point = ax.lines
    assert line.get_xydata().tolist() == [[0.0, 0.0], [0.2, 0.7], [1.0, 1.0]]
    assert point.get_xydata() == pytest.approx(np.array([[0.2, 0.7]]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("share of well called ill", "share of ill found")
    assert not ax.texts
    assert ax.get_legend() is None
    assert ax.get_title() == ""


def test_calibration_has_a_point_and_an_interval_for_every_bin():
    bins = [CalibrationBin(20, 0.1, 0.05, 0.0, 0.25), CalibrationBin(20, 0.8, 0.9, 0.7, 0.98)]
    ax = Figure().subplots()
    draw_calibration(ax, bins, "il$l")
    _, points = ax.lines
    assert points.get_xydata().tolist() == [[0.1, 0.05], [0.8, 0.9]]
    (intervals,) = ax.collections
    ends = [segment.tolist() for segment in intervals.get_segments()]
    assert ends == [[[0.1, 0.0], [0.1, 0.25]], [[0.8, 0.7], [0.8, 0.98]]]
    assert ax.get_ylabel() == r"observed share of il\$l"
