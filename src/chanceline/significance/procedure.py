"""The search as one deterministic function of the labels, so that observed and drawn labels get the same
treatment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.perceptron.fit import consistent_rows, constant_rule, rule_on
from chanceline.perceptron.rule import Rule, make_rule
from chanceline.select.api import FORGIVING, iter_search
from chanceline.significance.permutation import Value

Floats = NDArray[np.float64]
NOTHING = np.zeros(0, dtype=np.int64)


class NothingFoundError(InputError):
    """The search of one's own gave no features; on shuffled labels that is a bad result, on the true ones an error."""


@dataclass(frozen=True)
class Procedure:
    """What finds a small set of features, with everything it depends on besides (X, y).

    Attributes
    ----------
    search
        Name of a search method, a scikit-learn selector (`fit`, `get_support`), or a function (X, y) → indices.
    errors
        Errors allowed; the set wanted is the smallest that makes no more.
    fixed
        Indices of features fixed beforehand; then nothing is searched and fewer errors are better.
    """

    search: Any = "auto"
    budget: int | None = None
    seed: int = 0
    intercept: bool = True
    errors: int = 0
    fixed: tuple[int, ...] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Floats, y: Floats) -> Value:
        """The statistic T, small when the set is small; a search that finds nothing is worse than any that finds something."""
        try:
            return self.value(self.find(X, y), X.shape[1])
        except NothingFoundError:
            return Value(X.shape[1] + len(y) + 1, 0, len(y))

    def value(self, rule: Rule, n_features: int) -> Value:
        support = tuple(int(j) for j in rule.support)
        if self.fixed is not None:
            return Value(rule.errors, len(self.fixed), rule.errors, support)
        enough = rule.errors <= self.errors
        return Value(rule.n_selected if enough else n_features + rule.errors, rule.n_selected, rule.errors, support)

    def find(self, X: Floats, y: Floats) -> Rule:
        """The rule found for these labels."""
        if self.fixed is not None:
            return rule_on(X, y, np.array(self.fixed), self.intercept)
        if self.intercept and np.all(y == y[0]):
            return constant_rule(X, y, NOTHING)
        if not isinstance(self.search, str):
            return rule_on(X, y, self._selected(X, y), self.intercept)
        return self._searched(X, y)

    def _searched(self, X: Floats, y: Floats) -> Rule:
        """The built-in search; one that allows no errors runs on samples without contradictions, and is counted on all."""
        errors = self.errors if self.search in FORGIVING else 0
        rows = np.arange(len(y)) if errors else consistent_rows(X, y)
        if self.intercept and np.all(y[rows] == y[rows[0]]):
            return constant_rule(X, y, NOTHING)
        best = None
        # Not `search`, which would turn Ctrl-C into the outcome of a shorter search.
        for outcome in iter_search(
            X[rows], y[rows], self.search, self.budget, self.seed, self.intercept, errors=errors, **self.options
        ):
            best = outcome
        assert best is not None
        return make_rule(X, y, best.support, best.weights, best.bias)

    def _selected(self, X: Floats, y: Floats) -> NDArray[np.int64]:
        """Indices from a scikit-learn selector or a function."""
        if hasattr(self.search, "fit"):
            from sklearn.base import clone

            selector = clone(self.search)
            random = [name for name, value in selector.get_params().items() if name.endswith("random_state") and value is None]
            selector.set_params(**dict.fromkeys(random, self.seed)).fit(X, y)
            if not hasattr(selector, "get_support"):
                raise InputError(f"the search {type(self.search).__name__} has no get_support; give a feature selector.")
            return _checked(np.asarray(selector.get_support(indices=True), dtype=np.int64), X.shape[1])
        chosen = self.search(X, y)
        support = np.asarray([] if chosen is None else getattr(chosen, "support", chosen))
        return _checked(np.flatnonzero(support) if support.dtype == bool else support, X.shape[1])


def _checked(support: NDArray[Any], n_features: int) -> NDArray[np.int64]:
    if support.size == 0:
        raise NothingFoundError("the search selected no feature on the labels given; give one that selects at least one.")
    if support.ndim != 1 or support.min() < 0 or support.max() >= n_features:
        raise InputError("the search must return indices of columns of X, or a mask.")
    return np.unique(support.astype(np.int64))
