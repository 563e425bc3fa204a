"""Errors cover what they say, extrapolations find what was put in, and points come from the rows they should."""

import json
import math
from fractions import Fraction
from math import comb

import numpy as np
import pandas as pd
import pytest

from chanceline.experiments.extrapolation import extrapolate, mean_estimate, median_estimate
from chanceline.experiments.first_moment import first_moment_size, log_first_moment
from chanceline.experiments.kinds import exact_count
from chanceline.experiments.points import capacity_points, entropy_points
from chanceline.experiments.scaling import broken_density, capacity_limits, entropy_limits
from chanceline.theory.capacity import capacity, density
from chanceline.theory.closed_forms import first_moment_exponent, union_bound
from chanceline.theory.first_moment import first_moment_density


def test_exact_polynomial_in_one_over_n_is_found():
    n = np.array([12, 16, 20, 24, 32])
    fit = extrapolate(n, 0.4 - 1.5 / n + 3.0 / n**2, np.full(5, 0.01))
    assert fit.coefficients == pytest.approx((0.4, -1.5, 3.0), abs=1e-9)
    assert fit.chi2 == pytest.approx(0.0, abs=1e-15)
    assert fit.dof == 2
    assert fit.systematic == pytest.approx(0.0, abs=1e-9)
    assert repr(fit).startswith("<Extrapolation: 0.4000 ± ")
    assert fit.to_dict()["kind"] == "extrapolated"
    assert fit.at([16]) == pytest.approx([0.4 - 1.5 / 16 + 3.0 / 256])


def test_systematic_error_is_what_the_smallest_size_changes():
    n = np.array([12, 16, 20, 24])
    y = 0.4 - 1.5 / n + 3.0 / n**2
    fit = extrapolate(n, y, np.full(4, 0.01))
    assert len(fit.coefficients) == 2
    lines = [np.polynomial.polynomial.polyfit(1 / n[k:], y[k:], 1)[0] for k in (0, 1)]
    assert fit.value == pytest.approx(lines[0], abs=1e-9)
    assert fit.systematic == pytest.approx(abs(lines[0] - lines[1]), abs=1e-9)
    assert fit.error == pytest.approx(np.hypot(fit.statistical, fit.systematic))
    # Two sizes fix a line and leave nothing to compare with.
    assert extrapolate(n[:2], y[:2], np.full(2, 0.01)).systematic == 0.0


def test_statistical_error_is_that_of_repeated_fits():
    rng = np.random.default_rng(5)
    n, error = np.array([12, 16, 20, 24, 32, 48]), np.array([3, 2, 2, 1, 1, 2]) * 1e-3
    limits, covered = [], 0
    for _ in range(2000):
        fit = extrapolate(n, 0.3 + 0.7 / n + error * rng.normal(size=6), error, degree=1)
        limits.append(fit.value)
        covered += abs(fit.value - 0.3) < 2 * fit.statistical
    design = np.column_stack([np.ones(6), 1 / n]) / error[:, None]
    expected = np.sqrt(np.linalg.inv(design.T @ design)[0, 0])
    assert np.std(limits) == pytest.approx(expected, rel=0.05)
    # The error never shrinks below the given ones, so that the interval covers at least its nominal 95 %.
    assert covered / 2000 > 0.945


def test_points_that_scatter_too_much_enlarge_the_error():
    n = np.array([10, 20, 40, 80])
    calm = extrapolate(n, [1.0, 1.0, 1.0, 1.0], np.full(4, 0.01), degree=1)
    wild = extrapolate(n, [1.1, 0.9, 1.1, 0.9], np.full(4, 0.01), degree=1)
    assert wild.statistical > 3 * calm.statistical


def test_median_covers_at_its_nominal_rate_and_bears_minus_infinity():
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(2000):
        sample = rng.gumbel(size=100)
        sample[rng.random(100) < 0.1] = -np.inf
        value, error = median_estimate(sample)
        # 10 % at −∞ move the median to the 4/9 quantile of the rest.
        truth = -np.log(-np.log(4 / 9))
        covered += abs(value - truth) < 2 * error
    assert 0.93 < covered / 2000 < 0.985


