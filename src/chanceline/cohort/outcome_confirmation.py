"""A rule that was fixed beforehand on new samples of known outcome: does it hold?

Nothing was chosen on these samples, so that all of them count. The p-value is that of a permutation
test: outcomes change places between the samples, whose predictions stay. The statistic is a sum of
products over samples,

* of a number: of its rank and the rank of the prediction (Spearman);
* of classes: 1/(size of the class) where the class predicted is the sample's own, the mean share of
  the classes that is right;
* of times: of the log-rank score and the rank of the risk.

A group of rows counts once, by the mean of its predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from chanceline._arrays import Floats, Ints
from chanceline._results import Result, visible
from chanceline.cohort.confirmation import p_in_figures
from chanceline.cohort.saved_outcome_rule import SavedOutcomeRule
from chanceline.errors import InputError
from chanceline.prediction.against_majority import LEVEL
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import (
    Measure,
    balanced_error,
    concordance,
    error_rate,
    r_squared,
    rank_correlation,
)
from chanceline.significance.outcomes.number import NumberOutcome
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.significance.outcomes.survival import SurvivalOutcome
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural

N_PERMUTATIONS = 9999
PERMUTATION_SEED = 0  # the same table gets the same p-value
# Fewer units tell nothing, whatever the rule.
FEWEST_UNITS = 5
# All samples count in the intervals: the rule was made without them.
WHOLE_SHARE = 1.0


class OutcomeUnits(NamedTuple):
    """New samples that count once each.

    Attributes
    ----------
    outcome : of every unit.
    predictions : (units, columns of predictions) the mean of their rows.
    n_rows : rows of the table.
    """

    outcome: Outcome
    predictions: Floats
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeConfirmation(Result):
    """A rule on new samples.

    Attributes
    ----------
    source : the new table.
    outcome_kind : `number`, `classes`, `survival`.
    n_rows, n_units : rows, and what counts once: rows, or groups of them.
    measures : how good the predictions are, with 95 % intervals; the most important first.
    expected : what cross-validation of the table tested had said; empty if it said nothing.
    pvalue : that permuted outcomes are predicted as well, one-sided.
    n_permutations : for it.
    findings : what is worth knowing, other units first.
    """

    source: str
    outcome_kind: str
    n_rows: int
    n_units: int
    measures: tuple[Measure, ...]
    expected: tuple[Measure, ...]
    pvalue: float
    n_permutations: int
    findings: tuple[Finding, ...]

    kind = "confirmation"
    _derived = ("confirmed",)

    @property
    def confirmed(self) -> bool:
        """Whether the rule predicts the new samples better than chance does."""
        return self.pvalue <= LEVEL

    def summary(self) -> str:
        """`confirmed, p = 0.0001: R² 0.41 (95 % CI 0.20 to 0.62), guessing 0`."""
        word = "confirmed" if self.confirmed else "not confirmed"
        p_in_words = f"p = {p_in_figures(self.pvalue)}"
        return visible(f"{word}, {p_in_words}: {self.measures[0].in_words}")

    def __str__(self) -> str:
        from chanceline.cohort.outcome_confirmation_text import outcome_confirmation_text

        return outcome_confirmation_text(self)


def make_outcome_units(outcome: Outcome, predictions: Floats, unit_of_sample: Ints) -> OutcomeUnits:
    """Let every group count once.

    Parameters
    ----------
    outcome : of every sample, the same within a group.
    predictions : (samples, columns of predictions)
    unit_of_sample : (samples,) numbers 0, 1, … of the groups.
    """
    _, first_sample, sizes = np.unique(unit_of_sample, return_index=True, return_counts=True)
    if len(sizes) < FEWEST_UNITS:
        raise InputError(
            f"{plural(len(sizes), 'independent sample')} cannot confirm a rule; at least "
            f"{FEWEST_UNITS} are needed."
        )
    sums = np.zeros((len(sizes), predictions.shape[1]))
    np.add.at(sums, unit_of_sample, predictions)
    return OutcomeUnits(
        outcome=outcome.take(first_sample),
        predictions=sums / sizes[:, None],
        n_rows=len(unit_of_sample),
    )


def measures_of_units(units: OutcomeUnits, rule: SavedOutcomeRule) -> tuple[Measure, ...]:
    """How good the predictions are, in the outcome's own measures.

    Parameters
    ----------
    units : new samples.
    rule : that predicted them, and knows what guessing says.
    """
    n_units = len(units.predictions)
    predicted = HeldOutPredictions(
        predicted=units.predictions[None],
        guessed=np.tile(rule.guesses, (1, n_units, 1)),
        fold_of_sample=np.zeros((1, n_units), dtype=np.int64),
        unit_of_sample=np.arange(n_units),
        n_features=(len(rule.features),),
    )
    outcome = units.outcome
    if isinstance(outcome, NumberOutcome):
        explained = r_squared(outcome.numbers, predicted, WHOLE_SHARE)
        return explained, rank_correlation(outcome.numbers, predicted, WHOLE_SHARE)
    if isinstance(outcome, ClassesOutcome):
        codes = outcome.codes
        balanced = balanced_error(codes, predicted, WHOLE_SHARE)
        return balanced, error_rate(codes, predicted, WHOLE_SHARE)
    assert isinstance(outcome, SurvivalOutcome)
    return (concordance(outcome.times, outcome.events, predicted, WHOLE_SHARE),)


def permutation_pvalue(units: OutcomeUnits) -> float:
    """The p-value that permuted outcomes are predicted as well, one-sided."""
    outcome = units.outcome
    if isinstance(outcome, ClassesOutcome):
        indicators = outcome.indicators
        sizes = np.maximum(indicators.sum(axis=0), 1.0)
        called = units.predictions.argmax(axis=1)
        is_called = (called[:, None] == np.arange(len(outcome.class_names))).astype(float)
        return pvalue_of_products(indicators / sizes, is_called)
    ranks = rankdata(units.predictions[:, 0])[:, None]
    if isinstance(outcome, NumberOutcome):
        return pvalue_of_products(rankdata(outcome.numbers)[:, None], ranks)
    return pvalue_of_products(outcome.scores, ranks)


def pvalue_of_products(outcomes: Floats, predictions: Floats) -> float:
    """The p-value of Σ outcomes·predictions when the rows of outcomes change places.

    Parameters
    ----------
    outcomes, predictions : (units, columns)
    """
    rng = np.random.default_rng(PERMUTATION_SEED)
    observed = float(np.sum(outcomes * predictions))
    tolerance = ROUNDING_TOLERANCE * max(1.0, abs(observed))
    n_as_large = 1
    for _ in range(N_PERMUTATIONS):
        permuted = float(np.sum(rng.permutation(outcomes) * predictions))
        n_as_large += permuted >= observed - tolerance
    return n_as_large / (1 + N_PERMUTATIONS)
