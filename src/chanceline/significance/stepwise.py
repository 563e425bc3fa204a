"""A greedy path for many labellings at once: how well do the best K features found fit the labels, K = 1 … ?

Forward stepwise least squares. At every step the column that lowers the squared residual of the centred labels most is taken, and
everything is made orthogonal to it. The labels of many draws are rows of one matrix, so that a step is one matrix product

    V = QZ        (draws × samples)·(samples × columns)

with Z the normalised columns and Q the direction that each draw took last. From V follow the products of all columns with the
residuals (C ← C − dV, d the part of the labels along Q) and the squared lengths of the columns outside the chosen span
(L ← L − V²); the gain of a column is C²/L. Beside the path stands the best *pair* of a list of highly correlated columns, which a
greedy first step cannot find: each alone says nothing, their difference may say everything.

What depends on the table alone (`Columns`) is made once. The columns are pulled in at `CLIP` robust standard deviations from
their medians, which costs nothing for bell-shaped columns and keeps a few large values from hiding the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.perceptron.data import distinct_columns
from chanceline.significance.plan import LabelScheme

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLIP = 3.0
# Median absolute deviation of a normal distribution, in standard deviations.
NORMAL_DEVIATION = 0.6744897501960817
# Columns are worked through in pieces that stay in the processor's cache with the draws of one batch.
PIECE = 256
# A column with less than this squared length outside the chosen span adds nothing but rounding.
SPENT = 1e-6
# Pairs of columns beside the path: as many as columns, and all of a small table's.
PAIRS_PER_COLUMN = 1
FEW_PAIRS = 2_000
# All overlaps of so many columns are too many to look at; then there is no pair.
MOST_COLUMNS = 40_000
# Values closer than this are one value: thresholds do not part them.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Columns:
    """What the path needs of the table.

    Attributes
    ----------
    index : column of X that each column here stands for (equal columns once, constants left out).
    fitted : samples × columns, clipped, centred (within blocks, where labels are exchanged) and of length 1.
    shown : the same columns, centred over all samples; rules and their errors are read off here. The same array without blocks.
    block_of : block of every sample, None if there is one block or no centring.
    intercept : whether columns and labels are centred at all.
    first, second, overlap : the list of pairs.
    """

    index: Ints
    fitted: Floats
    shown: Floats
    block_of: Ints | None
    intercept: bool
    first: Ints
    second: Ints
    overlap: Floats

    def centred(self, values: Floats) -> Floats:
        """Rows of values without what the threshold (of every block) explains."""
        if not self.intercept:
            return values
        if self.block_of is None:
            return values - values.mean(axis=1, keepdims=True)
        return values - _block_means(values.T, self.block_of).T


@dataclass(frozen=True, eq=False)
class Paths:
    """One row for every labelling.

    Attributes
    ----------
    losses : labellings × K, the share of the labels' squares that k features leave unexplained (a pair's at K = 2, if better).
    errors : labellings × K, samples on the wrong side of the best threshold of the least-squares score, fewest for ≤ K features.
    chosen : labellings × K, columns of X in the order taken, −1 where the path ended.
    pair : labellings × 2, columns of X, where the pair is better than the path's first two; else −1.
    """

    losses: Floats
    errors: Ints
    chosen: Ints
    pair: Ints

    def support(self, row: int, size: int) -> Ints:
        """Columns of X of the best set of this size for one labelling, sorted."""
        columns = self.pair[row] if size == 2 and self.pair[row, 0] >= 0 else self.chosen[row, :size]
        return np.sort(columns[columns >= 0])


def make_columns(X: Floats, scheme: LabelScheme, intercept: bool) -> Columns:
    """Clip, centre and normalise the distinct columns of a checked table, and list its correlated pairs."""
    index = distinct_columns(X, intercept)
    values = clipped(X[:, index]) if intercept else X[:, index].copy()
    block_of = scheme.block_of[scheme.unit_of] if intercept and scheme.sizes.blocks is not None else None
    shown = values - values.mean(axis=0) if intercept else values
    fitted = shown if block_of is None else shown - _block_means(shown, block_of)
    lengths = np.sqrt(np.einsum("ij,ij->j", fitted, fitted))
    # Within blocks a column may be constant although it is not over all.
    useful = lengths > SAME * np.maximum(np.abs(values).max(axis=0), np.finfo(float).tiny)
    if not useful.any():
        where = "" if block_of is None else " within every block"
        raise InputError(f"every feature is constant{where} up to rounding, so that there is nothing to separate with.")
    index, lengths = index[useful], lengths[useful]
    shown = np.ascontiguousarray(shown[:, useful] / lengths)
    fitted = shown if block_of is None else np.ascontiguousarray(fitted[:, useful] / lengths)
    first, second, overlap = correlated_pairs(fitted)
    return Columns(index, fitted, shown, block_of, intercept, first, second, overlap)


def clipped(values: Floats) -> Floats:
    """Columns pulled in at CLIP robust standard deviations from their medians; columns of mostly one value stay as they are."""
    middle = np.median(values, axis=0)
    deviation = np.median(np.abs(values - middle), axis=0) / NORMAL_DEVIATION
    reach = np.where(deviation > 0, CLIP * deviation, np.inf)
    return np.clip(values, middle - reach, middle + reach)


def correlated_pairs(columns: Floats) -> tuple[Ints, Ints, Floats]:
    """The pairs (i, j, z_i·z_j) of largest overlap, i < j, in that order; columns that are copies of each other make none."""
    count = columns.shape[1]
    if not 2 <= count <= MOST_COLUMNS:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0)
    most = max(PAIRS_PER_COLUMN * count, FEW_PAIRS)
    codes, overlaps, least = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], 0.0
    held = 0
    for start in range(0, count, PIECE):
        products = columns[:, start : start + PIECE].T @ columns[:, start:]
        size = np.abs(products)
        # Above the diagonal, not a copy, and large enough to be among the first.
        keep = (size >= least) & (size < 1 - SPENT / 2)
        keep[np.tril_indices(len(products), m=products.shape[1])] = False
        rows, places = np.nonzero(keep)
        codes.append((rows + start) * count + places + start)
        overlaps.append(products[rows, places])
        held += len(rows)
        if held > most:
            together, code = np.concatenate(overlaps), np.concatenate(codes)
            # Ties are settled by the place, so that the list depends on the table alone.
            order = np.lexsort((code, -np.round(np.abs(together), 9)))[:most]
            codes, overlaps, held = [code[order]], [together[order]], len(order)
            least = float(np.abs(together[order]).min()) - SAME
    code, overlap = np.concatenate(codes), np.concatenate(overlaps)
    order = np.argsort(code)
    return code[order] // count, code[order] % count, overlap[order]


def follow_paths(columns: Columns, labels: Floats, steps: int) -> Paths:
    """The path of every row of `labels` (draws × samples, ±1), and the best pair."""
    draws, count = len(labels), columns.fitted.shape[1]
    residual = columns.centred(labels)
    total = np.einsum("ij,ij->i", residual, residual)
    # Labels that the threshold explains alone leave nothing: the best fit there is.
    scale = np.where(total > 0, total, 1.0)
    # A little more than their length keeps columns that the span has used up from a division by nothing.
    state = _State(residual @ columns.fitted, np.full((draws, count), 1 + SPENT))
    pair, pair_gain = _best_pairs(columns, state.products)
    losses, scores = np.empty((draws, steps)), np.zeros((draws, steps, labels.shape[1]))
    chosen = np.full((draws, steps), -1, dtype=np.int64)
    span, seen = (np.zeros((draws, steps, labels.shape[1])) for _ in range(2))
    direction = along = None
    for step in range(steps):
        best = state.advance(columns.fitted, direction, along)
        direction, seen[:, step], alive = _orthogonal(columns, best, span[:, :step], seen[:, :step])
        chosen[alive, step] = columns.index[best[alive]]
        span[:, step] = direction
        along = np.einsum("ij,ij->i", direction, residual)[:, None]
        residual = residual - along * direction
        scores[:, step] = along * seen[:, step]
        losses[:, step] = np.einsum("ij,ij->i", residual, residual) / scale
    every = np.cumsum(scores, axis=1).reshape(-1, labels.shape[1])
    errors = fewest_by_threshold(every, np.repeat(labels, steps, axis=0), columns.intercept).reshape(draws, steps)
    pairs = np.full((draws, 2), -1, dtype=np.int64)
    if steps > 1 and len(columns.first):
        pair_loss = (total - pair_gain) / scale
        better = pair_loss < losses[:, 1] * (1 - SAME)
        losses[better, 1] = np.maximum(pair_loss[better], 0.0)
        of_pairs = _pair_scores(columns, labels[better], pair[better])
        errors[better, 1] = fewest_by_threshold(of_pairs, labels[better], columns.intercept)
        pairs[better, 0] = columns.index[columns.first[pair[better]]]
        pairs[better, 1] = columns.index[columns.second[pair[better]]]
    return Paths(losses, np.minimum.accumulate(errors, axis=1), chosen, pairs)


class _State:
    """Products of all columns with the residuals, and squared lengths outside the chosen spans (draws × columns)."""

    def __init__(self, products: Floats, lengths: Floats) -> None:
        self.products = products
        self.lengths = lengths
        shape = (len(products), min(PIECE, products.shape[1]))
        self._work = [np.empty(shape) for _ in range(2)]
        self._gain = np.empty(shape, dtype=np.float32)

    def advance(self, columns: Floats, direction: Floats | None, along: Floats | None) -> Ints:
        """Take the last step into account, and give the column of largest gain for every draw."""
        draws, count = self.products.shape
        rows = np.arange(draws)
        best, most = np.zeros(draws, dtype=np.int64), np.full(draws, -1.0, dtype=np.float32)
        for start in range(0, count, PIECE):
            piece = slice(start, min(start + PIECE, count))
            width = piece.stop - start
            first, second, gain = self._work[0][:, :width], self._work[1][:, :width], self._gain[:, :width]
            products, lengths = self.products[:, piece], self.lengths[:, piece]
            if direction is not None and along is not None:
                np.matmul(direction, columns[:, piece], out=first)
                np.multiply(first, along, out=second)
                products -= second
                first *= first
                lengths -= first
            np.multiply(products, products, out=first)
            first /= lengths
            # In single precision columns whose gains differ by rounding alone are equal, and the first of them is taken.
            gain[...] = first
            place = gain.argmax(axis=1)
            value = gain[rows, place]
            higher = value > most
            best[higher], most[higher] = start + place[higher], value[higher]
        return best


def _orthogonal(columns: Columns, best: Ints, span: Floats, seen: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The chosen columns made orthogonal to the span, of length 1 (zero where nothing is left of them), and the same combination
    of the columns centred over all.
    """
    inner = columns.fitted[:, best].T
    # Once is enough: what is left is no shorter than the square root of SPENT.
    parts = np.matmul(span, inner[:, :, None]).transpose(0, 2, 1)
    rest = inner - np.matmul(parts, span)[:, 0]
    length = np.sqrt(np.einsum("ij,ij->i", rest, rest))
    alive = length**2 > SPENT
    length = np.where(alive, length, np.inf)[:, None]
    direction: Floats = rest / length
    if columns.shown is columns.fitted:
        return direction, direction, alive
    return direction, (columns.shown[:, best].T - np.matmul(parts, seen)[:, 0]) / length, alive