def test_median_is_unknown_when_half_are_infinite_or_few():
    assert np.isnan(median_estimate([1.0] * 9)[0])
    assert np.isnan(median_estimate([-np.inf] * 45 + [1.0] * 56)[0])
    assert median_estimate(range(11))[0] == 5


def test_average_covers_at_its_nominal_rate_with_few_samples_too():
    assert mean_estimate([1.0, 2.0, 3.0])[0] == 2.0
    assert np.isnan(mean_estimate([1.0])[1])
    rng = np.random.default_rng(7)
    for samples in (2, 5, 40):
        trials = [mean_estimate(rng.normal(size=samples)) for _ in range(2000)]
        covered = np.mean([abs(value) < error for value, error in trials])
        assert abs(covered - 0.683) < 4 * np.sqrt(0.683 * 0.317 / 2000)


def exact_first_moment(n, patterns, m):
    cover = 2 * sum(comb(patterns - 1, k) for k in range(m))
    return Fraction(comb(n, m) * cover, 2**patterns)


@pytest.mark.parametrize(("n", "patterns", "m"), [(12, 15, 6), (20, 20, 5), (64, 90, 30)])
def test_first_moment_in_whole_numbers(n, patterns, m):
    assert log_first_moment(n, patterns, m) == pytest.approx(
        float(math.log(exact_first_moment(n, patterns, m))), abs=1e-10
    )


def test_first_moment_size_lies_where_it_passes_one():
    for n, patterns in [(16, 16), (64, 96), (200, 100)]:
        size = first_moment_size(n, patterns)
        assert (
            exact_first_moment(n, patterns, math.floor(size))
            < 1
            <= exact_first_moment(n, patterns, math.ceil(size))
        )


def test_first_moment_has_the_limits_of_the_theory():
    assert first_moment_exponent(1.0, first_moment_density(1.0)) == pytest.approx(0.0, abs=1e-12)
    assert union_bound(first_moment_density(1.0)) == pytest.approx(1.0)
    # ln N / N corrections: from the value at N = 10⁵ the limit is near, but not at rounding error.
    assert first_moment_size(100_000, 100_000) / 100_000 == pytest.approx(
        first_moment_density(1.0), abs=1e-4
    )
    assert log_first_moment(100_000, 125_000, 50_000) / 100_000 == pytest.approx(
        first_moment_exponent(1.25, 0.5), abs=2e-4
    )


def test_counts_of_many_problems_have_the_first_moment():
    """Mean of Z over problems on the sphere = C(N, M)·D(P, M)/2^P: Cover's count is exact in general position."""
    counts = [
        exact_count(0, n=8, rho=0.5, alpha=1.25, inputs="sphere", trial=k)["count"]
        for k in range(150)
    ]
    expected = float(exact_first_moment(8, 10, 4))
    assert abs(np.mean(counts) - expected) < 4 * np.std(counts) / np.sqrt(150)


def test_measured_shares_replace_covers_count_where_there_are_enough_hits():
    counts = pd.DataFrame(
        [{"inputs": "binary", "rho": 0.25, "alpha": 1.0, "n": 12, "count": 5} for _ in range(12)]
    )
    plain = entropy_points(counts, None, []).iloc[0]
    assert (plain["first_moment"], plain["first_moment_error"]) == (
        log_first_moment(12, 12, 3) / 12,
        0.0,
    )
    for hits, used in ((19, False), (400, True)):
        shares = pd.DataFrame(
            [{"inputs": "binary", "m": 3, "patterns": 12, "hits": hits, "draws": 100_000}]
        )
        point = entropy_points(counts, None, [], shares).iloc[0]
        expected = (math.log(comb(12, 3)) + math.log(0.004)) / 12 if used else plain["first_moment"]
        assert point["first_moment"] == pytest.approx(expected)
        assert (point["first_moment_error"] > 0) == used


