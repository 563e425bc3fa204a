"""The table as it is tested (`Dataset`), and what was noticed while it was read (`Finding`).

Nothing heavy is imported here, so that the command line's help stays fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from chanceline._results import Result, visible
from chanceline.tables.wording import plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from chanceline.columns.table import AnyTable
    from chanceline.tables.recipe import TableRecipe
    from chanceline.tables.variants import VariantPlaces


class Severity(StrEnum):
    """What a finding is."""

    WARNING = "warning"  # it bears on the verdict
    PREPARED = "prepared"  # what was done to the values, blind to the labels
    NOTE = "note"  # what was left out, and the like


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing about a table.

    Attributes
    ----------
    severity : a `Severity`.
    message : one sentence.
    """

    severity: str
    message: str

    @classmethod
    def warning(cls, message: str) -> Finding:
        """A finding that bears on the verdict."""
        return cls(Severity.WARNING, message)

    @classmethod
    def prepared(cls, message: str) -> Finding:
        """A finding about what was done to the values, without the labels."""
        return cls(Severity.PREPARED, message)

    @classmethod
    def note(cls, message: str) -> Finding:
        """Any other finding that is worth knowing, such as columns left out."""
        return cls(Severity.NOTE, message)

    def __str__(self) -> str:
        return f"{self.severity}: {self.message}"


@dataclass(frozen=True)
class Declaration:
    """What could be said about a column that looks like subjects or pairs.

    Attributes
    ----------
    column : its name.
    role : the setting that declares it: groups, pairs or blocks.
    setting : the value of that setting: the name, perhaps with `stem:` before it.
    """

    column: str
    role: str
    setting: str


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Result):
    """P × N numbers, labels ±1 and names; what was left out on the way stands in `findings`.

    Attributes
    ----------
    X : numbers of shape (samples, features): an array, or a table that is read by its columns.
    y : labels ±1 of shape (samples,).
    feature_names : one for each column of X.
    classes : the names of the negative and the positive class (`chanceline.tables.classes` says
        which that is).
    blocks, groups, pairs : what was declared, one value for each sample.
    covariates : the columns to adjust for, by name: numbers, or text for categories.
    undeclared : the sentence with which a test of this table stops, because a column looks like a
        subject that nothing was said about; else empty.
    proposed : what that sentence proposes to declare; None if it proposes nothing.
    source : the name of the file, or the type of the table in memory.
    findings : what is worth knowing, in the order in which it is shown.
    rows : what the user's program calls each row: its number in a text or a sheet, or its name.
    columns_checked : whether identifiers were looked for when the table was read, among its values
        before any transform.
    role_columns : the names of the columns that gave blocks, groups or pairs, by role.
    recipe : how the cells became numbers, for new samples; None for numbers taken as they are.
    variants : where the variants of a file of genotypes stand; None for other tables.
    """

    X: AnyTable
    y: NDArray[np.float64]
    feature_names: Sequence[str]
    classes: tuple[str, str]
    blocks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    pairs: NDArray[Any] | None = None
    covariates: dict[str, NDArray[Any]] | None = None
    undeclared: str = ""
    proposed: Declaration | None = None
    source: str = "arrays"
    findings: tuple[Finding, ...] = field(default=())
    rows: Sequence[Any] | None = None
    columns_checked: bool = False
    role_columns: dict[str, str] = field(default_factory=dict)
    recipe: TableRecipe | None = None
    variants: VariantPlaces | None = None
    kind = "data"

    @property
    def _n_positives(self) -> int:
        return int((self.y > 0).sum())

    def summary(self) -> str:
        n_samples, n_features = self.X.shape
        n_negatives = n_samples - self._n_positives
        negative, positive = self.classes
        sizes = visible(f"{n_negatives} {negative}, {self._n_positives} {positive}")
        samples = plural(n_samples, "sample")
        features = plural(n_features, "feature")
        return f"{visible(self.source)}: {samples} ({sizes}), {features}"

    def __str__(self) -> str:
        lines = [f"  - {finding}" for finding in self.findings]
        return "\n".join([self.summary(), *lines])

    def to_dict(self) -> dict[str, Any]:
        """The table as a dictionary of plain Python values, without its numbers."""
        return {
            "kind": self.kind,
            "source": self.source,
            "n_samples": len(self.y),
            "n_features": self.X.shape[1],
            "positives": self._n_positives,
            "classes": list(self.classes),
            "positive_class": self.classes[1],
            "feature_names": list(self.feature_names),
            "findings": [str(finding) for finding in self.findings],
        }
