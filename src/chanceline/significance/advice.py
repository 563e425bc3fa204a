"""Advice to the user: what would change the verdict, the most useful first."""

from __future__ import annotations

from math import ceil

from chanceline.significance.readings import PermutationReading
from chanceline.significance.verdict import Grounds, Verdict
from chanceline.tables.wording import plural

BEFORE_RELYING_ON_STRUCTURE = (
    "structure need not be what you look for: rule out batch effects, confounders and leakage "
    "(order, site, date, preprocessing that saw the labels)."
)
NAME_BEFOREHAND = "features fixed beforehand (preregistered) and tested on new samples need less."
GIVE_ALL_CANDIDATES = (
    "permutations need all candidate features, so give the full table rather than the selected "
    "part."
)
GIVE_ANOTHER_SEARCH = (
    "give a search that selects features for the labels it is handed, or name the features."
)
# The fewest shuffles that are advised; and how many labellings should reach the level by chance,
# so that the p-value is well resolved there.
MIN_PERMUTATIONS = 999
EXPECTED_HITS = 10
# A p-value is taken to be at least this share of the level away from it: telling smaller distances
# would need too many shuffles.
MIN_DISTANCE = 0.1
ROUND_TO = 100  # numbers of shuffles that are advised are multiples of it


def advise(grounds: Grounds, verdict: Verdict, samples_needed: int | None) -> tuple[str, ...]:
    """Sentences about what would change the verdict; where it is structure, what to rule out.

    Parameters
    ----------
    samples_needed
        Samples (or groups) with which the separating rule would convince by the bound alone; None
        if that is out of reach.
    """
    if verdict is Verdict.STRUCTURE:
        return (BEFORE_RELYING_ON_STRUCTURE,)
    sentences = (
        _advice_on_running_again(grounds, verdict),
        _advice_on_samples(grounds, samples_needed),
    )
    return tuple(sentence for sentence in sentences if sentence is not None)


def _advice_on_running_again(grounds: Grounds, verdict: Verdict) -> str | None:
    """One sentence on how to run the test differently to learn more; None if there is no advice.

    The first case that applies decides:

    * The user named the features after looking at the table. Shuffled labels cannot repeat that
      choice.
    * The user picked the features of the table from more candidates. Shuffled labels cannot repeat
      that choice either.
    * No labels were shuffled.
    * The shuffles are void, because the user's search ignores the labels.
    * The shuffles were interrupted.
    * All shuffles were made. The advice then depends on the verdict (`_advice_on_shuffles`).

    Parameters
    ----------
    grounds : the plan of the test, its shuffles, and what else the verdict was decided on.
    verdict : of the test; it matters only in the last case.
    """
    settings = grounds.plan.settings
    features_named_after_looking = grounds.plan.named_after
    features_are_a_selection = settings.candidates is not None  # a number of candidates was given
    permutation = grounds.permutation  # the shuffles

    if features_named_after_looking:
        return NAME_BEFOREHAND
    if features_are_a_selection:
        return GIVE_ALL_CANDIDATES
    if permutation is None:
        # With B shuffles, p = (rank of the observed labelling)/(1 + B). So p is at most the level
        # for ranks up to level·(1 + B). B is chosen to make this number `EXPECTED_HITS`.
        n_for_hits = ceil(EXPECTED_HITS / settings.level) - 1
        n_permutations = max(MIN_PERMUTATIONS, n_for_hits)
        return f"shuffled labels would decide (permutations={n_permutations})."
    if permutation.void:
        return GIVE_ANOTHER_SEARCH
    if permutation.interrupted:
        shuffles_made = f"{permutation.done} of {permutation.requested} permutations"
        return f"drawing was stopped after {shuffles_made}; let it finish."
    return _advice_on_shuffles(grounds, permutation, verdict)


def _advice_on_shuffles(
    grounds: Grounds, permutation: PermutationReading, verdict: Verdict
) -> str | None:
    """Advice to shuffle more often, or to add samples if more shuffles cannot help.

    There is no advice (None) for the verdict CHANCE, which says that a large effect would have been
    seen. The verdict is UNDECIDED if this design, or these shuffles, could not decide.

    Parameters
    ----------
    grounds : what the verdict was decided on.
    permutation : the finished shuffles.
    verdict : of the test.
    """
    if verdict is Verdict.CHANCE:
        return None
    design = grounds.plan.design
    level = grounds.level
    # Before labels are shuffled, the test tries to prove structure by a bound. These proofs spend a
    # part of the level, which is added to the p-value of the shuffles.
    spent_by_proofs = grounds.plan.spending.spent_before_shuffles

    # More shuffles do not help if the verdict is settled, or if the design has so few labellings
    # that even the smallest possible p-value is above the level.
    is_settled = verdict is not Verdict.UNDECIDED
    design_is_too_small = design.smallest_p + spent_by_proofs > level
    if is_settled or design_is_too_small:
        n_units = design.sizes.n_units
        return f"more {grounds.unit}s than {n_units} would show smaller effects."

    # B shuffles give no p-value below the floor 1/(1 + B). B is too small if even this floor, plus
    # the level that the proofs spent, is above the level.
    if permutation.floor + spent_by_proofs > level:
        left_for_shuffles = level - spent_by_proofs  # above 0: the design is not too small
        n_permutations = ceil(1 / left_for_shuffles) - 1
        return f"at least {n_permutations} permutations are needed to reach level {level:g}."

    # The verdict is open because the p-value is near the level. With enough shuffles the confidence
    # interval of the p-value lies on one side of the level.
    n_permutations = permutations_that_settle(permutation, level)
    return f"more permutations would narrow the interval (permutations={n_permutations})."


def permutations_that_settle(permutation: PermutationReading, level: float) -> int:
    """The number of shuffles that tells on which side of the level the p-value lies.

    With B shuffles, two standard errors of the p-value are equal to its distance d from the level:
    2√(level(1 − level)/B) = d gives B = 4·level(1 − level)/d². B is rounded up to a multiple of
    `ROUND_TO`, and is at least twice what was requested. One is subtracted, because the observed
    labelling counts as well: 999 shuffles make 1000 labellings.
    """
    distance = max(abs(permutation.pvalue - level), MIN_DISTANCE * level)
    by_distance = ROUND_TO * ceil(4 * level * (1 - level) / distance**2 / ROUND_TO)
    return max(2 * permutation.requested, by_distance) - 1


def _advice_on_samples(grounds: Grounds, samples_needed: int | None) -> str | None:
    """The number of samples with which the separating rule would convince by the bound alone.

    None if that number is unknown, or no larger than the number of samples in the study.
    """
    if samples_needed is None or samples_needed <= grounds.plan.design.sizes.n_units:
        return None
    separating = grounds.separating
    features = plural(separating.n_selected, "feature")
    if not separating.separates:
        features += f" with as many errors ({separating.errors})"
    samples = plural(samples_needed, grounds.unit)
    return f"with {samples} of the same kind, {features} would convince by the bound alone."
