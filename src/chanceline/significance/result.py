"""What `separation_test` gives back."""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result
from chanceline.chance.bound import bound_curve, format_p
from chanceline.errors import InputError
from chanceline.significance.record import TestRecord
from chanceline.significance.rule_words import predicted_positive
from chanceline.significance.text import readings, render
from chanceline.significance.words import counted
from chanceline.tables.columns import plain_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Fields that go into JSON as they are.
PLAIN = (
    "verdict", "reason", "pvalue", "log10_pvalue", "n_samples", "n_features", "n_distinct", "positives", "n_selected", "features",
    "support", "weights", "bias", "errors", "separates", "rule_text", "classes",
    "interrupted",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class SeparationTest(TestRecord, Result):
    __doc__ = TestRecord.__doc__

    kind: str = "significance test"

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        negative, positive = map(plain_text, self.classes)
        return negative, positive

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row of X, which has the columns of the table tested (or a DataFrame with the features by name)."""
        positive = predicted_positive(self._columns(X), range(self.n_selected), self.weights, self.bias)
        return np.where(positive, np.array(self.classes[1:]), np.array(self.classes[:1]))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of rows of X that are predicted to be of their class."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _columns(self, X: ArrayLike) -> NDArray[np.float64]:
        """The selected columns."""
        if hasattr(X, "columns") and set(self.features) <= {str(name) for name in X.columns}:
            names = [str(name) for name in X.columns]
            return np.asarray(X, dtype=float)[:, [names.index(name) for name in self.features]]
        data = np.asarray(X, dtype=float)
        if data.ndim != 2 or data.shape[1] != self.n_features:
            raise InputError(
                f"the rule was found on {self.n_features} features, but X has shape {data.shape}; give the same columns."
            )
        return data[:, list(self.support)]

    @cached_property
    def null_distribution(self) -> NDArray[np.float64]:
        """Set sizes that separate shuffled labels, ∞ where none was found; empty without permutations."""
        sizes = self.permutation.null_sizes if self.permutation is not None else ()
        return np.array([np.inf if size is None else size for size in sizes], dtype=float)

    @cached_property
    def bound_curve(self) -> NDArray[np.float64]:
        """log₁₀ of the bound for the set sizes `bound_sizes`, for as many errors and the same null."""
        bound = self.bound
        return bound_curve(
            bound.n_samples,
            bound.n_features,
            positives=bound.positives,
            errors=bound.errors,
            null=bound.null,
            intercept=bound.intercept,
            blocks=bound.blocks,
        )[1:]

    @cached_property
    def bound_sizes(self) -> NDArray[np.int64]:
        return np.arange(1, len(self.bound_curve) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, verdict first."""
        record: dict[str, Any] = {name: getattr(self, name) for name in PLAIN}
        record["bound"] = self.bound.to_dict()
        record["front"] = [point.to_dict() for point in self.front]
        record["decisive"] = self.decisive.to_dict() if self.decisive is not None else None
        record["permutation"] = self.permutation.to_dict() if self.permutation is not None else None
        record["replica"] = self.replica.to_dict() if self.replica is not None else None
        record["expected_error"] = self.expected_error.to_dict() if self.expected_error is not None else None
        record["null_distribution"] = list(self.permutation.null_sizes) if self.permutation is not None else []
        record["largest_convincing"] = self.largest_convincing
        record["samples_needed"] = self.samples_needed
        record["advice"] = list(self.advice)
        record["findings"] = [asdict(finding) for finding in self.findings]
        record["settings"] = self.settings_record()
        record["kind"] = self.kind
        return record

    def settings_record(self) -> dict[str, Any]:
        """Every setting in force as plain values, and what follows from them."""
        settings = self.settings.to_dict()
        return {
            **settings,
            "search": settings["search"] or settings["method"],
            "errors": self.errors_declared,
            "units": self.n_units,
            "blocks": self.n_blocks,
            "bound_share": self.shares.gate,
            "bound_spent": self.shares.spent,
            "later_share": self.shares.later,
        }

    def summary(self) -> str:
        """One line: the word, p, and what the rule does."""
        rule = f"{self.n_selected} of {self.n_features} features, {counted(self.errors, 'error')} on {self.n_samples} samples"
        return f"{self.verdict}, p = {format_p(self.log10_pvalue)}: {rule}"

    def __str__(self) -> str:
        return render(self)

    def _repr_html_(self) -> str:
        cells = (["<td style='text-align:left'>" + html.escape(cell.strip()) + "</td>" for cell in row] for row in readings(self))
        rows = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
        rule = f"<p>{html.escape(self.rule_text)}</p>" if self.features else ""
        heading = f"<p><b>{html.escape(self.verdict.upper())}</b>: {html.escape(self.reason)}</p>"
        return f"{heading}<table>{rows}</table>{rule}"

    # Figures and pages are built on results and not the other way round; here they are known by name only, and loaded on use.
    def plot(self, ax: Axes | None = None) -> Axes:
        """The front with the band of shuffled labels, on the given or on new axes."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
        import_module("chanceline.figures.significance").draw_test(ax, self)
        return ax

    def to_html(self) -> str:
        """The report as one self-contained page."""
        page: str = import_module("chanceline.report.separation").separation_page(self).render()
        return page
