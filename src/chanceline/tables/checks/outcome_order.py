"""Features that drift along the rows of a table whose outcome changes along them too.

As for two classes (`row_order`): the drift is looked for in what the outcome leaves of the features
and of the row numbers, and the features have to go with the outcome as the drift predicts. A table
sorted by a number says nothing, as the outcome leaves nothing of the row numbers.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.tables.checks.outcome_association import (
    ASSOCIATION_LEVEL,
    N_ASSOCIATION_SHUFFLES,
    OutcomeAssociation,
)
from chanceline.tables.checks.row_order import DRIFT_LEVEL, N_SHUFFLES, SMALLEST_LIKENESS
from chanceline.tables.checks.within_classes import (
    SHUFFLE_SEED,
    evenly_spaced_columns,
    shuffle_pvalue,
)
from chanceline.tables.dataset import Finding

# Share of the row numbers' variance that the outcome has to leave, so that there is a drift to see.
SMALLEST_RESIDUAL_SHARE = 0.1
FEWEST_ROWS_FOR_DRIFT = 12


def warn_of_outcome_drift(X: Floats, association: OutcomeAssociation) -> list[Finding]:
    """A warning if the outcome and the features both drift along the rows of the table.

    The features must also be associated with the outcome in the way that a drift along the rows
    would bring about. Then the drift may be all that connects features and outcome.

    Parameters
    ----------
    X : numbers in the order of the table, (rows, features).
    association : R² and tests of columns against the outcome's scores, which are orthonormal
        columns (rows, scores) that stand for the outcome.
    """
    n_rows = len(X)
    if n_rows < FEWEST_ROWS_FOR_DRIFT:
        return []

    # Does the outcome drift along the rows, so that neighbouring rows have similar outcomes?
    if like_neighbours_pvalue(association) > ASSOCIATION_LEVEL:
        return []

    # A drift of the features can be told from an effect of the outcome only by the part of the
    # row numbers that the outcome does not explain: their residuals after regression on the
    # outcome's scores. In a table sorted by outcome hardly anything is left.
    row_numbers = np.arange(n_rows, dtype=np.float64)
    row_numbers -= row_numbers.mean()
    residual_row_numbers = association.residuals(row_numbers[:, None])[:, 0]
    sum_of_squares = row_numbers @ row_numbers
    residual_sum_of_squares = residual_row_numbers @ residual_row_numbers
    if residual_sum_of_squares < SMALLEST_RESIDUAL_SHARE * sum_of_squares:
        return []

    # Are the features associated with the outcome as a drift along the rows predicts? The likeness
    # of the observed and the predicted associations is a cosine, 1 if they are proportional.
    likeness = _cosine_with_drift_effects(X, row_numbers, residual_row_numbers, association)
    if likeness < SMALLEST_LIKENESS:
        return []

    # Do the features drift along the rows beyond what the outcome explains?
    pvalue = _pvalue_of_slopes(association.standardized_residuals(X), residual_row_numbers)
    if pvalue > DRIFT_LEVEL:
        return []
    return [
        Finding.warning(
            "neighbouring rows have like outcomes, and the features drift along the rows beyond "
            f"the outcome (p = {pvalue:.1g}) and in its direction; if rows are in the order of "
            "their measurement, add runs of rows as a column and set blocks=COLUMN."
        )
    ]


def like_neighbours_pvalue(association: OutcomeAssociation) -> float:
    """The p-value of the hypothesis that neighbouring rows have no more similar outcomes than any
    two rows.

    It is a permutation test. With z_i the scores of row i, the statistic is Σ_i z_i·z_{i+1} (Wald
    and Wolfowitz 1943).
    """
    scores = association.shuffled_scores(N_ASSOCIATION_SHUFFLES)  # (1 + shuffles, rows, scores)
    statistics = np.sum(scores[:, 1:] * scores[:, :-1], axis=(1, 2))  # first the observed one
    return shuffle_pvalue(float(statistics[0]), statistics[1:])


def _cosine_with_drift_effects(
    X: Floats, row_numbers: Floats, residual_row_numbers: Floats, association: OutcomeAssociation
) -> float:
    """The cosine between the outcome's effects on the features and those that a drift predicts.

    Scores are orthonormal columns that stand for the outcome. The effect of a score z on a feature
    x is z·x. If the feature did nothing but drift along the rows, x = b t, it would be b (z·t).

    Parameters
    ----------
    X : numbers x in the order of the table, (rows, features).
    row_numbers : t, the centred numbers of the rows, (rows,).
    residual_row_numbers : t', the residuals of t after regression on the scores, (rows,).
    association : holds the outcome's scores z, (rows, scores).
    """
    columns = _scaled_by_residuals(evenly_spaced_columns(X), association)  # x, (rows, features)
    effects = association.scores.T @ columns  # z·x, (scores, features)

    # The slopes b are estimated along t', which is orthogonal to all scores. Along t itself, a
    # feature that only follows the outcome would seem to drift.
    residual_sum_of_squares = residual_row_numbers @ residual_row_numbers
    slopes = residual_row_numbers @ columns / residual_sum_of_squares  # b, (features,)
    scores_along_rows = association.scores.T @ row_numbers  # z·t, (scores,)
    predicted_effects = np.outer(scores_along_rows, slopes)  # b (z·t), (scores, features)

    product_of_lengths = float(np.linalg.norm(effects) * np.linalg.norm(predicted_effects))
    if product_of_lengths == 0:
        return 0.0  # no effects, or no drift
    return float(np.sum(effects * predicted_effects)) / product_of_lengths


def _scaled_by_residuals(columns: Floats, association: OutcomeAssociation) -> Floats:
    """Columns (rows, features), each divided by the standard deviation of its residuals after
    regression on the outcome; zeros where no residuals are left.

    Dividing by their own standard deviation would shrink the features that depend on the outcome.
    """
    spread = association.residuals(columns).std(axis=0)
    return columns / np.where(spread > 0, spread, np.inf)


def _pvalue_of_slopes(residual_features: Floats, residual_row_numbers: Floats) -> float:
    """The p-value of the hypothesis that features do not change along the rows.

    It is a permutation test. The statistic is the sum of the features' squared slopes, up to a
    factor: Σ_j (t·x_j)² = tᵀ (X Xᵀ) t, with the columns x_j of X.

    Parameters
    ----------
    residual_features : X, the features after regression on the outcome, (rows, features).
    residual_row_numbers : t, the row numbers after regression on the outcome, (rows,).
    """
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = rng.permuted(np.tile(residual_row_numbers, (N_SHUFFLES, 1)), axis=1)
    orders = np.vstack([residual_row_numbers, shuffled])  # t, first observed: (1 + shuffles, rows)
    products = residual_features @ residual_features.T  # X Xᵀ, (rows, rows)
    statistics = np.sum((orders @ products) * orders, axis=1)
    return shuffle_pvalue(float(statistics[0]), statistics[1:])
