"""scikit-learn estimators.

`SparseRule` is a sparse linear rule meant for new samples; `SparseSeparator` takes as few features
as separate the classes.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from chanceline.perceptron.duplicates import consistent_rows
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.prediction.rule import PredictionRule, fit_rule
from chanceline.select.api import search
from chanceline.select.pareto import front

LARGEST_SEED = 2**31 - 1


class TrainingData(NamedTuple):
    """Values (samples, features) and labels ±1 (samples,), checked."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]


class _SparseLinear(ClassifierMixin, SelectorMixin, BaseEstimator):
    """What both estimators share: checks, the rule as coefficients, predictions, selection."""

    def _check(self, X: ArrayLike, y: ArrayLike) -> TrainingData:
        """Check the arguments of `fit`, set `classes_`, and return values and labels ±1.

        `classes_` are the two distinct values of y in ascending order; the label of the second one
        is +1. `validate_data` also sets `n_features_in_`.
        """
        values, targets = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(targets)
        target_type = type_of_target(targets, input_name="y", raise_unknown=True)
        if target_type != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {target_type}."
            )
        # Class numbers are positions in `classes_`: 0 or 1.
        self.classes_, class_numbers = np.unique(targets, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes, but y has one class only: "
                f"{self.classes_[0]!r}"
            )
        labels = np.where(class_numbers == 1, 1.0, -1.0)
        return TrainingData(X=values, y=labels)

    def _set_coefficients(self, rule: Rule | PredictionRule) -> None:
        """Set `support_`, `coef_` and `intercept_` from a rule on few features."""
        self.support_ = rule.support
        self.coef_ = np.zeros((1, self.n_features_in_))
        self.coef_[0, rule.support] = rule.weights
        self.intercept_ = np.array([rule.bias])

    def _seed(self) -> int:
        """`random_state` as the whole number that searches and folds take."""
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(LARGEST_SEED))

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed value of the rule for every row; positive for `classes_[1]`."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        return values @ self.coef_[0] + self.intercept_[0]

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row."""
        is_positive = self.decision_function(X) > 0
        return self.classes_[is_positive.astype(int)]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        """Which features are selected, (features,); scikit-learn's `SelectorMixin` asks for it."""
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        """scikit-learn's tags: a classifier of two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class SparseSeparator(_SparseLinear):
    """Linear classifier on the smallest set of features found to separate two classes, or nearly.

    It is a feature selector, too. Separating the training samples is no evidence by itself:
    `chanceline.separation_test` tells whether chance would allow it, and cross-validation must
    contain this estimator, not follow it.

    Parameters
    ----------
    method : search method of `chanceline.search`; with `max_errors` one that allows errors.
    max_errors : training errors to tolerate for the sake of fewer features.
    n_features : at most so many features, with the fewest errors found (`chanceline.front`); fewer
        features if these make no more than `max_errors`.
    budget : iterations of the search; None for its default.
    fit_intercept : whether the rule has a threshold.
    random_state : seed of the search, a whole number; None draws one.

    Attributes
    ----------
    classes_ : the two classes in order; as always in scikit-learn the second is the positive one,
        which `coef_` speaks of.
    coef_, intercept_ : the rule, of shapes (1, n_features_in_) and (1,).
    support_ : indices of the selected features.
    n_errors_ : training samples on the wrong side.

    Warns
    -----
    ConvergenceWarning
        If no rule with at most `max_errors` errors was found, and no `n_features` asked for; the
        rule with the fewest errors found is kept.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from chanceline.sklearn import SparseSeparator
    >>> X, y = make_classification(n_samples=40, n_features=30, class_sep=2.0, random_state=0)
    >>> SparseSeparator().fit(X, y).transform(X).shape[1] < 30
    True
    """

    def __init__(  # noqa: PLR0913 (all by keyword)
        self,
        *,
        method: str = "auto",
        max_errors: int = 0,
        n_features: int | None = None,
        budget: int | None = None,
        fit_intercept: bool = True,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.max_errors = max_errors
        self.n_features = n_features
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> SparseSeparator:
        """Search for few features that separate the two classes of y, or nearly."""
        data = self._check(X, y)
        if self.n_features is None:
            rule = self._find_smallest(data)
        else:
            rule = self._find_most_accurate(data, self.n_features)
        self._set_coefficients(rule)
        self.n_errors_ = rule.errors
        return self

    def _find_most_accurate(self, data: TrainingData, n_features: int) -> Rule:
        """Find the rule with the fewest training errors on at most `n_features` features.

        If some rules make no more than `max_errors` errors, the smallest of them is returned.
        """
        if n_features < 1:
            raise ValueError(f"n_features must be at least 1, but is {n_features}.")
        pareto_front = front(
            data.X,
            data.y,
            intercept=self.fit_intercept,
            max_features=n_features,
            budget=self.budget,
            seed=self._seed(),
        )
        # The front is a sequence of points, each with the best rule found on k features: k rises
        # and the errors fall from point to point. The rule without features (k = 0) is left out,
        # because a selector must select something.
        points = [point for point in pareto_front.points if point.k > 0]
        for point in points:
            if point.errors <= self.max_errors:
                return point.rule
        return points[-1].rule

    def _find_smallest(self, data: TrainingData) -> Rule:
        """Search for the smallest rule with at most `max_errors` training errors.

        If none is found, warn, and return the rule with which the search ended.
        """
        # If equal rows have different labels, no rule classifies all of them correctly, and a
        # search that allows no error refuses them. So the minority of such rows is left out of the
        # search. `make_rule` below gets all rows, and counts the minority as errors of the rule.
        searched_rows = np.arange(len(data.y))
        if self.max_errors == 0:
            searched_rows = consistent_rows(data.X, data.y)
        outcome = search(
            data.X[searched_rows],
            data.y[searched_rows],
            method=self.method,
            budget=self.budget,
            seed=self._seed(),
            intercept=self.fit_intercept,
            errors=self.max_errors,
        )

        rule = make_rule(data.X, data.y, outcome.support, outcome.weights, outcome.bias)
        if rule.errors > self.max_errors:
            warnings.warn(
                f"no rule with at most {self.max_errors} errors was found; this one makes "
                f"{rule.errors}. Allow them with max_errors={rule.errors}, or ask for a size with "
                "n_features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return rule


class SparseRule(_SparseLinear):
    """Linear classifier on few features, meant for new samples: the rule of `chanceline test`.

    The features are those of least angle or of forward stepwise regression, their weights from
    logistic regression with a ridge. Number of features and ridge are chosen by cross-validation
    within the samples given, the smallest number within half a standard error of the best. Where no
    set of thirty does as well it is a rule on many features; `max_features` rules that out.

    Parameters
    ----------
    max_features : largest number of features; None: thirty, or many where no small set does as
        well.
    random_state : seed of the folds, a whole number; None draws one.

    Attributes
    ----------
    classes_ : the two classes in order; as always in scikit-learn the second is the positive one,
        which `coef_` speaks of.
    coef_, intercept_ : the rule, of shapes (1, n_features_in_) and (1,).
    support_ : indices of the selected features.
    rule_ : the rule as `PredictionRule`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from chanceline.sklearn import SparseRule
    >>> X, y = make_classification(n_samples=80, n_features=30, class_sep=2.0, random_state=0)
    >>> SparseRule().fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        *,
        max_features: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> SparseRule:
        """Choose the features and their weights.

        Samples of one group stay together in cross-validation.
        """
        data = self._check(X, y)
        self.rule_ = fit_rule(
            data.X, data.y, groups=groups, max_features=self.max_features, seed=self._seed()
        )
        self._set_coefficients(self.rule_)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed value of the rule for every row; positive for `classes_[1]`."""
        check_is_fitted(self)
        values = validate_data(self, X, dtype=np.float64, reset=False)
        return self.rule_.scores(values)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of both classes, (samples, 2), in the order of `classes_`."""
        positive = sigmoid(self.decision_function(X))
        return np.column_stack([1 - positive, positive])
