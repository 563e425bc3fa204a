"""Before the experiment: the power of one feature, against simulation and a peer's formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f_oneway, norm, pearsonr

from chanceline.errors import InputError
from chanceline.significance.outcomes.planning import SMALLEST_SHARE, plan_outcome


def test_samples_and_shares_are_inverse_to_each_other():
    plan = plan_outcome("number", 1000, share=0.2)
    back = plan_outcome("number", 1000, n_samples=plan.n_samples)
    fewer = plan_outcome("number", 1000, n_samples=plan.n_samples - 1)
    assert back.share <= 0.2 < fewer.share


def test_the_power_for_a_number_is_that_of_simulated_correlations():
    plan = plan_outcome("number", 1, n_samples=30)
    rng = np.random.default_rng(0)
    slope = np.sqrt(plan.share / (1 - plan.share))
    y = rng.normal(size=30)
    y = (y - y.mean()) / y.std()
    n_seen = 0
    for _ in range(1000):
        n_seen += pearsonr(y, slope * y + rng.normal(size=30)).pvalue <= 0.05
    assert n_seen / 1000 == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / 1000))


def test_the_power_for_classes_is_that_of_simulated_analyses_of_variance():
    plan = plan_outcome("classes", 1, n_samples=45, n_classes=3)
    rng = np.random.default_rng(1)
    means = np.array([-1.0, 0.0, 1.0]) / np.sqrt(2 / 3)
    means *= np.sqrt(plan.share / (1 - plan.share))
    n_seen = 0
    for _ in range(1000):
        samples = rng.normal(size=(3, 15)) + means[:, None]
        n_seen += f_oneway(*samples).pvalue <= 0.05
    assert n_seen / 1000 == pytest.approx(0.8, abs=3 * np.sqrt(0.8 * 0.2 / 1000))


@pytest.mark.parametrize("arguments", [{"n_samples": 30, "level": 0.9}, {"n_samples": 10**9}])
def test_where_the_smallest_share_is_seen_it_is_the_answer(arguments):
    plan = plan_outcome("number", 1, **arguments)
    assert plan.share == SMALLEST_SHARE
    # A correlation r is seen with Fisher's z = artanh r, of variance 1/(n − 3), both sides together.
    z = np.arctanh(np.sqrt(plan.share)) * np.sqrt(plan.n_samples - 3)
    critical = norm.isf(plan.level / 2)
    assert norm.sf(critical - z) + norm.cdf(-critical - z) > plan.power


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"outcome": "colour", "n_samples": 30}, "must be 'number', 'classes' or 'survival'"),
        ({"outcome": "number"}, "give either"),
        ({"outcome": "number", "share": 1e-7}, "larger share"),
        ({"outcome": "classes", "n_samples": 30, "n_classes": 2}, "classes must be at least 3"),
    ],
)
def test_plans_that_make_no_sense(arguments, words):
    with pytest.raises(InputError, match=words):
        plan_outcome(n_features=100, **arguments)


def test_the_command_plans_for_other_outcomes(command):
    code, output, _ = command("plan", "-N", 500, "--outcome", "survival", "--explained", 0.3)
    assert code == 0
    assert "samples see one of 500 features" in output
    code, _, errors = command("plan", "-N", 500, "--outcome", "number")
    assert code == 2
    assert "--explained" in errors
