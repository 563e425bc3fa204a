"""What to expect of the rule on new samples, in words, and how that agrees with the verdict.

Two questions have a sentence each. Does the rule know anything? It does if the cross-validated area
under the curve is clearly above one half, which is guessing. Is it worth using? It is if its error
is clearly below that of always naming the larger class.
"""

from __future__ import annotations

from math import isnan

from chanceline.prediction.crossval import ExpectedError
from chanceline.prediction.losses import LossDifference
from chanceline.significance.evidence import Evidence
from chanceline.significance.verdict import Verdict
from chanceline.tables.wording import plural

# An area under the curve is known poorly if its confidence interval is longer than this.
LONG_AREA_INTERVAL = 0.3


def knowledge_in_words(expected_error: ExpectedError) -> str:
    """`better than guessing, AUC 0.87 (95 % CI 0.77–0.93)`."""
    if isnan(expected_error.auc):
        return "whether it is better than guessing cannot be said, as no fold has both classes"
    low, high = expected_error.auc_interval
    area = f"AUC {expected_error.auc:.2f} (95 % CI {low:.2f}–{high:.2f})"
    if expected_error.knows_something:
        return f"better than guessing, {area}"
    return f"not clearly better than guessing, {area}"


def worth_in_words(expected_error: ExpectedError) -> str:
    """`CV error 15 % (95 % CI 8–26), majority class 35 %: clearly better, 14 samples won, 2 lost`.

    Samples are won where the rule is right and the larger class wrong, and lost where it is the
    other way round.
    """
    comparison = expected_error.against_majority
    standing = "clearly better" if expected_error.better_than_majority else "not clearly better"
    won = plural(round(comparison.won), "sample")
    return f"{expected_error.summary()}: {standing}, {won} won, {round(comparison.lost)} lost"


def other_size_in_words(n_few: int, difference: LossDifference, *, rule_has_many: bool) -> str:
    """How rules of the other size compare: `with 9 features 1 ± 2 points worse`.

    There are rules on few and on many features. The one to use is of either size, and this is about
    the other; points are per cent of samples.

    Parameters
    ----------
    n_few : number of features of the rule on few features.
    difference : the cross-validated error with few features minus that with many.
    rule_has_many : whether the rule to use is the one on many features.
    """
    if rule_has_many:
        other = f"with {plural(n_few, 'feature')}"
        points = 100 * difference.mean
    else:
        other = "with many features"
        points = -100 * difference.mean
    direction = "worse" if points >= 0 else "better"
    return f"{other} {abs(points):.0f} ± {100 * difference.standard_error:.0f} points {direction}"


def reconciliation(
    verdict: Verdict, evidence: Evidence, expected_error: ExpectedError | None, sample_count: str
) -> str:
    """A sentence that explains why the test and cross-validation seem to contradict each other.

    The test asks whether features and labels are related at all; cross-validation asks whether a
    rule learnt from these samples predicts well. The sentence is empty if the answers agree.

    Parameters
    ----------
    verdict, evidence : of the test.
    expected_error : what cross-validation says of the rule for new samples; None if the rule was
        not cross-validated. `knows_something` says that the rule is clearly better than guessing
        (area under the curve), `better_than_majority` that it errs clearly less often than naming
        the larger class.
    sample_count : how many independent samples there are, in words: `60 samples`, `32 groups`.
    """
    if expected_error is None:
        return ""
    is_structure = verdict is Verdict.STRUCTURE

    # The test finds structure, but the rule does not clearly use it.
    if is_structure and not expected_error.knows_something:
        return f"Both hold: {_why_rule_lags(evidence, expected_error, sample_count)}."
    if is_structure and not expected_error.better_than_majority:
        return (
            "Both hold: the rule ranks samples by what it knows, but at its threshold that is not "
            "clearly enough to err less often than the larger class."
        )

    # The rule knows something, but the test finds no structure.
    if expected_error.knows_something and not is_structure:
        return (
            "Both hold: the rule promises something, but the test, which is the stricter of the "
            "two, does not exclude chance; further samples would tell."
        )
    return ""


def _why_rule_lags(evidence: Evidence, expected_error: ExpectedError, sample_count: str) -> str:
    """Why a rule need not be clearly better than guessing although there is structure.

    The parameters are those of `reconciliation`.
    """
    if evidence.spread:
        return (
            "the evidence is spread over many features, and these "
            f"{sample_count} are too few to learn how to weigh them"
        )
    low, high = expected_error.auc_interval
    auc_is_known_poorly = high - low > LONG_AREA_INTERVAL
    if auc_is_known_poorly:
        return (
            f"the test needs no rule, and {sample_count} are too few to measure what a rule made "
            "from them is worth"
        )
    return "the effect is there, but small: a rule gains little by it"
