"""The workspace of a fit by the squared hinge: the table, the present support, and scratch arrays.

A workspace is made once for a table and then goes from support to support. Kernels take it whole,
and name the arrays that they use at their beginning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.inverse import FOUR
from chanceline.kernels.random import random_state
from chanceline.perceptron.relatives import Relatives, no_relatives

HINGE_RIDGE = 1e-6  # small against the Hessian of a few active samples, large against rounding
REBUILD_AFTER = 2000  # flips after which the inverse is computed anew, against drift
NEEDS_REBUILD = REBUILD_AFTER + 1  # as a number of flips: the inverse counts as worn out


class HingeData(NamedTuple):
    """What a fit reads and never writes, for n columns and P samples; `set_column` may.

    Attributes
    ----------
    columns : (n, P) the table A: row j is the column a_j = y·x_j.
    rows : (P, n) the same numbers by samples.
    columns_float32 : (n, P) columns in single precision, for ranking only.
    nonnegative : (n,) bools, the columns whose weight must not be negative. One whose weight would
        become negative leaves the support.
    n_unpenalized : that many columns, the last of the table, belong to every support and have its
        first places; they do not count as variables (the intercept).
    ridge : ε.
    relatives : columns that are strongly correlated; only swaps look at them.
    """

    columns: NDArray[np.float64]
    rows: NDArray[np.float64]
    columns_float32: NDArray[np.float32]
    nonnegative: NDArray[np.bool_]
    n_unpenalized: int
    ridge: float
    relatives: Relatives


class HingeState(NamedTuple):
    """The present support and all that belongs to it.

    Single numbers are arrays of shape (1,), so that kernels can change them. The arrays for columns
    of the support have room for `capacity` of them; the first `n_used[0]` places count.

    Attributes
    ----------
    n_used : (1,) how many columns are in use.
    support : (capacity,) these columns.
    weights : (capacity,) their weights w.
    position : (n,) the place of every column in the support, or −1.
    margins : (P,) a_μ·w of every sample μ.
    active : (P,) 1.0 where a_μ·w < 1 and the sample is not trimmed, else 0.0.
    inverse : (capacity, capacity) the inverse of the Hessian, (A_actᵀA_act + εI + δI)⁻¹.
    target : (capacity,) A_actᵀ1.
    damping : (1,) δ: 0, except where fewer samples are active than columns are in use.
    flips_since_rebuild : (1,) how many samples the inverse was updated for; too many after a new
        start, so that the next fit computes it anew.
    tabu_until : (n,) a column may not come or go before the iteration has this number.
    iteration : (1,) swaps begun since the tabus were cleared.
    random : (1,) state of the random numbers.
    """

    n_used: NDArray[np.int64]
    support: NDArray[np.int64]
    weights: NDArray[np.float64]
    position: NDArray[np.int64]
    margins: NDArray[np.float64]
    active: NDArray[np.float64]
    inverse: NDArray[np.float64]
    target: NDArray[np.float64]
    damping: NDArray[np.float64]
    flips_since_rebuild: NDArray[np.int64]
    tabu_until: NDArray[np.int64]
    iteration: NDArray[np.int64]
    random: NDArray[np.uint64]


class HingeScratch(NamedTuple):
    """Arrays to work in; nothing in them outlives the function that writes it, but the two steps.

    Attributes
    ----------
    weight_step : (capacity,) Newton's step of the weights.
    margin_step : (P,) the change of the margins that it makes.
    noisy_margins : (P,) the margins, some noise added, by which samples are trimmed.
    partly_sorted : (P,) a copy of margins, noisy or not, to find the smallest of.
    samples : (P,) indices of the samples that flip, or that are active.
    slack : (P,) 1 − a_μ·w of active samples.
    gradient : (n,) a_jᵀ(1 − Aw) of every column j, over active samples.
    own_length : (n,) of every column j beside its nearest relative in the support.
    products : (capacity,) of the columns in use with one vector.
    solved : (capacity,) the inverse times such products.
    flipped_rows : (4, capacity) the rows of four samples that flip, on the support.
    images : (4, capacity) the inverse times these rows.
    flip_signs : (4,) 1 for a sample that has become active, −1 for one that is so no more.
    coefficients : (4,) of the four updates of the inverse.
    """

    weight_step: NDArray[np.float64]
    margin_step: NDArray[np.float64]
    noisy_margins: NDArray[np.float64]
    partly_sorted: NDArray[np.float64]
    samples: NDArray[np.int64]
    slack: NDArray[np.float64]
    gradient: NDArray[np.float64]
    own_length: NDArray[np.float64]
    products: NDArray[np.float64]
    solved: NDArray[np.float64]
    flipped_rows: NDArray[np.float64]
    images: NDArray[np.float64]
    flip_signs: NDArray[np.float64]
    coefficients: NDArray[np.float64]


class Hinge(NamedTuple):
    """The workspace of a fit, and of a walk from support to support."""

    data: HingeData
    state: HingeState
    scratch: HingeScratch

    @property
    def size(self) -> int:
        """How many columns are in use, the unpenalized ones among them."""
        return int(self.state.n_used[0])

    @property
    def n_selected(self) -> int:
        """How many variables are in use."""
        return self.size - self.data.n_unpenalized

    @property
    def support(self) -> NDArray[np.int64]:
        """The columns in use, shape (size,), the unpenalized ones first; a view of the state."""
        return self.state.support[: self.size]

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the columns in use, shape (size,); a view of the state."""
        return self.state.weights[: self.size]


