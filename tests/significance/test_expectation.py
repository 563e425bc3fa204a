"""What to expect of the rule, in words, and the sentence between it and the verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chanceline.prediction.crossval import expected_error
from chanceline.prediction.losses import LossDifference
from chanceline.significance.evidence import Evidence
from chanceline.significance.expectation import (
    knowledge_in_words,
    other_size_in_words,
    reconciliation,
    worth_in_words,
)
from chanceline.significance.run import separation_test
from chanceline.significance.verdict import Verdict


@pytest.fixture(scope="module")
def expected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20))
    return expected_error(X, X[:, 0] + X[:, 1] > 0.3)


def known(expected, *, knows, better, length=0.2):
    """The same expectation, with other decisions."""
    low = 0.55 if knows else 0.45
    won = 20.0 if better else 6.0
    comparison = replace(
        expected.against_majority, won=won, lost=5.0, pvalue=0.01 if better else 0.4
    )
    return replace(
        expected,
        auc=low + length / 2,
        auc_interval=(low, low + length),
        against_majority=comparison,
    )


SPREAD = Evidence(k=None, features=(), errors=None, spread=True)
FEW = Evidence(k=1, features=("a",), errors=3)


def test_each_question_has_its_own_words(expected):
    clear = known(expected, knows=True, better=True)
    unclear = known(expected, knows=False, better=False)
    assert knowledge_in_words(clear) == "better than guessing, AUC 0.65 (95 % CI 0.55–0.75)"
    assert knowledge_in_words(unclear).startswith("not clearly better than guessing, AUC 0.55")
    assert worth_in_words(clear).endswith(": clearly better, 20 samples won, 5 lost")
    assert worth_in_words(unclear).endswith(": not clearly better, 6 samples won, 5 lost")
    without_area = replace(clear, auc=float("nan"), auc_interval=(float("nan"), float("nan")))
    assert "cannot be said" in knowledge_in_words(without_area)
    assert not without_area.knows_something


def test_a_rule_that_may_be_guessing_is_not_called_better(expected):
    """One line said "not clearly better than guessing" and the next "clearly better"."""
    vague = known(expected, knows=False, better=True)
    assert vague.against_majority.better
    assert not vague.better_than_majority
    assert ": not clearly better, " in worth_in_words(vague)


def test_other_sizes_are_told_with_their_error():
    difference = LossDifference(mean=0.021, standard_error=0.013)
    assert other_size_in_words(9, difference, rule_has_many=True) == (
        "with 9 features 2 ± 1 points worse"
    )
    assert other_size_in_words(9, difference, rule_has_many=False) == (
        "with many features 2 ± 1 points better"
    )


def test_nothing_is_said_where_nothing_contradicts(expected):
    agreeing = known(expected, knows=True, better=True)
    assert reconciliation(Verdict.STRUCTURE, FEW, agreeing, "60 samples") == ""
    disagreeing_twice = known(expected, knows=False, better=False)
    assert reconciliation(Verdict.CHANCE, FEW, disagreeing_twice, "60 samples") == ""
    assert reconciliation(Verdict.STRUCTURE, FEW, None, "60 samples") == ""


def test_structure_without_a_rule_says_which_of_three_reasons_it_has(expected):
    nothing = known(expected, knows=False, better=False)
    assert "spread over many features" in reconciliation(
        Verdict.STRUCTURE, SPREAD, nothing, "60 samples"
    )
    assert "effect is there, but small" in reconciliation(
        Verdict.STRUCTURE, FEW, nothing, "60 samples"
    )
    vague = known(expected, knows=False, better=False, length=0.35)
    assert "60 samples are too few" in reconciliation(Verdict.STRUCTURE, FEW, vague, "60 samples")


def test_a_rule_that_helps_and_a_verdict_that_does_not_are_reconciled(expected):
    ranks_only = known(expected, knows=True, better=False)
    assert "at its threshold" in reconciliation(Verdict.STRUCTURE, FEW, ranks_only, "60 samples")
    for verdict in (Verdict.CHANCE, Verdict.NOT_SHOWN, Verdict.UNDECIDED):
        assert "does not exclude chance" in reconciliation(verdict, FEW, ranks_only, "60 samples")


def test_where_rows_come_in_groups_the_groups_are_counted():
    """Four visits of each of 24 patients: 24 groups are few, whatever the number of rows."""
    rng = np.random.default_rng(5)
    patient = np.repeat(np.arange(24), 4)
    class_of_patient = np.where(np.arange(24) < 12, 1, -1)
    of_patient = rng.normal(size=(24, 30)) + 0.25 * class_of_patient[:, None]
    X = of_patient[patient] + 0.3 * rng.normal(size=(96, 30))
    y = class_of_patient[patient]

    result = separation_test(X, y, groups=patient, permutations=199, seed=0)

    assert "24 groups are too few" in result.reconciliation
    # What noise would need is known for independent samples only.
    assert result.separating.separates
    assert result.separating.replica is None
    assert "pure noise" not in result.separating.summary()
