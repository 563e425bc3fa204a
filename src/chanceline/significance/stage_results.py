"""What the stages of the test gave, and the front: what every number of features does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chanceline._arrays import Ints
from chanceline.significance.observed import ObservedFit
from chanceline.significance.observed_path import ObservedPath
from chanceline.significance.observed_rules import fewest_errors_known, fewest_errors_on
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

    def fewest_errors_on(self, plan: Plan, support: Ints) -> int:
        """The fewest errors known of a rule on some columns of X.

        Every rule found counts that uses these columns or some of them. A fit by least squares on
        exactly these columns counts too, unless it cannot be better: a rule was found on them, and
        there are no blocks and no covariates, which least squares uses and rules do not.

        Parameters
        ----------
        support : the columns, ascending.
        """
        rules = self.observed.rules
        errors_of_rules = fewest_errors_on(support.tolist(), rules)  # None without such a rule
        has_own_rule = any(np.array_equal(np.sort(rule.support), support) for rule in rules)
        has_blocks = plan.design.sizes.blocks is not None
        has_covariates = plan.design.covariate_basis is not None
        rules_suffice = has_own_rule and not has_blocks and not has_covariates
        if errors_of_rules is not None and rules_suffice:
            return errors_of_rules

        errors_of_least_squares = self.path.least_squares_errors(plan, support)
        if errors_of_rules is None:
            return errors_of_least_squares
        return min(errors_of_least_squares, errors_of_rules)


def with_errors_known(
    front: tuple[SizeReading, ...], errors_of_size: Sequence[tuple[int, int]]
) -> tuple[SizeReading, ...]:
    """The front with errors of further rules, which count at their own and all larger sizes.

    Parameters
    ----------
    errors_of_size : number of features and errors of every further rule.
    """
    updated = []
    for reading in front:
        errors_known = [errors for size, errors in errors_of_size if size <= reading.k]
        updated.append(replace(reading, errors=min([reading.errors, *errors_known])))
    return tuple(updated)


def size_readings(
    plan: Plan,
    observed: ObservedFit,
    path: ObservedPath,
    shuffles: ShuffleResults,
) -> tuple[SizeReading, ...]:
    """For K = 1, 2, … features: the fewest errors known, and R² of least squares.

    R² on shuffled labels stands beside it. There are p-values only if labels were shuffled for the
    p-value of the test: the shuffles of the first batch alone are too few.
    """
    errors = fewest_errors_known(plan, path, observed.rules)
    bands = shuffles.losses.bands()  # R² on shuffled labels at every size
    pvalues: list[float | None] = [None] * path.n_steps
    has_shuffled_paths = shuffles.losses.done > 0
    if shuffles.permutation is not None and has_shuffled_paths:
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
