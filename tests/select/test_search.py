"""The protocol: every method, on the same terms."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import chanceline
from chanceline.errors import InputError
from chanceline.select import METHODS, certify, check_weights, iter_search, random_problem, separate
from chanceline.select.biht import gaussian_start, greedy_biht_plain

HEURISTICS = [name for name in METHODS if name != "biht"]


def brute_minimum(X, y, intercept=False):
    """Smallest separating support by trying them all, decided by the certificate's own routine."""
    for size in range(1, X.shape[1] + 1):
        for support in itertools.combinations(range(X.shape[1]), size):
            if certify(X, y, np.array(support), intercept).separable:
                return size
    raise AssertionError("not separable")


@pytest.mark.parametrize("method", HEURISTICS)
@pytest.mark.parametrize("inputs", ["binary", "gaussian"])
def test_outcome_is_certified(method, inputs):
    X, y = random_problem(24, 0.75, 5, inputs)
    outcome = chanceline.search(X, y, method=method, seed=3)
    assert outcome.separates
    assert outcome.method == method
    assert np.all(np.diff(outcome.support) > 0)
    assert outcome.weights.shape == outcome.support.shape
    certificate = check_weights(X, y, outcome.support, outcome.weights, outcome.bias)
    assert certificate.separable
    assert certificate.exact
    assert outcome.margin == pytest.approx((y * (X[:, outcome.support] @ outcome.weights)).min())
    assert np.linalg.norm(outcome.weights) == pytest.approx(1.0)
    assert outcome.history[-1][1] == outcome.n_selected


@pytest.mark.parametrize("method", HEURISTICS)
def test_intercept_is_not_counted(method):
    X, y = random_problem(20, 1.0, 8, "gaussian")
    X = X * np.geomspace(1e-6, 1e6, 20) + np.linspace(-1e3, 1e3, 20)
    outcome = chanceline.search(X, y, method=method, intercept=True)
    assert outcome.support.max() < 20
    assert check_weights(X, y, outcome.support, outcome.weights, outcome.bias).separable


@pytest.mark.parametrize("method", sorted(METHODS))
def test_same_seed_same_result(method):
    X, y = random_problem(32, 1.0, 11)
    first, second = (chanceline.search(X, y, method=method, seed=7) for _ in range(2))
    assert np.array_equal(first.support, second.support)
    assert np.array_equal(first.weights, second.weights)
    assert first.history == second.history


def test_auto_is_never_above_omp_or_greedy_biht():
    for seed, inputs in enumerate(("binary", "gaussian", "sphere", "binary")):
        X, y = random_problem(48, 1.0, 20 + seed, inputs)
        best = chanceline.search(X, y, budget=500).n_selected
        for method in ("omp", "greedy-biht"):
            assert best <= chanceline.search(X, y, method=method).n_selected


def test_tabu_finds_the_proven_minimum():
    for seed in range(6):
        X, y = random_problem(20, 1.0, 40 + seed)
        assert (
            chanceline.search(X, y, method="tabu", budget=2000).n_selected
            == chanceline.search(X, y, method="exact").n_selected
        )


def test_exact_agrees_with_enumeration():
    checked = 0
    for seed, inputs, intercept in itertools.product(
        range(10), ("binary", "gaussian", "sphere"), (False, True)
    ):
        X, y = random_problem(7, 0.85 + 0.05 * seed, 300 + seed, inputs)
        if len(np.unique(y)) < 2 or not certify(X, y, np.arange(7), intercept).separable:
            continue
        outcome = chanceline.search(X, y, method="exact", intercept=intercept, budget=10**6)
        assert outcome.n_selected == brute_minimum(X, y, intercept)
        assert outcome.minimum_proven
        checked += 1
    assert checked >= 50


def test_exact_gives_best_and_bound_when_its_budget_ends():
    X, y = random_problem(40, 1.0, 2)
    outcome = chanceline.search(X, y, method="exact", budget=1000)
    assert outcome.separates
    assert 1 < outcome.lower_bound < outcome.n_selected
    assert not outcome.minimum_proven


def test_improvements_come_one_by_one():
    X, y = random_problem(64, 1.0, 3)
    *improvements, last = iter_search(X, y, method="tabu", budget=1000)
    sizes = [outcome.n_selected for outcome in improvements]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes) > 2
    assert all(outcome.separates for outcome in improvements)
    best = improvements[-1]
    assert (last.history, list(last.support)) == (best.history, list(best.support))
    assert last.margin == pytest.approx(separate(X, y, best.support).margin)
    assert last.margin > best.margin


def test_target_stops_early():
    X, y = random_problem(64, 1.0, 3)
    start = chanceline.search(X, y, method="omp").n_selected
    outcome = chanceline.search(X, y, method="tabu", target=start - 1)
    assert outcome.n_selected <= start - 1
    assert outcome.iterations < chanceline.search(X, y, method="tabu").iterations


def test_inseparable_data_leave_errors():
    X, y = random_problem(4, 8.0, 0, "gaussian")
    outcome = chanceline.search(X, y)
    assert not outcome.separates
    assert outcome.errors > 0
    assert certify(X, y, np.arange(4)).separable is False


def test_literal_reading_ends_with_one_weight_and_its_errors():
    X, y = random_problem(64, 1.0, 3)
    columns = (X * y[:, None]).T
    w, last = greedy_biht_plain(columns, gaussian_start(64, 0), resets=False)
    assert last == 64
    assert np.count_nonzero(w) == 1
    assert np.count_nonzero(w @ columns <= 0) > 10


