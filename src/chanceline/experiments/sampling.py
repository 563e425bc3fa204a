"""Monte Carlo count of separating supports where there are too many to enumerate.

Let Z_p be the number of supports of size M that separate the first p patterns. A ladder of nested sets of supports
leads from all of them to those that separate P patterns, and

    ln Z_P = ln C(N, M) + Σ over rungs of ln(share of the rung's supports that stand on the next).

The lowest rung is p₀ = 2M, where about half of all supports separate (Cover): it is drawn anew each time. The next
ones have more patterns. Where new patterns a are hard, rungs in between have θa + (1 − θ)c in their place, c the sum of
the old ones over √p: what separates the old patterns has c·w > 0, so θ = 0 asks nothing new, θ = 1 everything, and
the sets of supports are nested in θ. Each rung has a walk by swaps of one variable; walks of neighbouring rungs
exchange supports (replica exchange), so that what the lowest draws climbs up and no walk sticks. One run gives the
whole curve in p.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.chance import log_binomial
from chanceline.errors import InputError
from chanceline.kernels.compile import NONE, ZERO, counter, inner_kernel, kernel
from chanceline.kernels.random import next_random
from chanceline.perceptron.hinge import refit
from chanceline.perceptron.workspace import REBUILD_AFTER, make_hinge

RIDGE = (
    1e-8  # margins below about 1e-4 may be misjudged: some supports in 10⁴, within every error bar
)
NEWTON = counter(60)
BLOCKS = 10
DRAWS = 50_000  # random supports tried on the lowest rung before giving up
EXPLORE = 40  # supports looked at to place the next rung
BISECTIONS = 7  # to find its θ
MOST_BETWEEN = (
    12  # rungs between two numbers of patterns; more means that hardly any support is left
)


@inner_kernel()
def enter_support(hinge: Any, support: NDArray) -> None:
    """`set_support` with weights of zero, for kernels."""
    for j in range(hinge.state.position.size):
        hinge.state.position[j] = NONE
    hinge.state.n_used[0] = support.size
    for i in range(support.size):
        hinge.state.support[i] = support[i]
        hinge.state.position[support[i]] = i
        hinge.state.weights[i] = 0.0
    hinge.state.flips_since_rebuild[0] = REBUILD_AFTER + 1


@dataclass(frozen=True, eq=False)
class CountCurve:
    """ln Z_p at p = `patterns`, from Monte Carlo.

    Attributes
    ----------
    patterns : int array
        p₀ and on, as far as supports were found; empty if none was.
    log_counts : float array
        Estimate of ln Z_p.
    errors : float array
        Its standard error, from blocks of sweeps; NaN where a block saw no support that reaches p.
    """

    patterns: NDArray[np.int64]
    log_counts: NDArray[np.float64]
    errors: NDArray[np.float64]


@kernel()
def fits(hinge: Any, support: NDArray) -> bool:
    """Does the support separate this hinge's patterns? (Starting from a neighbour's weights takes twice as long.)"""
    enter_support(hinge, support)
    return bool(refit(hinge, NONE, NONE, ZERO, 0.0, NEWTON))


@kernel()
def draw(hinge: Any, order: NDArray, m: int, attempts: int, state: NDArray) -> int:
    """Uniform supports order[:m] until one separates; returns how many were drawn, or 0 if none did."""
    for attempt in range(attempts):
        for i in range(m):
            j = i + int(next_random(state) * (order.size - i))
            order[i], order[j] = order[j], order[i]
        if fits(hinge, order[:m]):
            return attempt + 1
    return 0


@kernel()
def walk(hinge: Any, order: NDArray, m: int, steps: int, state: NDArray) -> None:
    """Swap one variable in for one out, kept when the new support separates.

    Proposals are symmetric, so the walk leaves the uniform measure on the rung's supports as it is.
    """
    for _ in range(steps):
        i = int(next_random(state) * m)
        j = m + int(next_random(state) * (order.size - m))
        order[i], order[j] = order[j], order[i]
        if not fits(hinge, order[:m]):
            order[i], order[j] = order[j], order[i]


@dataclass
class _Rung:
    """A walk over the supports that separate `patterns` patterns (the newest of them softened unless `whole`)."""

    patterns: int
    whole: bool
    hinge: Any
    order: NDArray[np.int64]


class _Ladder:
    """Rungs from p₀ = 2m patterns up to all of them, or as far as supports are found."""

    def __init__(self, rows: NDArray[np.float64], m: int, rung: int, steps: int, seed: int):
        self.rows, self.m, self.steps = rows, m, steps
        # splitmix64 mixes whatever it starts from; its state is one word.
        self.state = np.array([seed], dtype=np.uint64)
        self.rungs: list[_Rung] = []
        patterns, n = rows.shape
        first, order = min(2 * m, patterns), np.arange(n)
        hinge = self._hinge(first, first, 1.0)
        if not draw(hinge, order, m, DRAWS, self.state):
            return
        self.rungs.append(_Rung(first, True, hinge, order))
        for p in range(first + rung, patterns + 1, rung):
            if not self._climb(p - rung, p):
                return

    def _hinge(self, old: int, new: int, theta: float) -> Any:
        """The first `old` patterns, and those up to `new` softened by θ."""
        rows = self.rows[:new].copy()
        rows[old:] = theta * rows[old:] + (1 - theta) * rows[:old].sum(axis=0) / np.sqrt(old)
        return make_hinge(np.ascontiguousarray(rows.T), self.m, ridge=RIDGE)

    def _climb(self, old: int, new: int) -> bool:
        """Add rungs of growing θ up to 1, each with about a quarter of the supports of the one below or more."""
        theta = 0.0
        for _ in range(MOST_BETWEEN):
            orders = [
                self._move(self.rungs[-1])[1].copy() for _ in range(EXPLORE)
            ]  # to place the next rung by
            low, high, trial = theta, 1.0, 1.0
            for _ in range(BISECTIONS):
                hinge = self._hinge(old, new, trial)
                standing = [order for order in orders if fits(hinge, order[: self.m])]
                if 4 * len(standing) >= len(orders):
                    low, fitting, best = trial, standing, hinge
                    if trial == 1.0:
                        break
                else:
                    high = trial
                trial = 0.5 * (low + high)
            if low == theta:
                return False
            theta = low
            self.rungs.append(_Rung(new, theta == 1.0, best, fitting[-1].copy()))
            if theta == 1.0:
                return True
        return False

    def _move(self, rung: _Rung) -> tuple[int, NDArray[np.int64]]:
        """A new support on a rung: drawn on the lowest (how many draws that took comes first), by a walk on the others."""
        if rung is self.rungs[0]:
            return int(draw(rung.hinge, rung.order, self.m, 2**40, self.state)), rung.order
        walk(rung.hinge, rung.order, self.m, self.steps, self.state)
        return 1, rung.order

    def sweep(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Move every walk, then offer each support to the rung above; returns what stood there, and what was tried."""
        hits = np.ones(len(self.rungs))
        tries = np.array([self._move(rung)[0] for rung in self.rungs], dtype=float)
        for place, (below, above) in enumerate(itertools.pairwise(self.rungs), 1):
            if fits(above.hinge, below.order[: self.m]):
                below.order, above.order = above.order, below.order
            else:
                hits[place] = 0
        return hits, tries


