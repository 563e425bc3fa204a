"""scikit-learn estimators: a sparse linear rule meant for new samples, and as few features as separate the classes."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

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
from chanceline.prediction.rule import PredictionRule, fit_rule, probability
from chanceline.select.api import search
from chanceline.select.pareto import front


class _SparseLinear(ClassifierMixin, SelectorMixin, BaseEstimator):
    """What both estimators share: checks, the rule as coefficients, predictions, selected features."""

    def _check(self, X: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values, and labels ±1 of the two `classes_`."""
        data, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs two classes, but y has one class only: {self.classes_[0]!r}"
            )
        return data, np.where(codes == 1, 1.0, -1.0)

    def _keep(self, rule: Rule | PredictionRule) -> None:
        self.support_ = rule.support
        self.coef_ = np.zeros((1, self.n_features_in_))
        self.coef_[0, rule.support] = rule.weights
        self.intercept_ = np.array([rule.bias])

    def _seed(self) -> int:
        seed = self.random_state
        return int(
            seed
            if isinstance(seed, numbers.Integral)
            else check_random_state(seed).randint(2**31 - 1)
        )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed value of the rule; positive for `classes_[1]`."""
        check_is_fitted(self)
        return (
            validate_data(self, X, dtype=np.float64, reset=False) @ self.coef_[0]
            + self.intercept_[0]
        )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class SparseSeparator(_SparseLinear):
    """Linear classifier on the smallest set of features found to separate two classes, or nearly; also a feature selector.

    Separating the training samples is no evidence by itself: `chanceline.separation_test` tells whether chance would
    allow it, and cross-validation must contain this estimator, not follow it.

    Parameters
    ----------
    method : search method of `chanceline.search`; with `max_errors` one that allows errors.
    max_errors : training errors to tolerate for the sake of fewer features.
    n_features : at most so many features, with the fewest errors found (`chanceline.front`); fewer features if these
        make no more than `max_errors`.
    budget : iterations of the search; None for its default.
    fit_intercept : whether the rule has a threshold.
    random_state : seed of the search, a whole number; None draws one.

    Attributes
    ----------
    classes_ : the two classes in order; as always in scikit-learn the second is the positive one, which `coef_` speaks of.
    coef_, intercept_ : the rule, of shapes (1, n_features_in_) and (1,).
    support_ : indices of the selected features.
    n_errors_ : training samples on the wrong side.

    Warns
    -----
    ConvergenceWarning
        If no rule with at most `max_errors` errors was found, and no `n_features` asked for; the rule with the fewest
        errors found is kept.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from chanceline.sklearn import SparseSeparator
    >>> X, y = make_classification(n_samples=40, n_features=30, class_sep=2.0, random_state=0)
    >>> SparseSeparator().fit(X, y).transform(X).shape[1] < 30
    True
    """

    def __init__(
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
        data, labels = self._check(X, y)
        rule = self._search(data, labels)
        self._keep(rule)
        self.n_errors_ = rule.errors
        return self

    def _search(self, X: NDArray[np.float64], y: NDArray[np.float64]) -> Rule:
        allowed, size, seed = self.max_errors, self.n_features, self._seed()
        if size is not None:
            if size < 1:
                raise ValueError(f"n_features must be at least 1, but is {size}.")
            found = front(
                X, y, intercept=self.fit_intercept, max_features=size, budget=self.budget, seed=seed
            )
            # Without any feature there would be nothing to select.
            points = [point for point in found.points if point.k > 0]
            return next((point for point in points if point.errors <= allowed), points[-1]).rule
        rows = np.arange(len(y)) if allowed else consistent_rows(X, y)
        outcome = search(
            X[rows], y[rows], self.method, self.budget, seed, self.fit_intercept, errors=allowed
        )
        rule = make_rule(X, y, outcome.support, outcome.weights, outcome.bias)
        if rule.errors > allowed:
            warnings.warn(
                f"no rule with at most {allowed} errors was found; this one makes {rule.errors}. "
                f"Allow them with max_errors={rule.errors}, or ask for a size with n_features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return rule


class SparseRule(_SparseLinear):
    """Linear classifier on few features, meant for new samples: the rule of `chanceline test`, as an estimator.

    The features are those of least angle or of forward stepwise regression, their weights from logistic regression with a ridge;
    number of features and ridge are chosen by cross-validation within the samples given, the smallest number within half a
    standard error of the best. Where no set of thirty does as well it is a rule on many features; `max_features` rules that out.

    Parameters
    ----------
    max_features : largest number of features; None: thirty, or many where no small set does as well.
    random_state : seed of the folds, a whole number; None draws one.

    Attributes
    ----------
    classes_ : the two classes in order; as always in scikit-learn the second is the positive one, which `coef_` speaks of.
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
        """Choose the features and their weights; samples of one group stay together in cross-validation."""
        data, labels = self._check(X, y)
        self.rule_ = fit_rule(
            data, labels, groups=groups, max_features=self.max_features, seed=self._seed()
        )
        self._keep(self.rule_)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed value of the rule; positive for `classes_[1]`."""
        check_is_fitted(self)
        return self.rule_.scores(validate_data(self, X, dtype=np.float64, reset=False))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probabilities of both classes for every row."""
        chances = probability(self.decision_function(X))
        return np.column_stack([1 - chances, chances])
