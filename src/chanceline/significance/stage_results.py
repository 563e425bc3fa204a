"""What the stages of the test gave, and the front: what every number of features does."""

from __future__ import annotations

from dataclasses import dataclass

from chanceline.significance.observed import ObservedFit
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.observed_rules import fewest_errors_known
from chanceline.significance.plan import Plan
from chanceline.significance.readings import SizeReading
from chanceline.significance.separating import ShownRule
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
    bands = shuffles.losses.bands()
    pvalues: list[float | None] = [None] * path.n_steps
    has_drawn_labellings = shuffles.losses.done > 0
    if shuffles.permutation is not None and has_drawn_labellings:
        pvalues = shuffles.losses.adjusted_pvalues().path.tolist()
    return tuple(
        SizeReading(
            k=step + 1,
            errors=errors[step],
            features=plan.names_of(path.support(step + 1)),
            explained=1.0 - float(path.losses[step]),
            shuffled=bands[step],
            pvalue=pvalues[step],
        )
        for step in range(path.n_steps)
    )
