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
        """Probabilities of every sample, by logistic regressions fitted without it.

        Parameters
        ----------
        supports : for every fold the columns to use, the same number in each
        penalties : ridges on their weights, (penalties,)

        Returns
        -------
        probabilities : of the positive class, (penalties, samples)
        """
        # For each fold, fit its training samples with every penalty. A design has all samples,
        # (samples, nuisance + support); those held out have weight 0 in the fit.
        designs = []
        for scale, support in zip(self.scales, supports, strict=True):
            designs.append(design_of(self.samples, scale, support))
        stacked_designs = np.stack(designs)  # (folds, samples, nuisance + support)
        # (folds, penalties, nuisance + support)
        weights = fit_ridge_logistic(
            designs=stacked_designs,
            labels=self.samples.y,
            sample_weights=self.training.astype(float),
            penalties=penalties,
            n_unpenalized=self.samples.n_nuisance,
        )

        # For each sample take the fold that holds it out: its row of that fold's design, and that
        # fold's weights. Its score with penalty p is their product, summed over columns c.
        every_sample = np.arange(self.samples.n_samples)
        row_of_sample = stacked_designs[self.fold_of_sample, every_sample]  # (s, c)
        weights_of_sample = weights[self.fold_of_sample]  # (s, p, c)
        return sigmoid(np.einsum("spc,sc->ps", weights_of_sample, row_of_sample))
