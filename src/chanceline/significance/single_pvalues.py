"""P-values of the features one by one, for a picture of all of them.

A feature and the labels are correlated beyond blocks, pairs and covariates; rows of one group count
as one. The p-values are those of t tests, not adjusted for the number of features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtr

from chanceline._arrays import Floats
from chanceline.columns.wide import in_tiles_if_wide
from chanceline.tables.checks.scans import scan_table
from chanceline.tables.dataset import Dataset

SMALLEST_SINGULAR_VALUE = 1e-9  # of a direction that is not rounding, as a share of the largest
SMALLEST_RELATIVE_LENGTH = 1e-9  # of what blocks and covariates leave of a column


def single_pvalues(data: Dataset) -> Floats:
    """The p-value of every feature alone, (features,); NaN for those that do not vary."""
    scan = PartialCorrelationScan(data)
    scan_table(in_tiles_if_wide(data.X), [scan])
    return scan.pvalues


class PartialCorrelationScan:
    """Correlations of the columns with the labels, beyond what the design explains.

    Parameters
    ----------
    data : the table, with its blocks, groups, pairs and covariates.
    """

    def __init__(self, data: Dataset) -> None:
        self._averages = _averages_of_groups(data.groups)
        nuisance = self._of_units(_nuisance_columns(data))
        self._directions = _orthonormal(nuisance)  # (units, directions)
        self._labels = self._residuals(self._of_units(data.y))
        n_units, n_directions = self._directions.shape
        self._degrees_of_freedom = n_units - n_directions - 1
        self._parts: list[Floats] = []

    def scan_columns(self, start: int, columns: Floats) -> Floats:
        """The partial correlation of each column with the labels, given blocks and covariates.

        `scan_table` calls this method of every scan with some neighbouring columns of the table,
        and hands the result to `keep`.

        Parameters
        ----------
        start : the number of the first of these columns; other scans need it, this one does not.
        columns : (samples, columns) the columns to look at.

        Returns
        -------
        (columns,) NaN for columns that do not vary once blocks and covariates are regressed out.
        """
        values = self._of_units(columns)  # (units, columns) means over groups, if there are any
        residuals = self._residuals(values)
        lengths = np.linalg.norm(residuals, axis=0)
        is_constant = lengths <= SMALLEST_RELATIVE_LENGTH * np.linalg.norm(values, axis=0)
        lengths[is_constant] = np.nan
        # r = y·x/(|y| |x|), with the residuals y of the labels and x of a column.
        products = self._labels @ residuals
        correlations: Floats = products / (np.linalg.norm(self._labels) * lengths)
        return correlations

    def keep(self, start: int, seen: Floats) -> None:
        self._parts.append(seen)

    def _of_units(self, values: Floats) -> Floats:
        """The means over each group of values of samples, (samples,) or (samples, columns)."""
        if self._averages is None:
            return values
        means: Floats = self._averages @ values
        return means

    def _residuals(self, values: Floats) -> Floats:
        """What is left of values of units, (units,) or (units, columns)."""
        residuals: Floats = values - self._directions @ (self._directions.T @ values)
        return residuals

    @property
    def pvalues(self) -> Floats:
        """Two-sided p-values of all columns seen, (columns,), by t = r √ν/√(1 − r²).

        r is the correlation of a column with the labels, ν its degrees of freedom.
        """
        correlations = np.abs(np.concatenate(self._parts))
        if self._degrees_of_freedom < 1:
            return np.full(len(correlations), np.nan)
        # Nothing but rounding is left below this.
        unexplained = np.maximum(1 - correlations**2, np.finfo(float).eps ** 2)
        t_statistics = correlations * np.sqrt(self._degrees_of_freedom / unexplained)
        pvalues: Floats = 2 * stdtr(self._degrees_of_freedom, -t_statistics)
        return pvalues


def _averages_of_groups(groups: NDArray[Any] | None) -> csr_array | None:
    """The matrix (units, samples) that averages the rows of each group; None without groups, where
    every row is a unit.
    """
    if groups is None:
        return None
    group_of_row, _ = pd.factorize(groups)
    share_of_row = 1 / np.bincount(group_of_row)[group_of_row]
    return csr_array((share_of_row, (group_of_row, np.arange(len(groups)))))


def _nuisance_columns(data: Dataset) -> Floats:
    """The columns that features are adjusted for by regression: (samples, columns).

    They are a constant, covariates (categories as indicators), and indicators of blocks or pairs.
    """
    blocks_and_pairs: dict[str, Any] = {}
    for role, values in (("blocks", data.blocks), ("pairs", data.pairs)):
        if values is not None:
            # `get_dummies` makes indicators of text only: blocks named by numbers become text.
            blocks_and_pairs[role] = pd.Series(values).astype(str).to_numpy()

    # Covariates have a frame of their own, because one of them may be called "blocks" or "pairs".
    constant = np.ones((len(data.y), 1))
    groups_of_columns = [constant]
    for columns in (data.covariates, blocks_and_pairs):
        if columns:
            indicators = pd.get_dummies(pd.DataFrame(columns))  # numbers stay as they are
            groups_of_columns.append(indicators.to_numpy(dtype=np.float64))
    return np.hstack(groups_of_columns)


def _orthonormal(columns: Floats) -> Floats:
    """Orthonormal directions that span the columns: (units, directions)."""
    # Columns of any units count alike.
    scaled = columns / np.linalg.norm(columns, axis=0).clip(min=np.finfo(float).tiny)
    directions, lengths, _ = np.linalg.svd(scaled, full_matrices=False)
    return directions[:, lengths > SMALLEST_SINGULAR_VALUE * lengths[0]]
