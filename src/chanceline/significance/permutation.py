"""Old names of what is now in `shuffles`, `shuffled_front`, `own_search` and `readings`, until
callers follow.
"""

from __future__ import annotations

from typing import Any

from chanceline.significance.arrays import Floats
from chanceline.significance.design import NullDesign
from chanceline.significance.own_search import (
    SearchProcedure as Procedure,
    SearchShufflePlan,
    Statistic,
    shuffle_search,
)
from chanceline.significance.path import ForwardPaths
from chanceline.significance.path_columns import PathColumns
from chanceline.significance.readings import (
    Band,
    FrontReading,
    PermutationReading,
    SearchStatistic as Value,
    SpreadReading,
    StopCause,
)
from chanceline.significance.shuffled_front import ShuffledFront as FrontDraws
from chanceline.significance.shuffles import (
    BATCH_SIZE as BATCH,
    ShufflePlan,
    ShuffleRunner as PermutationRunner,
    shuffle_front,
)

__all__ = [
    "BATCH",
    "INTERRUPT",
    "TIME_LIMIT",
    "Band",
    "FrontDraws",
    "FrontReading",
    "PermutationReading",
    "PermutationRunner",
    "Procedure",
    "SpreadReading",
    "Value",
    "draw_front",
    "permutation_reading",
]

INTERRUPT = StopCause.INTERRUPT
TIME_LIMIT = StopCause.TIME_LIMIT


def draw_front(
    columns: PathColumns, scheme: NullDesign, *, permutations: int, seed: int, **options: Any
) -> tuple[FrontDraws, ForwardPaths]:
    """`shuffle_front`; options: steps, runner, first."""
    runner = options.get("runner", PermutationRunner())
    plan = ShufflePlan(permutations, seed, runner)
    return shuffle_front(columns, scheme, plan, options["steps"], options.get("first"))


def permutation_reading(
    statistic: Statistic, X: Floats, scheme: NullDesign, observed: Value, **options: Any
) -> PermutationReading:
    """`shuffle_search`; options: permutations, seed, allowed, stop_after, runner."""
    plan = SearchShufflePlan(
        n_shuffles=options["permutations"],
        seed=options["seed"],
        runner=options.get("runner", PermutationRunner()),
        stop_after=options.get("stop_after", 10),
        max_errors=options.get("allowed", 0),
    )
    return shuffle_search(statistic, X, scheme, observed, plan)
