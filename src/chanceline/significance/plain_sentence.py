"""The result of a test in one plain sentence, for a reader who knows no statistics.

First what the test says of the samples, then what a rule made from them is worth. Both are enums
here (`Verdict`, `RuleStanding`), so that the sentence follows from the result and can't contradict
its other lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from chanceline.significance.rule_to_use import RuleToUse
from chanceline.significance.verdict import Verdict
from chanceline.tables.wording import plural

CHECKS_FIRST = "Data checks bear on this: read them first."


class RuleStanding(Enum):
    """What cross-validation says of the rule to use."""

    NOT_MADE = auto()  # not asked for, or the search is the user's own
    NOT_MEASURED = auto()  # too little can be left out
    WITHOUT_FEATURES = auto()  # no set of features helps
    ERRS_LESS = auto()  # clearly fewer errors than the larger class
    RANKS_BETTER = auto()  # ranks better than guessing, but errs no less than the larger class
    NO_BETTER = auto()  # neither of the two


@dataclass(frozen=True)
class ExpectedOf100:
    """How many of 100 new samples are classified rightly, in whole numbers.

    Attributes
    ----------
    by_rule : by the rule to use.
    by_larger_class : by naming the larger class always; 50 where neither is larger.
    by_covariates : by covariates alone; None without any.
    """

    by_rule: int
    by_larger_class: int
    by_covariates: int | None = None


@dataclass(frozen=True, kw_only=True)
class PlainFacts:
    """What the sentence is made of.

    Attributes
    ----------
    verdict : of the test.
    n_samples, n_groups : numbers of samples, and of groups; None where samples are not grouped.
    classes : the negative and the positive one.
    n_named : number of features that the user named; None where all were asked about.
    covariates : names of what the test adjusts for.
    standing : of the rule to use.
    expected : of it on new samples; None where it was not cross-validated.
    has_warnings : whether data checks bear on the verdict.
    """

    verdict: Verdict
    n_samples: int
    n_groups: int | None
    classes: tuple[str, str]
    n_named: int | None
    covariates: tuple[str, ...]
    standing: RuleStanding
    expected: ExpectedOf100 | None
    has_warnings: bool


def standing_of_rule(rule: RuleToUse | None) -> RuleStanding:
    """Grade a rule for new samples by its cross-validation: the first of six cases that applies.

    Parameters
    ----------
    rule : the rule; None if none was made.
    """
    if rule is None:
        return RuleStanding.NOT_MADE
    cross_validated = rule.expected_error  # None if there were too few samples
    if cross_validated is None:
        return RuleStanding.NOT_MEASURED
    if not rule.features:
        return RuleStanding.WITHOUT_FEATURES

    # Fewer errors than the rule that always names the larger class.
    errs_clearly_less = cross_validated.better_than_majority
    if errs_clearly_less:
        return RuleStanding.ERRS_LESS
    # The whole confidence interval of the AUC is above one half.
    ranks_better_than_guessing = cross_validated.knows_something
    if ranks_better_than_guessing:
        return RuleStanding.RANKS_BETTER
    return RuleStanding.NO_BETTER


def expected_of_100(rule: RuleToUse | None) -> ExpectedOf100 | None:
    """How many of 100 new samples are expected to be classified correctly.

    There are numbers for the rule, for naming the larger class always, and for covariates alone, if
    there are any. None if the rule was not cross-validated.
    """
    if rule is None or rule.expected_error is None:
        return None
    errors = rule.expected_error
    by_covariates = None
    if errors.covariates_rate is not None:
        by_covariates = _right_of_100(errors.covariates_rate)
    return ExpectedOf100(
        by_rule=_right_of_100(errors.rate),
        by_larger_class=_right_of_100(errors.majority_error),
        by_covariates=by_covariates,
    )


def _right_of_100(error_rate: float) -> int:
    """How many of 100 samples are classified correctly at this error rate.

    The error is rounded, rather than the share of correct samples: so the number agrees with the
    errors in whole per cent that the report prints.
    """
    return 100 - round(100 * error_rate)


def plain_sentence(facts: PlainFacts) -> str:
    """The result of a test in one sentence, for a reader who knows no statistics.

    For example: `The 62 samples of t and n differ …, and a rule made from them gets about 82 of 100
    new samples right …`. A second sentence follows if data checks bear on the verdict.
    """
    # Two halves: what the test claims, and what a rule is worth. The second half begins with its
    # own comma or semicolon.
    claim = claim_of_test(facts)
    worth = worth_of_rule(facts)
    sentence = f"{claim}{worth}."
    if facts.covariates:
        covariates = joined_by_and(facts.covariates)
        verb = "explains" if len(facts.covariates) == 1 else "explain"
        sentence = f"beyond what {covariates} {verb}, {sentence}"

    # Begin with a capital. The first word is a fixed one, not a name that the user gave.
    sentence = sentence[0].upper() + sentence[1:]
    if facts.has_warnings:
        return f"{sentence} {CHECKS_FIRST}"
    return sentence


def claim_of_test(facts: PlainFacts) -> str:
    """The first half of the plain sentence: whether the two classes differ by more than chance."""
    # Which samples, and in which features: all, or those that the user named.
    negative, positive = facts.classes
    samples = f"the {_samples(facts)} of {positive} and {negative}"
    features = "their features"
    if facts.n_named is not None:
        features = f"the {plural(facts.n_named, 'feature')} named"

    # One clause for each verdict; the last is for "undecided".
    if facts.verdict is Verdict.CHANCE:
        return f"chance alone could make {samples} differ in {features} as much as they do"
    more_than_chance = f"{samples} differ in {features} by more than chance"
    if facts.verdict is Verdict.STRUCTURE:
        return more_than_chance
    if facts.verdict is Verdict.NOT_SHOWN:
        return f"it is not shown that {more_than_chance}"
    return f"this test cannot tell whether {more_than_chance}"


def _samples(facts: PlainFacts) -> str:
    """`62 samples`, or `62 samples (20 groups)`."""
    samples = plural(facts.n_samples, "sample")
    if facts.n_groups is None:
        return samples
    return f"{samples} ({plural(facts.n_groups, 'group')})"


def worth_of_rule(facts: PlainFacts) -> str:
    """The second half of the plain sentence: how well a rule made from the samples predicts.

    It starts with a comma and a conjunction, or with a semicolon. It is empty if no rule was made.
    """
    # Rules that were not cross-validated, or are no better than guessing.
    standing = facts.standing
    if standing is RuleStanding.NOT_MADE:
        return ""
    if standing is RuleStanding.NOT_MEASURED:
        return "; they are too few to measure what a rule made from them is worth"
    conjunction = _conjunction(facts.verdict, standing)
    if standing is RuleStanding.WITHOUT_FEATURES:
        return f"{conjunction} no set of features clearly helps to predict new samples"
    if standing is RuleStanding.NO_BETTER:
        return f"{conjunction} a rule made from them is not clearly better than guessing"

    # Rules that are better than guessing.
    assert facts.expected is not None  # cross-validation told that the rule is better
    n_right = facts.expected.by_rule
    # How many samples guessing and covariates get right.
    others = _what_others_get(facts.expected, facts.covariates)
    # If the test does not exclude chance, the sentence is more careful.
    is_structure = facts.verdict is Verdict.STRUCTURE
    if standing is RuleStanding.ERRS_LESS:
        gets = "gets" if is_structure else "promises to get"
        right = f"{gets} about {n_right} of 100 new samples right"
        return f"{conjunction} a rule made from them {right}, where {others}"
    ranks = "ranks" if is_structure else "promises to rank"
    return (
        f"{conjunction} a rule made from them {ranks} new samples better than guessing, yet it is "
        f"not clearly right more often: about {n_right} of 100 times, where {others}"
    )


def _conjunction(verdict: Verdict, standing: RuleStanding) -> str:
    """`, and` where verdict and rule point the same way; else `, but`."""
    rule_helps = standing in (RuleStanding.ERRS_LESS, RuleStanding.RANKS_BETTER)
    if rule_helps is (verdict is Verdict.STRUCTURE):
        return ", and"
    return ", but"


def _what_others_get(expected: ExpectedOf100, covariates: Sequence[str]) -> str:
    """`naming the larger class gets 65`, and what covariates alone get."""
    larger_class = f"naming the larger class gets {expected.by_larger_class}"
    if expected.by_larger_class == 50:
        larger_class = "guessing gets 50"
    if expected.by_covariates is None:
        return larger_class
    verb = "gets" if len(covariates) == 1 else "get"
    return f"{joined_by_and(covariates)} alone {verb} {expected.by_covariates} and {larger_class}"


def joined_by_and(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = names
    if not first:
        return last
    return f"{', '.join(first)} and {last}"
