"""Columns of few values that look like batches: the classes go with them, and so do the features.

Text (`kit`) or a few whole numbers (`lab`) may say how the samples were made. Where the classes
depend on such a column, whatever it changes in the features looks like structure. That the features
go with it is looked for within the classes, so that a real difference between these does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.tables.checks.confounders import FEWEST_ROWS_A_TERM, pvalue_of_labels
from chanceline.tables.checks.scans import FoundColumns, scan_table
from chanceline.tables.checks.within_classes import (
    centred_within,
    class_of_rows,
    shuffle_pvalue,
    shuffles_within_classes,
    size_of_smaller_class,
    standardized_within_classes,
)
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.identifiers import FIRST_ROWS, MOST_COLUMNS_ALIKE
from chanceline.tables.partitions import determines
from chanceline.tables.wide_features import WideFeatures

CLASSES_LEVEL = 0.01  # p-value, of all columns looked at, up to which one goes with the classes
FEATURES_LEVEL = 0.01  # p-value up to which the features go with it
N_SHUFFLES = 199
MOST_NUMBERS = 12  # different whole numbers; more are a measurement
MOST_TEXT_COLUMNS = 100  # that are looked at
FEWEST_FEATURES = 5
SMALLEST_LENGTH = 1e-9  # of a direction that is not rounding


def warn_of_batches(
    text: pd.DataFrame,
    features: pd.DataFrame,
    labels: Floats,
    allowed_for: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column of few values that goes with the classes and, within these, with
    the features.

    Parameters
    ----------
    text : columns of words, of shape (samples, columns).
    features : numbers without gaps, of shape (samples, features).
    labels : ±1 of shape (samples,).
    allowed_for : blocks and covariates, for which the test allows.
    """
    candidates = _text_candidates(text)
    candidates += [features[name] for name in few_numbers(features)]
    measurements = _names_of_others(features, [column.name for column in candidates])
    return warn_of_candidate_batches(
        candidates=candidates,
        measured=features[measurements].to_numpy(),
        labels=labels,
        allowed_for=allowed_for,
    )


