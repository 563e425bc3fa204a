"""Which other columns could stand in the place of a feature, on the samples at hand.

Errors are those on the samples themselves, of logistic regression with the ridge of the rule. They
say what the samples cannot tell apart, not what to expect on new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline.prediction.ridge_logistic import (
    fit_one_ridge_logistic,
    fit_ridge_logistic,
    sigmoid,
)
from chanceline.prediction.samples import Samples

# Columns that are tried in the place of each feature.
N_TRIED = 30


@dataclass(frozen=True, eq=False)
class TrainingFit:
    """Logistic regressions on all samples.

    Attributes
    ----------
    samples : labels and nuisance columns.
    columns : scaled, (samples, features)
    penalty : the ridge λ.
    """

    samples: Samples
    columns: Floats
    penalty: float

    def training_errors(self, supports: Ints) -> Ints:
        """Training errors of logistic regression on each of several supports, (supports,).

        Parameters
        ----------
        supports : columns of each support, all of the same size, (supports, columns)
        """
        # The nuisance columns and the columns of every support, stacked:
        # (supports, samples, nuisance + columns)
        n_supports = len(supports)
        nuisance = self.samples.nuisance
        nuisance_of_support = np.broadcast_to(nuisance, (n_supports, *nuisance.shape))
        columns_of_support = self.columns[:, supports].transpose(1, 0, 2)
        designs = np.concatenate([nuisance_of_support, columns_of_support], axis=2)
        # (supports, 1, nuisance + columns)
        weights = fit_ridge_logistic(
            designs=designs,
            labels=self.samples.y,
            sample_weights=np.ones(designs.shape[:2]),
            penalties=np.array([self.penalty]),
            n_unpenalized=self.samples.n_nuisance,
        )
        scores_by_penalty = weights @ designs.transpose(0, 2, 1)  # (supports, 1, samples)
        scores = scores_by_penalty[:, 0]  # there is one penalty
        return np.count_nonzero((scores > 0) != self.samples.positive, axis=1)

    def residual_products(self, support: Ints) -> Floats:
        """|Σ_i (true − fitted probability)_i x_ij| of every column j, (features,).

        The larger the product with what a fit on the support leaves unexplained, the more the
        column promises to add to it.
        """
        design = np.hstack([self.samples.nuisance, self.columns[:, support]])
        weights = fit_one_ridge_logistic(
            design=design,
            labels=self.samples.y,
            penalty=self.penalty,
            n_unpenalized=self.samples.n_nuisance,
        )
        # True probabilities are 1 or 0, while the labels of the fit are ±1.
        residuals = self.samples.positive - sigmoid(design @ weights)
        return np.abs(residuals @ self.columns)

    def replacements(self, support: Ints, feature: int) -> tuple[Ints, Ints]:
        """Columns tried in the place of one feature of a support, and the errors that they make.

        The `N_TRIED` columns are tried that have the largest products with what the other features
        of the support leave unexplained.

        Parameters
        ----------
        support : columns of the rule, (support,)
        feature : the column of the support to be replaced

        Returns
        -------
        replacements : columns, the one with the fewest errors first, (replacements,)
        errors : training errors of the support with each of them, ascending, (replacements,)
        """
        # What every column promises to add to the features that stay; those of the support, which
        # are no replacements, nothing.
        unchanged = support[support != feature]
        products = self.residual_products(unchanged)  # never negative
        products[support] = 0.0
        most_promising = np.argsort(-products, kind="stable")[:N_TRIED]
        tried = most_promising[products[most_promising] > 0]

        # A row for each column tried: the features that stay, and this one. (tried, support)
        supports = np.column_stack([np.tile(unchanged, (len(tried), 1)), tried])
        errors = self.training_errors(supports)
        fewest_first = np.argsort(errors, kind="stable")
        return tried[fewest_first], errors[fewest_first]
