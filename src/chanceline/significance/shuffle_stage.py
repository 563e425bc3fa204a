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


def follow_first_batch(plan: Plan) -> tuple[ObservedPath, ShuffledLosses]:
    """Fit the first batch of labellings by stepwise least squares: observed labels, some shuffles.

    This is done before it is known whether the p-value needs shuffles. If it does not, the batch
    still shows what shuffled labels would give. If the user's own search function is to be repeated
    on shuffled labels, the batch has the observed labels alone.

    Returns
    -------
    The path of the observed labels, and the losses of all labellings of the batch. (A path is the
    features taken, step by step; its losses are the shares of the labels' squares left by each
    step.)
    """
    columns = columns_for_path(plan)
    n_shuffles = 0
    if not repeats_own_search(plan):
        n_shuffles = min(BATCH_SIZE - 1, plan.settings.permutations or 0)
    losses_of_batch, paths_of_batch = shuffle_paths(
        columns,
        plan.design,
        ShufflePlan(n_shuffles, plan.settings.seed),
        n_steps=path_length(plan, columns),
    )
    # `ObservedPath` keeps the paths of the whole batch, so that they need not be followed again if
    # more shuffles are made. What it says about the observed labels is read from row 0.
    observed_path = ObservedPath(columns, first_batch=paths_of_batch)
    return observed_path, losses_of_batch


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
    """Run the shuffles, and give the p-value that follows from them.

    Either the user's own search function is repeated on shuffled labels, or stepwise least squares
    (the path). Only the path has losses, the shares of the labels' squares left by each step.

    Parameters
    ----------
    plan : the table, and how its labels are shuffled.
    path : the path of the observed labels, with those of the first batch of shuffles.
    first_losses : the losses of the first batch. They go into the result of the user's own search,
        which has none; repeating the path gives losses of all shuffles instead.
    progress : called with (shuffles done, shuffles at most).
    """
    settings = plan.settings
    runner = ShuffleRunner(settings.n_jobs, settings.time_limit, progress)
    if repeats_own_search(plan):
        permutation = repeat_own_search_on_shuffled_labels(plan, runner)
        results = ShuffleResults(losses=first_losses, permutation=permutation)
    else:
        results = repeat_path_on_shuffled_labels(plan, path, runner)

    # If labels were drawn from a model of the covariates, the p-value is valid if the model holds.
    # The number stays the same, but `kind` must state this condition in words.
    covariate_adjustment = plan.design.adjustment
    if covariate_adjustment is None or results.permutation is None:
        return results
    kind = kind_of_pvalue(covariate_adjustment)
    return replace(results, permutation=replace(results.permutation, kind=kind))


def repeat_own_search_on_shuffled_labels(plan: Plan, runner: ShuffleRunner) -> PermutationReading:
    """The p-value of the user's own search function, run on the observed and on shuffled labels.

    Parameters
    ----------
    plan : the table, the search, and how labels are shuffled.
    runner : processes, time limit, and the function to tell of progress.
    """
    settings = plan.settings
    X = plan.data.X
    assert not isinstance(X, ColumnTable)  # for a user's search `make_plan` makes an array
    search = make_search(plan)
    shuffles = SearchShufflePlan(
        n_shuffles=settings.permutations or 0,  # in a plan it is a number, never None
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


def repeat_path_on_shuffled_labels(
    plan: Plan, path: ObservedPath, runner: ShuffleRunner
) -> ShuffleResults:
    """Repeat forward stepwise least squares on all shuffled labels, and compute p-values.

    The features taken step by step are called a path. There is a p-value of the whole test, one of
    all features together (the spread of the evidence), and one of every single feature. There is
    none if the shuffles were stopped before the first one.

    Parameters
    ----------
    plan : the table, and how its labels are shuffled.
    path : the path of the observed labels, with those of the first batch of shuffles.
    runner : processes, time limit, and the function to tell of progress.
    """
    columns = path.columns
    n_shuffles = plan.settings.permutations or 0  # in a plan it is a number, never None

    # Further processes do not pay for little work, nor for columns that already use all processors.
    table_size = len(plan.data.y) * columns.n_columns
    n_multiplications = table_size * path.n_steps * n_shuffles
    is_little_work = n_multiplications <= MIN_MULTIPLICATIONS_FOR_PROCESSES
    if is_little_work or columns.works_in_threads:
        runner = replace(runner, n_jobs=1)

    # How badly features fit the observed labels (row 0) and all shuffled labels: the share 1 − R²
    # left by each step, and losses of all features and of the best features. The first batch was
    # fitted before.
    losses, _ = shuffle_paths(
        columns,
        plan.design,
        ShufflePlan(n_shuffles, plan.settings.seed, runner),
        n_steps=path.n_steps,
        first_batch=path.first_batch,
    )
    n_shuffles_done = losses.done
    if n_shuffles_done == 0:
        return ShuffleResults(losses=losses)

    # The p-value of every feature alone, by the number of its column in X.
    column_numbers_in_X = columns.feature_of_column.tolist()
    pvalues = losses.marginal_pvalues(columns, plan.design.y).tolist()
    pvalue_of_feature = dict(zip(column_numbers_in_X, pvalues, strict=True))
    return ShuffleResults(
        losses=losses,
        permutation=losses.permutation_reading(),  # the p-value of the whole test
        spread=losses.spread(),  # the p-value of all features together
        marginal_pvalues=pvalue_of_feature,
    )
