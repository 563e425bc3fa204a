"""A rule that was fixed beforehand on new samples of known outcome: does it hold?

Nothing was chosen on these samples, so that all of them count. The p-value is that of a permutation
test: outcomes change places between the samples, whose predictions stay. The statistic is a sum of
products over samples,

* of a number: of its rank and the rank of the prediction (Spearman);
* of classes: 1/(size of the class) where the class predicted is the sample's own, the mean share of
  the classes that is right;
* of times: of the log-rank score and the rank of the risk.

With blocks or pairs outcomes change places within these alone, where ranks and log-rank scores are
taken, too. A group of rows counts once, by the mean of its predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from chanceline._arrays import Floats, Ints
from chanceline._results import Result, visible
from chanceline.cohort.confirmation import p_in_figures
from chanceline.errors import InputError
from chanceline.prediction.against_majority import LEVEL
from chanceline.prediction.folds import join_units
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
from chanceline.significance.outcomes.score_design import ScoreDesign
from chanceline.significance.outcomes.several_classes import ClassesOutcome
from chanceline.significance.outcomes.survival import SurvivalOutcome
from chanceline.significance.unit_exchange import exchange_units
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
    guesses : (units, targets) what is predicted without any feature, likewise.
    block_of_unit : (units,) numbers 0, 1, … of the blocks or pairs.
    n_rows : rows of the table.
    """

    outcome: Outcome
    predictions: Floats
    guesses: Floats
    block_of_unit: Ints
    n_rows: int


