"""What a rule says of new samples: a number, a class with probabilities, or a risk of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats
from chanceline._results import Result, plain, visible
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural


@dataclass(frozen=True, eq=False, repr=False)
class OutcomePredictions(Result):
    """What is predicted of the rows of a table.

    Attributes
    ----------
    rows : what the user's program calls each row.
    predicted : (rows,) a number, the name of a class, or a risk, large for early events; None where
        a gap leaves it open.
    predicted_name : what it is, the name of its column.
    class_names : of the classes; empty for other outcomes.
    probabilities : (rows, classes), NaN where a gap leaves them open; None for other outcomes.
    findings : what is worth knowing, other units first.
    source : the table.
    """

    rows: Sequence[Any]
    predicted: NDArray[Any]
    predicted_name: str
    class_names: tuple[str, ...]
    probabilities: Floats | None
    findings: tuple[Finding, ...]
    source: str

    kind = "prediction"

    @property
    def is_told(self) -> Bools:
        """(rows,) which rows have a prediction."""
        return np.array([value is not None for value in self.predicted])

    def to_frame(self) -> pd.DataFrame:
        """One line for each row of the table: row, the prediction, probabilities of classes."""
        columns: dict[str, Any] = {"row": list(self.rows), self.predicted_name: self.predicted}
        if self.probabilities is not None:
            for name, shares in zip(self.class_names, self.probabilities.T, strict=True):
                columns[f"probability of {name}"] = shares
        return pd.DataFrame(columns)

    def to_record(self) -> dict[str, Any]:
        """Plain values, with one object for each row."""
        return {
            "source": self.source,
            "predicted": self.predicted_name,
            "classes": list(self.class_names),
            "findings": [str(finding) for finding in self.findings],
            "rows": plain(self.to_frame().to_dict(orient="records")),
            "kind": self.kind,
        }

    def summary(self) -> str:
        """`new.csv: dose of 40 rows predicted`."""
        n_told = int(np.count_nonzero(self.is_told))
        return visible(f"{self.source}: {self.predicted_name} of {plural(n_told, 'row')} predicted")

    def __str__(self) -> str:
        lines = [f"  - {finding}" for finding in self.findings]
        return "\n".join([*lines, self.summary()])
