"""Pictures of plans: lines and points are where the numbers say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from chanceline.figures.effect_power import draw_power_curve
from chanceline.figures.planted import draw_planted_lines
from chanceline.significance.effect_power import PowerPlan
from chanceline.significance.planted import SampleCount


@pytest.fixture
def ax():
    return Figure().subplots()


def test_planted_lines_and_points(ax):
    lines = {0.0: [10.0, 20.0], 0.1: [15.0, 30.0]}
    measured = [(100, 0.1, SampleCount(31.0, 2.0))]
    draw_planted_lines(ax, [10, 100], lines, measured, alone=[(10, 0.0, SampleCount(14.0, 1.0))])
    drawn = {line.get_label(): line.get_ydata().tolist() for line in ax.get_lines()}
    assert drawn["no noise: the chance line"] == [10.0, 20.0]
    assert drawn["noise 0.1"] == [15.0, 30.0]
    points = [container.lines[0].get_xydata().tolist() for container in ax.containers]
    assert points == [[[100.0, 31.0]], [[10.0, 14.0]]]


def test_power_curve_marks_the_plan(ax):
    plan = PowerPlan(
        n_samples=60,
        positives=30,
        n_features=100,
        effect=1.0,
        features_with_effect=1,
        level=0.05,
        power=0.6,
        error=0.01,
    )
    curve = [replace(plan, n_samples=30, power=0.2), plan, replace(plan, n_samples=90, power=0.9)]
    draw_power_curve(ax, curve, plan)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}
    assert drawn["effect 1 in 1 of 100 features"] == [[30.0, 0.2], [60.0, 0.6], [90.0, 0.9]]
    assert drawn["60 samples: 0.60"] == [[60.0, 0.6]]
