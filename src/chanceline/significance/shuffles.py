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
from chanceline._parallel import Progress, closed_without_warning, run_ordered
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
        """Call function(item, *common) for all items in parallel, unless something stops it early.

        Results come in the order of the items, so that those of a stopped run are the first ones.

        Parameters
        ----------
        function : a function at the top level of a module, so that other processes can import it.
        items : the numbers of the draws, or batches of such numbers.
        common : arguments that all calls share.
        is_enough : of a result: whether to end after it. The result itself is returned, too.

        Returns
        -------
        The results so far, and what cut them short: Ctrl-C, the time limit, or workers that died
        again and again. The cause is None if all items are done, or if a result was enough.
        """
        results: list[Any] = []
        begin = monotonic()
        results_in_order = run_ordered(function, items, common=common, n_jobs=self.n_jobs)
        try:
            # `closed_without_warning` ends the workers, however the loop is left.
            with closed_without_warning(results_in_order):
                for result in results_in_order:
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
    """Fit the observed and the shuffled labels by stepwise least squares, in parallel batches.

    A labelling is the observed labels or a shuffle. Its path is the features taken, step by step.
    However the shuffles end, the result begins with the observed labelling: in its first batch, or
    alone if nothing else was finished.

    Parameters
    ----------
    columns : the columns of the table.
    design : how labels are shuffled.
    plan : number of shuffles, seed, processes, and the function to tell of progress.
    n_steps : number of features at the end of the stepwise paths.
    first_batch : the paths of the first labellings, observed one first, if they are known already.

    Returns
    -------
    The losses of all labellings, and the paths of the first batch. Row 0 of both is the observed
    labelling.
    """
    # Labellings have numbers, 0 for the observed one. A batch is a range of numbers. If the first
    # batch is known, begin after its last number.
    n_labellings = 1 + plan.n_shuffles
    n_known = 0 if first_batch is None else len(first_batch.losses)
    new_batches = []
    for start in range(n_known, n_labellings, BATCH_SIZE):
        stop = min(start + BATCH_SIZE, n_labellings)
        new_batches.append(range(start, stop))

    # The runner calls `follow_batch(batch, *shared_arguments)`. It may be stopped early, and then
    # returns the paths of fewer batches.
    runner = replace(plan.runner, progress=progress_in_draws(plan, new_batches))
    shared_arguments = (columns, design, n_steps, plan.seed)
    paths_of_batches, stopped_by = runner.collect(follow_batch, new_batches, shared_arguments)
    if first_batch is not None:
        paths_of_batches.insert(0, first_batch)
    if not paths_of_batches:
        # Stopped before any batch was finished: follow the observed labels alone.
        paths_of_batches = [follow_paths(columns, design.y[None], n_steps)]

    paths_of_first_batch = paths_of_batches[0]
    losses = ShuffledLosses(
        losses=join_labellings([paths.member_losses for paths in paths_of_batches]),
        first_batch_errors=paths_of_first_batch.errors,
        requested=plan.n_shuffles,
        stopped_by=stopped_by,
    )
    return losses, paths_of_first_batch


def progress_in_draws(plan: ShufflePlan, batches: Sequence[range]) -> Progress | None:
    """Translate progress in batches, as a runner reports it, into progress in draws for the user.

    Parameters
    ----------
    plan : its number of draws, and (in `plan.runner`) the user's function of (draws done, draws).
    batches : the numbers of the draws of every batch, in order; number 0 is the observed labelling,
        which is no draw.

    Returns
    -------
    A function of (batches done, batches in all) for the runner, which calls the user's function;
    None if the user gave no function, or if nothing is drawn.
    """
    progress = plan.runner.progress
    if progress is None or plan.n_shuffles == 0:
        return None

    def tell_draws(n_batches_done: int, _: int) -> None:
        # Batches are finished in order, and draws are numbered 1, 2, …: so the last number of the
        # last batch is the number of draws done.
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
