"""What the stages of the test gave, and the front: what every number of features does."""

from __future__ import annotations

from dataclasses import dataclass

from chanceline.significance.observed import ObservedFit
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.observed_rules import fewest_errors_known
from chanceline.significance.plan import Plan
from chanceline.significance.readings import SizeReading
from chanceline.significance.separating import ShownRule, rule_to_show
from chanceline.significance.shuffle_stage import ShuffleResults


@dataclass(frozen=True, eq=False, kw_only=True)
class StageResults:
    """What the stages of the test gave.

    Attributes
    ----------
    path : of the observed labels.
    observed : what the observed labels allow, with both stages of proofs.
    shuffles : the third stage.
    front : what every number of features does, beside the shuffles.
    shown : the rule that is shown beside the p-value, for words and figures only.
    """

    path: ObservedPath
    observed: ObservedFit
    shuffles: ShuffleResults
    front: tuple[SizeReading, ...]
    shown: ShownRule


def results_of_stages(
    plan: Plan,
    path: ObservedPath,
    observed: ObservedFit,
    shuffles: ShuffleResults,
) -> StageResults:
    """What the stages gave, with the front and the rule to show."""
    return StageResults(
        path=path,
        observed=observed,
        shuffles=shuffles,
        front=size_readings(plan, observed, path, shuffles),
        shown=rule_to_show(plan, observed),
    )


def size_readings(
    plan: Plan,
    observed: ObservedFit,
    path: ObservedPath,
    shuffles: ShuffleResults,
) -> tuple[SizeReading, ...]:
    """For K = 1, 2, … the fewest errors known, and what least squares explains.

    The same on shuffled labels stands beside it. p-values are there only if labels were shuffled
    for one: those of the first batch are too few.
    """
    errors = fewest_errors_known(plan, path, observed.rules)
    bands = shuffles.draws.bands()
    pvalues: list[float | None] = [None] * len(bands)
    if shuffles.permutation is not None and shuffles.draws.done:
        pvalues = shuffles.draws.adjusted_pvalues().tolist()
    readings = []
    for step, loss in enumerate(path.losses.tolist()):
        n_selected = step + 1
        reading = SizeReading(
            k=n_selected,
            errors=errors[step],
            features=plan.names_of(path.support(n_selected)),
            explained=1.0 - loss,
            shuffled=bands[step],
            pvalue=pvalues[step],
        )
        readings.append(reading)
    return tuple(readings)
