"""Predictions of samples by rules that they had no part in, as an outcome measures them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.prediction.interval import independent_samples


@dataclass(frozen=True, eq=False)
class HeldOutPredictions:
    """Predictions of all samples, by repeats of the cross-validation.

    Attributes
    ----------
    predicted : (repeats, samples, columns) by rules on features.
    guessed : (repeats, samples, targets) the targets by rules without any feature: the mean, and
        what blocks and covariates say.
    fold_of_sample : (repeats, samples) in which fold each sample was held out.
    unit_of_sample : (samples,) numbers 0, 1, … of what is never split.
    n_features : number of features of the rule of every fold.
    """

    predicted: Floats
    guessed: Floats
    fold_of_sample: Ints
    unit_of_sample: Ints
    n_features: tuple[int, ...]

    @property
    def n_repeats(self) -> int:
        return len(self.fold_of_sample)

    @property
    def n_folds(self) -> int:
        return int(self.fold_of_sample.max()) + 1

    @property
    def mean_prediction(self) -> Floats:
        """(samples, columns) the mean over repeats."""
        means: Floats = np.mean(self.predicted, axis=0)
        return means

    def n_independent(self, values: Floats) -> float:
        """How many independent samples there are, as far as these values (samples,) tell."""
        return independent_samples(values, self.unit_of_sample)