@dataclass(frozen=True, eq=False, repr=False)
class OutcomeConfirmation(Result):
    """A rule on new samples.

    Attributes
    ----------
    source : the new table.
    outcome_kind : `number`, `classes`, `survival`.
    n_rows, n_units : rows, and what counts once: rows, or groups of them.
    n_blocks : blocks or pairs within which outcomes are permuted; 1 where there are none.
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
    n_blocks: int
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


def make_outcome_units(
    outcome: Outcome, predictions: Floats, guesses: Floats, design: ScoreDesign
) -> OutcomeUnits:
    """Turn samples into units that count once each: groups (of one patient, say), or samples.

    A unit has the outcome of its first sample, and the mean prediction of its samples. Too few
    units are an error.

    Parameters
    ----------
    outcome : the outcome of every sample, the same within a group.
    predictions : what the rule predicts, (samples, columns of predictions)
    guesses : what would be predicted without any feature, (samples, targets)
    design : which samples are a group, and which groups a block.
    """
    unit_of_sample = design.unit_of_sample
    _, first_sample_of_unit = np.unique(unit_of_sample, return_index=True)
    n_units = len(first_sample_of_unit)
    if n_units < FEWEST_UNITS:
        raise InputError(
            f"{plural(n_units, 'independent sample')} cannot confirm a rule; at least "
            f"{FEWEST_UNITS} are needed."
        )
    return OutcomeUnits(
        outcome=outcome.take(first_sample_of_unit),
        predictions=means_of_units(predictions, unit_of_sample),
        guesses=means_of_units(guesses, unit_of_sample),
        block_of_unit=design.block_of_unit,
        n_rows=len(unit_of_sample),
    )


def means_of_units(rows: Floats, unit_of_sample: Ints) -> Floats:
    """The mean row of every unit: (units, columns).

    Parameters
    ----------
    rows : (samples, columns)
    unit_of_sample : (samples,) numbers 0, 1, … of the units.
    """
    sizes = np.bincount(unit_of_sample)
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, unit_of_sample, rows)
    return sums / sizes[:, None]


def measures_of_units(units: OutcomeUnits) -> tuple[Measure, ...]:
    """How good the predictions are, with intervals, the most important measure first.

    They are R² and rank correlation for a number, error rates for classes, and concordance for
    survival times.
    """
    # The measures are written for cross-validation, where their intervals count only a share of the
    # samples. Here all units count (`WHOLE_SHARE`), because none had a part in making the rule.
    held_out = units_as_held_out(units)
    outcome = units.outcome
    if isinstance(outcome, NumberOutcome):
        return (
            r_squared(outcome.numbers, held_out, WHOLE_SHARE),
            rank_correlation(outcome.numbers, held_out, WHOLE_SHARE),
        )
    if isinstance(outcome, ClassesOutcome):
        return (
            balanced_error(outcome.codes, held_out, WHOLE_SHARE),
            error_rate(outcome.codes, held_out, WHOLE_SHARE),
        )
    assert isinstance(outcome, SurvivalOutcome)
    return (concordance(outcome.times, outcome.events, held_out, WHOLE_SHARE),)


def units_as_held_out(units: OutcomeUnits) -> HeldOutPredictions:
    """New units as samples held out by a cross-validation of one repeat with one fold.

    The measures are made for cross-validations. As there, the members of a block that is
    never split, such as a pair, count as far as they tell different things.
    """
    n_units = len(units.predictions)
    return HeldOutPredictions(
        predicted=units.predictions[None],
        guessed=units.guesses[None],
        fold_of_sample=np.zeros((1, n_units), dtype=np.int64),
        unit_of_sample=join_units(np.arange(n_units), units.block_of_unit),
        n_features=(),
    )


def permutation_pvalue(units: OutcomeUnits) -> float:
    """One-sided p-value of a permutation test: are permuted outcomes predicted as well?

    For a number or survival times the statistic is a sum of products over units. The predictions
    enter by their ranks; the outcomes enter by ranks too, or by log-rank scores if they are times.
    Ranks and scores are taken within each block (pair or site), in which outcomes are permuted.
    """
    outcome = units.outcome
    if isinstance(outcome, ClassesOutcome):
        return _pvalue_of_classes(units, outcome)

    # Predictions and outcomes as arrays of one column, filled block by block.
    prediction_ranks = np.empty((len(units.predictions), 1))
    outcome_scores = np.empty_like(prediction_ranks)
    n_blocks = units.block_of_unit.max() + 1
    for block in range(n_blocks):
        members = np.flatnonzero(units.block_of_unit == block)
        predictions_of_block = units.predictions[members, 0]  # one column: a number or a risk
        prediction_ranks[members, 0] = shares_by_rank(predictions_of_block)
        outcome_of_block = outcome.take(members)
        if isinstance(outcome_of_block, NumberOutcome):
            outcome_scores[members, 0] = shares_by_rank(outcome_of_block.numbers)
        else:
            outcome_scores[members] = outcome_of_block.scores  # log-rank scores, (members, 1)
    return pvalue_of_products(outcome_scores, prediction_ranks, units.block_of_unit)


def _pvalue_of_classes(units: OutcomeUnits, outcome: ClassesOutcome) -> float:
    """`permutation_pvalue` of classes, whose statistic adds up the shares of them that are right.

    A unit whose class is predicted adds 1/(size of its class), any other 0.
    """
    indicators = outcome.indicators  # (units, classes)
    class_sizes = np.maximum(indicators.sum(axis=0), 1.0)
    predicted_class = units.predictions.argmax(axis=1)
    all_classes = np.arange(len(outcome.class_names))
    is_predicted = (predicted_class[:, None] == all_classes).astype(float)  # (units, classes)
    return pvalue_of_products(indicators / class_sizes, is_predicted, units.block_of_unit)


def shares_by_rank(values: Floats) -> Floats:
    """Ranks divided by one more than there are, so that blocks of any size count alike: (units,).

    van Elteren (1960) weighs blocks in this way.
    """
    ranks: Floats = rankdata(values) / (len(values) + 1)
    return ranks


def pvalue_of_products(outcomes: Floats, predictions: Floats, block_of_unit: Ints) -> float:
    """The p-value of Σ outcomes·predictions, if the rows of outcomes are permuted within blocks.

    It is (1 + permutations with at least the observed sum)/(1 + permutations), one-sided.

    Parameters
    ----------
    outcomes, predictions : numbers for every unit, both of shape (units, columns)
    block_of_unit : numbers 0, 1, … of the blocks, (units,)
    """
    rng = np.random.default_rng(PERMUTATION_SEED)
    observed_sum = float(np.sum(outcomes * predictions))
    # Sums that are equal but for rounding count as equal.
    tolerance = ROUNDING_TOLERANCE * max(1.0, abs(observed_sum))
    has_blocks = block_of_unit.max() > 0
    n_as_large = 1  # the true order of the outcomes counts as a permutation
    for _ in range(N_PERMUTATIONS):
        if has_blocks:
            permuted_units = exchange_units(block_of_unit, rng)
            permuted_outcomes = outcomes[permuted_units]
        else:
            permuted_outcomes = rng.permutation(outcomes)
        permuted_sum = float(np.sum(permuted_outcomes * predictions))
        if permuted_sum >= observed_sum - tolerance:
            n_as_large += 1
    return n_as_large / (1 + N_PERMUTATIONS)