def _best_pairs(columns: Columns, products: Floats) -> tuple[Ints, Floats]:
    """For every draw the pair of the list that explains most, and how much: (c_i² + c_j² − 2 g c_i c_j)/(1 − g²)."""
    draws = len(products)
    rows = np.arange(draws)
    best, most = np.zeros(draws, dtype=np.int64), np.full(draws, -1.0)
    for start in range(0, len(columns.first), PIECE):
        piece = slice(start, start + PIECE)
        overlap = columns.overlap[piece]
        one, two = products.take(columns.first[piece], axis=1), products.take(columns.second[piece], axis=1)
        work = one * (-2 * overlap)
        work += two
        work *= two
        one *= one
        work += one
        work /= 1 - overlap**2
        # Rounded as the gains of the path are, for the same reason.
        place = work.astype(np.float32).argmax(axis=1)
        value = work[rows, place]
        higher = value > most * (1 + SAME)
        best[higher], most[higher] = start + place[higher], value[higher]
    return best, most


def _pair_scores(columns: Columns, labels: Floats, pair: Ints) -> Floats:
    """Least-squares scores of the best pairs."""
    residual = columns.centred(labels)
    first, second = columns.first[pair], columns.second[pair]
    overlap = columns.overlap[pair]
    one = np.einsum("ij,ji->i", residual, columns.fitted[:, first])
    two = np.einsum("ij,ji->i", residual, columns.fitted[:, second])
    inner = 1 - overlap**2
    weights = (one - overlap * two) / inner, (two - overlap * one) / inner
    result: Floats = (columns.shown[:, first] * weights[0] + columns.shown[:, second] * weights[1]).T
    return result


def fewest_by_threshold(scores: Floats, labels: Floats, intercept: bool) -> Ints:
    """Errors of "positive if the score is above the threshold", at the best threshold (at 0 without an intercept), by rows."""
    scale = np.abs(scores).max(axis=1, initial=0.0, keepdims=True)
    if not intercept:
        wrong: Ints = np.count_nonzero(labels * scores <= SAME * scale, axis=1)
        return wrong
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    positive = np.take_along_axis(labels, order, axis=1) > 0
    # Errors with the threshold after the first, second, … sample; before the first all negatives are wrong.
    negatives = np.count_nonzero(~positive, axis=1)
    errors = negatives[:, None] + np.cumsum(np.where(positive, 1, -1), axis=1)
    together = np.diff(ranked, axis=1) <= SAME * scale
    errors[:, :-1][together] = labels.shape[1]
    return np.minimum(errors.min(axis=1), negatives)


def _block_means(values: Floats, block_of: Ints) -> Floats:
    """Mean of every column over the block of each row."""
    sums = np.zeros((block_of.max() + 1, values.shape[1]))
    np.add.at(sums, block_of, values)
    return (sums / np.bincount(block_of)[:, None])[block_of]
