"""A rule that was fixed beforehand on new samples with known classes: does it hold?

As nothing was chosen on these samples, no correction is needed: the error has Clopper and Pearson's
exact interval, and the ranks an exact test. What belongs together stays together.

* A *group* (a subject with several rows) counts once, by the mean of its scores.
* A *pair* has one sample of each class. Its two errors need not be independent, so the interval of
  the error is made of those of the two classes, each of 97.5 %: together they hold in 95 %.
* Within a *block* (a site) ranks are compared, and between blocks they are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline._results import Result, visible
from chanceline.chance.bound import format_p
from chanceline.cohort.calibration import Calibration, calibrate
from chanceline.cohort.concordance import concordance_test
from chanceline.prediction.against_majority import LEVEL, sign_test
from chanceline.prediction.area import area_interval_of_blocks
from chanceline.prediction.interval import CONFIDENCE, clopper_pearson
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural


@dataclass(frozen=True)
class ShareRight:
    """How many of some samples are told rightly.

    Attributes
    ----------
    right, total : numbers of samples.
    interval : 95 % interval of the share, exact.
    """

    right: int
    total: int
    interval: tuple[float, float]


@dataclass(frozen=True)
class SavedExpectation:
    """What cross-validation of the table tested had said of the rule.

    Attributes
    ----------
    error, error_interval : of new samples, and its 95 % interval.
    area, area_interval : under the curve; None where no fold had both classes.
    """

    error: float
    error_interval: tuple[float, float]
    area: float | None
    area_interval: tuple[float, float] | None


@dataclass(frozen=True)
class Claim:
    """What was fixed before the new samples were looked at.

    Attributes
    ----------
    classes : the negative and the positive class, in words.
    rule : which of the result's rules it is.
    gives_probabilities : whether its scores are those of a logistic regression.
    expected : what cross-validation had said of it; None if it said nothing.
    """

    classes: tuple[str, str]
    rule: str
    gives_probabilities: bool
    expected: SavedExpectation | None


@dataclass(frozen=True, eq=False)
class ConfirmationUnits:
    """New samples that count once each.

    Attributes
    ----------
    scores : the score of every unit, which is the mean score of its rows, (units,).
    is_positive : which units are positive, (units,).
    block_of_unit : numbers of the blocks or pairs, (units,).
    are_paired : whether blocks are pairs.
    n_rows : rows of the table.
    row_error : share of rows that are told wrongly.
    """

    scores: Floats
    is_positive: Bools
    block_of_unit: Ints
    are_paired: bool
    n_rows: int
    row_error: float

    @property
    def is_wrong(self) -> Bools:
        """Which units are told wrongly, (units,)."""
        return (self.scores > 0) != self.is_positive

    def block_sizes(self) -> list[tuple[int, int]]:
        """Positive and negative units of every block that has both."""
        n_positive = np.bincount(self.block_of_unit, weights=self.is_positive).astype(int)
        n_negative = np.bincount(self.block_of_unit, weights=~self.is_positive).astype(int)
        sizes = zip(n_positive.tolist(), n_negative.tolist(), strict=True)
        return [size for size in sizes if min(size) > 0]


@dataclass(frozen=True, eq=False, repr=False)
class Confirmation(Result):
    """A rule on new samples.

    Attributes
    ----------
    source : the new table.
    classes : the negative and the positive class, in words.
    rule : which of the result's rules it is.
    n_rows, n_units : rows, and what counts once: rows, or groups of them.
    paired : whether units come in pairs.
    wrong, error : units told wrongly, and their share.
    error_interval : its 95 % interval, exact.
    row_error : share of rows told wrongly.
    sensitivity, specificity : of the positive and of the negative units.
    area : under the curve, within blocks; and its 95 % interval (`chanceline.prediction.area`).
    pvalue : that chance ranks the new samples as well: exact, one-sided.
    n_shuffles : labels shuffled for it; 0 if all were counted.
    one_class_error : error of always naming one class, the better one here.
    one_class_pvalue : that a rule no better than naming one class, whichever it is, makes so few
        errors: exact, by a sign test.
    calibration : of the probabilities; None if the rule gives none, or with pairs, in which the
        share of positives is given.
    expected : what cross-validation of the table tested had said; None if it said nothing.
    findings : what is worth knowing, other units first.
    """

    source: str
    classes: tuple[str, str]
    rule: str
    n_rows: int
    n_units: int
    paired: bool
    wrong: int
    error: float
    error_interval: tuple[float, float]
    row_error: float
    sensitivity: ShareRight
    specificity: ShareRight
    area: float
    area_interval: tuple[float, float]
    pvalue: float
    n_shuffles: int
    one_class_error: float
    one_class_pvalue: float
    calibration: Calibration | None
    expected: SavedExpectation | None
    findings: tuple[Finding, ...]

    kind = "exact"
    _derived = ("confirmed",)

    @property
    def confirmed(self) -> bool:
        """Whether chance ranks the new samples as well in at most 5 % of cases."""
        return self.pvalue <= LEVEL

    def summary(self) -> str:
        """`confirmed, p = 0.0012: 7 of 60 samples wrong, AUC 0.94`."""
        word = "confirmed" if self.confirmed else "not confirmed"
        p_in_words = p_in_figures(self.pvalue)
        noun = "sample" if self.n_units == self.n_rows else "group"
        errors = f"{self.wrong} of {plural(self.n_units, noun)} wrong"
        return visible(f"{word}, p = {p_in_words}: {errors}, AUC {self.area:.2f}")

    def __str__(self) -> str:
        from chanceline.cohort.confirmation_text import confirmation_text

        return confirmation_text(self)


def p_in_figures(pvalue: float) -> str:
    """A p-value for people; one too small to be written stays above 0."""
    smallest_float = np.finfo(float).tiny
    return format_p(float(np.log10(max(pvalue, smallest_float))))


def make_units(scores: Floats, labels: Floats, declared: DeclaredRoles) -> ConfirmationUnits:
    """Turn rows of new samples into units that count once each.

    A unit is a group of rows (of one patient, say), or a single row if there are no groups. Its
    score is the mean score of its rows. Blocks, groups or pairs that contradict the
    labels or each other are an error.

    Parameters
    ----------
    scores : the rule's score of every row, (rows,)
    labels : the class of every row, ±1, (rows,)
    declared : blocks, groups and pairs, one value for each row.
    """
    design = make_design(labels, declared)
    unit_of_row = design.unit_of_sample
    n_rows_of_unit = np.bincount(unit_of_row)
    score_sums = np.bincount(unit_of_row, weights=scores)  # (units,)
    unit_scores = score_sums / n_rows_of_unit
    row_is_wrong = (scores > 0) != (labels > 0)  # (rows,)
    return ConfirmationUnits(
        scores=unit_scores,
        is_positive=design.unit_labels > 0,
        block_of_unit=design.block_of_unit,
        are_paired=declared.pairs is not None,
        n_rows=len(scores),
        row_error=float(np.mean(row_is_wrong)),
    )


def confirm_units(
    units: ConfirmationUnits, claim: Claim, *, source: str, findings: tuple[Finding, ...]
) -> Confirmation:
    """Test a rule that was fixed beforehand on new samples: errors, ranks and probabilities.

    A unit is a group of rows (of one patient, say), or a single row if there are no groups. All
    errors but `row_error` are counted in units.

    Parameters
    ----------
    units : the new samples that count once each.
    claim : what was fixed before the new samples were looked at: the rule, its classes, and what
        cross-validation had said of it.
    source, findings : the name of the new table, and what is worth knowing about it.
    """
    # Ranks: the area under the curve, within blocks.
    rank_test = concordance_test(units.scores, units.is_positive, units.block_of_unit)
    area_interval = area_interval_of_blocks(rank_test.area, units.block_sizes())

    # Probabilities. In pairs half of the samples are positive by design, so that probabilities
    # cannot be judged.
    calibration = None
    if claim.gives_probabilities and not units.are_paired:
        calibration = calibrate(units.scores, units.is_positive)

    # Errors: of all units, and of the units of each class.
    is_wrong = units.is_wrong  # (units,)
    is_right = ~is_wrong
    sensitivity = share_right(is_right[units.is_positive])
    specificity = share_right(is_right[~units.is_positive])

    # The error of naming one class for all units, the one that is more frequent.
    share_positive = float(units.is_positive.mean())
    one_class_error = min(share_positive, 1 - share_positive)

    return Confirmation(
        source=source,
        classes=claim.classes,
        rule=claim.rule,
        n_rows=units.n_rows,
        n_units=len(units.scores),
        paired=units.are_paired,
        wrong=int(np.count_nonzero(is_wrong)),
        error=float(is_wrong.mean()),
        error_interval=error_interval(units),
        row_error=units.row_error,
        sensitivity=sensitivity,
        specificity=specificity,
        area=rank_test.area,
        area_interval=area_interval,
        pvalue=rank_test.pvalue,
        n_shuffles=rank_test.n_shuffles,
        one_class_error=one_class_error,
        one_class_pvalue=one_class_pvalue(units),
        calibration=calibration,
        expected=claim.expected,
        findings=findings,
    )


def share_right(is_right: Bools, confidence: float = CONFIDENCE) -> ShareRight:
    """How many of some samples are told rightly, with Clopper and Pearson's interval."""
    n_right = int(np.count_nonzero(is_right))
    interval = clopper_pearson(n_right, len(is_right), confidence)
    return ShareRight(n_right, len(is_right), interval)