def made_up_counts(entropy, correction):
    rows = []
    for n in (12, 16, 20, 24):
        typical = n * (entropy + correction / n) + n * (
            log_first_moment(n, n, n // 4) / n - first_moment_exponent(1.0, 0.25)
        )
        for trial in range(41):
            # Symmetric about the typical value, with a few problems that no support separates.
            log = typical + 0.2 * (trial - 20) / 20 if trial > 2 else -math.inf
            rows.append(
                {"inputs": "sphere", "rho": 0.25, "alpha": 1.0, "n": n, "count": math.exp(log)}
            )
    return pd.DataFrame(rows)


def test_entropy_limits_finds_what_was_put_in():
    points = entropy_points(made_up_counts(0.36, -0.8), None, [])
    assert set(points["source"]) == {"exact"}
    assert points["empty"].to_numpy() == pytest.approx(3 / 41)
    limits = entropy_limits(points).iloc[0]
    assert limits["exact"] == pytest.approx(0.36, abs=limits["exact_error"] + 1e-9)
    assert limits["exact_error"] < 0.02
    assert limits["rs"] == pytest.approx(0.3636, abs=1e-4)


def test_curves_are_read_at_their_rungs_only():
    curve = {"inputs": "binary", "rho": 0.25, "alpha": 1.0, "n": 16, "first": 8, "rung": 2}
    curves = pd.DataFrame(
        [{**curve, "log_counts": json.dumps([5.0, 4.0, None])} for _ in range(12)]
    )
    points = entropy_points(None, curves, [0.4375, 0.5, 0.5625, 0.625, 0.75, 1.0, 1.125]).set_index(
        "alpha"
    )
    # P = 8, 10, 12 and 16; 7 lies below the ladder, 9 between its rungs, 18 above the load of the run.
    assert list(points.index) == [0.5, 0.625, 0.75, 1.0]
    assert points["entropy"][0.5] == 5.0 / 16
    assert points["entropy"][0.625] == 4.0 / 16
    assert points["empty"][0.75] == 1.0
    assert np.isnan(points["entropy"][1.0])


def test_capacity_points_leave_out_sizes_with_unsolved_problems():
    rows = [
        {
            "inputs": "binary",
            "method": "auto",
            "alpha": 1.0,
            "n": n,
            "n_patterns": n,
            "n_selected": k,
            "separates": solved,
        }
        for n, found in ((16, [(5, True), (6, True)]), (20, [(6, True), (20, False)]))
        for k, solved in found
    ]
    points = capacity_points(pd.DataFrame(rows))
    assert list(points["n"]) == [16]
    assert points["density"][0] == 5.5 / 16
    # The paper's algorithm stops at ties, by its own rule a success.
    tied = pd.DataFrame(
        [{**row, "method": "greedy-biht", "n_selected": min(row["n_selected"], 9)} for row in rows]
    )
    assert list(capacity_points(tied)["tied"]) == [0.0, 0.5]


def test_broken_density_inverts_the_broken_capacity():
    rho = broken_density(1.0)
    assert capacity(rho, ansatz="1rsb").alpha == pytest.approx(1.0, abs=1e-7)
    assert density(1.0).rho < rho < 1.05 * density(1.0).rho


def test_capacity_limits_finds_what_was_put_in():
    rows = []
    for n in (16, 24, 32, 64, 128, 256):
        moment = first_moment_size(n, n) / n
        # At N = 16 the first moment's K is 2.8, too small to take part.
        difference = 0.05 + 0.4 / n if n > 16 else 1.0
        rows.append(
            {
                "inputs": "binary",
                "alpha": 1.0,
                "n": n,
                "first_moment": moment,
                "difference": difference,
                "error": 1e-3,
            }
        )
    limits = capacity_limits(pd.DataFrame(rows)).iloc[0]
    assert limits["searched"] == pytest.approx(first_moment_density(1.0) + 0.05, abs=1e-9)
    assert limits["rs"] == pytest.approx(0.16233, abs=1e-5)
