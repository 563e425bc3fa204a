"""A greedy path for many labellings at once: how well do the best K features found fit the labels, K = 1 … ?

Forward stepwise least squares. At every step the column that lowers the squared residual of the centred labels most is taken, and
everything is made orthogonal to it. The labels of many draws are rows of one matrix, so that a step is one matrix product

    V = QZ        (draws × samples)·(samples × columns)

with Z the normalised columns and Q the direction that each draw took last. From V follow the products of all columns with the
residuals (C ← C − dV, d the part of the labels along Q) and the squared lengths of the columns outside the chosen span
(L ← L − V²); the gain of a column is C²/L. Beside the path stands the best *pair* of a list of highly correlated columns, which a
greedy first step cannot find: each alone says nothing, their difference may say everything. And beside both stand the squares of
all products of the first step: their mean over all columns, over the tenth and over the hundredth that fit best sees what is
spread over many columns, each too weak to be found.

What depends on the table alone (`Columns`) is made once. The columns are pulled in at `CLIP` robust standard deviations from
their medians, which costs nothing for bell-shaped columns and keeps a few large values from hiding the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from chanceline.errors import InputError
from chanceline.perceptron.problem import distinct_columns
from chanceline.significance.design import Bools, Floats, Ints, LabelScheme, block_means

CLIP = 3.0
# Median absolute deviation of a normal distribution, in standard deviations.
NORMAL_DEVIATION = 0.6744897501960817
# Columns are worked through in pieces that stay in the processor's cache with the draws of one batch.
PIECE = 256
# A column with less than this squared length outside the chosen span adds nothing but rounding; in double and single precision.
SPENT, ROUND = 1e-6, {"d": 1e-6, "f": 6e-6}
# Pairs of columns beside the path: as many as columns, and all of a small table's.
FEW_PAIRS = 2_000
# All overlaps of so many columns are too many to look at; then there is no pair.
MOST_COLUMNS = 40_000
# Of all columns, those that fit best: how many the mean square is taken of.
SHARES = (1.0, 0.1, 0.01)
# Values closer than this are one value: thresholds do not part them.
SAME = 1e-9
# Columns that have so many times as many samples, and are few enough for that to pay, are followed within their own span.
LONG, FEW_COLUMNS = 4, 1000


@dataclass(frozen=True, eq=False)
class Columns:
    """What the path needs of the table.

    Attributes
    ----------
    index : column of X that each column here stands for (equal columns once, constants left out).
    fitted : samples × columns, clipped, centred (within blocks, where labels are exchanged) and of length 1.
    block_of : block of every sample, None if there is one block or no centring.
    intercept : whether columns and labels are centred at all.
    first, second, overlap : the list of pairs.
    basis : orthonormal columns that span what covariates explain, which is taken out of columns and labels; None without any.
    frame, within : of a long table an orthonormal frame of the columns' span (samples × columns), and the columns in it:
        fitted = frame·within. All products of columns, and with labels, are the same there, in fewer coordinates.
    """

    index: Ints
    fitted: Floats
    block_of: Ints | None
    intercept: bool
    first: Ints
    second: Ints
    overlap: Floats
    basis: Floats | None = None
    frame: Floats | None = None
    within: Floats | None = None

    def centred(self, values: Floats) -> Floats:
        """Rows of values without what the threshold (of every block) and covariates explain."""
        if not self.intercept:
            return values
        if self.basis is not None:
            values = values - (values @ self.basis) @ self.basis.T
        if self.block_of is None:
            return values - values.mean(axis=1, keepdims=True)
        return values - block_means(values.T, self.block_of).T


@dataclass(frozen=True, eq=False)
class Paths:
    """One row for every labelling.

    Attributes
    ----------
    losses : labellings × K, the share of the labels' squares that k features leave unexplained (a pair's at K = 2, if better).
    errors : labellings × K, samples on the wrong side of the best threshold of the labels as least squares on exactly k features
        (and the block, where there are blocks) fits them: the fit whose loss stands beside it.
    chosen : labellings × K, columns of X in the order taken, −1 where the path ended.
    pair : labellings × 2, columns of X, where the pair is better than the path's first two; else −1.
    spread : labellings × SHARES, the mean squared correlation with the labels of that share of the columns, those that fit best,
        times P − 1: over all columns 1 on average for labels that are permuted freely.
    """

    losses: Floats
    errors: Ints
    chosen: Ints
    pair: Ints
    spread: Floats

    def support(self, row: int, size: int) -> Ints:
        """Columns of X of the best set of this size for one labelling, sorted."""
        columns = self.pair[row] if size == 2 and self.pair[row, 0] >= 0 else self.chosen[row, :size]
        return np.sort(columns[columns >= 0])


def make_columns(X: Floats, scheme: LabelScheme, intercept: bool, index: Ints | None = None) -> Columns:
    """Clip, centre and normalise the distinct columns of a checked table (or those of `index`), and list its correlated pairs."""
    index = distinct_columns(X, intercept) if index is None else index
    block_of = scheme.block_of[scheme.unit_of] if intercept and scheme.sizes.blocks is not None else None
    # Where there are too many columns for pairs, single precision is enough to rank them.
    fitted = np.empty((len(X), len(index)), dtype=float if len(index) <= MOST_COLUMNS else np.float32)
    useful = np.ones(len(index), dtype=bool)
    for start in range(0, len(index), 16 * PIECE):
        piece = slice(start, start + 16 * PIECE)
        values = X[:, index[piece]].astype(float)
        values = clipped(values) if intercept else values
        part = values - (values.mean(axis=0) if block_of is None else block_means(values, block_of)) * intercept
        part = part if scheme.basis is None else part - scheme.basis @ (scheme.basis.T @ part)
        lengths = np.sqrt(np.einsum("ij,ij->j", part, part))
        # Within blocks a column may be constant although it is not over all.
        useful[piece] = lengths > SAME * np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
        fitted[:, piece] = part / np.where(useful[piece], lengths, 1.0)
    if not useful.any():
        where = "constant" if block_of is None else "constant within every block"
        raise InputError(f"every feature is {where} up to rounding, so that there is nothing to separate with.")
    index, fitted = (index, fitted) if useful.all() else (index[useful], np.ascontiguousarray(fitted[:, useful]))
    frame = np.linalg.qr(fitted) if len(X) >= LONG * len(index) and len(index) <= FEW_COLUMNS else (None, None)
    return Columns(index, fitted, block_of, intercept, *correlated_pairs(fitted), scheme.basis, *frame)


def clipped(values: Floats) -> Floats:
    """Columns pulled in at CLIP robust standard deviations from their medians; columns of mostly one value stay as they are."""
    middle = _medians(values)
    deviation = _medians(np.abs(values - middle)) / NORMAL_DEVIATION
    reach = np.where(deviation > 0, CLIP * deviation, np.inf)
    return np.clip(values, middle - reach, middle + reach)


def _medians(values: Floats) -> Floats:
    """Of every column, by a sort, which takes half the time of `np.median`."""
    ranked = np.sort(np.ascontiguousarray(values.T), axis=1)
    middle: Floats = ranked[:, (len(values) - 1) // 2 : len(values) // 2 + 1].mean(axis=1)
    return middle


def correlated_pairs(columns: Floats) -> tuple[Ints, Ints, Floats]:
    """The pairs (i, j, z_i·z_j) of largest overlap, i < j, in that order; columns that are copies of each other make none."""
    count = columns.shape[1]
    if not 2 <= count <= MOST_COLUMNS:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    most = max(count, FEW_PAIRS)
    code, overlap, least = np.zeros(0, dtype=np.int64), np.zeros(0), 0.0
    for start in range(0, count, PIECE):
        products = columns[:, start : start + PIECE].T @ columns[:, start:]
        size = np.abs(products)
        # Above the diagonal, not a copy, and large enough to be among the first.
        keep = (size >= least) & (size < 1 - SPENT / 2)
        keep[np.tril_indices(len(products), m=products.shape[1])] = False
        rows, places = np.nonzero(keep)
        code = np.append(code, (rows + start) * count + places + start)
        overlap = np.append(overlap, products[rows, places])
        if len(code) > most:
            # Ties are settled by the place, so that the list depends on the table alone.
            order = np.lexsort((code, -np.round(np.abs(overlap), 9)))[:most]
            code, overlap = code[order], overlap[order]
            least = float(np.abs(overlap).min()) - SAME
    order = np.argsort(code)
    return code[order] // count, code[order] % count, overlap[order]


def follow_paths(columns: Columns, labels: Floats, steps: int, *, with_errors: bool = True) -> Paths:
    """The path of every row of `labels` (draws × samples, ±1), and the best pair; errors, which take longest in long tables, only
    if they are asked for.
    """
    draws, fitted = len(labels), columns.fitted if columns.within is None else columns.within
    whole = columns.centred(labels)
    total = np.einsum("ij,ij->i", whole, whole)
    start = residual = whole if columns.frame is None else whole @ columns.frame
    outside = np.maximum(total - np.einsum("ij,ij->i", start, start), 0.0)
    # Labels that the threshold explains alone leave nothing: the best fit there is.
    scale = np.where(total > 0, total, 1.0)
    # A little more than their length, and than its rounding, keeps columns that the span has used up from a division by nothing.
    kind, count = fitted.dtype, fitted.shape[1]
    products, lengths = residual.astype(kind) @ fitted, np.full((draws, count), 1 + ROUND[kind.char], dtype=kind)
    ends = [count - max(1, round(share * count)) for share in SHARES]
    ranked = np.partition(products**2, ends, axis=1)
    spread = (labels.shape[1] - 1) * np.column_stack([ranked[:, end:].mean(axis=1, dtype=float) / scale for end in ends])
    pair, pair_gain = _largest(_pair_gains(columns, products), draws)
    losses, span = np.empty((draws, steps)), np.zeros((draws, steps, len(fitted)))
    errors = np.zeros((draws if with_errors else 0, steps), dtype=np.int64)
    chosen = np.full((draws, steps), -1, dtype=np.int64)
    direction, along = None, np.zeros((draws, 1))
    for step in range(steps):
        best, _ = _largest(_gains(fitted, products, lengths, direction, along), draws)
        direction, alive = _orthogonal(fitted[:, best].T.astype(float), span[:, :step])
        chosen[alive, step] = columns.index[best[alive]]
        span[:, step] = direction
        along = np.einsum("ij,ij->i", direction, residual)[:, None]
        residual = residual - along * direction
        if with_errors:
            explained = start - residual if columns.frame is None else (start - residual) @ columns.frame.T
            errors[:, step] = fewest_by_threshold(labels - whole + explained, labels, columns.intercept)
        losses[:, step] = (outside + np.einsum("ij,ij->i", residual, residual)) / scale
    pairs = np.full((draws, 2), -1, dtype=np.int64)
    if steps > 1 and len(columns.first):
        pair_loss = (total - pair_gain) / scale
        better = pair_loss < losses[:, 1] * (1 - SAME)
        losses[better, 1] = np.maximum(pair_loss[better], 0.0)
        if with_errors:
            sides = (columns.fitted[:, [columns.first[one], columns.second[one]]] for one in pair[better])
            rests = [row - z @ np.linalg.lstsq(z, row, rcond=None)[0] for z, row in zip(sides, whole[better], strict=True)]
            of_pairs = labels[better] - np.reshape(rests, (-1, labels.shape[1]))
            errors[better, 1] = fewest_by_threshold(of_pairs, labels[better], columns.intercept)
        pairs[better] = np.column_stack([columns.index[side[pair[better]]] for side in (columns.first, columns.second)])
    return Paths(losses, errors, chosen, pairs, spread)


def _largest(pieces: Iterable[Floats], draws: int) -> tuple[Ints, Floats]:
    """For every draw where the largest value stands among columns that come in pieces, and that value.

    Of values that differ by rounding alone the first is taken: single precision makes them equal within a piece.
    """
    rows, best, most = np.arange(draws), np.zeros(draws, dtype=np.int64), np.full(draws, -1.0)
    for number, values in enumerate(pieces):
        place = values.astype(np.float32).argmax(axis=1)
        value = values[rows, place]
        higher = value > most * (1 + SAME)
        best[higher], most[higher] = PIECE * number + place[higher], value[higher]
    return best, most


def _gains(columns: Floats, products: Floats, lengths: Floats, direction: Floats | None, along: Floats) -> Iterator[Floats]:
    """Take the last step into account, piece by piece, and give the gain of every column, in the columns' precision.

    `products` of all columns with the residuals and squared `lengths` outside the chosen spans (draws × columns) are changed.
    """
    for start in range(0, columns.shape[1], PIECE):
        piece = slice(start, start + PIECE)
        if direction is not None:
            moved = direction.astype(columns.dtype) @ columns[:, piece]
            products[:, piece] -= moved * along.astype(columns.dtype)
            lengths[:, piece] -= moved**2
        yield products[:, piece] ** 2 / lengths[:, piece]


def _orthogonal(inner: Floats, span: Floats) -> tuple[Floats, Bools]:
    """The chosen columns (rows here) made orthogonal to the span, of length 1; zero where nothing is left of them."""
    # Once is enough: what is left is no shorter than the square root of SPENT.
    parts = np.matmul(span, inner[:, :, None]).transpose(0, 2, 1)
    rest = inner - np.matmul(parts, span)[:, 0]
    length = np.sqrt(np.einsum("ij,ij->i", rest, rest))
    alive = length**2 > SPENT
    return rest / np.where(alive, length, np.inf)[:, None], alive


def _pair_gains(columns: Columns, products: Floats) -> Iterator[Floats]:
    """How much each pair of the list explains: (c_i² + c_j² − 2 g c_i c_j)/(1 − g²)."""
    for start in range(0, len(columns.first), PIECE):
        piece = slice(start, start + PIECE)
        overlap = columns.overlap[piece]
        one, two = (products.take(side[piece], axis=1) for side in (columns.first, columns.second))
        yield (two * (two - 2 * overlap * one) + one**2) / (1 - overlap**2)


def fewest_by_threshold(scores: Floats, labels: Floats, intercept: bool) -> Ints:
    """Errors of "positive if the score is above the threshold", at the best threshold (at 0 without an intercept), by rows."""
    same = SAME * np.abs(scores).max(axis=1, initial=0.0, keepdims=True)
    if not intercept:
        return np.count_nonzero(labels * scores <= same, axis=1)
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    positive = np.take_along_axis(labels > 0, order, axis=1)
    # Errors with the threshold before the first sample, where all negatives are wrong, after it, after the second, …
    errors = np.cumsum(np.where(positive, 1, -1), axis=1)
    errors = np.column_stack([np.zeros(len(errors), dtype=errors.dtype), errors]) + np.count_nonzero(~positive, axis=1)[:, None]
    errors[:, 1:-1][np.diff(ranked, axis=1) <= same] = labels.shape[1] + 1
    fewest: Ints = errors.min(axis=1)
    return fewest


def least_squares_weights(columns: Columns, X: Floats, y: Floats, support: Ints) -> Floats:
    """Weights of the labels' least squares fit on some columns of X, clipped as the path sees them, in the units of X.

    Parameters
    ----------
    columns : the path's columns, which know blocks and covariates.
    X, y : (samples, features) and the labels ±1 of the samples.
    support : indices of columns of X.
    """
    values = X[:, support].astype(float)
    if columns.intercept:
        values = clipped(values)
    inner = columns.centred(values.T).T
    target = columns.centred(y[None])[0]
    return np.linalg.lstsq(inner, target, rcond=None)[0]


def errors_with_design(columns: Columns, X: Floats, y: Floats, support: Ints) -> int:
    """Errors of least squares on some columns of X together with the blocks and covariates, at the best threshold."""
    weights = least_squares_weights(columns, X, y, support)
    inner = columns.centred(X[:, support].T.astype(float)).T
    # What blocks and covariates explain of the labels, and what the columns add to it.
    scores = y - columns.centred(y[None])[0] + inner @ weights
    return int(fewest_by_threshold(scores[None], y[None], columns.intercept)[0])
