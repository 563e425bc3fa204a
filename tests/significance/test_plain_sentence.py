"""The plain sentence: every verdict with every standing of the rule, and what a result says besides."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from chanceline.significance import separation_test
from chanceline.significance.plain_sentence import (
    CHECKS_FIRST,
    ExpectedOf100,
    PlainFacts,
    RuleStanding,
    expected_of_100,
    plain_sentence,
    standing_of_rule,
)
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Finding

FACTS = PlainFacts(
    verdict=Verdict.STRUCTURE,
    n_samples=62,
    n_groups=None,
    classes=("n", "t"),
    n_named=None,
    covariates=(),
    standing=RuleStanding.ERRS_LESS,
    expected=ExpectedOf100(by_rule=82, by_larger_class=65),
    has_warnings=False,
)
NOT_MADE = replace(FACTS, standing=RuleStanding.NOT_MADE, expected=None)
CLAIMS = {
    Verdict.STRUCTURE: "The 62 samples of t and n differ in their features by more than chance",
    Verdict.CHANCE: "Chance alone could make the 62 samples of t and n differ in their features "
    "as much as they do",
    Verdict.NOT_SHOWN: "It is not shown that the 62 samples of t and n differ in their features "
    "by more than chance",
    Verdict.UNDECIDED: "This test cannot tell whether the 62 samples of t and n differ in their "
    "features by more than chance",
}


@pytest.mark.parametrize("verdict", Verdict)
def test_without_a_rule_the_claim_is_all(verdict):
    assert plain_sentence(replace(NOT_MADE, verdict=verdict)) == f"{CLAIMS[verdict]}."


def test_the_whole_sentence_of_structure_with_a_rule_that_helps():
    assert plain_sentence(FACTS) == (
        f"{CLAIMS[Verdict.STRUCTURE]}, and a rule made from them gets about 82 of 100 new samples "
        "right, where naming the larger class gets 65."
    )


@pytest.mark.parametrize(
    ("standing", "of_structure", "of_nothing_shown"),
    [
        (
            RuleStanding.ERRS_LESS,
            ", and a rule made from them gets about 82 of 100 new samples right, where naming the "
            "larger class gets 65.",
            ", but a rule made from them promises to get about 82 of 100 new samples right, where "
            "naming the larger class gets 65.",
        ),
        (
            RuleStanding.RANKS_BETTER,
            ", and a rule made from them ranks new samples better than guessing, yet it is not "
            "clearly right more often: about 82 of 100 times, where naming the larger class gets "
            "65.",
            ", but a rule made from them promises to rank new samples better than guessing, yet it "
            "is not clearly right more often: about 82 of 100 times, where naming the larger class "
            "gets 65.",
        ),
        (
            RuleStanding.NO_BETTER,
            ", but a rule made from them is not clearly better than guessing.",
            ", and a rule made from them is not clearly better than guessing.",
        ),
        (
            RuleStanding.WITHOUT_FEATURES,
            ", but no set of features clearly helps to predict new samples.",
            ", and no set of features clearly helps to predict new samples.",
        ),
        (
            RuleStanding.NOT_MEASURED,
            "; they are too few to measure what a rule made from them is worth.",
            "; they are too few to measure what a rule made from them is worth.",
        ),
    ],
)
def test_every_standing_goes_with_every_verdict(standing, of_structure, of_nothing_shown):
    for verdict in Verdict:
        said = plain_sentence(replace(FACTS, verdict=verdict, standing=standing))
        ending = of_structure if verdict is Verdict.STRUCTURE else of_nothing_shown
        assert said == CLAIMS[verdict] + ending


def test_groups_named_features_covariates_and_warnings_are_in_it():
    assert plain_sentence(replace(NOT_MADE, n_groups=20)).startswith(
        "The 62 samples (20 groups) of t and n differ"
    )
    named = replace(NOT_MADE, n_named=1, verdict=Verdict.NOT_SHOWN)
    assert plain_sentence(named) == (
        "It is not shown that the 62 samples of t and n differ in the 1 feature named by more than "
        "chance."
    )
    adjusted = replace(
        FACTS,
        covariates=("Age", "BMI", "sex"),
        expected=ExpectedOf100(by_rule=82, by_larger_class=50, by_covariates=54),
    )
    assert plain_sentence(adjusted) == (
        "Beyond what Age, BMI and sex explain, the 62 samples of t and n differ in their features "
        "by more than chance, and a rule made from them gets about 82 of 100 new samples right, "
        "where Age, BMI and sex alone get 54 and guessing gets 50."
    )
    one = replace(adjusted, covariates=("age",))
    assert plain_sentence(one).startswith("Beyond what age explains, the 62 samples")
    assert "where age alone gets 54 and" in plain_sentence(one)
    assert plain_sentence(replace(NOT_MADE, has_warnings=True)).endswith(f"chance. {CHECKS_FIRST}")


def made_rule(features=("a",), *, better=False, knows=False):
    """What the standing of a rule is decided on."""
    expected = SimpleNamespace(better_than_majority=better, knows_something=knows)
    return SimpleNamespace(features=features, expected_error=expected)


def test_the_standing_of_a_rule_follows_what_its_lines_say():
    assert standing_of_rule(None) is RuleStanding.NOT_MADE
    unmeasured = SimpleNamespace(features=("a",), expected_error=None)
    assert standing_of_rule(unmeasured) is RuleStanding.NOT_MEASURED
    assert standing_of_rule(made_rule((), knows=True)) is RuleStanding.WITHOUT_FEATURES
    assert standing_of_rule(made_rule(better=True)) is RuleStanding.ERRS_LESS
    assert standing_of_rule(made_rule(better=True, knows=True)) is RuleStanding.ERRS_LESS
    assert standing_of_rule(made_rule(knows=True)) is RuleStanding.RANKS_BETTER
    assert standing_of_rule(made_rule()) is RuleStanding.NO_BETTER


def test_the_numbers_are_those_of_the_line_about_new_samples():
    rng = np.random.default_rng(2)
    y = rng.permutation(60) < 20
    X = rng.normal(size=(60, 8)) + 2.0 * y[:, None] * (np.arange(8) == 2)
    result = separation_test(X, np.where(y, "ill", "well"), permutations=39)
    result = replace(result, findings=())
    expected = result.rule.expected_error
    right = expected_of_100(result.rule)
    assert f"CV error {100 - right.by_rule} %" in expected.summary()
    assert f"majority class {100 - right.by_larger_class} %" in expected.summary()
    assert right.by_covariates is None
    assert expected.better_than_majority
    assert result.plain_sentence == (
        "The 60 samples of ill and well differ in their features by more than chance, and a rule "
        f"made from them gets about {right.by_rule} of 100 new samples right, where naming the "
        "larger class gets 67."
    )
    warned = replace(result, findings=(Finding.warning("Look."),))
    assert warned.plain_sentence == f"{result.plain_sentence} {CHECKS_FIRST}"


def test_features_named_after_looking_do_not_speak_of_the_whole_table():
    """The table holds structure, the feature named does not; the sentence is about the latter."""
    rng = np.random.default_rng(4)
    y = np.arange(50) % 2 == 0
    X = rng.normal(size=(50, 6))
    X[:, 1] += 2.5 * y
    result = separation_test(X, y, [0], permutations=99, expected_error=False)
    assert "holds structure" in result.reason
    assert result.plain_sentence.startswith(
        "It is not shown that the 50 samples of True and False differ in the 1 feature named"
    )


def test_covariates_are_named_though_they_became_blocks():
    rng = np.random.default_rng(5)
    y = np.tile([1.0, -1.0], 30)
    sex = pd.DataFrame({"sex": np.repeat(["f", "m"], 30)})
    result = separation_test(
        rng.normal(size=(60, 4)), y, permutations=19, adjust=sex, expected_error=False
    )
    assert not result.labels_from_model
    assert result.plain_sentence.startswith("Beyond what sex explains, ")
