import json
import math
from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pandas as pd
import pytest

from chanceline.experiments.kinds import count, draw_problem, share, smallest
from chanceline.experiments.sampling import RIDGE, fits
from chanceline.experiments.witnesses import (
    broken_density,
    capacity_points,
    capacity_witness,
    entropy_points,
    entropy_witness,
    first_moment_size,
    log_first_moment,
    union_density,
)
from chanceline.perceptron.hinge import make_hinge
from chanceline.theory.closed_forms import first_moment_exponent, union_bound


def exact_first_moment(n, patterns, m):
    cover = 2 * sum(comb(patterns - 1, k) for k in range(m))
    return Fraction(comb(n, m) * cover, 2**patterns)


@pytest.mark.parametrize(("n", "patterns", "m"), [(12, 15, 6), (20, 20, 5), (64, 90, 30)])
def test_first_moment_in_whole_numbers(n, patterns, m):
    assert log_first_moment(n, patterns, m) == pytest.approx(float(math.log(exact_first_moment(n, patterns, m))), abs=1e-10)


def test_first_moment_size_lies_where_it_passes_one():
    for n, patterns in [(16, 16), (64, 96), (200, 100)]:
        size = first_moment_size(n, patterns)
        assert exact_first_moment(n, patterns, math.floor(size)) < 1 <= exact_first_moment(n, patterns, math.ceil(size))


def test_first_moment_has_the_limits_of_the_theory():
    assert first_moment_exponent(1.0, union_density(1.0)) == pytest.approx(0.0, abs=1e-12)
    assert union_bound(union_density(1.0)) == pytest.approx(1.0)
    # ln N / N corrections: from the value at N = 10⁵ the limit is near, but not at rounding error.
    assert first_moment_size(100_000, 100_000) / 100_000 == pytest.approx(union_density(1.0), abs=1e-4)
    assert log_first_moment(100_000, 125_000, 50_000) / 100_000 == pytest.approx(first_moment_exponent(1.25, 0.5), abs=2e-4)


def test_counts_of_many_problems_have_the_first_moment():
    """Mean of Z over problems on the sphere = C(N, M)·D(P, M)/2^P: Cover's count is exact in general position."""
    counts = [count(0, n=8, rho=0.5, alpha=1.25, inputs="sphere", trial=k)["count"] for k in range(400)]
    expected = float(exact_first_moment(8, 10, 4))
    assert abs(np.mean(counts) - expected) < 4 * np.std(counts) / np.sqrt(400)


def test_count_agrees_with_enumeration():
    for inputs in ("binary", "sphere"):
        X, y = draw_problem(10, 10, inputs, 1)
        hinge = make_hinge(np.ascontiguousarray((X * y[:, None]).T), 5, ridge=RIDGE)
        brute = sum(fits(hinge, np.array(support)) for support in combinations(range(10), 5))
        assert count(0, n=10, rho=0.5, alpha=1.0, inputs=inputs, trial=1) == {"m": 5, "count": brute}


def test_smallest_is_proven_by_exact_and_never_beaten():
    for trial in range(4):
        common = {"n": 14, "alpha": 1.0, "trial": trial}
        exact = smallest(1, method="exact", **common)
        found = smallest(1, method="auto", **common)
        assert exact["separates"]
        assert exact["n_selected"] <= found["n_selected"]


def test_share_is_covers_on_the_sphere_and_smaller_for_few_signs():
    """D(6, 3)/2⁶ = 1/2 in general position; three signs have 4 directions up to a sign, so by enumeration less."""
    draws = 20_000
    sphere = share(1, m=3, patterns=6, inputs="sphere", draws=draws)["hits"] / draws
    assert abs(sphere - 0.5) < 4 * np.sqrt(0.25 / draws)
    binary = share(1, m=3, patterns=6, inputs="binary", draws=draws)["hits"] / draws
    signs = np.array(list(product((-1, 1), repeat=3)))
    # A set of directions separates when some w has positive product with all of them; w in {−2 … 2}³ finds it.
    weights = np.array(list(product(range(-2, 3), repeat=3)))
    positive = signs @ weights.T > 0
    good = [np.any(positive[list(subset)].all(axis=0)) for size in range(1, 7) for subset in combinations(range(8), size)]
    sizes = [size for size in range(1, 7) for _ in combinations(range(8), size)]
    # Maps of 6 patterns onto a given set of k directions, by inclusion and exclusion.
    onto = {k: sum((-1) ** j * comb(k, j) * (k - j) ** 6 for j in range(k)) for k in range(1, 7)}
    exact = sum(onto[size] for size, fine in zip(sizes, good, strict=True) if fine) / 8**6
    assert abs(binary - exact) < 4 * np.sqrt(exact * (1 - exact) / draws)
    assert exact < 0.2


