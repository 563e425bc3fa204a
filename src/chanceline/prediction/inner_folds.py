"""The cross-validation within training samples, by which a candidate is chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chanceline._arrays import Bools, Floats, Ints
from chanceline.prediction.ridge_logistic import fit_ridge_logistic, sigmoid
from chanceline.prediction.samples import Samples
from chanceline.prediction.scaling import (
    ColumnScale,
    Residualized,
    design_of,
    fit_scale,
    residualize,
)


@dataclass(frozen=True, eq=False)
class InnerFolds:
    """Samples dealt to folds, and the columns as each fold's training samples see them.

    Attributes
    ----------
    samples : those that the candidate is chosen with.
    fold_of_sample : the fold that each is held out in, (samples,)
    """

    samples: Samples
    fold_of_sample: Ints

    @property
    def n_folds(self) -> int:
        return int(self.fold_of_sample.max()) + 1

    @cached_property
    def training(self) -> Bools:
        """Which samples each fold is trained with, (folds, samples)."""
        return self.fold_of_sample != np.arange(self.n_folds)[:, None]

    @cached_property
    def scales(self) -> list[ColumnScale]:
        """Of every fold, from its training samples."""
        return [fit_scale(self.samples, training) for training in self.training]

    @cached_property
    def residualized(self) -> list[Residualized]:
        """The training samples of every fold, without what covariates explain."""
        return [
            residualize(self.samples.take(training), scale)
            for training, scale in zip(self.training, self.scales, strict=True)
        ]

    def out_of_fold_probabilities(self, supports: list[Ints], penalties: Floats) -> Floats:
        """Probabilities from logistic regressions that each sample had no part in.

        Parameters
        ----------
        supports : the columns of every fold, as many in each
        penalties : (penalties,)

        Returns
        -------
        probabilities : of the positive class, (penalties, samples)
        """
        # (folds, samples, nuisance + support)
        designs = np.stack(
            [
                design_of(self.samples, scale, support)
                for scale, support in zip(self.scales, supports, strict=True)
            ]
        )
        # (folds, penalties, nuisance + support)
        weights = fit_ridge_logistic(
            designs=designs,
            labels=self.samples.y,
            sample_weights=self.training.astype(float),
            penalties=penalties,
            n_unpenalized=self.samples.n_nuisance,
        )
        # Each sample s has the design and the weights of the fold that holds it out. Its score with
        # penalty p is the sum over columns c.
        own_design = designs[self.fold_of_sample, np.arange(self.samples.n_samples)]  # (s, c)
        own_weights = weights[self.fold_of_sample]  # (s, p, c)
        return sigmoid(np.einsum("spc,sc->ps", own_weights, own_design))
