"""Features that are not in memory: columns of numbers where they are kept, and their names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from chanceline._arrays import Bools, Ints
from chanceline.columns.cluster_table import placed_on_cluster
from chanceline.columns.names import ChosenNames, place_of_name
from chanceline.columns.source import ColumnSource
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import in_memory


@dataclass(frozen=True, eq=False)
class WideFeatures:
    """Very many columns of numbers.

    Attributes
    ----------
    table : (samples, features).
    names : one for each column.
    """

    table: ColumnTable
    names: Sequence[str]

    @property
    def n_columns(self) -> int:
        """How many there are."""
        return len(self.names)

    def with_rows(self, is_kept: Bools) -> WideFeatures:
        """These samples only, `is_kept` of shape (samples,)."""
        if is_kept.all():
            return self
        return replace(self, table=self.table.rows(np.flatnonzero(is_kept)))

    def with_source(self, source: ColumnSource) -> WideFeatures:
        """The same columns read from another source."""
        table = ColumnTable(source, self.table.tile_width)
        return replace(self, table=placed_on_cluster(table))

    def without_columns(self, left_out: Ints) -> WideFeatures:
        """All columns but these, (columns left out,) their numbers."""
        if len(left_out) == 0:
            return self
        kept = np.delete(np.arange(self.n_columns), left_out)
        return WideFeatures(
            table=self.table.select(kept),
            names=ChosenNames(self.names, kept),
        )

    def without_names(self, names: Iterable[Any]) -> WideFeatures:
        """All columns but those with these names, as far as there are any."""
        places = [place_of_name(self.names, str(name)) for name in names]
        found = [place for place in places if place is not None]
        return self.without_columns(np.array(found, dtype=np.int64))

    def frame(self, columns: Ints, index: pd.Index) -> pd.DataFrame:
        """Some columns in memory, in double precision: (samples, columns).

        Parameters
        ----------
        columns : (columns,) their numbers.
        index : the names of the rows, (samples,).
        """
        names = [self.names[column] for column in columns.tolist()]
        return pd.DataFrame(self.table[:, columns], columns=names, index=index)

    def in_memory(self, index: pd.Index, wanted: Collection[str] | None = None) -> pd.DataFrame:
        """Columns in memory, in the type in which they are stored: (samples, features).

        Parameters
        ----------
        index : the names of the rows, (samples,).
        wanted : the names of the columns, as far as there are such; None for all of them.
        """
        if wanted is None:
            return pd.DataFrame(in_memory(self.table), columns=list(self.names), index=index)
        places = [place for place, name in enumerate(self.names) if name in wanted]
        return self.frame(np.array(places, dtype=np.int64), index)

    def column(self, name: str, index: pd.Index) -> pd.Series | None:
        """The column with this name; None if there is none. `index` is what rows are called."""
        place = place_of_name(self.names, name)
        if place is None:
            return None
        return self.frame(np.array([place]), index)[name]