def test_measured_shares_replace_covers_count_where_there_are_enough_hits():
    counts = pd.DataFrame([{"inputs": "binary", "rho": 0.25, "alpha": 1.0, "n": 12, "count": 5} for _ in range(12)])
    plain = entropy_points(counts, None, []).iloc[0]
    assert (plain["first_moment"], plain["first_moment_error"]) == (log_first_moment(12, 12, 3) / 12, 0.0)
    for hits, used in ((19, False), (400, True)):
        shares = pd.DataFrame([{"inputs": "binary", "m": 3, "patterns": 12, "hits": hits, "draws": 100_000}])
        point = entropy_points(counts, None, [], shares).iloc[0]
        expected = (math.log(comb(12, 3)) + math.log(0.004)) / 12 if used else plain["first_moment"]
        assert point["first_moment"] == pytest.approx(expected)
        assert (point["first_moment_error"] > 0) == used


def made_up_counts(entropy, correction):
    rows = []
    for n in (12, 16, 20, 24):
        typical = n * (entropy + correction / n) + n * (log_first_moment(n, n, n // 4) / n - first_moment_exponent(1.0, 0.25))
        for trial in range(41):
            # Symmetric about the typical value, with a few problems that no support separates.
            log = typical + 0.2 * (trial - 20) / 20 if trial > 2 else -math.inf
            rows.append({"inputs": "sphere", "rho": 0.25, "alpha": 1.0, "n": n, "count": math.exp(log)})
    return pd.DataFrame(rows)


def test_entropy_witness_finds_what_was_put_in():
    points = entropy_points(made_up_counts(0.36, -0.8), None, [])
    assert set(points["source"]) == {"exact"}
    assert points["empty"].to_numpy() == pytest.approx(3 / 41)
    witness = entropy_witness(points).iloc[0]
    assert witness["exact"] == pytest.approx(0.36, abs=witness["exact_error"] + 1e-9)
    assert witness["exact_error"] < 0.02
    assert witness["rs"] == pytest.approx(0.3636, abs=1e-4)


def test_curves_are_read_at_their_rungs_only():
    curve = {"inputs": "binary", "rho": 0.25, "alpha": 1.0, "n": 16, "first": 8, "rung": 2}
    curves = pd.DataFrame([{**curve, "log_counts": json.dumps([5.0, 4.0, None])} for _ in range(12)])
    points = entropy_points(None, curves, [0.4375, 0.5, 0.5625, 0.625, 0.75, 1.0, 1.125]).set_index("alpha")
    # P = 8, 10, 12 and 16; 7 lies below the ladder, 9 between its rungs, 18 above the load of the run.
    assert list(points.index) == [0.5, 0.625, 0.75, 1.0]
    assert points["entropy"][0.5] == 5.0 / 16
    assert points["entropy"][0.625] == 4.0 / 16
    assert points["empty"][0.75] == 1.0
    assert np.isnan(points["entropy"][1.0])


def test_capacity_points_leave_out_sizes_with_unsolved_problems():
    rows = [
        {"inputs": "binary", "method": "auto", "alpha": 1.0, "n": n, "n_patterns": n, "n_selected": k, "separates": solved}
        for n, found in ((16, [(5, True), (6, True)]), (20, [(6, True), (20, False)]))
        for k, solved in found
    ]
    points = capacity_points(pd.DataFrame(rows))
    assert list(points["n"]) == [16]
    assert points["density"][0] == 5.5 / 16
    # The paper's algorithm stops at ties, by its own rule a success.
    tied = pd.DataFrame([{**row, "method": "greedy-biht", "n_selected": min(row["n_selected"], 9)} for row in rows])
    assert list(capacity_points(tied)["tied"]) == [0.0, 0.5]


def test_broken_density_inverts_the_broken_capacity():
    from chanceline.theory.capacity import capacity, density

    rho = broken_density(1.0)
    assert capacity(rho, ansatz="1rsb").alpha == pytest.approx(1.0, abs=1e-7)
    assert density(1.0).rho < rho < 1.05 * density(1.0).rho


def test_capacity_witness_finds_what_was_put_in():
    rows = []
    for n in (16, 24, 32, 64, 128, 256):
        moment = first_moment_size(n, n) / n
        # At N = 16 the first moment's K is 2.8, too small to take part.
        difference = 0.05 + 0.4 / n if n > 16 else 1.0
        rows.append({"inputs": "binary", "alpha": 1.0, "n": n, "first_moment": moment, "difference": difference, "error": 1e-3})
    witness = capacity_witness(pd.DataFrame(rows)).iloc[0]
    assert witness["searched"] == pytest.approx(union_density(1.0) + 0.05, abs=1e-9)
    assert witness["rs"] == pytest.approx(0.16233, abs=1e-5)


def test_the_figure_draws_the_fit_that_the_table_tells():
    """The first moment's error weighs in both; without it the curve in the figure would end elsewhere."""
    from chanceline.reproduce.experiment_figures import _fitted

    points = entropy_points(made_up_counts(0.36, -0.8), None, [])
    points["first_moment_error"] = np.linspace(0.05, 0.0, len(points))
    points["difference"] += np.array([0.03, -0.02, 0.01, 0.0])
    limit = _fitted(points, {1.0: 0.0})["fitted"].iloc[0]
    assert first_moment_exponent(1.0, 0.25) + limit == pytest.approx(entropy_witness(points)["both"].iloc[0], abs=1e-6)
    blind = _fitted(points.drop(columns="first_moment_error"), {1.0: 0.0})["fitted"].iloc[0]
    assert abs(blind - limit) > 1e-4