@pytest.mark.slow
def test_kernels_compiled_and_from_the_cache_give_the_same_bits(tmp_path):
    """Otherwise a result would depend on which process had compiled first."""
    code = (
        "import chanceline; from chanceline.select import random_problem; X, y = random_problem(128, 1.0, 3); "
        "outcome = chanceline.search(X, y); print(outcome.history, outcome.weights.tobytes().hex())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    options = {"env": environment, "capture_output": True, "text": True, "check": True}
    first, again = (
        subprocess.run([sys.executable, "-c", code], **options).stdout for _ in range(2)
    )
    assert list(tmp_path.rglob("*.nbi"))
    assert first == again


def test_biht_at_fixed_size():
    X, y = random_problem(64, 0.25, 3)
    outcome = chanceline.search(X, y, method="biht", size=20, budget=3000)
    assert outcome.n_selected == 20
    assert outcome.separates


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, np.nan], [2.0, 3.0]], [0, 1], "row 1, column 'x1'"),
        ([[1.0, 2.0], [1.0, 2.0]], [0, 1], "Rows 1 and 2"),
        ([[1.0, 2.0], [1.0, 3.0]], [0, 1, 1], "one label for each of the 2 rows"),
        ([[1.0], [2.0], [3.0]], [0, 1, 2], "two classes"),
        ([1.0, 2.0], [0, 1], "two dimensions"),
        ([["a", "b"], ["c", "d"]], [0, 1], "numbers only"),
    ],
)
def test_bad_data_are_named(X, y, message):
    with pytest.raises(InputError, match=message):
        chanceline.search(X, y)


def test_unknown_method_lists_the_known_ones():
    with pytest.raises(InputError, match="auto, tabu"):
        chanceline.search([[1.0]], [1], method="magic")


def test_separate_gives_weights_or_multipliers():
    X, y = random_problem(12, 1.0, 4, "gaussian")
    good = separate(X, y, np.arange(12))
    assert good.separates
    assert check_weights(X, y, good.support, good.weights, good.bias).separable
    bad = separate(X, y, [0, 1])
    assert not bad.separates
    scale = np.abs(X[:, :2]).max()
    assert np.abs((y * bad.multipliers) @ X[:, :2]).max() < 1e-9 * scale
    assert bad.multipliers.sum() == pytest.approx(1.0)


def test_real_data(real_data):
    import pandas as pd

    expected = {"golub38": 1, "golub72": 2, "colon_alon": 4}
    for name, size in expected.items():
        table = pd.read_csv(real_data(name))
        X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
        outcome = chanceline.search(X, y, intercept=True, budget=2000)
        assert outcome.n_selected <= size
        assert check_weights(X, y, outcome.support, outcome.weights, outcome.bias).separable
        if name != "colon_alon":
            assert outcome.minimum_proven


def test_a_data_frame_keeps_its_names():
    import pandas as pd

    X, y = random_problem(20, 0.8, 1, "gaussian")
    plain = chanceline.search(X, y)
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(20)])
    named = chanceline.search(frame, pd.Series(np.where(y > 0, "ill", "a well one")))
    assert named.features == tuple(f"gene {j}" for j in plain.support)
    assert np.array_equal(named.weights, plain.weights)
    assert "variables gene " in str(named)
    assert named.to_dict()["features"] == list(named.features)
    assert plain.features == ()
    assert plain.to_dict()["features"] == [f"x{j}" for j in plain.support]
    assert repr(plain) == f"<SearchOutcome: {plain.summary()}>"
    assert "\n" not in plain.summary()


def test_rows_are_counted_from_one_and_a_turned_table_is_noticed():
    X, y = random_problem(20, 0.5, 1, "gaussian")
    with pytest.raises(InputError, match=r"10 labels; pass X.T") as turned:
        chanceline.search(X.T, y)
    assert "20 rows and 10 columns" in str(turned.value)
    X[3] = X[6]
    y[[3, 6]] = [1, -1]
    with pytest.raises(InputError, match="Rows 4 and 7"):
        chanceline.search(X, y)
    X[2, 5] = np.nan
    with pytest.raises(InputError, match="row 3, column 'x5'"):
        chanceline.search(X, y)


@pytest.mark.parametrize("intercept", [False, True])
def test_message_passing_that_runs_away_ends(intercept):
    """Measurements that go together beside a column of its own for every sample: beliefs grew beyond what can be summed."""
    X, y = load_breast_cancer(return_X_y=True)
    X = np.column_stack([X, np.eye(len(X))])
    outcome = chanceline.search(X, y, "amp", budget=900, intercept=intercept)
    assert outcome.errors == 0


def test_sizes_that_are_of_no_use_are_searched_with_less_patience():
    """Noise that needs more variables than are wanted: the search ends sooner, with a set that separates."""
    X, y = random_problem(60, 1.0, 3)

    def outcome_and_swaps(wanted):
        heard = []
        found = chanceline.search(
            X, y, wanted=wanted, progress=lambda iterations, best: heard.append(iterations)
        )
        return found, heard[-1]

    patient, all_swaps = outcome_and_swaps(None)
    hasty, few_swaps = outcome_and_swaps(2)
    assert hasty.errors == 0
    assert patient.n_selected <= hasty.n_selected
    assert few_swaps < all_swaps / 2
    # A size that can be reached is looked for as ever.
    assert outcome_and_swaps(60)[1] == all_swaps
