"""The front as a result: the fewest errors found for every number of variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result, listed, visible
from chanceline.errors import InputError, whole_number
from chanceline.perceptron.rule import Rule
from chanceline.select.outcome import SHOWN_FEATURES


@dataclass(frozen=True, eq=False)
class FrontPoint:
    """The fewest errors found with at most `k` variables, and the rule that makes them.

    `proven` if no rule on so many variables makes fewer.
    """

    k: int
    errors: int
    rule: Rule
    proven: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Front(Result):
    """The fewest errors found for every number of variables.

    Attributes
    ----------
    points : one point for k = 0, 1, … up to `max_features`, or up to the first without errors.
        Errors never rise with k; where k variables gave nothing better than fewer did, the rule is
        that of fewer.
    n_samples, n_features : shape of the table.
    iterations : swaps done.
    seed : of the search.
    feature_names : names of the columns, if X has names (a DataFrame).
    """

    points: tuple[FrontPoint, ...]
    n_samples: int
    n_features: int
    intercept: bool
    iterations: int
    seed: int
    feature_names: tuple[str, ...] | None = None

    kind = "search"

    @property
    def errors(self) -> NDArray[np.int64]:
        """E(k) for k = 0, 1, …"""
        return np.array([point.errors for point in self.points], dtype=np.int64)

    def at(self, k: int) -> FrontPoint:
        """The point of at most k variables.

        Beyond the last point it is that one, if it has no errors; else nothing is known there.
        """
        k = whole_number(k, "The number of variables")
        last = self.points[-1]
        if k > last.k and last.errors > 0:
            raise InputError(
                f"The front ends at {last.k} variables; search it up to {k} with max_features={k}."
            )
        return self.points[min(k, last.k)]

    def features(self, point: FrontPoint) -> list[str]:
        """The variables of a point, by name or, where columns have none, by number."""
        if self.feature_names is None:
            return [str(j) for j in point.rule.support]
        return [self.feature_names[j] for j in point.rule.support]

    def smallest(self, errors: int = 0) -> FrontPoint | None:
        """The first point with at most so many errors, or None."""
        for point in self.points:
            if point.errors <= errors:
                return point
        return None

    def summary(self) -> str:
        """One line: the errors of all points."""
        errors = ", ".join(str(point.errors) for point in self.points)
        return (
            f"{errors} errors of {self.n_samples} with 0 … {self.points[-1].k} "
            f"of {self.n_features} variables"
        )

    def __str__(self) -> str:
        """Return a table with a line for each number k of variables: k, errors, and variables."""
        lines = [
            f"Fewest errors found among {self.n_samples} samples, {self.n_features} variables",
            "  k  errors  variables (*: proven, no rule on so many makes fewer)",
        ]
        for point in self.points:
            visible_names = [visible(name) for name in self.features(point)]
            shown_names = listed(visible_names, SHOWN_FEATURES)
            star = "*" if point.proven else " "
            line = f"{point.k:3d}  {point.errors:6d}{star} {shown_names}"
            lines.append(line.rstrip())  # without variables the names are empty
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "intercept": self.intercept,
            "iterations": self.iterations,
            "seed": self.seed,
            "interrupted": False,  # for one version: Ctrl-C raises KeyboardInterrupt
            "front": [self._point_to_dict(point) for point in self.points],
        }

    def _point_to_dict(self, point: FrontPoint) -> dict[str, Any]:
        """Plain values of a point; names of variables only where columns have them."""
        record: dict[str, Any] = {
            "k": point.k,
            "errors": point.errors,
            "proven": point.proven,
            "support": point.rule.support.tolist(),
        }
        if self.feature_names is not None:
            record["features"] = self.features(point)
        record["weights"] = point.rule.weights.tolist()
        record["bias"] = point.rule.bias
        return record
