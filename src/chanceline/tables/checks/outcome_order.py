"""Features that drift along the rows of a table whose outcome changes along them too.

As for two classes (`row_order`): the drift is looked for in what the outcome leaves of the features
and of the rows' places, and the features have to go with the outcome as the drift predicts. A table
sorted by a number says nothing, as the outcome leaves nothing of the places.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.tables.checks.row_order import DRIFT_LEVEL, N_SHUFFLES, SMALLEST_LIKENESS
from chanceline.tables.checks.score_links import LINK_LEVEL, N_LINK_SHUFFLES, ScoreLinks
from chanceline.tables.checks.within_classes import (
    SHUFFLE_SEED,
    columns_in_steps,
    shuffle_pvalue,
)
from chanceline.tables.dataset import Finding

# Share of the places' variance that the outcome has to leave, so that there is a drift to see.
SMALLEST_SHARE_LEFT = 0.1
FEWEST_ROWS_FOR_DRIFT = 12


def warn_of_outcome_drift(X: Floats, links: ScoreLinks) -> list[Finding]:
    """A warning if outcome and features change along the rows, in the same direction.

    Parameters
    ----------
    X : (rows, features) in the order of the table.
    links : tests whether something goes with the outcome's scores.
    """
    n_rows = len(X)
    if n_rows < FEWEST_ROWS_FOR_DRIFT:
        return []

    # Does the outcome change along the rows, so that neighbours have like outcomes?
    if like_neighbours_pvalue(links) > LINK_LEVEL:
        return []

    # A drift can be seen only in what the outcome leaves of the rows' places: nothing in a table
    # that is sorted by it.
    places = np.arange(n_rows, dtype=np.float64)
    places -= places.mean()
    places_left = links.residuals(places[:, None])[:, 0]
    if places_left @ places_left < SMALLEST_SHARE_LEFT * (places @ places):
        return []

    # Do the features go with the outcome as a drift along the rows predicts?
    if likeness_to_outcome_drift(X, places, places_left, links) < SMALLEST_LIKENESS:
        return []

    # Do they drift along the rows beyond the outcome?
    pvalue = _pvalue_of_slopes(links.standardized_residuals(X), places_left)
    if pvalue > DRIFT_LEVEL:
        return []
    return [
        Finding.warning(
            "neighbouring rows have like outcomes, and the features drift along the rows beyond "
            f"the outcome (p = {pvalue:.1g}) and in its direction; if rows are in the order of "
            "their measurement, add runs of rows as a column and set blocks=COLUMN."
        )
    ]


def like_neighbours_pvalue(links: ScoreLinks) -> float:
    """The p-value of neighbouring rows whose scores are no more alike than those of any two.

    The statistic is Σ_i z_i·z_{i+1} (Wald and Wolfowitz 1943).
    """
    scores = links.shuffled_scores(N_LINK_SHUFFLES)
    likenesses = np.sum(scores[:, 1:] * scores[:, :-1], axis=(1, 2))
    return shuffle_pvalue(float(likenesses[0]), likenesses[1:])


def likeness_to_outcome_drift(
    X: Floats, places: Floats, places_left: Floats, links: ScoreLinks
) -> float:
    """The cosine between the outcome's effects on the features and those that a drift predicts.

    The effect of a score z on a feature x is z·x; a mere drift x = b t predicts b (z·t).

    Parameters
    ----------
    X : (rows, features)
    places : t, the centred numbers of the rows, (rows,).
    places_left : t', the residuals of t after regression on the scores, (rows,).
    links : has the outcome's scores z, (rows, scores).
    """
    scaled = _scaled_by_residuals(columns_in_steps(X), links)
    effects = links.scores.T @ scaled  # z·x, (scores, features)

    # The slopes come from t': along t itself a feature that only follows the outcome would seem to
    # drift, but t' is orthogonal to all scores.
    slopes = places_left @ scaled / (places_left @ places_left)  # b, (features,)
    predicted = np.outer(links.scores.T @ places, slopes)  # b (z·t), (scores, features)

    lengths = float(np.linalg.norm(effects) * np.linalg.norm(predicted))
    if lengths == 0:
        return 0.0
    return float(np.sum(effects * predicted)) / lengths


def _scaled_by_residuals(columns: Floats, links: ScoreLinks) -> Floats:
    """Columns (rows, features) in units of the spread that the outcome leaves of each.

    Their own spread would make features smaller that go with the outcome.
    """
    spread = links.residuals(columns).std(axis=0)
    return columns / np.where(spread > 0, spread, np.inf)


def _pvalue_of_slopes(features_left: Floats, places_left: Floats) -> float:
    """The p-value of features that do not change along the rows, by the sum of squared slopes.

    Parameters
    ----------
    features_left : (rows, features) what the outcome leaves of the features.
    places_left : (rows,) what it leaves of the places.
    """
    rng = np.random.default_rng(SHUFFLE_SEED)
    shuffled = rng.permuted(np.tile(places_left, (N_SHUFFLES, 1)), axis=1)
    orders = np.vstack([places_left, shuffled])
    # Σ_j (t·x_j)² = tᵀ (x xᵀ) t
    products = features_left @ features_left.T
    statistics = np.sum((orders @ products) * orders, axis=1)
    return shuffle_pvalue(float(statistics[0]), statistics[1:])
