"""Equal rows of a table, of which a stretch of columns is in memory at a time.

Digests stand for rows. Adding zero makes −0 and 0 the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from chanceline._arrays import Floats
from chanceline.columns.table import AnyTable, ColumnTable
from chanceline.perceptron.duplicates import contradicting_rows
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.checks.within_classes import evenly_spaced_columns
from chanceline.tables.dataset import Finding

CONTRADICTIONS_SHOWN = 3


class RowDigestScan:
    """Digests of some rows over all columns.

    Parameters
    ----------
    rows : the positions of these rows.
    """

    def __init__(self, rows: Sequence[int]) -> None:
        self._digests: dict[int, list[bytes]] = {row: [] for row in rows}
        self._rows = list(self._digests)  # each once

    def scan_columns(self, start: int, columns: Floats) -> list[bytes]:
        """A digest of each of the rows in these columns."""
        return [blake2b((columns[row] + 0.0).tobytes()).digest() for row in self._rows]

    def keep(self, start: int, seen: list[bytes]) -> None:
        for digests_of_row, digest in zip(self._digests.values(), seen, strict=True):
            digests_of_row.append(digest)

    @property
    def digests(self) -> dict[int, bytes]:
        """A digest of each row over all columns, by its position; equal rows have equal digests."""
        return {row: blake2b(b"".join(parts)).digest() for row, parts in self._digests.items()}


def row_digests(X: AnyTable, rows: Sequence[int]) -> dict[int, bytes]:
    """A digest of each of these rows of X (samples, features), by the row's position.

    Equal rows have equal digests.
    """
    if not rows:
        return {}
    scan = RowDigestScan(rows)
    scan_table(X, [scan])
    return scan.digests


def warn_of_contradictions(X: AnyTable, y: Floats, row_names: Sequence[Any]) -> list[Finding]:
    """A warning about equal rows of opposite classes, if there are any.

    Parameters
    ----------
    X : numbers of shape (samples, features).
    y : labels ±1 of shape (samples,).
    row_names : what messages call each row, (samples,).
    """
    pairs = contradictions(X, y)
    if not pairs:
        return []
    shown = [f"{row_names[i]} and {row_names[k]}" for i, k in pairs[:CONTRADICTIONS_SHOWN]]
    if len(pairs) > CONTRADICTIONS_SHOWN:
        shown.append("…")
    return [
        Finding.warning(
            f"rows {'; '.join(shown)} are equal but have opposite labels, so no rule whatever "
            "separates these data."
        )
    ]


def contradictions(X: AnyTable, y: Floats) -> list[tuple[int, int]]:
    """Pairs of equal rows of X (samples, features) with opposite labels y = ±1.

    For each set of equal rows with both labels there is one pair, the first row of each label, with
    the smaller row number first. The pairs are sorted.
    """
    if not isinstance(X, ColumnTable):
        return contradicting_rows(X, y)

    # The table is not in memory, so only some columns are compared first. Suspects are rows that
    # are equal, in these columns, to a row of the opposite label.
    suspects = []
    for equal_rows in _rows_with_equal_bytes(evenly_spaced_columns(X)):
        if _has_both_labels(equal_rows, y):
            suspects += equal_rows

    # Then compare the suspects in all columns, by their digests: hash values of 64 bytes, which are
    # the same for different rows with a negligible probability.
    rows_of_digest: dict[bytes, list[int]] = {}
    for row, digest in row_digests(X, suspects).items():
        rows_of_digest.setdefault(digest, []).append(row)
    pairs = []
    for equal_rows in rows_of_digest.values():
        if _has_both_labels(equal_rows, y):
            pairs.append(_first_pair(equal_rows, y))
    return sorted(pairs)


def _rows_with_equal_bytes(values: Floats) -> list[list[int]]:
    """The sets of equal rows of an array (samples, columns), each in the order of the rows."""
    rows_of_bytes: dict[bytes, list[int]] = {}
    for row, numbers in enumerate(values):
        rows_of_bytes.setdefault((numbers + 0.0).tobytes(), []).append(row)
    return list(rows_of_bytes.values())


def _has_both_labels(rows: list[int], y: Floats) -> bool:
    """Whether these rows have both labels."""
    return len({bool(y[row] > 0) for row in rows}) == 2


def _first_pair(rows: list[int], y: Floats) -> tuple[int, int]:
    """The first row of either label, the smaller number first."""
    first_positive = min(row for row in rows if y[row] > 0)
    first_negative = min(row for row in rows if y[row] < 0)
    return min(first_positive, first_negative), max(first_positive, first_negative)
