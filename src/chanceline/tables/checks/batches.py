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
from chanceline.tables.identifiers import FIRST_ROWS, MOST_SIMILAR_COLUMNS
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
    controlled_columns: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column that looks like a batch.

    Such a column has few values, the classes are associated with it, and so are the features within
    the classes.

    Parameters
    ----------
    text : columns of words, of shape (samples, columns).
    features : numbers without gaps, of shape (samples, features).
    labels : ±1 of shape (samples,).
    controlled_columns : blocks and covariates: columns that the test already takes into account.
    """
    candidates = _text_candidates(text)
    candidates += [features[name] for name in few_numbers(features)]
    candidate_names = [column.name for column in candidates]
    names_of_measurements = _names_of_measurements(features, candidate_names)
    return warn_of_candidate_batches(
        candidates=candidates,
        measurements=features[names_of_measurements].to_numpy(),
        labels=labels,
        controlled_columns=controlled_columns,
    )


def warn_of_batches_in_table(
    text: pd.DataFrame,
    features: WideFeatures,
    whole_number_positions: Ints,
    labels: Floats,
    controlled_columns: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column that looks like a batch, in a table that is not in memory.

    Such a column has few values, the classes are associated with it, and so are the features within
    the classes.

    Columns of words are only looked at as batches. Columns of codes are both features and possible
    batches: they are taken out of the features that are tested for an association with a batch.

    Parameters
    ----------
    text : columns of words, which are no features, of shape (samples, columns).
    features : numbers without gaps, not in memory.
    whole_number_positions : the positions of the features that hold a few different whole numbers.
    labels : ±1 of shape (samples,).
    controlled_columns : blocks and covariates: columns that the test already takes into account.
    """
    # If only few columns hold a few whole numbers, they may be codes of batches. If many do, they
    # are measurements, and there are no columns of codes.
    no_positions = np.zeros(0, dtype=np.int64)
    are_codes = _are_few(len(whole_number_positions), len(features.names))
    code_positions = whole_number_positions if are_codes else no_positions
    code_columns = features.frame(code_positions, text.index)  # in memory, (samples, codes)

    # Columns of words come first, as warnings are in the order of the candidates.
    candidates = _text_candidates(text)
    candidates += [column for _, column in code_columns.items()]
    return warn_of_candidate_batches(
        candidates=candidates,
        measurements=features.without_columns(code_positions).table,
        labels=labels,
        controlled_columns=controlled_columns,
    )


def _text_candidates(text: pd.DataFrame) -> list[pd.Series]:
    """The first columns of words (samples, columns), each of which may be a batch."""
    n_columns = min(text.shape[1], MOST_TEXT_COLUMNS)
    return [text.iloc[:, position] for position in range(n_columns)]


def warn_of_candidate_batches(
    candidates: Sequence[pd.Series],
    measurements: AnyTable,
    labels: Floats,
    controlled_columns: Sequence[pd.Series],
) -> list[Finding]:
    """A warning for every candidate that looks like a batch: the classes are associated with it,
    and so are the measurements within the classes.

    Parameters
    ----------
    candidates : columns of few values, of shape (samples,) each.
    measurements : the features that are no candidates, numbers of shape (samples, features).
    labels : ±1 of shape (samples,).
    controlled_columns : blocks and covariates: columns that the test already takes into account.
    """
    if size_of_smaller_class(labels) < FEWEST_ROWS_A_TERM:
        return []  # too few rows for a χ² test

    # First the cheap test of each column against the classes.
    suspects = []
    for column in candidates:
        classes_depend = _classes_depend_on(column, labels, n_candidates=len(candidates))
        if classes_depend and not _needs_no_warning(column, controlled_columns):
            suspects.append(column)
    if not suspects or measurements.shape[1] < FEWEST_FEATURES:
        return []

    # Then the slower test of each suspect against the measurements X. It needs only XXᵀ, which is
    # computed once for all suspects.
    standardized = standardized_within_classes(measurements, labels)
    products = standardized @ standardized.T  # XXᵀ, (samples, samples)
    findings = []
    for column in suspects:
        findings += _warn_if_features_follow(column, products, labels)
    return findings


def _needs_no_warning(column: pd.Series, controlled_columns: Sequence[pd.Series]) -> bool:
    """Whether no warning about a column is needed here.

    Either its name is that of a usual confounder, about which another check warns, or it is
    determined by one of the columns that the test already takes into account
    (`controlled_columns`).
    """
    if is_called_confounder(column.name):
        return True
    return any(determines(controlled_column, column) for controlled_column in controlled_columns)


