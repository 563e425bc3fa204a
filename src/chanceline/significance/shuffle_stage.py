"""The third stage: the same procedure on shuffled labels, where the proofs do not convince.

By default the procedure is the path of `path`, whose losses at every number of features make
one p-value. With a search of the user's own that search is run again on every labelling. How
p-values follow from the draws: `readings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chanceline._parallel import Progress
from chanceline.columns.table import ColumnTable
from chanceline.significance.adjustment_words import kind_of_pvalue
from chanceline.significance.observed import ObservedFit
from chanceline.significance.observed_path import ObservedPath, columns_for_path, path_length
from chanceline.significance.observed_rules import make_search
from chanceline.significance.own_search import SearchShufflePlan, shuffle_search
from chanceline.significance.plan import Plan
from chanceline.significance.readings import PermutationReading, SpreadReading, StopCause
from chanceline.significance.shuffled_paths import ShuffledLosses
from chanceline.significance.shuffles import (
    BATCH_SIZE,
    ShufflePlan,
    ShuffleRunner,
    shuffle_paths,
)

# With fewer multiplications than this, starting processes takes longer than the shuffles.
MIN_MULTIPLICATIONS_FOR_PROCESSES = 1e11


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffleResults:
    """What the shuffles say.

    Attributes
    ----------
    losses : those of the paths of the observed and of shuffled labels; of the first batch where no
        more were needed.
    permutation : the p-value; None where no labels were shuffled for one.
    spread : all features together; None without shuffles of the path.
    marginal_pvalues : column of X → adjusted p-value of that feature alone; empty without shuffles
        of the path.
    """

    losses: ShuffledLosses
    permutation: PermutationReading | None = None
    spread: SpreadReading | None = None
    marginal_pvalues: dict[int, float] = field(default_factory=dict)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the shuffles."""
        return StopCause.INTERRUPT in self._stop_causes

    @property
    def lost_workers(self) -> bool:
        """Whether the shuffles ended because workers died again and again."""
        return StopCause.LOST_WORKERS in self._stop_causes

    @property
    def _stop_causes(self) -> tuple[StopCause | None, ...]:
        """What ended the path's draws and those for the p-value; None where nothing did."""
        if self.permutation is None:
            return (self.losses.stopped_by,)
        return self.losses.stopped_by, self.permutation.stopped_by


def repeats_own_search(plan: Plan) -> bool:
    """Whether a search of the user's own is run again on every shuffle, instead of the path."""
    return plan.settings.search is not None and not plan.settings.preregistered


def first_batch(plan: Plan) -> tuple[ObservedPath, ShuffledLosses]:
    """The path of the observed labels, and the losses of the first batch of labellings.

    The first batch, the observed labels and some shuffles, is always followed, before it is known
    whether more shuffles are needed. Where they are not, it still shows what chance does. If a
    search of the user's own is repeated, the batch has the observed labels alone.
    """
    columns = columns_for_path(plan)
    n_shuffles = 0
    if not repeats_own_search(plan):
        n_shuffles = min(BATCH_SIZE - 1, plan.settings.permutations or 0)
    first_losses, first_paths = shuffle_paths(
        columns,
        plan.design,
        ShufflePlan(n_shuffles, plan.settings.seed),
        n_steps=path_length(plan, columns),
    )
    # `ObservedPath` reads row 0 of the batch, the observed labels.
    return ObservedPath(columns, first_paths), first_losses


def shuffles_are_needed(plan: Plan, observed: ObservedFit) -> bool:
    """Whether labels are shuffled: they may be, and no proof convinced or it is always asked."""
    if not plan.settings.permutations:
        return False
    if plan.settings.always_permute:
        return True
    return not plan.spending.proofs_convince(observed.stage1, observed.stage2)


def shuffle_labels(
    plan: Plan,
    path: ObservedPath,
    first_losses: ShuffledLosses,
    progress: Progress | None,
) -> ShuffleResults:
    """The p-value of the shuffles: the path, or the user's own search, on shuffled labels.

    Parameters
    ----------
    path : the observed path with its first batch, after which the shuffles go on.
    first_losses : the losses of that batch; the user's own search adds none to them.
    progress : called with (shuffles done, shuffles at most).
    """
    settings = plan.settings
    runner = ShuffleRunner(settings.n_jobs, settings.time_limit, progress)
    if repeats_own_search(plan):
        permutation = shuffle_for_own_search(plan, runner)
        results = ShuffleResults(losses=first_losses, permutation=permutation)
    else:
        results = shuffle_for_path(plan, path, runner)

    adjustment = plan.design.adjustment
    if adjustment is None or results.permutation is None:
        return results
    # Labels were drawn from a model of the covariates: the p-value is valid if that is right.
    kind = kind_of_pvalue(adjustment)
    permutation_given_model = replace(results.permutation, kind=kind)
    return replace(results, permutation=permutation_given_model)


def shuffle_for_own_search(plan: Plan, runner: ShuffleRunner) -> PermutationReading:
    """The user's search on the observed labels and on every shuffle."""
    settings = plan.settings
    X = plan.data.X
    assert not isinstance(X, ColumnTable)  # `make_plan` refuses it beside a search of one's own
    search = make_search(plan)
    shuffles = SearchShufflePlan(
        n_shuffles=settings.permutations or 0,  # None does not occur in a plan
        seed=settings.seed,
        runner=runner,
        stop_after=settings.stop_after,
        max_errors=search.errors,
    )
    return shuffle_search(
        search,
        X,
        design=plan.design,
        observed=search(X, plan.data.y),
        shuffles=shuffles,
    )


def shuffle_for_path(plan: Plan, path: ObservedPath, runner: ShuffleRunner) -> ShuffleResults:
    """The path on all shuffles; the first batch is there already."""
    columns = path.columns
    n_shuffles = plan.settings.permutations or 0  # None does not occur in a plan

    # A small table, or columns that have threads of their own, stay in this process.
    table_size = len(plan.data.y) * columns.n_columns
    is_small = table_size * path.n_steps * n_shuffles <= MIN_MULTIPLICATIONS_FOR_PROCESSES
    if is_small or columns.works_in_threads:
        runner = replace(runner, n_jobs=1)

    losses, _first_batch_again = shuffle_paths(
        columns,
        plan.design,
        ShufflePlan(n_shuffles, plan.settings.seed, runner),
        n_steps=path.n_steps,
        first_batch=path.first_batch,
    )
    if losses.done == 0:
        # Stopped before the first shuffle: there is no p-value.
        return ShuffleResults(losses=losses)

    # p-values of the whole table, and of every feature alone.
    features = columns.feature_of_column.tolist()
    pvalues = losses.marginal_pvalues(columns, plan.design.y).tolist()
    return ShuffleResults(
        losses=losses,
        permutation=losses.permutation_reading(),
        spread=losses.spread(),
        marginal_pvalues=dict(zip(features, pvalues, strict=True)),
    )
