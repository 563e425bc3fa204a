"""What `set_tests` gives back: for every set of features a p-value, and one adjusted for all sets.

How it looks in a terminal: `set_text`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from chanceline._io import write_text
from chanceline._results import Result
from chanceline.significance.config import TestSettings
from chanceline.significance.readings import StopCause
from chanceline.tables.dataset import Finding, Severity
from chanceline.tables.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class OutcomeWords:
    """How sentences speak of an outcome.

    Attributes
    ----------
    noun : what sets go with: "the classes".
    sizes : how many samples each class has, "20 well, 20 ill"; empty where there are no classes.
    correlation : what the correlation of a carrier is: "correlation with ill, above 0 where …".
    taken_for : what the outcome was taken for, where that had to be found out; else empty.
    """

    noun: str
    sizes: str
    correlation: str
    taken_for: str = ""


@dataclass(frozen=True)
class Carrier:
    """A feature that carries a set.

    Attributes
    ----------
    feature : its name.
    correlation : with the outcome, beyond blocks and covariates; with two classes above 0 if the
        feature is larger in the positive one.
    """

    feature: str
    correlation: float

    def __str__(self) -> str:
        sign = "+" if self.correlation > 0 else "−"
        return f"{self.feature} ({sign}{abs(self.correlation):.2f})"


@dataclass(frozen=True)
class SetReading:
    """What is known about one set.

    Attributes
    ----------
    name : of the set.
    pvalue : of the set alone: the share of labellings that do as well on its features.
    adjusted_pvalue : for all sets together: the probability that chance gives any of them as much
        is at most this.
    n_features : features tested, equal columns once.
    n_found, n_named : features of the set that the table has, and that the set names.
    carriers : the features that carry the set, the largest correlation first.
    spread : whether the evidence is spread over more features than the carriers, which are the best
        of them; else it is in the carriers.
    missing : features that the set names and the table does not have.
    """

    name: str
    pvalue: float
    adjusted_pvalue: float
    n_features: int
    n_found: int
    n_named: int
    carriers: tuple[Carrier, ...]
    spread: bool
    missing: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class SetTests(Result):
    """A p-value for every set of features, adjusted for their number.

    Attributes
    ----------
    sets
        A `SetReading` for each set tested, the smallest adjusted p-value first.
    untested
        Why each of the other sets was not tested, by its name.
    shuffles
        Labellings drawn from the null; all sets have the same.
    exchange
        What the null hypothesis exchanges, in words.
    pvalue_kind
        What the p-values are: Monte Carlo, or Monte Carlo given a model of the covariates.
    outcome
        What sets go with, in words, and what the correlations of carriers speak of.
    n_samples, n_features
        Shape of the table.
    findings
        What is worth knowing about the sets and the data.
    stopped_by
        "interrupt" or "time limit" if not all sets were tested; the adjusted p-values are then for
        those that were. None if all were.
    settings
        Every setting in force.
    """

    sets: tuple[SetReading, ...]
    untested: dict[str, str]
    shuffles: int
    exchange: str
    pvalue_kind: str
    outcome: OutcomeWords
    n_samples: int
    n_features: int
    findings: tuple[Finding, ...]
    stopped_by: StopCause | None
    settings: TestSettings
    kind: str = "tests of sets of features"

    _derived = ("convincing",)

    def __getitem__(self, name: str) -> SetReading:
        """The reading of the set with this name."""
        for reading in self.sets:
            if reading.name == name:
                return reading
        raise KeyError(name)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the tests before all sets were done."""
        return self.stopped_by is StopCause.INTERRUPT

    @property
    def convincing(self) -> tuple[str, ...]:
        """The sets whose adjusted p-value is at most the level."""
        level = self.settings.level
        return tuple(item.name for item in self.sets if item.adjusted_pvalue <= level)

    @property
    def table_in_words(self) -> str:
        """`40 samples (20 well, 20 ill), 100 features`."""
        samples = plural(self.n_samples, "sample")
        if self.outcome.sizes:
            samples = f"{samples} ({self.outcome.sizes})"
        return f"{samples}, {plural(self.n_features, 'feature')}"

    @property
    def smallest_possible_p(self) -> float:
        """The smallest p-value that so many shuffles can give."""
        return 1 / (1 + self.shuffles)

    def summary(self) -> str:
        n_convincing = len(self.convincing)
        best = self.sets[0]
        return (
            f"{n_convincing} of {plural(len(self.sets), 'set')} at {self.settings.level:g}, "
            f"adjusted for all sets; smallest {best.name}: adjusted p = {best.adjusted_pvalue:.2g}"
        )

    def checks(self, *kinds: str) -> list[str]:
        """What was found about sets and data; by default warnings, which bear on the p-values."""
        wanted = kinds or (Severity.WARNING,)
        return [finding.message for finding in self.findings if finding.severity in wanted]

    def to_frame(self) -> pd.DataFrame:
        """A row for every set, the smallest adjusted p-value first.

        `features` is the number of columns tested, without constant and equal ones; `found` is the
        number of the set's features that the table has, and `named` all that the set names.

        `carriers` lists the features in which the evidence of the set lies, with their
        correlations; with two classes the correlation is above 0 if the feature is larger in the
        positive one. `spread` says whether there are more such features than are listed.
        """
        rows = []
        for tested_set in self.sets:
            carriers = [str(carrier) for carrier in tested_set.carriers]  # `TP53 (+0.61)`
            row = {
                "set": tested_set.name,
                "p": tested_set.pvalue,
                "adjusted_p": tested_set.adjusted_pvalue,
                "features": tested_set.n_features,
                "found": tested_set.n_found,
                "named": tested_set.n_named,
                "spread": tested_set.spread,
                "carriers": ", ".join(carriers),
            }
            rows.append(row)
        return pd.DataFrame(rows)

    # Texts, figures and pages are built on results, and load when they are asked for.
    def __str__(self) -> str:
        from chanceline.significance.set_text import render_sets

        return render_sets(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """p and adjusted p of the best sets, on the given or on new axes."""
        import matplotlib.pyplot as plt

        from chanceline.figures.feature_sets import draw_sets, size_of_sets

        if ax is None:
            _, ax = plt.subplots(figsize=size_of_sets(self), layout="constrained")
        draw_sets(ax, self)
        return ax

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained page, also written to a file if its path is given."""
        from chanceline.report.feature_sets import sets_page

        page = sets_page(self).render()
        if path is not None:
            write_text(path, page)
        return page
