"""Wide tables a block of columns at a time, so that no second copy of them is needed."""

from __future__ import annotations

from collections.abc import Iterator

from chanceline.columns.table import AnyTable, ColumnTable

BLOCK_ENTRIES = 1_000_000  # 8 MB


def column_blocks(X: AnyTable, block_entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Yield slices that cover the columns of X (samples, features) in blocks.

    Each block has about `block_entries` numbers, so that a temporary copy of it is small. The
    blocks of a table that is read by tiles are its tiles.
    """
    n_samples, n_features = X.shape
    width = max(1, block_entries // n_samples)
    if isinstance(X, ColumnTable):
        width = X.tile_width
    for start in range(0, n_features, width):
        yield slice(start, min(start + width, n_features))