def sample_counts(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    m: int,
    *,
    sweeps: int = 1000,
    steps: int = 4,
    rung: int = 1,
    seed: int = 0,
) -> CountCurve:
    """Estimate ln Z_p for supports of size m and p = 2m, 2m + rung, … up to the number of rows.

    Parameters
    ----------
    X, y : arrays
        Patterns (P × N) and labels ±1; their order is the order of the ladder.
    m : int
        Size of the supports, 0 < m < N.
    sweeps : int
        Rounds of walks and exchanges; a fifth of them more, at the start, are thrown away.
    steps : int
        Swaps tried on each rung in a round.
    rung : int
        Patterns from one point of the curve to the next.
    seed : int
    """
    n = X.shape[1]
    if not 0 < m < n:
        raise InputError(f"the size of the supports is {m}; it must lie between 1 and {n - 1}")
    if sweeps < BLOCKS:
        raise InputError(f"the number of sweeps is {sweeps}; it must be at least {BLOCKS}")
    ladder = _Ladder(X * y[:, None], m, rung, steps, seed)
    for _ in range(sweeps // 5):
        ladder.sweep()
    counts = np.array([ladder.sweep() for _ in range(sweeps)])
    hits, tries = np.stack([block.sum(axis=0) for block in np.array_split(counts, BLOCKS)], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_counts = float(log_binomial(n, m)) + np.cumsum(np.log(hits.sum(0) / tries.sum(0)))
        errors = np.cumsum(np.log(hits / tries), axis=1).std(axis=0, ddof=1) / np.sqrt(BLOCKS)
    whole = [place for place, rung in enumerate(ladder.rungs) if rung.whole]
    patterns = np.array([ladder.rungs[place].patterns for place in whole], dtype=np.int64)
    return CountCurve(patterns, log_counts[whole], errors[whole])