def few_numbers(features: pd.DataFrame) -> list[Any]:
    """Names of the columns that hold a few different whole numbers, as codes of batches do.

    There are none if many columns of the table are like that: then they are measurements.
    """
    scan = FewWholeScan()
    scan_table(features.to_numpy(), [scan])
    columns = scan.columns
    if not _are_few(len(columns), features.shape[1]):
        return []
    return features.columns[columns].tolist()


def _are_few(n_few_whole: int, n_columns: int) -> bool:
    """Whether columns of a few whole numbers are exceptions among all columns."""
    return n_few_whole <= MOST_SIMILAR_COLUMNS and 2 * n_few_whole <= n_columns


class FewWholeScan:
    """Looks for columns of a few different whole numbers, until there are too many for batches."""

    def __init__(self) -> None:
        self._found = FoundColumns()

    def scan_columns(self, start: int, columns: Floats) -> Ints:
        """Positions, among these columns, of those with a few different whole numbers."""
        # The first rows rule most measurements out, so that few columns are sorted in full.
        candidates = np.flatnonzero(_are_few_whole(columns[:FIRST_ROWS]))
        is_found = _are_few_whole(columns[:, candidates])
        return candidates[is_found]

    def keep(self, start: int, seen: Ints) -> None:
        if len(self.columns) <= MOST_SIMILAR_COLUMNS:
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


def _classes_depend_on(column: pd.Series, labels: Floats, n_candidates: int) -> bool:
    """Whether a column has few categories and the classes depend on them, by a χ² test that is
    corrected for the number of candidates (Bonferroni).
    """
    n_categories = column.nunique()
    if not 2 <= n_categories <= len(column) / FEWEST_ROWS_A_TERM:
        return False
    return n_candidates * pvalue_of_labels(column.astype(str), labels) <= CLASSES_LEVEL


def _names_of_measurements(features: pd.DataFrame, candidates: Sequence[Any]) -> list[Any]:
    """Names of the features that are neither candidates nor indicators of one (`kit=Zymo`)."""
    candidate_names = {str(name) for name in candidates}
    return [name for name in features if str(name).partition("=")[0] not in candidate_names]


def _warn_if_features_follow(column: pd.Series, products: Floats, labels: Floats) -> list[Finding]:
    """A warning if, within the classes, the features are associated with the column.

    Parameters
    ----------
    column : categories, of shape (samples,).
    products : XXᵀ of the features X, standardized within the classes, of shape (samples, samples).
    labels : ±1 of shape (samples,).
    """
    features_pvalue = pvalue_of_features(column, products, labels)
    if features_pvalue > FEATURES_LEVEL:
        return []
    name = str(column.name)
    if determines(column, pd.Series(labels)):
        # Adjusting for a column that determines the label would leave nothing of the label, so
        # that this warning proposes no remedy.
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
    """The p-value of the hypothesis that, within the classes, features are independent of a column.

    It is a permutation test. The statistic is the sum of squares of the features that the column's
    categories explain. In every shuffle, the categories change places between rows of one class.

    Parameters
    ----------
    column : categories, of shape (samples,).
    products : XXᵀ of the features X, standardized within the classes, of shape (samples, samples).
    labels : ±1 of shape (samples,).
    """
    # Orthonormal directions that span the indicators of the categories, from which the class means
    # are subtracted.
    indicators = pd.get_dummies(column.astype(str)).to_numpy(dtype=np.float64)
    indicators_in_classes = centred_within(indicators, class_of_rows(labels))
    singular_vectors, singular_values, _ = np.linalg.svd(indicators_in_classes, full_matrices=False)
    directions = singular_vectors[:, singular_values > SMALLEST_LENGTH]  # (samples, directions)
    if directions.shape[1] == 0:
        return 1.0  # the classes determine the categories

    observed = explained_sum_of_squares(directions, products)
    shuffled = [
        explained_sum_of_squares(directions[order], products)
        for order in shuffles_within_classes(labels, N_SHUFFLES)
    ]
    return shuffle_pvalue(observed, np.array(shuffled))


def explained_sum_of_squares(directions: Floats, products: Floats) -> float:
    """The sum of squares of the features X that orthonormal directions q explain: Σ_q qᵀ(XXᵀ)q.

    Parameters
    ----------
    directions : q, of shape (samples, directions).
    products : XXᵀ, of shape (samples, samples).
    """
    return float(np.sum(directions * (products @ directions)))
