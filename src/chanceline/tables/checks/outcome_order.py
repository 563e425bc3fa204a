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

    # In a table that is sorted by the outcome it tells the places of the rows. A drift can be seen
    # only in what it leaves of them.
    places = np.arange(n_rows, dtype=np.float64)
    places -= places.mean()
    places_left = links.residuals(places[:, None])[:, 0]
    if places_left @ places_left < SMALLEST_SHARE_LEFT * (places @ places):
        return []

    # Do the features go with the outcome as a drift along the rows predicts? (A cosine, 1 if they
    # do so exactly.)
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
    """How like the effects of the outcome on the features are to those that a drift predicts.

    The effect of a score z of the outcome on a feature x is z·x. If the feature only drifts along
    the places t of the rows, x = b t, it is b (z·t). The likeness is the cosine between the effects
    and those predicted, over all features and scores.

    Parameters
    ----------
    X : (rows, features)
    places : t, centred, (rows,).
    places_left : t', (rows,).
    links : has the q scores z as columns.
    """
    # Features count alike by what the outcome leaves of them: their own spread would make one that
    # goes with the outcome smaller.
    columns = columns_in_steps(X)
    spread = links.residuals(columns).std(axis=0)
    scaled = columns / np.where(spread > 0, spread, np.inf)
    effects = links.scores.T @ scaled  # z·x, (q, features)

    # The slope is seen in t', which has nothing of the outcome: b = t'·x/|t'|². A drift with this
    # slope along all of t, which goes with the outcome, has the effects b (z·t).
    slopes = places_left @ scaled / (places_left @ places_left)  # b, (features,)
    predicted = np.outer(links.scores.T @ places, slopes)  # b (z·t), (q, features)
    lengths = float(np.linalg.norm(effects) * np.linalg.norm(predicted))
    if lengths == 0:
        return 0.0
    return float(np.sum(effects * predicted)) / lengths


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
