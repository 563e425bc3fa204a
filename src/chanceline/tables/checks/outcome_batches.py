"""Columns of few values that look like batches: the outcome goes with them, and, beyond it, so do
the features.

As for two classes (`batches`), with what the outcome's scores leave in the place of what is left
within the classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from chanceline._arrays import Bools, Floats
from chanceline.tables.checks.batches import (
    CLASSES_LEVEL,
    FEATURES_LEVEL,
    FEWEST_FEATURES,
    MOST_TEXT_COLUMNS,
    N_SHUFFLES,
    SMALLEST_LENGTH,
    explained_sum_of_squares,
    few_numbers,
)
from chanceline.tables.checks.confounders import FEWEST_ROWS_A_TERM
from chanceline.tables.checks.outcome_association import OutcomeAssociation
from chanceline.tables.checks.within_classes import (
    SHUFFLE_SEED,
    centred_within,
    shuffle_pvalue,
)
from chanceline.tables.column_names import is_called_confounder
from chanceline.tables.dataset import Finding
from chanceline.tables.partitions import determines


def warn_of_outcome_batches(
    text: pd.DataFrame,
    features: pd.DataFrame,
    association: OutcomeAssociation,
    controlled_columns: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column that looks like a batch.

    Such a column has few values, the outcome is associated with it, and so is what the outcome
    leaves unexplained of the features.

    Parameters
    ----------
    text : (rows, columns) columns of words.
    features : (rows, features) numbers without gaps.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    controlled_columns : blocks and covariates: columns that the test already takes into account.
    """
    candidates = _candidate_columns(text, features)
    is_measurement = _are_measurements(features, candidates)
    if not candidates or np.count_nonzero(is_measurement) < FEWEST_FEATURES:
        return []
    measurements = features.loc[:, is_measurement].to_numpy(np.float64)

    findings = []
    for column in candidates:
        # No warning is needed if the test takes the column into account, or if another check warns
        # about it because of its name.
        is_controlled = any(
            determines(controlled_column, column) for controlled_column in controlled_columns
        )
        if is_called_confounder(column.name) or is_controlled:
            continue

        pvalue = pvalue_of_outcome_in_column(column, association)
        corrected_pvalue = len(candidates) * pvalue  # Bonferroni
        if corrected_pvalue <= CLASSES_LEVEL:
            findings += _warn_if_residuals_differ_between_batches(
                column, measurements, association, pvalue_of_outcome=corrected_pvalue
            )
    return findings


def _candidate_columns(text: pd.DataFrame, features: pd.DataFrame) -> list[pd.Series]:
    """Columns that may be batches: words, or a few whole numbers, that have few values."""
    n_text_columns = min(text.shape[1], MOST_TEXT_COLUMNS)
    candidates = [text.iloc[:, position] for position in range(n_text_columns)]
    candidates += [features[name] for name in few_numbers(features)]
    return [column for column in candidates if _has_few_values(column)]


def _are_measurements(features: pd.DataFrame, candidates: Sequence[pd.Series]) -> Bools:
    """Which features are neither candidates nor indicators of one (`kit=Zymo`): (features,)."""
    candidate_names = {str(column.name) for column in candidates}
    is_measured = [str(name).partition("=")[0] not in candidate_names for name in features.columns]
    return np.array(is_measured, dtype=np.bool_)


def _has_few_values(column: pd.Series) -> bool:
    """Whether a column has at least two values, and on average rows enough of each."""
    return 2 <= column.nunique() <= len(column) / FEWEST_ROWS_A_TERM


def pvalue_of_outcome_in_column(column: pd.Series, association: OutcomeAssociation) -> float:
    """The p-value of the hypothesis that an outcome does not depend on the categories of a column.

    The indicators of the categories, centred in every block, span orthonormal directions d; the
    scores z are orthonormal too. In n rows, n Σ_d Σ_z (d·z)² then has a χ² distribution
    (asymptotically), with as many degrees of freedom as there are products d·z.

    Parameters
    ----------
    column : (rows,) categories.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    centred = centred_within(_indicators(column), association.block_of_row)
    directions = _orthonormal(centred)  # (rows, directions)
    n_rows, n_scores = association.scores.shape
    n_products = max(directions.shape[1] * n_scores, 1)
    sum_of_squares = float(np.sum((directions.T @ association.scores) ** 2))
    return float(chdtrc(n_products, n_rows * sum_of_squares))


def _warn_if_residuals_differ_between_batches(
    column: pd.Series,
    measurements: Floats,
    association: OutcomeAssociation,
    pvalue_of_outcome: float,
) -> list[Finding]:
    """A warning if features differ between the categories of a column, beyond the outcome.

    The column is known to be associated with the outcome. If it is also associated with the
    residuals of the features after regression on the outcome, it may be a batch.

    Parameters
    ----------
    column : (rows,) categories.
    measurements : (rows, features) numbers: the features that are no candidates for batches.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    pvalue_of_outcome : the p-value of the association of column and outcome, for the message.
    """
    pvalue_of_features = _pvalue_of_residual_features(column, measurements, association)
    if pvalue_of_features > FEATURES_LEVEL:
        return []
    name = str(column.name)
    return [
        Finding.warning(
            f"column {name!r} goes with the outcome (χ² test, p = {pvalue_of_outcome:.1g}), and "
            f"beyond the outcome the features go with it (p = {pvalue_of_features:.1g}), as with a "
            f"batch; if it is one, adjust={name!r} asks what they show beyond it."
        )
    ]


def _pvalue_of_residual_features(
    column: pd.Series, measurements: Floats, association: OutcomeAssociation
) -> float:
    """The p-value of the hypothesis that, beyond the outcome, features do not depend on a column.

    It is a permutation test of residuals, after regression on the outcome's scores. The statistic
    is the sum of squares that the residuals of the categories explain in the residuals of the
    features. The rows of the categories' residuals are shuffled.

    Parameters
    ----------
    column : (rows,) categories.
    measurements : (rows, features) numbers.
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    residual_categories = association.residuals(_indicators(column))  # (rows, categories)
    directions = _orthonormal(residual_categories)  # (rows, directions)
    if directions.shape[1] == 0:
        return 1.0  # the outcome determines the categories
    residual_features = association.standardized_residuals(measurements)  # (rows, features)
    products = residual_features @ residual_features.T  # (rows, rows)

    observed = explained_sum_of_squares(directions, products)
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = [
        explained_sum_of_squares(rng.permutation(directions), products) for _ in range(N_SHUFFLES)
    ]
    return shuffle_pvalue(observed, np.array(shuffled))


def _indicators(column: pd.Series) -> Floats:
    """1 in the column of a row's category, else 0: (rows, categories)."""
    return pd.get_dummies(column.astype(str)).to_numpy(dtype=np.float64)


def _orthonormal(columns: Floats) -> Floats:
    """Orthonormal vectors that span the space of the columns (rows, columns): (rows, vectors)."""
    singular_vectors, singular_values, _ = np.linalg.svd(columns, full_matrices=False)
    return singular_vectors[:, singular_values > SMALLEST_LENGTH]
