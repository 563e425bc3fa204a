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
        """Probability of every sample, by ridge logistic regression on the other folds.

        Parameters
        ----------
        supports : for every fold the columns to use, (support,), as many in each fold
        penalties : ridges on the weights of these columns, (penalties,)

        Returns
        -------
        probabilities : of the positive class, (penalties, samples)
        """
        # For each fold, fit its training samples with every penalty. A fold's design matrix has all
        # samples; those held out have weight 0 in the fit. Its columns are the constant and the
        # covariates ("nuisance"), and the support as the training samples scale it.
        designs = []
        for scale, support in zip(self.scales, supports, strict=True):
            designs.append(design_of(self.samples, scale, support))
        design_of_fold = np.stack(designs)  # (folds, samples, nuisance + support)
        # (folds, penalties, nuisance + support)
        weights_of_fold = fit_ridge_logistic(
            designs=design_of_fold,
            labels=self.samples.y,
            sample_weights=self.training.astype(float),
            penalties=penalties,
            n_unpenalized=self.samples.n_nuisance,
        )

        # For each sample s take the fold that holds it out: the sample's row of that fold's design
        # (columns c), and that fold's weights (penalties p). The score is Σ_c weight·row.
        every_sample = np.arange(self.samples.n_samples)
        row_of_sample = design_of_fold[self.fold_of_sample, every_sample]  # (s, c)
        weights_of_sample = weights_of_fold[self.fold_of_sample]  # (s, p, c)
        scores = np.einsum("spc,sc->ps", weights_of_sample, row_of_sample)
        return sigmoid(scores)
