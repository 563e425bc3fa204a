"""What is asked of which table, looked at and checked before anything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.perceptron.data import contradictions, distinct_columns, find_features
from chanceline.perceptron.fit import consistent_rows
from chanceline.significance.config import TestSettings
from chanceline.significance.null import LabelScheme, make_scheme
from chanceline.significance.price import Price, check_candidates
from chanceline.significance.procedure import Procedure
from chanceline.significance.verdict import Shares, bound_shares
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.diagnostics import examine

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Question:
    """A checked table and everything that is fixed before its labels are looked at.

    Attributes
    ----------
    features : indices of the features named, None if the smallest set is searched.
    declared : errors allowed beforehand, None if they are counted after looking.
    distinct : one column of every set of equal ones, constants left out.
    price, shares : what the bound costs, and what it may spend.
    """

    X: Floats
    y: Floats
    names: tuple[str, ...]
    classes: tuple[Any, Any]
    scheme: LabelScheme
    settings: TestSettings
    features: Ints | None
    declared: int | None
    distinct: Ints
    findings: tuple[Finding, ...]
    price: Price
    shares: Shares

    @property
    def fixed(self) -> bool:
        """The features were named beforehand."""
        return self.settings.preregistered

    @property
    def given(self) -> bool:
        """The features were named after looking."""
        return self.features is not None and not self.fixed

    def procedure(self) -> Procedure:
        """The search for the smallest set on the observed labels."""
        settings = self.settings
        return Procedure(settings.method, settings.budget, settings.seed, settings.intercept, settings.errors or 0)

    def own_search(self) -> Procedure:
        """The user's own search, which is run again on every shuffle."""
        return replace(self.procedure(), search=self.settings.search)


def ask(dataset: Dataset, features: Sequence[int | str] | None, settings: TestSettings) -> Question:
    """Look at the table, check the question, and fix the prices."""
    X, y, names = dataset.X, dataset.y, dataset.feature_names
    n_samples, n_features = X.shape
    seen = examine(X, y, names, intercept=settings.intercept, level=settings.level)
    scheme = make_scheme(y, settings.null, dataset.blocks, dataset.groups)
    indices = None if features is None else find_features(features, names)
    if settings.errors is not None and settings.errors >= n_samples:
        raise InputError(f"the errors allowed must be between 0 and {n_samples - 1}, not {settings.errors}.")
    check_candidates(settings.candidates, n_features)
    if settings.preregistered and indices is None:
        raise InputError("preregistered features have to be named; give them, or leave out preregistered.")
    distinct = distinct_columns(X, settings.intercept)
    if len(distinct) == 0:
        raise InputError("every feature is constant, so that there is nothing to separate with.")
    if settings.candidates is not None:
        # Shuffling cannot repeat a selection whose other candidates are not here.
        settings = replace(settings, permutations=0)
    declared = 0 if settings.errors is None and indices is None else settings.errors
    fixed = len(indices) if settings.preregistered and indices is not None else None
    price = Price(scheme, settings.candidates or len(distinct), settings.intercept, declared, fixed)
    later = indices is None and settings.errors is None
    # About features named after looking the bound alone speaks, with the whole level.
    shuffles = 0 if indices is not None and fixed is None else settings.permutations
    gate, share = bound_shares(settings.level, shuffles, later=later)
    shares = Shares(gate, price.spent(gate), share)
    findings = (*dataset.findings, *seen)
    return Question(X, y, names, dataset.classes, scheme, settings, indices, declared, distinct, findings, price, shares)


def unavoidable_errors(X: Floats, y: Floats) -> str | None:
    """The errors that no rule can avoid, in words: equal rows with opposite labels."""
    pairs = contradictions(X, y)
    if not pairs:
        return None
    first, second = pairs[0]
    wrong = len(y) - len(consistent_rows(X, y))
    return f"{wrong} of which cannot be avoided (rows {first + 1} and {second + 1} are equal but have opposite labels)"