def make_hinge(  # noqa: PLR0913
    columns: NDArray[np.float64],
    capacity: int,
    *,
    n_unpenalized: int = 0,
    nonnegative: NDArray[np.bool_] | None = None,
    ridge: float = HINGE_RIDGE,
    seed: int = 0,
    relatives: Relatives | None = None,
) -> Hinge:
    """Allocate the workspace of a fit by the squared hinge, for one table.

    The workspace starts with the unpenalized columns as its support (the set of columns in use),
    all with weight zero. Its three parts are the data, which fits only read; the state, which
    belongs to the present support; and scratch arrays.

    Parameters
    ----------
    columns : (n, P) the table of n features and P samples, each row a feature times the labels ±1.
    capacity : the largest number of columns in use at a time, including the unpenalized ones.
    n_unpenalized : how many of the last columns (the intercept) belong to every support.
    nonnegative : (n,) whether the weight of a column must not be negative; by default none.
    ridge : coefficient of ½|w|² in the loss, which keeps the Hessian invertible.
    seed : seed of the random numbers.
    relatives : lists of strongly correlated columns; by default empty.
    """
    n_columns, n_samples = columns.shape
    capacity = min(capacity, n_columns)
    columns = np.ascontiguousarray(columns, dtype=np.float64)
    if nonnegative is None:
        nonnegative = np.zeros(n_columns, dtype=np.bool_)
    if relatives is None:
        relatives = no_relatives(n_columns)

    data = HingeData(
        columns=columns,
        rows=np.ascontiguousarray(columns.T),
        columns_float32=columns.astype(np.float32),
        nonnegative=nonnegative,
        n_unpenalized=int(n_unpenalized),
        ridge=float(ridge),
        relatives=relatives,
    )
    state = HingeState(
        n_used=np.zeros(1, dtype=np.int64),
        support=np.full(capacity, -1, dtype=np.int64),
        weights=np.zeros(capacity),
        position=np.full(n_columns, -1, dtype=np.int64),
        margins=np.zeros(n_samples),
        active=np.ones(n_samples),
        inverse=np.zeros((capacity, capacity)),
        target=np.zeros(capacity),
        damping=np.zeros(1),
        flips_since_rebuild=np.zeros(1, dtype=np.int64),
        tabu_until=np.zeros(n_columns, dtype=np.int64),
        iteration=np.zeros(1, dtype=np.int64),
        random=random_state(seed),
    )
    scratch = HingeScratch(
        weight_step=np.zeros(capacity),
        margin_step=np.zeros(n_samples),
        noisy_margins=np.zeros(n_samples),
        partly_sorted=np.zeros(n_samples),
        samples=np.zeros(n_samples, dtype=np.int64),
        slack=np.zeros(n_samples),
        gradient=np.zeros(n_columns),
        own_length=np.ones(n_columns),
        products=np.zeros(capacity),
        solved=np.zeros(capacity),
        flipped_rows=np.zeros((FOUR, capacity)),
        images=np.zeros((FOUR, capacity)),
        flip_signs=np.zeros(FOUR),
        coefficients=np.zeros(FOUR),
    )
    hinge = Hinge(data=data, state=state, scratch=scratch)
    set_support(hinge, np.arange(n_columns - n_unpenalized, n_columns))
    return hinge


def set_column(
    hinge: Hinge, column: int, values: NDArray[np.float64], is_nonnegative: bool
) -> None:
    """Overwrite a column of the table, one that is not in the support, with other values (P,).

    This is for tables whose columns become known one by one. The table is stored three times (by
    columns, by samples, and in single precision), and all three copies are changed.
    `is_nonnegative` says whether the weight of this column must not be negative.
    """
    hinge.data.columns[column] = values
    hinge.data.rows[:, column] = values
    hinge.data.columns_float32[column] = values
    hinge.data.nonnegative[column] = is_nonnegative


def set_support(
    hinge: Hinge, support: NDArray[np.int64], weights: NDArray[np.float64] | float = 0.0
) -> None:
    """Replace the support (the columns in use) of a workspace, and their weights.

    Only support and weights are written here. Margins, active samples and the inverse Hessian are
    computed by the next fit, which sees from the large number of flips that it must rebuild them.

    hinge : the workspace, changed in place. `n_used[0]` and `flips_since_rebuild[0]` are single
        numbers, stored in arrays of one entry so that compiled functions can change them.
    support : (size,) indices of columns, the unpenalized ones first.
    weights : (size,) their weights, or one number for all.
    """
    size = len(support)
    state = hinge.state
    state.n_used[0] = size
    state.support[:size] = support
    state.weights[:size] = weights
    state.position.fill(-1)  # not in the support
    state.position[support] = np.arange(size)
    state.flips_since_rebuild[0] = NEEDS_REBUILD
