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
from chanceline.tables.checks.score_links import ScoreLinks
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
    links: ScoreLinks,
    allowed_for: Sequence[pd.Series] = (),
) -> list[Finding]:
    """A warning for every column of few values that goes with the outcome and, beyond it, with the
    features.

    Parameters
    ----------
    text : (rows, columns) columns of words.
    features : (rows, features) numbers without gaps.
    links : tests whether something goes with the outcome's scores.
    allowed_for : blocks and covariates, for which the test allows.
    """
    candidates = _candidate_columns(text, features)
    is_measured = _are_measurements(features, candidates)
    if not candidates or np.count_nonzero(is_measured) < FEWEST_FEATURES:
        return []
    measured = features.loc[:, is_measured].to_numpy(np.float64)

    findings = []
    for column in candidates:
        is_allowed_for = any(determines(allowed, column) for allowed in allowed_for)
        if is_called_confounder(column.name) or is_allowed_for:
            continue
        # Bonferroni: each candidate is tested.
        pvalue = len(candidates) * pvalue_of_outcome_in_column(column, links)
        if pvalue <= CLASSES_LEVEL:
            findings += _warn_if_features_follow_beyond(column, measured, links, pvalue)
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


def pvalue_of_outcome_in_column(column: pd.Series, links: ScoreLinks) -> float:
    """The p-value of an outcome that does not depend on the categories of a column.

    With orthonormal directions of the categories, n times the sum of their squared products with
    the scores is χ² (asymptotic).

    Parameters
    ----------
    column : (rows,)
    links : to the outcome's scores.
    """
    directions = _orthonormal(centred_within(_indicators(column), links.block_of_row))
    n_rows, n_scores = links.scores.shape
    n_products = max(directions.shape[1] * n_scores, 1)
    squares = float(np.sum((directions.T @ links.scores) ** 2))
    return float(chdtrc(n_products, n_rows * squares))


def _warn_if_features_follow_beyond(
    column: pd.Series, measured: Floats, links: ScoreLinks, pvalue_of_outcome: float
) -> list[Finding]:
    """A warning if, beyond the outcome, the features go with the column.

    Parameters
    ----------
    column : (rows,) categories.
    measured : (rows, features) the features that are no candidates themselves.
    links : tests whether something goes with the outcome's scores.
    pvalue_of_outcome : of the test whether the column goes with the outcome.
    """
    pvalue = _pvalue_of_features_beyond(column, measured, links)
    if pvalue > FEATURES_LEVEL:
        return []
    name = str(column.name)
    return [
        Finding.warning(
            f"column {name!r} goes with the outcome (χ² test, p = {pvalue_of_outcome:.1g}), and "
            f"beyond the outcome the features go with it (p = {pvalue:.1g}), as with a batch; if "
            f"it is one, adjust={name!r} asks what they show beyond it."
        )
    ]


def _pvalue_of_features_beyond(column: pd.Series, measured: Floats, links: ScoreLinks) -> float:
    """The p-value of the hypothesis that, beyond the outcome, features do not follow categories.

    The statistic is the sum of squares that what the outcome leaves of the categories explains in
    what it leaves of the features. Rows of the one are shuffled against the other.

    Parameters
    ----------
    column : (rows,) categories.
    measured : (rows, features) numbers.
    links : gives the residuals of columns after the outcome's scores.
    """
    directions = _orthonormal(links.residuals(_indicators(column)))  # (rows, directions)
    if directions.shape[1] == 0:
        return 1.0  # the outcome determines the categories
    features_left = links.standardized_residuals(measured)
    products = features_left @ features_left.T  # (rows, rows)

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
    """Orthonormal directions of some columns: (rows, directions)."""
    directions, lengths, _ = np.linalg.svd(columns, full_matrices=False)
    return directions[:, lengths > SMALLEST_LENGTH]
