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
        """The fewest errors that any rule on the given columns is known to make.

        Two kinds of rules count: those that searches found on these columns or on some of them, and
        a fit by least squares on all of them. The fit is skipped if it is not needed: a search had
        exactly these columns, and there are no blocks and no covariates, which only least squares
        uses.

        Parameters
        ----------
        plan : the table, and whether it has blocks and covariates.
        support : the numbers of the columns of X, ascending.
        """
        rules = self.observed.rules
        errors_of_rules = fewest_errors_on(support.tolist(), rules)  # None without such a rule
        supports_of_rules = [np.sort(rule.support) for rule in rules]
        has_rule_on_all = any(np.array_equal(columns, support) for columns in supports_of_rules)
        has_blocks = plan.design.sizes.blocks is not None
        has_covariates = plan.design.covariate_basis is not None
        rules_suffice = has_rule_on_all and not has_blocks and not has_covariates
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
    """What K = 1, 2, … features do: the fewest errors known, and R² of stepwise least squares.

    Each size also has the range of R² on shuffled labels, and a p-value. P-values are None unless
    the test needed shuffles: the first batch, which is always shuffled, is too small for them.

    Parameters
    ----------
    plan : the table.
    observed : the rules found for the observed labels.
    path : stepwise least squares on the observed labels.
    shuffles : the same on shuffled labels.
    """
    errors = fewest_errors_known(plan, path, observed.rules)  # of each size, 1 first
    bands = shuffles.losses.bands()  # the range of R² on shuffled labels, of each size
    pvalues: list[float | None] = [None] * path.n_steps
    has_shuffled_paths = shuffles.losses.done > 0
    # `permutation` is None if the test did not need shuffles. It can also be that of a user's own
    # search, without shuffled paths.
    if shuffles.permutation is not None and has_shuffled_paths:
        pvalues = shuffles.losses.adjusted_pvalues().path.tolist()
    readings = []
    for step in range(path.n_steps):
        size = step + 1
        support = path.support(size)
        reading = SizeReading(
            k=size,
            errors=errors[step],
            features=plan.names_of(support),
            explained=1.0 - float(path.losses[step]),
            shuffled=bands[step],
            pvalue=pvalues[step],
        )
        readings.append(reading)
    return tuple(readings)