def error_interval(units: ConfirmationUnits) -> tuple[float, float]:
    """95 % interval of the error, exact."""
    is_wrong = units.is_wrong
    if not units.are_paired:
        return clopper_pearson(float(is_wrong.sum()), len(is_wrong))
    # The error is the mean of those of the classes, whose intervals fail in 2.5 % each.
    confidence = (1 + CONFIDENCE) / 2
    missed = share_right(is_wrong[units.is_positive], confidence).interval
    false_alarms = share_right(is_wrong[~units.is_positive], confidence).interval
    return (missed[0] + false_alarms[0]) / 2, (missed[1] + false_alarms[1]) / 2


def one_class_pvalue(units: ConfirmationUnits) -> float:
    """The p-value of making fewer errors than always naming one and the same class.

    For each class a sign test compares the number of samples (or pairs) that the rule wins, being
    right where naming that class is wrong, with the number that it loses the other way round. The
    larger of the two p-values is returned: it is valid whichever class is the more frequent.
    """
    pvalues = []
    for positive_is_named in (True, False):
        # The gain is 1 for samples that the rule wins, −1 for those that it loses, else 0.
        naming_is_wrong = units.is_positive != positive_is_named
        gains = naming_is_wrong.astype(int) - units.is_wrong.astype(int)  # (units,)
        if units.are_paired:
            # A pair's two samples are not independent: it counts once, by the sum of its gains.
            gains = np.bincount(units.block_of_unit, weights=gains).astype(int)  # (pairs,)
        n_won = int(np.count_nonzero(gains > 0))
        n_lost = int(np.count_nonzero(gains < 0))
        pvalues.append(sign_test(n_won, n_lost))
    return max(pvalues)
