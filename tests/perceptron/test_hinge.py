"""Jitted loops against plain NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit
from scipy.optimize import linprog

from chanceline.chance import log_binomial
from chanceline.kernels import inverse, selection, vectors
from chanceline.perceptron.active_set import follow_flips, update_active
from chanceline.perceptron.hinge import fit
from chanceline.perceptron.margin import INSEPARABLE, SEPARABLE, largest_margin
from chanceline.perceptron.problem import make_problem
from chanceline.perceptron.rational import ExactTable
from chanceline.perceptron.workspace import make_hinge, set_support
from chanceline.select import certify, check_weights, count, fewest_errors, random_problem
from chanceline.select.amp import inverse_mills, log_odds_for
from chanceline.select.biht import gaussian_start, greedy_biht, greedy_biht_plain
from chanceline.select.pairs import next_pair, pair_constraints, settle_pair
from chanceline.select.singles import separating_single
from chanceline.select.tabu import find_gradient


def plain_inverse(hinge):
    """(A_actᵀA_act + εI)⁻¹ in NumPy."""
    part = hinge.data.columns[hinge.support] * hinge.state.active
    return np.linalg.inv(part @ part.T + hinge.data.ridge * np.eye(hinge.size))


def from_python(kernel):
    """What only kernels call, with a way in from Python."""
    return njit(lambda *arguments: kernel(*arguments))


extend_inverse = from_python(inverse.extend_inverse)
combine = from_python(vectors.combine)
next_pivot = from_python(inverse.next_pivot)
shrink_inverse = from_python(inverse.shrink_inverse)


@njit
def flip_these(hinge, patterns):
    for place in range(patterns.size):
        hinge.scratch.samples[place] = patterns[place]
        hinge.state.active[patterns[place]] = 1.0 - hinge.state.active[patterns[place]]
    return follow_flips(hinge, patterns.size)


def columns_of(inputs, seed=0, n=30, patterns=50):
    X, y = random_problem(n, None, seed, inputs, n_patterns=patterns)
    return np.ascontiguousarray((X * y[:, None]).T)


def test_inverse_that_gains_and_loses_rows():
    generator = np.random.default_rng(3)
    root = generator.standard_normal((6, 9))
    matrix, inverse, work = root @ root.T, np.ones((8, 8)), np.zeros(8)
    for size in range(6):
        pivot = next_pivot(inverse, size, matrix[size], matrix[size, size], work)
        minors = [np.linalg.det(matrix[:m, :m]) for m in (size, size + 1)]
        assert pivot == pytest.approx(minors[1] / minors[0])
        extend_inverse(inverse, size, pivot, work)
    np.testing.assert_allclose(inverse[:6, :6], np.linalg.inv(matrix), rtol=1e-8)
    for place, left in ((2, [0, 1, 5, 3, 4]), (4, [0, 1, 5, 3])):
        shrink_inverse(inverse, len(left) + 1, place, work)
        np.testing.assert_allclose(
            inverse[: len(left), : len(left)], np.linalg.inv(matrix[np.ix_(left, left)]), rtol=1e-8
        )
    assert (inverse[6:] == 1.0).all()


def test_sums_of_vectors():
    generator = np.random.default_rng(7)
    vectors, factors = generator.standard_normal((12, 12)), generator.standard_normal(12)
    for size in (0, 1, 4, 7):
        chosen, total = generator.integers(0, 12, size), np.ones(12)
        combine(vectors, chosen, factors, size, total)
        np.testing.assert_allclose(total, factors[:size] @ vectors[chosen], atol=1e-12)


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_updates_agree_with_the_inverse_from_scratch(inputs):
    hinge = make_hinge(columns_of(inputs), 12)
    set_support(hinge, np.array([3, 9, 4, 20, 7]), [0.3, -0.2, 0.5, 0.1, -0.4])
    fit(hinge, max_newton=0)
    for patterns in ([0], [5, 6, 30, 31], [5, 8], [12, 30, 41], [49, 2, 8, 0]):
        before = hinge.state.active.copy()
        assert flip_these(hinge, np.array(patterns))
        np.testing.assert_array_equal(
            np.flatnonzero(hinge.state.active != before), sorted(patterns)
        )
        np.testing.assert_allclose(
            hinge.state.inverse[:5, :5], plain_inverse(hinge), rtol=1e-8, atol=1e-12
        )
    fit(hinge, add=11, drop=1, max_newton=0)
    np.testing.assert_allclose(
        hinge.state.inverse[:5, :5], plain_inverse(hinge), rtol=1e-8, atol=1e-12
    )
    np.testing.assert_allclose(
        hinge.state.target[:5], hinge.data.columns[hinge.support] @ hinge.state.active
    )
    np.testing.assert_array_equal(hinge.state.position[hinge.support], np.arange(5))


def test_an_unstable_flip_is_refused():
    """With three active patterns for three variables the third cannot leave: its pivot is of the size of the ridge."""
    hinge = make_hinge(10.0 * columns_of("gaussian"), 4)
    set_support(hinge, np.array([3, 9, 4]))
    fit(hinge, max_newton=0)
    hinge.state.active[:] = 0.0
    hinge.state.active[:3] = 1.0
    hinge.state.inverse[:3, :3] = plain_inverse(hinge)
    assert not flip_these(hinge, np.array([7, 7, 1]))


@pytest.mark.parametrize("patterns", [1, 50])
def test_the_gradient_of_every_column(patterns):
    hinge = make_hinge(columns_of("gaussian", patterns=patterns), 4)
    set_support(hinge, np.array([2, 5]), np.array([0.7, -1.2]))
    fit(hinge, max_newton=0)
    from_python(find_gradient)(hinge)
    slack = np.maximum(1.0 - np.array([0.7, -1.2]) @ hinge.data.columns[[2, 5]], 0.0)
    np.testing.assert_allclose(hinge.scratch.gradient, hinge.data.columns @ slack, atol=1e-12)


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_refit_minimises_the_squared_hinge(inputs):
    columns = columns_of(inputs, seed=3)
    hinge = make_hinge(columns, 6)
    support = np.array([1, 5, 8, 12, 20])
    set_support(hinge, support)
    assert not fit(hinge, max_newton=100)
    slack = np.maximum(1.0 - hinge.weights @ columns[support], 0.0)
    gradient = columns[support] @ slack - hinge.data.ridge * hinge.weights
    np.testing.assert_allclose(gradient, 0.0, atol=1e-8)


@pytest.mark.parametrize("max_errors", [1, 4, 17])
def test_the_smallest_margins_are_trimmed(max_errors):
    """Ties included: exactly so many are, and the rest is active where its margin is below 1."""
    hinge = make_hinge(columns_of("binary", seed=3), 6)
    set_support(hinge, np.array([1, 5, 8]), [0.5, -0.5, 0.5])
    fit(hinge, max_newton=0)
    before = hinge.state.active.copy()
    flips = from_python(update_active)(hinge, max_errors, 0.0)
    inactive = np.flatnonzero((hinge.state.active < 0.5) & (hinge.state.margins < 1.0))
    assert inactive.size == max_errors
    assert (
        hinge.state.margins[inactive].max() <= hinge.state.margins[hinge.state.active > 0.5].min()
    )
    assert (
        sorted(hinge.scratch.samples[:flips])
        == np.flatnonzero(before != hinge.state.active).tolist()
    )
    values = np.random.default_rng(max_errors).integers(0, 9, 40).astype(float)
    expected = np.sort(values)[:max_errors]
    from_python(selection.smallest_first)(values, max_errors)
    np.testing.assert_array_equal(np.sort(values[:max_errors]), expected)


def test_a_fit_that_trims_minimises_the_hinge_of_the_rest():
    columns = columns_of("gaussian", seed=3)
    hinge = make_hinge(columns, 6)
    set_support(hinge, np.array([1, 5, 8, 12, 20]))
    assert not fit(hinge, max_errors=6, max_newton=100)
    part, active = columns[hinge.support], hinge.state.active > 0.5
    slack = np.where(active, 1.0 - hinge.weights @ part, 0.0)
    assert np.count_nonzero(~active & (hinge.state.margins < 1.0)) == 6
    np.testing.assert_allclose(part @ slack - hinge.data.ridge * hinge.weights, 0.0, atol=1e-8)
    errors = int(np.count_nonzero(hinge.state.margins <= 0))
    assert fit(hinge, max_errors=errors)


def test_refit_separates_when_it_can():
    columns = columns_of("gaussian", n=60)
    hinge = make_hinge(columns, 60)
    set_support(hinge, np.arange(60))
    assert fit(hinge, max_newton=100)
    assert (hinge.weights @ columns).min() > 0


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_refit_separates_where_few_patterns_are_active(inputs):
    """Among 400 random patterns 230 columns separate nearly always (Cover). On the way fewer patterns than columns are active,
    and the Hessian is singular but for the ridge: an inverse without damping wears out, and all begins anew, up to the cap."""
    for seed in range(3):
        columns = columns_of(inputs, n=230, patterns=400, seed=seed)
        hinge = make_hinge(columns, 230, n_unpenalized=230)
        assert largest_margin(columns.T).verdict == SEPARABLE
        assert fit(hinge)
        assert (hinge.weights @ columns).min() > 0


def linear_programme(rows):
    result = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-rows,
        b_ub=-np.ones(len(rows)),
        bounds=(None, None),
        method="highs",
    )
    return SEPARABLE if result.status == 0 else INSEPARABLE


def test_hard_margin_agrees_with_a_linear_programme():
    generator = np.random.default_rng(1)
    verdicts = set()
    for trial in range(300):
        k, patterns = generator.integers(1, 12), generator.integers(1, 30)
        rows = (
            generator.choice([-1.0, 1.0], (patterns, k))
            if trial % 2
            else generator.standard_normal((patterns, k))
        )
        verdict, weights, multipliers = largest_margin(rows, early=trial % 3 == 0)
        assert verdict == linear_programme(rows)
        verdicts.add(verdict)
        if verdict == SEPARABLE:
            assert (rows @ weights).min() > 0
        else:
            assert multipliers.min() >= 0
            assert np.abs(multipliers @ rows).max() < 1e-7 * multipliers.sum()
    assert verdicts == {SEPARABLE, INSEPARABLE}


def test_hard_margin_is_the_largest():
    generator = np.random.default_rng(2)
    rows = np.abs(generator.standard_normal((20, 4))) + 0.1
    verdict, weights, _ = largest_margin(rows)
    assert verdict == SEPARABLE
    margin = (rows @ weights).min() / np.linalg.norm(weights)
    others = generator.standard_normal((20000, 4)) * 0.3 + weights / np.linalg.norm(weights)
    best = ((others @ rows.T).min(axis=1) / np.linalg.norm(others, axis=1)).max()
    assert best <= margin + 1e-12
    assert best > 0.97 * margin


@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_greedy_biht_has_the_supports_of_the_plain_version(inputs):
    for seed in range(3):
        columns = columns_of(inputs, seed, n=24, patterns=24)
        start = gaussian_start(24, seed)
        plain, _ = greedy_biht_plain(columns, start, max_iterations=200)
        *_, (fast, _, _) = greedy_biht(columns, start, max_iterations=200)
        np.testing.assert_array_equal(np.flatnonzero(fast), np.flatnonzero(plain))
        np.testing.assert_allclose(fast, plain, rtol=1e-7)


def test_message_passing_functions():
    from scipy.special import log_ndtr

    x = np.array([-300.0, -30.0, -6.1, -5.9, -1.0, 0.0, 3.0, 50.0])
    expected = np.exp(-0.5 * x * x - 0.5 * np.log(2 * np.pi) - log_ndtr(x))
    np.testing.assert_allclose(inverse_mills(x), expected, rtol=1e-9)
    evidence = np.random.default_rng(0).gamma(1.0, 5.0, 50)
    odds = log_odds_for(evidence, 7.0)
    assert (1 / (1 + np.exp(-odds - evidence))).sum() == pytest.approx(7.0, rel=1e-9)


def test_pairs_and_singles_by_another_route():
    seen = set()
    for seed in range(24):
        intercept, inputs = bool(seed % 2), ("binary", "gaussian", "sphere")[seed % 3]
        X, y = random_problem(5, None, seed, inputs, n_patterns=(4, 5, 6)[seed % 3])
        if len(np.unique(y)) < 2:
            continue
        if len(np.unique(X, axis=0)) < len(X):
            continue
        problem = make_problem(X, y, intercept)
        values, is_whole, first, second = pair_constraints(problem)
        for i, j in itertools.combinations(range(5), 2):
            expected = bool(certify(X, y, np.array([i, j]), intercept).separable)
            # Where rounding could decide a pair is left over, and settled exactly.
            pair = next_pair(
                values[[i, j]],
                is_whole[[i, j]],
                first,
                second,
                first_row=0,
                after_column=0,
                stop_row=1,
            )
            may = pair == (0, 1)
            assert may == expected if is_whole.all() else may >= expected
            verdict, rule = settle_pair(ExactTable(problem), np.array([i, j]), 1)
            assert verdict == (SEPARABLE if expected else INSEPARABLE)
            assert (rule is not None) == expected
            seen.add(expected)
        alone = [j for j in range(5) if certify(X, y, np.array([j]), intercept).separable]
        assert separating_single(problem) == (alone[0] if alone else None)
    assert seen == {True, False}


@pytest.mark.parametrize("intercept", [False, True])
def test_count_agrees_with_enumeration(intercept):
    total = 0
    for seed, inputs in enumerate(("binary", "gaussian", "binary", "sphere")):
        X, y = random_problem(8, 1.0, 60 + seed, inputs)
        for size in (1, 3, 5, 8):
            expected = sum(
                bool(certify(X, y, np.array(support), intercept).separable)
                for support in itertools.combinations(range(8), size)
            )
            assert count(X, y, size, intercept).count == expected
            total += expected
    assert total > 0


def test_count_agrees_with_the_first_moment():
    """For continuous inputs the mean count is C(N, M)·2 Σ_{k<M} C(P−1, k)/2^P exactly (Cover)."""
    n, patterns, size, trials = 12, 14, 5, 300
    counts = [
        count(*random_problem(n, None, 1000 + t, "gaussian", n_patterns=patterns), size).count
        for t in range(trials)
    ]
    ways = 2 * sum(np.exp(log_binomial(patterns - 1, k)) for k in range(size))
    expected = np.exp(log_binomial(n, size)) * ways / 2**patterns
    error = np.std(counts, ddof=1) / np.sqrt(trials)
    assert abs(np.mean(counts) - expected) < 3.5 * error
    assert error < 0.15 * expected


def test_certificates_are_exact_for_integers():
    X, y = random_problem(10, 2.0, 1)
    bad = certify(X, y, np.arange(4))
    assert bad.separable is False
    assert bad.exact
    multipliers = np.array(bad.multipliers, dtype=object)
    assert min(bad.multipliers) >= 0
    assert max(bad.multipliers) > 0
    assert all(sum(multipliers * (y * X[:, j]).astype(int)) == 0 for j in range(4))


def test_check_weights_decides_what_rounding_cannot():
    X = np.array([[0.1, 0.2, -0.3]])
    ones = np.ones(3)
    # In rationals 0.1 + 0.2 − 0.3 is 2⁻⁵⁵ > 0 for these doubles; in doubles the sum depends on its order.
    assert check_weights(X, [1], [0, 1, 2], ones).separable
    assert not check_weights(-X, [1], [0, 1, 2], ones).separable
    assert not check_weights(np.array([[1.0, -1.0]]), [1], [0, 1], [1.0, 1.0]).separable


def test_fewest_errors_against_all_subsets():
    X, y = random_problem(3, None, 5, "gaussian", n_patterns=9)
    rows = np.arange(9)
    best = next(
        missed
        for missed in range(10)
        if any(
            certify(X[list(kept)], y[list(kept)], [0, 1, 2]).separable
            for kept in itertools.combinations(rows, 9 - missed)
        )
    )
    found = fewest_errors(X, y, [0, 1, 2])
    wrong = y * (X @ found.weights) <= 0
    assert found.errors == wrong.sum() == found.wrong.size
    assert best <= found.errors <= best + 1


def test_a_worn_out_inverse_is_no_proof_of_separation():
    """Margins that are not numbers once passed for separated ones, and a search ended there; the fit begins anew instead."""
    columns = columns_of("gaussian", n=6, patterns=60)
    worn = make_hinge(columns, 6)
    set_support(worn, np.arange(4))
    fit(worn, max_newton=0)
    worn.state.inverse[:4, :4] = np.nan
    assert not fit(worn, max_newton=30)
    fresh = make_hinge(columns, 6)
    set_support(fresh, np.arange(4))
    assert not fit(fresh, max_newton=30)
    assert worn.weights[:4] == pytest.approx(fresh.weights[:4], rel=1e-8)
