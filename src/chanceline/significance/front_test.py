"""The test of the front: the loss at every number of features K, on the observed and on shuffled labels, as one p-value.

With S[b, k] the loss of labelling b (0 observed, 1 … B drawn from the null) at K = k (`front_path`),

    p[b, k] = #{b′ : S[b′, k] ≤ S[b, k]}/(1 + B),   T[b] = min_k p[b, k],   p = #{b : T[b] ≤ T[0]}/(1 + B)

(Westfall and Young 1993, single step). The best labelling at each K has the same p[b, k] = 1/(1 + B); of equals, that which lies
more standard deviations below the mean of its K comes first, so that p can be as small as 1/(1 + B).

Under the null the labellings are exchangeable given the table, the map from losses to (T[0], …, T[B]) treats all of them alike,
and p is valid whatever the path does: the choice of K is paid for. The adjusted p-value of one K, #{b : T[b] ≤ p[0, k]}/(1 + B),
holds for all K together.

Draw b depends on (seed, b) alone, and draws are worked through in batches of fixed size, so that neither the number of processes
nor the order in which they finish changes a digit. Draws taken until an interrupt or a time limit, which know nothing of the
outcome, give a valid p-value too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.significance.front_path import SAME, Columns, Paths, follow_paths
from chanceline.significance.null import LabelScheme
from chanceline.significance.permutation import Drawing, PermutationReading, Value, clopper_pearson

Floats = NDArray[np.float64]
# Labellings in one batch, the observed one among the first.
BATCH = 64
# The band of shuffled labels shown for every K holds this share of them.
BAND = 0.9


@dataclass(frozen=True)
class Band:
    """Errors on shuffled labels: the middle, and the ends of the range that 90 % of them lie in."""

    low: int
    median: int
    high: int


@dataclass(frozen=True)
class FrontReading:
    """What k features do.

    Attributes
    ----------
    k : number of features.
    errors : errors of the path's least-squares rule on the observed labels; `shuffled` has the same rule's on shuffled ones.
    shuffled : None without shuffles.
    pvalue : adjusted for the choice of k; None without shuffles.
    fewest : fewest errors of any rule on k features that was found for the observed labels.
    log10_bound : log₁₀ of the rigorous bound for `fewest` errors with k features, with the price of errors counted after looking.
    features : names of the features of that rule.
    """

    k: int
    errors: int
    shuffled: Band | None
    pvalue: float | None
    fewest: int
    log10_bound: float
    features: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class FrontDraws:
    """Losses and errors of the observed labelling (row 0) and of the draws, and the permutation reading they make."""

    losses: Floats
    errors: NDArray[np.int64]
    requested: int
    stopped_by: str | None

    @property
    def done(self) -> int:
        return len(self.losses) - 1

    def adjusted(self) -> Floats:
        """Adjusted p-values of K = 1, 2, …"""
        places = place_losses(self.losses)
        smallest = places.min(axis=1)
        return np.count_nonzero(smallest[:, None] <= places[0] + SAME, axis=0) / len(places)

    def bands(self) -> list[Band | None]:
        if self.done == 0:
            return [None] * self.losses.shape[1]
        shares = ((1 - BAND) / 2, 0.5, (1 + BAND) / 2)
        ends = np.quantile(self.errors[1:], shares, axis=0, method="inverted_cdf")
        return [Band(*(int(value) for value in column)) for column in ends.T]

    def reading(self) -> PermutationReading:
        """The Monte Carlo reading; set sizes are those with which the path leaves no error, None if more would be needed."""
        smallest = place_losses(self.losses).min(axis=1)
        exceedances = int(np.count_nonzero(smallest[1:] <= smallest[0] + SAME))
        values = [self._value(row) for row in range(len(self.losses))]
        return PermutationReading(
            pvalue=(1 + exceedances) / (1 + self.done),
            interval=clopper_pearson(exceedances, self.done, False),
            floor=1 / (1 + self.requested),
            observed=values[0],
            exceedances=exceedances,
            done=self.done,
            requested=self.requested,
            stopped_early=False,
            interrupted=self.stopped_by is not None,
            stopped_by=self.stopped_by,
            null_sizes=tuple(value.n_selected if value.errors == 0 else None for value in values[1:]),
            statistic="front",
        )

    def _value(self, row: int) -> Value:
        errors = self.errors[row]
        size = int(np.argmin(errors)) + 1
        return Value(size if errors[size - 1] == 0 else len(errors) + int(errors[size - 1]), size, int(errors[size - 1]))


def rank_losses(losses: Floats) -> NDArray[np.int64]:
    """#{b′ : S[b′, k] ≤ S[b, k]} for every b and k; losses that differ by rounding alone count as equal."""
    ranks = np.empty(losses.shape, dtype=np.int64)
    for k in range(losses.shape[1]):
        ordered = np.sort(losses[:, k])
        ranks[:, k] = np.searchsorted(ordered, losses[:, k] + SAME, side="right")
    return ranks


def place_losses(losses: Floats) -> Floats:
    """The ranks, with a fraction below one half added that puts the more outstanding of equal ranks first."""
    spread = losses.std(axis=0)
    below = (losses.mean(axis=0) - losses) / np.where(spread > SAME, spread, np.inf)
    places: Floats = rank_losses(losses) - 0.4 * below / (1 + np.abs(below))
    return places


def draw_front(
    columns: Columns, scheme: LabelScheme, *, permutations: int, steps: int, seed: int, drawing: Drawing | None = None
) -> tuple[FrontDraws, Paths]:
    """Follow the paths of the observed labels and of the draws; the paths of the first batch come along (row 0 observed)."""
    drawing = drawing or Drawing()
    tell = drawing.progress

    def in_draws(done: int, _: int) -> None:
        assert tell is not None
        tell(min(BATCH * done, 1 + permutations) - 1, permutations)

    drawing = replace(drawing, progress=in_draws if tell is not None and permutations else None)
    numbers = range(-(-(1 + permutations) // BATCH))
    batches, stopped_by = drawing.collect(batch_paths, numbers, (columns, scheme, permutations, steps, seed))
    if not batches:
        # Stopped within the very first batch: the observed labels alone.
        batches = [batch_paths(0, columns, scheme, 0, steps, seed)]
    losses = np.concatenate([batch.losses for batch in batches])
    errors = np.concatenate([batch.errors for batch in batches])
    return FrontDraws(losses, errors, permutations, stopped_by), batches[0]


def batch_paths(number: int, columns: Columns, scheme: LabelScheme, permutations: int, steps: int, seed: int) -> Paths:
    """The paths of one batch: labellings BATCH·number … BATCH·(number + 1) − 1, of which the very first is the observed one."""
    numbers = range(BATCH * number, min(BATCH * (number + 1), 1 + permutations))
    labels = np.array([scheme.y if b == 0 else scheme.draw(np.random.default_rng([seed, b])) for b in numbers])
    return follow_paths(columns, labels, steps)
