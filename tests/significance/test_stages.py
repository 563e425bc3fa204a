"""The p-value that is printed is the one of docs/proofs.md, stage by stage."""

from __future__ import annotations

from itertools import combinations
from math import log10

import numpy as np
import pytest

from chanceline.chance import chance_bound
from chanceline.perceptron.few_errors import rule_on
from chanceline.significance import feature_bound, separation_test
from chanceline.significance.stages import (
    AlphaSpending,
    Stage,
    Stage1Proof,
    Stage2Proofs,
    combine_stages,
)


def five_errors_beside_a_poor_fit():
    """One column with five errors at its best threshold that least squares and ranks hardly see, and five of noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    y = np.repeat([1.0, -1.0], 20)
    X[:15, 0] = rng.uniform(1.0, 1.1, size=15)
    X[15:20, 0] = rng.uniform(-3.0, -2.5, size=5)
    X[20:, 0] = rng.uniform(0.0, 1.0, size=20)
    return X, y


def one_shifted_column():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(40, 6))
    y = rng.permutation(np.arange(40) % 2)
    X[:, 0] += 0.9 * (2 * y - 1)
    return X, y


def test_a_number_of_the_second_stage_is_not_spent_in_the_first():
    """2^e·bound = 0.0028 lies above the second stage's share (0.0005): the shuffles decide."""
    X, y = five_errors_beside_a_poor_fit()
    result = separation_test(X, y, expected_error=False)
    assert (result.separating.n_selected, result.separating.errors) == (1, 5)
    assert 0.0005 < result.separating.bound.pvalue < 0.005
    assert result.stage is Stage.SHUFFLES
    spent = result.spending.stage1_used + result.spending.stage2_level
    assert result.pvalue == pytest.approx(result.permutation.pvalue + spent, rel=1e-12)
    assert result.pvalue > 0.05
    assert result.verdict != "structure"


def test_the_feature_that_is_proven_gives_the_p_value_and_is_named():
    """Its own proof says 0.00025; the five errors of the rule that is shown would say 0.0028."""
    X, y = one_shifted_column()
    result = separation_test(X, y, expected_error=False)
    assert result.stage is Stage.ONE_FEATURE
    proof = 10**result.feature_bound.log10_p
    # Two proofs share the stage, and a value that the first stage could have taken is added.
    assert 2 * proof <= result.pvalue <= 2 * proof + 1e-4 < 0.0005
    assert result.evidence.features == ("x0",)
    assert "higher in 1, area under the curve 0.91" in result.reason
    # The same column upside down: lower in the positive class, and no area below one half in the first line.
    turned = separation_test(X * [-1.0, 1, 1, 1, 1, 1], y, expected_error=False)
    assert "higher in 0, area under the curve 0.91" in turned.reason
    assert turned.evidence.auc < 0.5


def by_the_proof(X, y, *, level, errors, permutation_p):
    """docs/proofs.md, "One p-value out of two", for a searched table of distinct columns and free shuffles; all sets tried."""
    n_samples, n_features = X.shape
    positives = int(np.sum(y > 0))
    shuffled = permutation_p is not None

    def bound(size, wrong):
        return chance_bound(n_samples, n_features, size, positives=positives, errors=wrong).pvalue

    every_set = [
        s for size in range(1, n_features + 1) for s in combinations(range(n_features), size)
    ]
    fewest = {s: rule_on(X, y, np.array(s), True).errors for s in every_set}
    gamma = 0.1 * level if shuffled else 0.9 * level
    gamma_1 = 0.01 * level if shuffled else 0.1 * level
    if not shuffled:
        gamma = level - gamma_1
    declared = errors or 0
    values = sorted(bound(size, declared) for size in range(1, n_features + 1))
    beta = max((value for value in values if value <= gamma), default=0.0)

    # 1. The smallest set that makes no more errors than declared.
    sizes = [len(s) for s in every_set if fewest[s] <= declared]
    p_bound = bound(min(sizes), declared) if sizes else 1.0
    if p_bound <= gamma:
        return p_bound, Stage.DECLARED_ERRORS

    # 2. Counted errors, and one feature.
    counted = 1.0
    if errors is None:
        points = [(len(s), wrong) for s, wrong in fewest.items() if 1 <= wrong < n_samples]
        counted = min((2.0**wrong * bound(size, wrong) for size, wrong in points), default=1.0)
    single = 10 ** feature_bound(X, y).log10_p
    q = 2 * min(counted, single)
    smallest = min(
        q + below
        for below, above in zip([0.0, *values], [*values, np.inf], strict=True)
        if q + below < above or above == np.inf
    )
    if min(1.0, smallest) <= gamma_1:
        return smallest, Stage.ONE_FEATURE if single <= counted else Stage.COUNTED_ERRORS

    # 3. The shuffles, or nothing.
    if shuffled:
        return min(1.0, permutation_p + beta + gamma_1), Stage.SHUFFLES
    return min(1.0, p_bound + gamma_1), Stage.NOTHING


