"""The one column that goes best with the classes, against SciPy's correlations of all columns."""

import numpy as np
from scipy.stats import pearsonr, spearmanr

from chanceline.prediction.best_column import best_single_column


def unit_columns(values):
    centred = values - values.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=0)
    return centred / np.where(lengths > 0, lengths, 1.0)


def test_the_best_column_is_that_of_the_larger_correlation():
    rng = np.random.default_rng(2)
    for _ in range(20):
        y = np.repeat([1.0, -1.0], 20)
        values = rng.standard_t(2, size=(40, 8))
        values[:, 0] = 3.0  # constant: never the best
        by_hand = [0.0] + [
            max(abs(pearsonr(column, y).statistic), abs(spearmanr(column, y).statistic))
            for column in values.T[1:]
        ]
        empty, best = best_single_column(unit_columns(values), y, 1)
        assert empty.tolist() == []
        assert best.tolist() == [int(np.argmax(by_hand))]
