"""The samples that a rule is made from: their design, how they are dealt to folds, and how columns are scaled by some of them.

Columns are measured from the mean of their *block* (there is one where none are declared) among the training samples, so that
differences between blocks tell nothing. Where blocks are many or small, whole blocks are left out, and the columns of a block
that the training samples do not know are measured from its own mean: a new sample comes with its block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.errors import InputError
from chanceline.perceptron.problem import SINGLE, check_arrays
from chanceline.prediction.covariates import CovariateEncoder, make_encoder, read_columns, texts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
OUTER_FOLDS, INNER_FOLDS = 10, 5
# Blocks of fewer samples, or as many blocks as folds, are left out whole.
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
    unit_of : samples that stay together in a fold have the same number (groups, or small blocks).
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
        """A fold for every sample: units are dealt like cards, class by class and block by block. Every class begins with the
        first fold: were classes out of balance in a fold, they would be the other way round in the training samples, and guessing
        seem worse than it is.
        """
        units, first = np.unique(self.unit_of, return_index=True)
        order = np.lexsort((np.random.default_rng(seed).random(len(units)), self.block_of[first], self.y[first]))
        dealt = np.empty(len(units), dtype=np.int64)
        dealt[order] = (np.arange(len(units)) - np.sum(self.y[first] < 0) * (self.y[first][order] > 0)) % folds
        return dealt[np.searchsorted(units, self.unit_of)]


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
    unit_of = np.arange(len(labels))
    if groups is not None:
        unit_of = np.unique(names_of(groups, len(labels), "groups"), return_inverse=True)[1]
    sizes = np.bincount(block_of)
    whole = len(sizes) > 1 and (len(sizes) >= OUTER_FOLDS or np.median(sizes) < SMALL_BLOCK)
    return Samples(
        X=values,
        y=labels,
        beside=np.column_stack([np.ones(len(labels)), (terms - centre) / spread]),
        unit_of=block_of if whole else unit_of,
        block_of=block_of,
        encoder=encoder,
        terms_centre=centre,
        terms_spread=spread,
    )


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
