"""What a rule says of new samples: score, probability and class of every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats
from chanceline._results import Result, harmless, visible
from chanceline.cohort.outcome_predictions import OutcomePredictions
from chanceline.tables.dataset import Finding
from chanceline.tables.spelling import is_number
from chanceline.tables.wording import plural


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Result):
    """Score, probability and class of the rows of a table.

    Attributes
    ----------
    rows : what the user's program calls each row.
    scores : above 0 for the positive class, (rows,); NaN where a gap leaves it open.
    probabilities : of the positive class, (rows,); None if the rule gives none.
    classes : the negative and the positive class, in words.
    findings : what is worth knowing, other units first.
    rule : which of the result's rules was applied.
    source : the table.
    """

    rows: Sequence[Any]
    scores: Floats
    probabilities: Floats | None
    classes: tuple[str, str]
    findings: tuple[Finding, ...]
    rule: str
    source: str

    kind = "prediction"
    _derived = ("predicted",)

    @property
    def is_told(self) -> Bools:
        """Which rows have a class, (rows,)."""
        return ~np.isnan(self.scores)

    @property
    def predicted(self) -> NDArray[Any]:
        """The class of every row, (rows,); None where a gap leaves it open."""
        negative, positive = self.classes
        named = np.where(self.scores > 0, positive, negative).astype(object)
        named[~self.is_told] = None
        return named

    def to_frame(self) -> pd.DataFrame:
        """One line for each row of the table: row, score, probability (if there is one), class."""
        columns: dict[str, Any] = {"row": list(self.rows), "score": self.scores}
        if self.probabilities is not None:
            columns["probability"] = self.probabilities
        columns["class"] = self.predicted
        return pd.DataFrame(columns)

    def summary(self) -> str:
        """`new.csv: 12 of 40 rows ill`."""
        n_positive = int(np.count_nonzero(self.scores[self.is_told] > 0))
        n_told = int(np.count_nonzero(self.is_told))
        return visible(f"{self.source}: {n_positive} of {plural(n_told, 'row')} {self.classes[1]}")

    def __str__(self) -> str:
        lines = [f"  - {finding}" for finding in self.findings]
        return "\n".join([*lines, self.summary()])


def predictions_csv(predictions: Predictions | OutcomePredictions) -> str:
    """Predictions as CSV with all digits; no name becomes a formula."""
    table = predictions.to_frame()
    for column in table.select_dtypes(exclude="number"):
        table[column] = [_harmless_cell(cell) for cell in table[column]]
    table.columns = [_harmless_cell(name) for name in table.columns]
    return table.to_csv(index=False)


def _harmless_cell(cell: Any) -> Any:
    """A text that no spreadsheet takes for a formula; numbers, also as text, stay as they are."""
    if not isinstance(cell, str) or is_number(cell):
        return cell
    return harmless(cell)
