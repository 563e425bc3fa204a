"""What `separation_test` gives back, and how it shows itself: verdict first, then the readings, then what would change it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline._results import Result
from chanceline.chance.bound import Bound, format_p
from chanceline.errors import InputError
from chanceline.significance.config import TestSettings
from chanceline.significance.design import Floats
from chanceline.significance.permutation import FrontReading, PermutationReading, SpreadReading
from chanceline.significance.plan import AlphaSpending
from chanceline.significance.replica import ReplicaReading
from chanceline.significance.stepwise import ExpectedError
from chanceline.significance.text import STRUCTURE, counted, predicted_positive
from chanceline.tables.columns import plain_text
from chanceline.tables.dataset import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class SeparationTest(Result):
    """Verdict, p-value and the readings of one chance test.

    Attributes
    ----------
    verdict
        "structure", "chance allows this" or "cannot tell".
    pvalue, log10_pvalue
        The overall p-value (`chanceline.significance.plan` has the proof that it is valid). For features named after looking
        it is the bound's, which alone speaks about them.
    n_selected, features, errors
        The rule reported: how many features, their names, samples it gets wrong.
    weights, bias
        The rule as it was found: the second class where x·w + b > 0.
    rule_text
        The rule as a sentence: its weights divided by the largest, with as many digits as it takes to classify the table as
        `predict` does.
    classes
        The two classes, the second of which the rule calls positive.
    scores, labels
        Every sample along the rule (x·w + b) and its label ±1.
    bound
        Rigorous bound for that rule, its `log10_p` including the factor for errors counted after looking.
    front
        For every number of features: errors, errors on shuffled labels, adjusted p-value.
    decisive
        The point of the front on which the p-value of the shuffles rests, None where there are none, the features were named, or
        it rests on the spread.
    spread
        All features together, each a little: the evidence that no small set holds. None without shuffles.
    permutation
        Monte Carlo reading, None if it was not run (`bound` convinced, or `permutations=0`).
    replica
        Asymptotic reading, None where it has no meaning. It never decides.
    expected_error
        What to expect on new samples, None if it was not asked for.
    largest_convincing, samples_needed
        The largest set that the bound would accept, and the samples (or groups) with which this one would convince.
    advice
        What would change the verdict.
    findings
        What is worth knowing about the data.
    interrupted
        Ctrl-C ended the shuffles or the cross-validation early; what is here is valid.
    settings
        Every setting in force; `spending` has what the stages of the test may spend of the level.
    """

    verdict: str
    pvalue: float
    log10_pvalue: float
    reason: str
    n_samples: int
    n_features: int
    n_distinct: int
    positives: int
    n_selected: int
    features: tuple[str, ...]
    support: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float
    errors: int
    separates: bool
    rule_text: str
    classes: tuple[Any, Any]
    scores: Floats
    labels: Floats
    bound: Bound
    front: tuple[FrontReading, ...]
    decisive: FrontReading | None
    spread: SpreadReading | None
    permutation: PermutationReading | None
    replica: ReplicaReading | None
    expected_error: ExpectedError | None
    largest_convincing: int
    samples_needed: int | None
    advice: tuple[str, ...]
    findings: tuple[Finding, ...]
    interrupted: bool
    settings: TestSettings
    spending: AlphaSpending
    errors_declared: int | None
    n_units: int
    n_blocks: int
    kind: str = "significance test"

    _hidden = ("scores", "labels", "spending", "errors_declared", "n_units", "n_blocks")

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        return plain_text(self.classes[0]), plain_text(self.classes[1])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every row of X, which has the columns of the table tested (or a DataFrame with the features by name)."""
        positive = predicted_positive(self._columns(X), range(self.n_selected), self.weights, self.bias)
        return np.where(positive, np.array(self.classes[1:]), np.array(self.classes[:1]))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Share of rows of X that are predicted to be of their class."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    def _columns(self, X: ArrayLike) -> Floats:
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

    @property
    def null_distribution(self) -> Floats:
        """Set sizes that separate shuffled labels, ∞ where none was found; empty without permutations."""
        sizes = self.permutation.null_sizes if self.permutation is not None else ()
        return np.array([np.inf if size is None else size for size in sizes], dtype=float)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the settings with what follows from them."""
        settings = self.settings.to_dict()
        in_force = {
            **settings,
            "search": settings["search"] or settings["method"],
            "errors": self.errors_declared,
            "units": self.n_units,
            "blocks": self.n_blocks,
            "bound_share": self.spending.gate,
            "bound_spent": self.spending.spent,
            "later_share": self.spending.later,
        }
        sizes = self.permutation.null_sizes if self.permutation is not None else ()
        return {**super().to_dict(), "null_distribution": list(sizes), "settings": in_force}

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

    # Figures and pages are built on results: the one place where a module below loads those above, when they are asked for.
    def plot(self, ax: Axes | None = None) -> Axes:
        """The front with the band of shuffled labels, on the given or on new axes."""
        import matplotlib.pyplot as plt

        from chanceline.figures.significance import draw_test

        if ax is None:
            _, ax = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
        draw_test(ax, self)
        return ax

    def to_html(self) -> str:
        """The report as one self-contained page."""
        from chanceline.report.separation import separation_page

        return separation_page(self).render()


def render(result: SeparationTest) -> str:
    lines = [f"{result.verdict.upper()}: {result.reason}", ""]
    rows = readings(result)
    width = min(max(len(value) for _, value, _ in rows), 70)
    lines += [f"  {name:<12} {value:<{width}}   {kind}" for name, value, kind in rows]
    if result.features:
        names = ", ".join(result.features[:6]) + (", …" if len(result.features) > 6 else "")
        lines += ["", f"  features     {names}"]
        if len(result.features) <= 6:
            lines += [f"  rule         {result.rule_text}"]
    fewer = fewer_features(result)
    if fewer is not None:
        lines += ["  {:<12} {}".format(*fewer)]
    if result.front:
        lines += ["", *_front_lines(result)]
    if result.advice:
        lines += ["", "Before relying on it:" if result.verdict == STRUCTURE else "What would change this:"] + [
            f"  - {sentence}" for sentence in result.advice
        ]
    if result.findings:
        lines += ["", "About the data:"] + [f"  - {finding}" for finding in result.findings]
    return "\n".join(lines)


def fewer_features(result: SeparationTest) -> tuple[str, str] | None:
    """How many features the p-value rests on, and which, if they are fewer than those of the rule reported."""
    point = result.decisive
    if point is None or point.k >= result.n_selected:
        return None
    return f"with {point.k}", f"{', '.join(point.features)} ({counted(point.fewest, 'error')})"


def readings(result: SeparationTest) -> list[tuple[str, str, str]]:
    """Name, value and kind of the overall p-value and of every reading."""
    rows = [
        ("p-value", format_p(result.log10_pvalue), "valid whatever the search"),
        ("bound", _bound_words(result), "rigorous"),
    ]
    if result.permutation is None:
        why = "not needed" if result.settings.permutations and result.settings.candidates is None else "not run"
        rows.append(("permutation", why, "Monte Carlo"))
    else:
        reading = result.permutation
        rows.append(("permutation", reading.summary(), f"Monte Carlo, {reading.exceedances} of {reading.done} as good"))
        sizes = sorted(size for size in reading.null_sizes if size is not None)
        if sizes and reading.statistic == "search":
            rows.append(
                ("  shuffled", f"M = {sizes[len(sizes) // 2]} [{sizes[0]}–{sizes[-1]}]", "median and range where it separates")
            )
    if result.expected_error is not None:
        rows.append(("new samples", result.expected_error.summary(), result.expected_error.kind))
    if result.replica is not None:
        rows.append(("replica", result.replica.summary(), f"{result.replica.kind}, never decides"))
    return rows


def _bound_words(result: SeparationTest) -> str:
    text = f"p ≤ {format_p(result.bound.log10_p)}"
    declared = result.errors_declared
    if result.bound.log10_p < 0:
        return text
    if declared is not None and result.errors > declared:
        return f"{text} (says nothing about {counted(result.errors, 'error')} where {declared} were allowed)"
    if result.largest_convincing == 0:
        return f"{text} (no set would convince by itself)"
    return f"{text} (would convince for {counted(result.largest_convincing, 'feature')} at most)"


def _front_lines(result: SeparationTest) -> list[str]:
    """The front as a small table."""
    lines = ["  features   errors   on shuffled labels   adjusted p"]
    for point in result.front:
        band = "" if point.shuffled is None else f"{point.shuffled.median} ({point.shuffled.low} to {point.shuffled.high})"
        pvalue = "" if point.pvalue is None else f"{point.pvalue:.2g}"
        lines.append(f"  {point.k:>8}   {point.errors:>6}   {band:<18}   {pvalue}".rstrip())
    return lines
