"""AnnData: X or a layer, `obs` beside it, and sums over the cells of each donor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from chanceline.columns.names import PackedNames
from chanceline.columns.source import ColumnSource, SlicedColumns
from chanceline.columns.views import SparseColumns
from chanceline.columns.wide import is_wide
from chanceline.errors import InputError
from chanceline.tables.cells import tidy_cells
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.columns import table_of_columns
from chanceline.tables.roles import find_column, require_filled
from chanceline.tables.settings import TableSettings
from chanceline.tables.wording import quoted


@dataclass(frozen=True)
class AnnotatedMatrix:
    """Rows of AnnData, all of length samples.

    Attributes
    ----------
    matrix : of shape (samples, genes), dense or sparse.
    names : the names of the samples.
    descriptions : what is known about the samples, of shape (samples, columns).
    """

    matrix: Any
    names: Any
    descriptions: pd.DataFrame


def is_anndata(data: Any) -> bool:
    """Whether an object is AnnData, or has what is read of it."""
    return hasattr(data, "obs") and hasattr(data, "var_names")


def table_from_anndata(data: Any, label: str | None, settings: TableSettings) -> RawTable:
    """Make a table of an AnnData object: X or a layer as numbers, `obs` as descriptions.

    The rows of AnnData are cells. With the setting `pseudobulk` the rows of the table are sums over
    the cells of each donor. Without it a test of the table stops with the message in `undeclared`,
    unless the settings say which rows belong together.

    Parameters
    ----------
    data : an AnnData object.
    label : the name of the label's column; with `pseudobulk`, cells of one donor must agree in it.
    settings : `layer`, `pseudobulk`, `na`, and the settings that declare groups or pairs.
    """
    samples = _read_matrix(data, settings)
    undeclared_sentence = ""
    if settings.pseudobulk is not None:
        samples = _sum_over_donors(samples, settings.pseudobulk, label, settings)
    elif not (settings.groups or settings.pairs or settings.independent):
        undeclared_sentence = (
            "the rows of AnnData are cells as a rule, and those of one donor are not independent; "
            "sum them with pseudobulk=COLUMN or name the donor with groups=COLUMN, or say "
            "independent='obs_names' if every row is a donor; "
            f"obs has {quoted([*data.obs])}."
        )

    table = table_of_columns(
        _columns_of_matrix(samples.matrix),
        names=PackedNames(str(name) for name in data.var_names),
        rows=[str(name) for name in samples.names],
        descriptions=samples.descriptions,
    )
    return replace(table, undeclared=undeclared_sentence)


def open_anndata(path: Path, settings: TableSettings) -> Any:
    """The content of an `.h5ad` file; of very many columns that are not summed the numbers stay in
    the file.
    """
    import anndata

    backed = anndata.read_h5ad(path, backed="r")
    stays_in_file = is_wide(backed.n_vars) and settings.pseudobulk is None
    if stays_in_file:
        return backed
    backed.file.close()
    return anndata.read_h5ad(path)


def _columns_of_matrix(matrix: Any) -> ColumnSource:
    """The columns of a matrix that is dense or sparse, in memory or in a file."""
    # A sparse matrix in a file is read whole, without its zeros, as it is kept by rows.
    if hasattr(matrix, "to_memory"):
        matrix = matrix.to_memory()
    is_sparse = hasattr(matrix, "toarray")
    if is_sparse:
        return SparseColumns(matrix)
    return SlicedColumns(matrix, "the matrix of AnnData")


def _read_matrix(data: Any, settings: TableSettings) -> AnnotatedMatrix:
    """X, or the layer that the settings name, with the names and annotations of its rows.

    The annotations (`obs`) get the names of the rows as a further column, `obs_names`.
    """
    if settings.layer is None:
        matrix = data.X
    elif settings.layer in data.layers:
        matrix = data.layers[settings.layer]
    else:
        layers = quoted([*data.layers]) or "none"
        raise InputError(f"there is no layer {settings.layer!r}; there are {layers}.")
    annotations = tidy_cells(data.obs, settings.na).assign(obs_names=data.obs_names)
    return AnnotatedMatrix(matrix, data.obs_names, descriptions=annotations)


def _sum_over_donors(
    samples: AnnotatedMatrix, donor_column: str, label: str | None, settings: TableSettings
) -> AnnotatedMatrix:
    """Sum the cells of each donor, so that every donor has one row.

    Of the annotations those are kept that have the same value in all cells of every donor.

    Parameters
    ----------
    samples : the cells.
    donor_column : the name of the annotation that holds the donor of each cell.
    label : the name of the annotation in which the cells of one donor must agree; None if there is
        no such annotation.
    settings : how the table is read, for the error about a cell without a donor.
    """
    annotations = RawTable(pd.DataFrame(), samples.descriptions)
    column = find_column(annotations, donor_column, "pseudobulk")
    filled_column = require_filled(column, "pseudobulk", settings)
    donor_of_cell, donors = pd.factorize(filled_column.astype(str))  # codes 0, 1, …; their names

    # Annotations that have a single value within every donor.
    cells_by_donor = samples.descriptions.groupby(donor_of_cell)
    n_values = cells_by_donor.nunique(dropna=False)  # (donors, annotations)
    is_constant = (n_values == 1).all()  # by name of the annotation
    label_differs = label in is_constant.index and not is_constant[label]
    if label_differs:
        raise InputError(
            f"cells of one {donor_column!r} differ in {label!r}, so that their sum has no label."
        )

    # A product with the membership matrix (donors, cells) sums cells: row d is 1 at the cells of
    # donor d, and 0 elsewhere.
    n_cells = len(donor_of_cell)
    membership = csr_array((np.ones(n_cells), (donor_of_cell, range(n_cells))))
    sums = membership @ samples.matrix  # (donors, genes)
    constant_annotations = samples.descriptions.loc[:, is_constant]
    descriptions = constant_annotations.groupby(donor_of_cell).first()
    return AnnotatedMatrix(sums, donors, descriptions)
