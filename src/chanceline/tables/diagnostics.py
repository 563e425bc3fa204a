"""What to know about the data before believing a test on them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from chanceline.chance.counts import log_binomial
from chanceline.perceptron.problem import contradicting_rows, distinct_columns
from chanceline.tables.dataset import Finding, plural

IDENTIFIER = re.compile(r"(^|[\s_.\-])(id|ids|index|idx|uuid|key|row|rownames?|row name|no|nr|number)$|^unnamed: \d+$", re.I)


def looks_like_identifier(name: str, values: NDArray[np.float64]) -> bool:
    """A whole number for every row, all different, that counts the rows or is named as an identifier."""
    if len(values) < 4 or not np.all(values == np.round(values)) or len(np.unique(values)) < len(values):
        return False
    consecutive = values.max() - values.min() == len(values) - 1
    return bool(consecutive or IDENTIFIER.search(name.strip()))


def examine(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    names: Sequence[str],
    *,
    intercept: bool = True,
    level: float = 0.05,
) -> list[Finding]:
    """What is worth knowing about checked data (finite numbers, labels ±1)."""
    found: list[tuple[str, str]] = []
    n_samples, n_features = X.shape
    constant = np.flatnonzero(np.all(X[:1] == X, axis=0))
    if len(constant):
        found.append(("note", f"{_columns(constant, names)} constant and cannot help to separate."))
    repeated = n_features - len(constant) - len(distinct_columns(X, True))
    if repeated > 0:
        found.append(("note", f"{plural(repeated, 'duplicate column')}: the bound counts equal columns once."))
    sorted_columns = np.sort(X, axis=0)
    n_values = 1 + np.count_nonzero(sorted_columns[1:] > sorted_columns[:-1], axis=0)
    tied = np.flatnonzero((n_values > 1) & (n_values <= n_samples / 2))
    if len(tied):
        found.append(("note", f"{_columns(tied, names)} tied (at most half as many values as samples); the bound covers ties."))
    pairs = contradicting_rows(X, y)
    if pairs:
        shown = "; ".join(f"{i + 1} and {k + 1}" for i, k in pairs[:3]) + ("; …" if len(pairs) > 3 else "")
        found.append(("warning", f"rows {shown} are equal but have opposite labels, so no rule whatever separates these data."))
    copies = n_samples - len(np.unique(X, axis=0)) - len(pairs)
    if copies > 0:
        rows = "1 row repeats" if copies == 1 else f"{copies} rows repeat"
        found.append(("warning", f"{rows} an earlier row; rows of one subject should have a common group."))
    whole = np.all(np.round(X) == X, axis=0)
    for j in np.flatnonzero(whole | (n_values == 2)).tolist():
        if looks_like_identifier(str(names[j]), X[:, j]):
            found.append(("warning", f"column {names[j]!r} looks like an identifier of rows and should not be a feature."))
        elif n_values[j] == 2 and abs(np.sign(X[:, j] - X[:, j].mean()) @ y) == n_samples:
            found.append(
                ("warning", f"column {names[j]!r} is the label over again; leave it out unless it was measured independently.")
            )
    positives = int(np.sum(y > 0))
    smaller = min(positives, n_samples - positives)
    if smaller < 5 or smaller < 0.1 * n_samples:
        found.append(
            ("note", f"the smaller class has {smaller} of {n_samples} samples; class sizes are kept fixed for that reason.")
        )
    log_labellings = float(log_binomial(n_samples, positives))
    if log_labellings < log(1 / level):
        found.append(
            (
                "warning",
                f"only {round(exp(log_labellings))} labellings have these class sizes, so no test can reach level {level:g}.",
            )
        )
    return [Finding(*one) for one in found]


def _columns(indices: Sequence[int] | NDArray[np.int64], names: Sequence[str]) -> str:
    shown = ", ".join(repr(str(names[j])) for j in indices[:3])
    if len(indices) == 1:
        return f"column {shown} is"
    return f"{len(indices)} columns ({shown}{', …' if len(indices) > 3 else ''}) are"
