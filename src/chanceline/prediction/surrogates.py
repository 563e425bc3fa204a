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
        """Numbers of training errors of logistic regression on each of several supports.

        Parameters
        ----------
        supports : columns of each support, all of the same size, (supports, columns)

        Returns
        -------
        errors : (supports,)
        """
        # The design matrix of every support: the nuisance columns (constant and covariates), then
        # the support's columns, (supports, samples, nuisance + columns).
        n_supports = len(supports)
        nuisance = self.samples.nuisance
        nuisance_of_support = np.broadcast_to(nuisance, (n_supports, *nuisance.shape))
        columns_of_support = self.columns[:, supports].transpose(1, 0, 2)
        designs = np.concatenate([nuisance_of_support, columns_of_support], axis=2)

        # Fit all supports with one penalty; weights are (supports, 1, nuisance + columns).
        weights = fit_ridge_logistic(
            designs=designs,
            labels=self.samples.y,
            sample_weights=np.ones(designs.shape[:2]),
            penalties=np.array([self.penalty]),
            n_unpenalized=self.samples.n_nuisance,
        )
        scores_by_penalty = weights @ designs.transpose(0, 2, 1)  # (supports, 1, samples)
        scores = scores_by_penalty[:, 0]
        is_wrong = (scores > 0) != self.samples.positive
        return np.count_nonzero(is_wrong, axis=1)

    def residual_products(self, support: Ints) -> Floats:
        """Absolute product |Σ_i r_i x_ij| of every column j with the residuals r, (features,).

        The residuals are the true class (1 or 0) less the probability fitted on the support. The
        larger its product, the more a column promises to improve the fit.

        Parameters
        ----------
        support : columns of the fit, (support,)
        """
        design = np.hstack([self.samples.nuisance, self.columns[:, support]])
        weights = fit_one_ridge_logistic(
            design=design,
            labels=self.samples.y,
            penalty=self.penalty,
            n_unpenalized=self.samples.n_nuisance,
        )
        probabilities = sigmoid(design @ weights)
        residuals = self.samples.positive - probabilities  # (samples,); True counts as 1
        return np.abs(residuals @ self.columns)

    def replacements(self, support: Ints, feature: int) -> tuple[Ints, Ints]:
        """Columns tried in the place of one feature of a support, and the errors that they make.

        Up to `N_TRIED` columns outside the support are tried: those with the largest products with
        the residuals of a fit on the other features of the support.

        Parameters
        ----------
        support : columns of the rule, (support,)
        feature : the column of the support to be replaced

        Returns
        -------
        replacements : columns, the one with the fewest errors first, (replacements,)
        errors : training errors of the support with each replacement, ascending, (replacements,)
        """
        # The most promising columns. The products are at least 0; setting those of the support to 0
        # excludes its columns, and the columns with product 0 are not tried.
        other_features = support[support != feature]
        products = self.residual_products(other_features)  # (features,)
        products[support] = 0.0
        most_promising = np.argsort(-products, kind="stable")[:N_TRIED]
        has_product = products[most_promising] > 0
        tried_columns = most_promising[has_product]

        # The supports with each replacement, (tried columns, support): the other features of the
        # support, then the column tried.
        repeated_features = np.tile(other_features, (len(tried_columns), 1))
        supports = np.column_stack([repeated_features, tried_columns])
        errors = self.training_errors(supports)
        fewest_first = np.argsort(errors, kind="stable")
        return tried_columns[fewest_first], errors[fewest_first]
