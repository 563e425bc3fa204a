"""From a file to numbers, labels and names; whatever is wrong is said in one sentence.

Rows are counted from 1 and are samples: "row 3" is the third sample, a header is not counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result, visible
from chanceline._validation import shown, whole_number
from chanceline.errors import InputError
from chanceline.tables.classes import attach_labels, find_column, guess_label, read_labels
from chanceline.tables.doctor import Finding
from chanceline.tables.names import count
from chanceline.tables.numbers import numeric_features, without_gaps, without_identifiers
from chanceline.tables.read import RawTable, read_table
from chanceline.tables.settings import TableSettings


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(Result):
    """P × N numbers, labels ±1 and names; what was left out on the way stands in `findings`."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    feature_names: tuple[str, ...]
    classes: tuple[str, str]
    blocks: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    source: str = "arrays"
    findings: tuple[Finding, ...] = field(default=())
    kind = "data"

    def summary(self) -> str:
        positives = int(np.sum(self.y > 0))
        negative, positive = self.classes
        sizes = visible(f"{len(self.y) - positives} {negative}, {positives} {positive}")
        return f"{visible(self.source)}: {count(len(self.y), 'sample')} ({sizes}), {count(self.X.shape[1], 'feature')}"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"  - {finding}" for finding in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """What the table is, without its numbers."""
        return {
            "kind": self.kind,
            "source": self.source,
            "n_samples": len(self.y),
            "n_features": self.X.shape[1],
            "positives": int(np.sum(self.y > 0)),
            "classes": list(self.classes),
            "feature_names": list(self.feature_names),
            "findings": [str(finding) for finding in self.findings],
        }


def load_data(path: str | Path, label: str | None = None, settings: TableSettings | None = None, **changes: Any) -> Dataset:
    """Read a table and make it a `Dataset`.

    Parameters
    ----------
    path : text (CSV with any usual separator, compressed or not), Parquet, Excel, GCT, GEO series matrix, or an `.npz` that
        holds `X`, `y` and perhaps `feature_names`.
    label : column with the two classes (not for `.npz` files, and not if `labels` names a file with one column besides the id).
    settings : how to read the file and what to make of its columns.
    changes : single settings by name, such as `missing="median"` or `transpose=True`.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path must be the name of a file, not {shown(path)}.")
    if label is not None and not isinstance(label, str):
        # A column's number is as good as its name.
        label = str(whole_number(label, "the label, a column's name or number,", at_least=-(2**31)))
    path = Path(path)
    settings = replace(settings or TableSettings(), **changes)
    table = read_table(path, settings)
    attach_labels(table, settings)
    findings = table.findings
    label = label if label is not None else guess_label(table, settings, path.suffix == ".npz")
    column = find_column(table, label, "label")
    labels, classes = read_labels(column, settings.positive, findings)
    blocks, groups = _role(table, settings.blocks, "blocks"), _role(table, settings.groups, "groups")
    special = {str(found.name) for found in (column, blocks, groups) if found is not None}
    special.update(str(find_column(table, name, "dropped").name) for name in settings.drop)
    features = numeric_features(table.values.drop(columns=[name for name in special if name in table.values]), settings, findings)
    if not settings.keep_identifiers:
        features = without_identifiers(features, findings)
    if features.shape[1] == 0:
        raise InputError(f"{path.name} has no numeric feature column left besides the label {str(column.name)!r}.")
    features, kept = without_gaps(features, settings.missing, findings)
    return Dataset(
        X=np.ascontiguousarray(features.to_numpy(dtype=np.float64)),
        y=labels[kept],
        feature_names=tuple(map(str, features.columns)),
        classes=classes,
        blocks=None if blocks is None else blocks.to_numpy()[kept],
        groups=None if groups is None else groups.to_numpy()[kept],
        source=path.name,
        findings=tuple(findings),
    )


def _role(table: RawTable, name: str | None, role: str) -> Any:
    """The column of blocks or groups, or None."""
    if name is None:
        return None
    found = find_column(table, name, role)
    if found.isna().any():
        row = int(np.flatnonzero(found.isna().to_numpy())[0]) + 1
        raise InputError(f"column {str(found.name)!r} given for {role} is empty in row {row}.")
    return found
