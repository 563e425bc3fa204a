"""Drawing labels from the null: in batches, in parallel, interruptible, and valid throughout.

Draw number b depends on (seed, b) alone, draws are counted in their order, and the paths are
followed in batches of fixed size, so that the number of jobs changes no digit. Stopping by hand, by
a time limit or because workers died uses the draws complete up to a gap, and the running count is
not shown, so that the moment does not depend on the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np

from chanceline._arrays import Floats
from chanceline._cluster import WorkersLostError
from chanceline._parallel import Progress, ended_early, run_ordered
from chanceline.significance.design import NullDesign
from chanceline.significance.members import join_labellings
from chanceline.significance.path import ForwardPaths, follow_paths
from chanceline.significance.path_columns import ForwardColumns
from chanceline.significance.readings import StopCause
from chanceline.significance.shuffled_paths import ShuffledLosses

# Labellings in one batch; with a chunk of columns they stay in the cache of the processor.
BATCH_SIZE = 128


def _never(result: Any) -> bool:
    return False


@dataclass(frozen=True)
class ShuffleRunner:
    """How draws are taken.

    Attributes
    ----------
    n_jobs : number of processes.
    time_limit : seconds after which no further draw is begun; None for no limit.
    progress : called with (draws done, draws at most).
    """

    n_jobs: int | None = 1
    time_limit: float | None = None
    progress: Progress | None = None

    def collect(
        self,
        function: Callable[..., Any],
        items: Sequence[Any],
        common: Sequence[Any],
        is_enough: Callable[[Any], bool] = _never,
    ) -> tuple[list[Any], StopCause | None]:
        """function(item, *common) for the items in order, until something ends it.

        Parameters
        ----------
        function : known by its name in a module, so that processes can call it.
        items : the numbers of the draws, or batches of them.
        common : arguments that all calls share.
        is_enough : whether to end after this result, which counts as done.

        Returns
        -------
        The results up to the end, and what cut them short: Ctrl-C, the time limit, workers that
        died again and again, or None.
        """
        results: list[Any] = []
        begin = monotonic()
        coming_results = run_ordered(function, items, common=common, n_jobs=self.n_jobs)
        try:
            # However the loop is left, `ended_early` then ends the workers.
            with ended_early(coming_results):
                for result in coming_results:
                    results.append(result)
                    if self.progress is not None:
                        self.progress(len(results), len(items))
                    if is_enough(result):
                        return results, None
                    if self._is_late(begin) and len(results) < len(items):
                        return results, StopCause.TIME_LIMIT
        except KeyboardInterrupt:
            return results, StopCause.INTERRUPT
        except WorkersLostError:
            return results, StopCause.LOST_WORKERS
        return results, None

    def _is_late(self, begin: float) -> bool:
        return self.time_limit is not None and monotonic() - begin > self.time_limit


@dataclass(frozen=True)
class ShufflePlan:
    """How many labellings are drawn, from which seed, and how."""

    n_shuffles: int
    seed: int
    runner: ShuffleRunner = ShuffleRunner()


def labelling(design: NullDesign, seed: int, draw_number: int) -> Floats:
    """The observed labels as number 0, and draw 1, 2, … from the null: (samples,)."""
    if draw_number == 0:
        return design.y
    return design.draw(np.random.default_rng([seed, draw_number]))


def shuffle_paths(
    columns: ForwardColumns,
    design: NullDesign,
    plan: ShufflePlan,
    n_steps: int,
    first_batch: ForwardPaths | None = None,
) -> tuple[ShuffledLosses, ForwardPaths]:
    """Follow the paths of the observed labels and of the draws.

    Parameters
    ----------
    columns : of the table.
    design : from which labels are drawn.
    plan : how many, and how.
    n_steps : number of features at the end of the paths.
    first_batch : its paths, if they are there already.

    Returns
    -------
    The losses of all labellings, and the paths of the first batch (row 0 is the observed one).
    """
    # Labellings have numbers, 0 for the observed one; a batch is a range of them.
    n_labellings = 1 + plan.n_shuffles
    batches = []  # the paths of every batch done
    first_missing = 0
    if first_batch is not None:
        batches.append(first_batch)
        first_missing = len(first_batch.losses)
    starts = range(first_missing, n_labellings, BATCH_SIZE)
    missing = [range(start, min(start + BATCH_SIZE, n_labellings)) for start in starts]

    runner = replace(plan.runner, progress=progress_in_draws(plan, missing))
    # What `follow_batch` takes behind the numbers of a batch, in that order.
    common = (columns, design, n_steps, plan.seed)
    later_batches, stopped_by = runner.collect(follow_batch, missing, common)
    batches += later_batches
    if not batches:
        # Stopped within the very first batch: the observed labels alone.
        batches = [follow_paths(columns, design.y[None], n_steps)]
    losses = ShuffledLosses(
        losses=join_labellings([batch.member_losses for batch in batches]),
        first_batch_errors=batches[0].errors,
        requested=plan.n_shuffles,
        stopped_by=stopped_by,
    )
    return losses, batches[0]


def progress_in_draws(plan: ShufflePlan, batches: Sequence[range]) -> Progress | None:
    """Adapt the plan's `progress`, which counts draws, to a runner that counts batches.

    Parameters
    ----------
    plan : how many draws, and whom to tell.
    batches : the numbers of the labellings of every batch, in order.

    Returns
    -------
    A function of (batches done, batches in all); None if there is nobody to tell, or no draw.
    """
    progress = plan.runner.progress
    if progress is None or plan.n_shuffles == 0:
        return None

    def tell_draws(n_batches_done: int, _: int) -> None:
        # Batches are done in order, and the draws have the numbers 1, 2, …: as many are done as the
        # last number of the last batch says.
        last_batch_done = batches[n_batches_done - 1]
        n_draws_done = last_batch_done[-1]
        progress(n_draws_done, plan.n_shuffles)

    return tell_draws


def follow_batch(
    draw_numbers: range, columns: ForwardColumns, design: NullDesign, n_steps: int, seed: int
) -> ForwardPaths:
    """The paths of the labellings of these numbers; 0 is the observed one.

    Errors are counted in the batch of the observed labelling only.
    """
    labels = [labelling(design, seed, number) for number in draw_numbers]
    return follow_paths(columns, np.array(labels), n_steps, with_errors=0 in draw_numbers)
