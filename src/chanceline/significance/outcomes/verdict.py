"""The word of the test of an outcome, and why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._results import listed
from chanceline.significance.outcomes.planning import smallest_share_with_power
from chanceline.significance.outcomes.score_design import ScoreDesign
from chanceline.significance.outcomes.score_shuffles import ShuffledScores
from chanceline.significance.power import POWER
from chanceline.significance.verdict import Verdict
from chanceline.tables.wording import plural

# "Chance allows this" is said where a feature with such a share of its variance in common with the
# outcome would have been seen: it is the share of classes two standard deviations apart.
LARGE_EXPLAINED_SHARE = 0.5


@dataclass(frozen=True)
class OutcomeVerdict:
    """A verdict, why, and the features named.

    Attributes
    ----------
    verdict, reason : the word, and what it rests on.
    n_named : the fewest features that convince by themselves; 0 if none do.
    is_spread : whether the evidence is spread over many features.
    """

    verdict: Verdict
    reason: str
    n_named: int
    is_spread: bool


@dataclass(frozen=True, eq=False)
class OutcomeGrounds:
    """What the verdict is decided on.

    Attributes
    ----------
    shuffled : the permutations; None if there were none.
    design : what was permuted.
    names_of_size : the features of K = 1, 2, … on the path.
    level : the p-value that convinces.
    n_columns : number of different features.
    rule_helps : whether a rule is clearly better than guessing: of that nobody says that chance
        allows it.
    """

    shuffled: ShuffledScores | None
    design: ScoreDesign
    names_of_size: list[tuple[str, ...]]
    level: float
    n_columns: int
    rule_helps: bool


def decide_outcome(grounds: OutcomeGrounds) -> OutcomeVerdict:
    """The verdict: structure if p ≤ level; else undecided, chance, or not shown.

    Parameters
    ----------
    grounds : the permutations of the outcome, the level, and what else the verdict depends on.

    Returns
    -------
    The verdict, its reason in a sentence, the number of features named, and whether the evidence is
    spread over many features. Only structure can name features or be spread.
    """
    shuffled = grounds.shuffled
    level = grounds.level
    if shuffled is None or shuffled.done == 0:
        return _verdict_without_features(Verdict.UNDECIDED, "Nothing was permuted.")
    if shuffled.pvalue <= level:
        return _verdict_of_structure(shuffled, grounds.names_of_size, level)

    # No structure was found. Undecided, if no p-value could have reached the level: it is at least
    # 1/(1 + draws), and at least 1/(number of different permutations).
    smallest_p_of_draws = 1 / (1 + shuffled.done)
    smallest_p_of_design = np.exp(-grounds.design.log_permutations)
    smallest_p = max(smallest_p_of_draws, smallest_p_of_design)
    if smallest_p > level:
        reason = (
            f"No p-value below {smallest_p:.2g} is possible here: too few permutations, or too few "
            "outcomes that can change places."
        )
        return _verdict_without_features(Verdict.UNDECIDED, reason)

    # Not shown, if cross-validation finds a useful rule.
    if grounds.rule_helps:
        reason = "Permuted outcomes are explained as well, though a rule promises something."
        return _verdict_without_features(Verdict.NOT_SHOWN, reason)

    # Chance, if a large effect would have been seen; else not shown. The effect is the share of a
    # feature's variance that is in common with the outcome.
    smallest_effect_seen = smallest_share_seen(grounds.design, grounds.n_columns, level)
    if smallest_effect_seen <= LARGE_EXPLAINED_SHARE:
        reason = (
            f"Permuted outcomes are explained as well; one feature that has "
            f"{100 * smallest_effect_seen:.0f} % of its variance in common with the outcome would "
            f"have been seen with a probability of {100 * POWER:.0f} %."
        )
        return _verdict_without_features(Verdict.CHANCE, reason)
    reason = (
        "Permuted outcomes are explained as well, and a sizeable effect could have been missed."
    )
    return _verdict_without_features(Verdict.NOT_SHOWN, reason)


def _verdict_without_features(verdict: Verdict, reason: str) -> OutcomeVerdict:
    """A verdict other than structure, which names no features."""
    return OutcomeVerdict(verdict, reason, n_named=0, is_spread=False)


def _verdict_of_structure(
    shuffled: ShuffledScores, names_of_size: list[tuple[str, ...]], level: float
) -> OutcomeVerdict:
    """The verdict of structure, with the features that it names.

    These are the fewest features whose own p-value reaches the level. If there are none, many
    features go with the outcome only together: the evidence is spread.

    Parameters
    ----------
    shuffled : the permutations of the outcome, whose p-value reaches the level.
    names_of_size : the names of the best 1, 2, … features.
    level : the p-value that convinces.
    """
    # p-values and losses of the stepwise path (`path`), which adds a feature at every step. The
    # loss is the share of the outcome that is not explained. In both arrays position 0 is for 1
    # feature, position 1 for 2 features, ….
    adjusted_pvalues = shuffled.adjusted_pvalues()
    pvalues_of_size = adjusted_pvalues.path  # (sizes,)
    losses_of_all_outcomes = shuffled.losses.path  # (1 + permutations, sizes)
    losses_of_size = losses_of_all_outcomes[0]  # of the observed outcome
    convincing_positions = np.flatnonzero(pvalues_of_size <= level)
    if len(convincing_positions) == 0:
        reason = (
            "Many features together go with the outcome more than chance allows; none stands out."
        )
        return OutcomeVerdict(Verdict.STRUCTURE, reason, n_named=0, is_spread=True)

    position = int(convincing_positions[0])
    n_named = position + 1
    names = listed(names_of_size[position], 6)  # at most 6 of them
    explained_percent = 100 * (1 - losses_of_size[position])
    verb = "explains" if n_named == 1 else "explain"
    reason = (
        f"{plural(n_named, 'feature')} ({names}) {verb} {explained_percent:.0f} % of the outcome, "
        f"more than chance allows (p adjusted for all sizes {pvalues_of_size[position]:.2g})."
    )
    return OutcomeVerdict(Verdict.STRUCTURE, reason, n_named=n_named, is_spread=False)


def smallest_share_seen(design: ScoreDesign, n_columns: int, level: float) -> float:
    """The share of a feature's variance in common with the outcome that would have been seen.

    Parameters
    ----------
    design : its units, blocks and covariates give the degrees of freedom.
    n_columns : number of different features.
    level : the p-value that convinces.
    """
    n_scores = design.unit_scores.shape[1]
    freedom = design.n_units - design.n_blocks - n_scores
    if design.covariate_terms is not None:
        freedom -= design.covariate_terms.shape[1]
    return smallest_share_with_power(freedom, n_scores=n_scores, n_features=n_columns, level=level)
