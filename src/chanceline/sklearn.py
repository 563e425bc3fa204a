"""scikit-learn estimator: a linear classifier that selects as few features as separate the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from chanceline.perceptron.rule import Rule, rule_on
from chanceline.significance.procedure import Procedure


class SparseSeparator(ClassifierMixin, SelectorMixin, BaseEstimator):
    """Linear classifier on the smallest set of features found to separate two classes; also a feature selector.

    Separating the training samples is no evidence by itself: `chanceline.separation_test` tells whether chance would
    allow it, and cross-validation must contain this estimator, not follow it.

    Parameters
    ----------
    method : search method of `chanceline.search`.
    errors : training errors to tolerate for the sake of fewer features.
    max_features : at most so many features, those with the smallest standardised weights being dropped.
    budget : iterations of the search; None for its default.
    fit_intercept : whether the rule has a threshold.
    random_state : seed of the search, a whole number.

    Attributes
    ----------
    classes_ : the two classes.
    coef_, intercept_ : the rule, of shapes (1, n_features_in_) and (1,).
    support_ : indices of the selected features.
    n_errors_ : training samples on the wrong side.

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
        errors: int = 0,
        max_features: int | None = None,
        budget: int | None = None,
        fit_intercept: bool = True,
        random_state: int = 0,
    ) -> None:
        self.method = method
        self.errors = errors
        self.max_features = max_features
        self.budget = budget
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> SparseSeparator:
        """Search for few features that separate the two classes of y."""
        data, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        kind = type_of_target(labels, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"SparseSeparator needs two classes, but y has one class only: {self.classes_[0]!r}")
        signs = np.where(codes == 1, 1.0, -1.0)
        procedure = Procedure(self.method, self.budget, self.random_state, self.fit_intercept, self.errors)
        rule = self._at_most(procedure.find(data, signs), data, signs)
        self.support_ = rule.support
        self.n_errors_ = rule.errors
        self.coef_ = np.zeros((1, data.shape[1]))
        self.coef_[0, rule.support] = rule.weights
        self.intercept_ = np.array([rule.bias])
        return self

    def _at_most(self, rule: Rule, X: NDArray[np.float64], y: NDArray[np.float64]) -> Rule:
        """The rule on no more than `max_features` features."""
        limit = self.max_features
        if limit is None or rule.n_selected <= limit:
            return rule
        if limit < 1:
            raise ValueError(f"max_features must be at least 1, but is {limit}.")
        importance = np.abs(rule.weights) * X[:, rule.support].std(axis=0)
        kept = np.sort(rule.support[np.argsort(-importance, kind="stable")[:limit]])
        return rule_on(X, y, kept, self.fit_intercept)

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Signed value of the rule; positive for `classes_[1]`."""
        check_is_fitted(self)
        data = validate_data(self, X, dtype=np.float64, reset=False)
        return data @ self.coef_[0] + self.intercept_[0]

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