def table(seed):
    """40 tables in turn: noise, one shifted column, a rule with wrong labels, a rule without."""
    rng = np.random.default_rng([3, seed])
    n_samples = int(rng.integers(16, 60))
    n_features = int(rng.integers(2, 5))
    X = rng.normal(size=(n_samples, n_features))
    kind = seed % 4
    if kind == 0:
        y = rng.permutation(np.arange(n_samples) % 2)
    elif kind == 1:
        y = rng.permutation(np.arange(n_samples) % 3 == 0).astype(int)
        X[:, 1] += rng.uniform(0.5, 2.0) * y
    else:
        score = X[:, 0] + X[:, 1]
        y = (score > np.median(score)).astype(int)
        if kind == 2:
            flipped = rng.permutation(n_samples)[: int(rng.integers(1, 4))]
            y[flipped] = 1 - y[flipped]
    return X, np.where(y > 0, 1.0, -1.0)


SETTINGS = [
    {"permutations": 99},
    {"permutations": 0},
    {"permutations": 99, "errors": 2},
    {"permutations": 0, "errors": 0, "level": 0.01},
    {"permutations": 199, "level": 0.2},
]


def test_the_p_value_is_that_of_the_proof_whatever_stage_decides():
    """Of 60 tables in five settings every stage decides some, and the p-value is the one of the document."""
    seen = []
    for seed in range(60):
        X, y = table(seed)
        settings = SETTINGS[seed % len(SETTINGS)]
        result = separation_test(X, y, expected_error=False, always_permute=True, **settings)
        reading = None if result.permutation is None else result.permutation.pvalue
        wanted, stage = by_the_proof(
            X, y, level=result.settings.level, errors=settings.get("errors"), permutation_p=reading
        )
        assert result.stage is stage, seed
        assert result.pvalue == pytest.approx(max(wanted, np.finfo(float).tiny), rel=1e-6), seed
        seen.append(stage)
    assert set(seen) == set(Stage)


def test_the_proof_that_decided_is_about_a_set_with_that_pvalue():
    """The bound of the set is the p-value; of one feature it is its proof."""
    for seed in range(60):
        X, y = table(seed)
        result = separation_test(X, y, expected_error=False, permutations=99)
        if not result.stage.rigorous or result.stage is Stage.NOTHING:
            continue
        proof_of_stage = next(proof for proof in result.proofs if proof.stage is result.stage)
        n_proven = len(proof_of_stage.features)
        errors = proof_of_stage.errors
        n_samples, n_features = X.shape
        positives = int(np.sum(y > 0))
        if result.stage is Stage.DECLARED_ERRORS:
            bound = chance_bound(n_samples, n_features, n_proven, positives=positives)
            assert (errors, bound.log10_p) == (0, pytest.approx(result.log10_pvalue))
        elif result.stage is Stage.COUNTED_ERRORS:
            bound = chance_bound(
                n_samples, n_features, n_proven, positives=positives, errors=errors
            )
            # Every error costs a factor 2, the stage another, and the first stage what it could have spent.
            proof = 2.0 ** (errors + 1) * bound.pvalue
            assert proof <= result.pvalue * (1 + 1e-9)
            assert result.pvalue <= (proof + result.spending.stage1_used) * (1 + 1e-9)
        elif result.stage is Stage.ONE_FEATURE:
            assert proof_of_stage.features == (result.feature_bound.name,)


def test_overall_p_is_the_documented_combination():
    once = AlphaSpending(stage1_level=0.005, stage1_used=0.001)
    assert once.overall(Stage1Proof(-6.0), None, 0.4).log10_p == -6.0
    assert once.overall(Stage1Proof(-1.0), None, 0.4).log10_p == pytest.approx(log10(0.4 + 0.001))
    later = Stage2Proofs(0.0, -9.3, -9.0)
    assert once.overall(Stage1Proof(-1.0), later, None).log10_p == -1.0
    staged = AlphaSpending(stage1_level=0.005, stage1_used=0.001, stage2_level=0.0005)
    assert staged.overall(Stage1Proof(-6.0), later, 0.4).log10_p == -6.0
    assert staged.overall(Stage1Proof(-1.0), later, 0.4).log10_p == -9.0
    weak = Stage2Proofs(0.0, -3.3, -3.0)
    assert staged.overall(Stage1Proof(-1.0), weak, 0.4).log10_p == pytest.approx(
        log10(0.4 + 0.0015)
    )
    assert staged.overall(Stage1Proof(-1.0), weak, None).log10_p == pytest.approx(
        log10(0.1 + 0.0005)
    )


def test_the_second_stage_is_a_p_value_beside_the_first():
    """P(p ≤ a) ≤ β(a) + P(q ≤ a − β(a)): the p-value for q is the smallest such a, by a scan."""
    values = np.array([chance_bound(24, 5, m, positives=12).pvalue for m in range(1, 6)])
    first_stage = np.log10(
        np.append(0.0, values), where=np.append(0.0, values) > 0, out=np.full(6, -np.inf)
    )
    for q in (1e-9, 1e-6, 3e-5, 1e-3, 0.02):
        levels = np.sort(
            np.concatenate(
                [np.geomspace(1e-10, 1, 20001), values, values * (1 - 1e-12), q + values]
            )
        )
        spent = np.array([values[values <= a].max(initial=0.0) for a in levels])
        smallest = levels[q <= (levels - spent) * (1 + 1e-12)].min()
        # q is twice the smaller of the two proofs.
        stage = combine_stages(np.log10(q / 2), 0.0, first_stage)
        assert stage.stage is Stage.COUNTED_ERRORS
        assert 10**stage.log10_p == pytest.approx(smallest, rel=2e-3)
        assert combine_stages(0.0, np.log10(q / 2), first_stage).stage is Stage.ONE_FEATURE
