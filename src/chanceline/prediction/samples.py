"""The samples that a rule is made from: their design, how they are dealt to folds, and how columns are scaled by some of them.

Columns are measured from the mean of their *block* (there is one where none are declared) among the training samples, so that
differences between blocks tell nothing. Where blocks are many, whole blocks are left out, and small blocks always; the columns of
a block that the training samples do not know are measured from its own mean: a new sample comes with its block. Groups are never
split between folds, whatever the blocks are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from chanceline.errors import InputError
from chanceline.perceptron.problem import SINGLE, check_arrays
from chanceline.prediction.covariates import CovariateEncoder, make_encoder, read_columns, texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
OUTER_FOLDS, INNER_FOLDS = 10, 5
# Blocks of fewer samples are left out whole: the mean of those that stay would be no measure of the rest.
SMALL_BLOCK = 8
# Columns that vary less than this share of their values are constant.
CONSTANT = 1e-12
# Of more than `SINGLE` columns every training set keeps so many, looked at in pieces.
LIKELY, PIECE = 10_000, 4096


@dataclass(frozen=True, eq=False)
class Samples:
    """Checked values, labels ±1 and the design.

    Attributes
    ----------
    beside : samples × columns that every rule has: the constant, then the terms of covariates,
        each of mean 0 and SD 1, so that it does not matter in which units they were measured.
    encoder, terms_centre, terms_spread : where these terms come from,
        (encoded covariates − centre)/spread.
    unit_of : samples that stay together in a fold have the same number (see `units_of`).
    block_of : number of every sample's block; 0 where there are none.
    """

    X: Floats
    y: Floats
    beside: Floats
    unit_of: Ints
    block_of: Ints
    encoder: CovariateEncoder
    terms_centre: Floats
    terms_spread: Floats

    def take(self, rows: Bools) -> Samples:
        """Some of the samples."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            beside=self.beside[rows],
            unit_of=self.unit_of[rows],
            block_of=self.block_of[rows],
        )

    def fold_of(self, folds: int, seed: list[int]) -> Ints:
        """A fold for every sample, of shape (samples,); units are dealt like cards.

        They are dealt class by class and block by block. Both classes begin with the first fold:
        were classes out of balance in a fold, they would be the other way round in the training
        samples, and guessing seem worse than it is. Units that hold both classes come after them.
        """
        units, first, unit_of = np.unique(self.unit_of, return_index=True, return_inverse=True)
        positive_share = np.bincount(unit_of, weights=self.y > 0) / np.bincount(unit_of)
        kind = np.where(positive_share == 0.0, -1, np.where(positive_share == 1.0, 1, 0))
        keys = np.random.default_rng(seed).random(len(units))
        order = np.lexsort((keys, self.block_of[first], kind))
        place_in_kind = np.arange(len(units)) - np.searchsorted(kind[order], kind[order])
        begin = np.zeros(len(units), dtype=np.int64)
        begin[kind[order] == 0] = max(np.count_nonzero(kind < 0), np.count_nonzero(kind > 0))
        dealt = np.empty(len(units), dtype=np.int64)
        dealt[order] = (begin + place_in_kind) % folds
        return dealt[unit_of]

    def share_of(self, count: int, seed: list[int]) -> Samples:
        """About so many of the samples, drawn by whole units; all of them if there are no more."""
        if len(self.y) <= count:
            return self
        units, unit_of = np.unique(self.unit_of, return_inverse=True)
        drawn = round(len(units) * count / len(self.y))
        place = np.random.default_rng(seed).permutation(len(units))
        return self.take((place < max(drawn, 1))[unit_of])


class Scale(NamedTuple):
    """How training samples see the columns: (x − centre of the block)/spread; constant columns have an infinite spread."""

    centre: Floats
    spread: Floats

    def design(self, samples: Samples, support: Ints) -> Floats:
        """The constant, covariates and the scaled columns of a support, for all samples."""
        columns = (samples.X[:, support] - self.centre[:, support][samples.block_of]) / self.spread[support]
        return np.hstack([samples.beside, columns])


def narrowed(samples: Samples, training: Bools, also: Ints | tuple[int, ...] = ()) -> tuple[Samples, Ints]:
    """Of a very wide table the columns that go best with the labels of the training samples, beyond blocks and covariates (sure
    screening, Fan and Lv 2008), and others wanted; of other tables all.
    """
    count, rows, kind = samples.X.shape[1], np.flatnonzero(training), samples.X.dtype
    if count <= SINGLE:
        return samples, np.arange(count)
    beside = np.column_stack([samples.beside, np.eye(samples.block_of.max() + 1)[samples.block_of]])[rows]
    labels = (samples.y[rows] - beside @ np.linalg.lstsq(beside, samples.y[rows], rcond=None)[0]).astype(kind)
    parts = (piece[rows] - piece[rows[0]] for piece in np.array_split(samples.X, range(PIECE, count, PIECE), axis=1))
    promise = np.concatenate([np.abs(labels @ part) / np.maximum(part.std(axis=0), np.finfo(kind).tiny) for part in parts])
    kept = np.union1d(np.argsort(-promise, kind="stable")[:LIKELY], np.asarray(also, dtype=np.int64))
    return replace(samples, X=samples.X[:, kept].astype(float)), kept