def warn_of_batches_in_table(
    text: pd.DataFrame,
    features: WideFeatures,
    few_whole: Ints,
    labels: Floats,
    allowed_for: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column of few values that goes with the classes and, within them, with
    the features.

    Parameters
    ----------
    text : columns of words, of shape (samples, columns).
    features : numbers without gaps, not in memory.
    few_whole : indices of the features that hold a few whole numbers.
    labels : ±1 of shape (samples,).
    allowed_for : blocks and covariates.
    """
    # A few such columns may be codes of batches; where they are common, they are measurements.
    no_columns = few_whole[:0]
    codes = few_whole if _are_few(len(few_whole), len(features.names)) else no_columns
    columns_of_codes = features.frame(codes, text.index)
    candidates = _text_candidates(text)
    candidates += [column for _, column in columns_of_codes.items()]
    return warn_of_candidate_batches(
        candidates=candidates,
        measured=features.without_columns(codes).table,
        labels=labels,
        allowed_for=allowed_for,
    )


def _text_candidates(text: pd.DataFrame) -> list[pd.Series]:
    """The first columns of words (samples, columns), each of which may be a batch."""
    n_columns = min(text.shape[1], MOST_TEXT_COLUMNS)
    return [text.iloc[:, position] for position in range(n_columns)]


def warn_of_candidate_batches(
    candidates: Sequence[pd.Series],
    measured: AnyTable,
    labels: Floats,
    allowed_for: Sequence[pd.Series],
) -> list[Finding]:
    """A warning for every candidate that goes with the classes and, within these, with what was
    measured.

    Parameters
    ----------
    candidates : columns of few values, of shape (samples,) each.
    measured : the other features, numbers of shape (samples, features).
    labels : ±1 of shape (samples,).
    allowed_for : blocks and covariates, for which the test allows.
    """
    if size_of_smaller_class(labels) < FEWEST_ROWS_A_TERM:
        return []
    suspects = [
        column
        for column in candidates
        if _goes_with_classes(column, labels, len(candidates))
        and not _is_dealt_with(column, allowed_for)
    ]
    if not suspects or measured.shape[1] < FEWEST_FEATURES:
        return []

    standardized = standardized_within_classes(measured, labels)
    products = standardized @ standardized.T  # of rows, (samples, samples)
    findings = []
    for column in suspects:
        findings += _warn_if_features_follow(column, products, labels)
    return findings


def _is_dealt_with(column: pd.Series, allowed_for: Sequence[pd.Series]) -> bool:
    """Whether the test allows for the column, or `confounders` warns of it because of its name."""
    if is_called_confounder(column.name):
        return True
    return any(determines(allowed, column) for allowed in allowed_for)


def few_numbers(features: pd.DataFrame) -> list[Any]:
    """Names of the columns of a few whole numbers, where these are exceptions in the table."""
    scan = FewWholeScan()
    scan_table(features.to_numpy(), [scan])
    columns = scan.columns
    if not _are_few(len(columns), features.shape[1]):
        return []
    return features.columns[columns].tolist()


def _are_few(n_few_whole: int, n_columns: int) -> bool:
    """Whether columns of a few whole numbers are exceptions among all columns."""
    return n_few_whole <= MOST_COLUMNS_ALIKE and 2 * n_few_whole <= n_columns


class FewWholeScan:
    """Looks for columns of a few whole numbers; more than can be exceptions are not looked for."""

    def __init__(self) -> None:
        self._found = FoundColumns()

    def look(self, start: int, columns: Floats) -> Ints:
        """Places of such columns."""
        # The first rows tell most measurements, so that few columns are sorted.
        candidates = np.flatnonzero(_are_few_whole(columns[:FIRST_ROWS]))
        is_found = _are_few_whole(columns[:, candidates])
        return candidates[is_found]

    def keep(self, start: int, seen: Ints) -> None:
        if len(self.columns) <= MOST_COLUMNS_ALIKE:
            self._found.add(start, seen)

    @property
    def columns(self) -> Ints:
        """The numbers of the columns found."""
        return self._found.numbers


def _are_few_whole(values: Floats) -> NDArray[np.bool_]:
    """Which columns hold whole numbers, few of them different, of shape (columns,)."""
    is_whole = np.all(values == np.round(values), axis=0)
    ordered = np.sort(values, axis=0)
    n_different = 1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0)
    return is_whole & (n_different <= MOST_NUMBERS)


def _goes_with_classes(column: pd.Series, labels: Floats, n_columns: int) -> bool:
    """Whether there are few categories, and classes that depend on them (Bonferroni)."""
    n_categories = column.nunique()
    if not 2 <= n_categories <= len(column) / FEWEST_ROWS_A_TERM:
        return False
    return n_columns * pvalue_of_labels(column.astype(str), labels) <= CLASSES_LEVEL


def _names_of_others(features: pd.DataFrame, left_out: Sequence[Any]) -> list[Any]:
    """Names of the features other than those left out and their indicators (`kit=Zymo`)."""
    names_left_out = {str(name) for name in left_out}
    return [name for name in features if str(name).partition("=")[0] not in names_left_out]


def _warn_if_features_follow(column: pd.Series, products: Floats, labels: Floats) -> list[Finding]:
    """A warning if the features go with the column within the classes.

    Parameters
    ----------
    column : categories, of shape (samples,).
    products : XXᵀ, the products of the rows of the standardized features, of shape
        (samples, samples).
    labels : ±1 of shape (samples,).
    """
    features_pvalue = pvalue_of_features(column, products, labels)
    if features_pvalue > FEATURES_LEVEL:
        return []
    name = str(column.name)
    if determines(column, pd.Series(labels)):
        # Taken out of the classes, it would leave nothing of them: there is no remedy to name.
        return [
            Finding.warning(
                f"every value of column {name!r} has one label, and within the classes the "
                f"features go with it (p = {features_pvalue:.1g}); if it says the label more "
                "finely, that is no fault, but batches like these cannot be told from the classes."
            )
        ]
    classes_pvalue = pvalue_of_labels(column.astype(str), labels)
    return [
        Finding.warning(
            f"column {name!r} goes with the classes (χ² test, p = {classes_pvalue:.1g}), and "
            f"within the classes the features go with it (p = {features_pvalue:.1g}), as with a "
            f"batch; if it is one, adjust={name!r} asks what they show beyond it."
        )
    ]


def pvalue_of_features(column: pd.Series, products: Floats, labels: Floats) -> float:
    """The p-value of the hypothesis that, within the classes, features do not follow categories.

    The statistic is the sum of squares that the categories explain; rows are shuffled within the
    classes.

    Parameters
    ----------
    column : categories, of shape (samples,).
    products : XXᵀ of the standardized features X, of shape (samples, samples).
    labels : ±1 of shape (samples,).
    """
    indicators = pd.get_dummies(column.astype(str)).to_numpy(dtype=np.float64)
    indicators_in_classes = centred_within(indicators, class_of_rows(labels))
    singular_vectors, lengths, _ = np.linalg.svd(indicators_in_classes, full_matrices=False)
    directions = singular_vectors[:, lengths > SMALLEST_LENGTH]  # (samples, directions)
    if directions.shape[1] == 0:
        return 1.0  # the classes determine the categories

    observed = explained_sum_of_squares(directions, products)
    shuffled = [
        explained_sum_of_squares(directions[order], products)
        for order in shuffles_within_classes(labels, N_SHUFFLES)
    ]
    return shuffle_pvalue(observed, np.array(shuffled))


def explained_sum_of_squares(directions: Floats, products: Floats) -> float:
    """The sum of squares of the features X in orthonormal directions q: Σ_q qᵀ(XXᵀ)q.

    Parameters
    ----------
    directions : q, of shape (samples, directions).
    products : XXᵀ, of shape (samples, samples).
    """
    return float(np.sum(directions * (products @ directions)))
