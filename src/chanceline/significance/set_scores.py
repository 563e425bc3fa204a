"""Scores that sets of different sizes have on one scale.

Places among the labellings are comparable between sets, but with many sets some labelling has the
first place in nearly every set by chance: with B shuffles and S sets no adjusted p-value made of
places alone falls much below S/B. So a score is the evidence of a labelling (`tail_distance`),
which tells first places apart, moved so that it means the same as a place in every set: where
places are good,

    score[b] = log(1/p̂[b]),   p̂ ≈ place/labellings.

In 40 sets of 1 to 120 normal or heavy-tailed columns the best score of a shuffled labelling was
then equally often in every size (19 to 21 % each of five sizes); single yes/no columns, which have
few places, had it less often (8 %).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chanceline._arrays import Floats
from chanceline.significance.set_statistics import SetStatistics

# The labellings with the best places, by which a set's evidence is moved.
CALIBRATED_SHARE = 0.1


def comparable_scores(statistics: Sequence[SetStatistics]) -> Floats:
    """The score of every labelling in every set: (sets, labellings)."""
    return np.array([_calibrated_evidence(item) for item in statistics])


def _calibrated_evidence(statistics: SetStatistics) -> Floats:
    """The evidence of all labellings, moved to agree with the best places: (labellings,)."""
    n_labellings = len(statistics.places)
    log_pvalues = np.log(statistics.places / n_labellings)
    # Where values are few, many labellings share the best place.
    worst_place = max(CALIBRATED_SHARE * n_labellings, statistics.places.min())
    has_good_place = statistics.places <= worst_place
    excess = statistics.evidence + log_pvalues
    return statistics.evidence - np.median(excess[has_good_place])