def make_scale(samples: Samples, training: Bools) -> Scale:
    """Centres of blocks and spreads of columns, from the training samples."""
    member = samples.block_of == np.arange(samples.block_of.max() + 1)[:, None]
    inside = member & training
    # A block without training samples is measured from its own mean.
    inside = np.where(inside.any(axis=1, keepdims=True), inside, member)
    centre = (inside / np.maximum(inside.sum(axis=1, keepdims=True), 1)) @ samples.X
    rest = samples.X[training] - centre[samples.block_of[training]]
    spread = np.sqrt(np.einsum("ij,ij->j", rest, rest) / len(rest))
    return Scale(centre, np.where(spread > CONSTANT * np.abs(samples.X).max(axis=0), spread, np.inf))


def make_samples(
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None,
    blocks: ArrayLike | None,
    covariates: Any,
    encoder: CovariateEncoder | None = None,
) -> Samples:
    """Check everything, and decide what stays together.

    By default the encoder of covariates takes numbers as they are.
    """
    values, labels, _ = check_arrays(X, y)
    columns: dict[str, NDArray[Any]] = {}
    if covariates is not None:
        columns = read_columns(covariates, len(labels))
    if encoder is None:
        encoder = make_encoder(columns)
    terms = encoder.transform(columns, len(labels))
    centre = terms.mean(axis=0)
    spread = terms.std(axis=0)
    spread = np.where(spread > CONSTANT * np.abs(terms).max(axis=0, initial=0.0), spread, np.inf)
    block_of = np.zeros(len(labels), dtype=np.int64)
    if blocks is not None:
        block_of = np.unique(names_of(blocks, len(labels), "blocks"), return_inverse=True)[1]
    group_of = np.arange(len(labels))
    if groups is not None:
        group_of = np.unique(names_of(groups, len(labels), "groups"), return_inverse=True)[1]
    return Samples(
        X=values,
        y=labels,
        beside=np.column_stack([np.ones(len(labels)), (terms - centre) / spread]),
        unit_of=units_of(group_of, block_of),
        block_of=block_of,
        encoder=encoder,
        terms_centre=centre,
        terms_spread=spread,
    )


def units_of(group_of: Ints, block_of: Ints) -> Ints:
    """The number of every sample's unit: what stays together in a fold, of shape (samples,).

    Units are groups (samples, where none are declared). A block is a unit too where it is left out
    whole: one of fewer than `SMALL_BLOCK` samples; and all of them, if they are as many as folds,
    counted as Σ(sizes)²/Σ sizes², so that a large block with crumbs beside it is one. A group
    that reaches into several such blocks joins them. Where that joins most of them, as days and the
    patients seen on them, blocks are dealt to folds after all, and groups alone stay together.

    Parameters
    ----------
    group_of : number of every sample's group, 0, 1, …
    block_of : number of every sample's block, 0, 1, …
    """
    sizes = np.bincount(block_of)
    left_out_whole = sizes < SMALL_BLOCK
    if len(block_of) ** 2 >= OUTER_FOLDS * np.sum(sizes**2):
        left_out_whole = np.full(len(sizes), True)
    if len(sizes) == 1 or not left_out_whole.any():
        return group_of
    # A graph of groups and of blocks left out whole, joined by the samples that they share.
    rows = np.flatnonzero(left_out_whole[block_of])
    n_groups = int(group_of.max()) + 1
    edges = (group_of[rows], n_groups + block_of[rows])
    n_nodes = n_groups + len(sizes)
    graph = coo_array((np.ones(len(rows)), edges), shape=(n_nodes, n_nodes))
    part_of = connected_components(graph, directed=False)[1]
    n_joined = len(np.unique(part_of[edges[1]]))
    n_wanted = min(OUTER_FOLDS, int(np.count_nonzero(left_out_whole)))
    if 2 * n_joined < n_wanted:
        return group_of
    if left_out_whole.all() and n_joined == len(sizes):
        # Each block is a unit, with the groups in it.
        return block_of
    return part_of[group_of].astype(np.int64)


def names_of(values: ArrayLike, count: int, role: str) -> NDArray[np.str_]:
    """The names of blocks or groups, one for each sample: 1 and 1.0 are the same."""
    return texts(one_each(values, count, role))


def codes(values: ArrayLike, count: int, role: str) -> Ints:
    """0, 1, … for the different values, in their order."""
    array = one_each(values, count, role)
    # Objects of several types cannot be sorted.
    return np.unique(array.astype(str) if array.dtype.kind == "O" else array, return_inverse=True)[1].astype(np.int64)


def one_each(values: ArrayLike, count: int, role: str) -> NDArray[Any]:
    """The values, one for each sample."""
    array = np.asarray(values)
    if array.shape != (count,):
        raise InputError(f"{role} must hold one value for each of the {count} samples, not an array of shape {array.shape}.")
    return array
