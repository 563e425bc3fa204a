"""Whether a feature adds to others: who of a set is named, and who beside it.

Of what the other features of a set leave of the labels, a feature explains a share s by least
squares. Among d dimensions that are left to it that is

    F = (d − 1)·s/(1 − s).

The same of the best single feature on shuffled labels says what chance does: these too have the
best of all columns, and no feature that goes with them. Where no labels were shuffled, F is
compared with its distribution for normal residuals, times the number of columns.

The comparison is an approximation: residuals of labels are no labels. It decides no verdict, only
who is named. So that names are surer than the verdict, they have a part of the level only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as f_distribution

from chanceline._arrays import Floats, Ints
from chanceline.significance.arrays import ROUNDING_TOLERANCE
from chanceline.significance.path_columns import ForwardColumns
from chanceline.significance.plan import Plan
from chanceline.significance.span_of_set import span_of_set
from chanceline.significance.stage_results import StageResults

# A feature adds if chance does as well with at most this share of the level. Chosen on tables of
# one and three true features, and checked on others of these designs (docs/tables/names.md).
NAMING_SHARE = 0.2


@dataclass(frozen=True)
class Addition:
    """A feature that adds to those named before it.

    Attributes
    ----------
    feature : its name.
    errors : the fewest errors known of a rule on it and the features before it.
    explained, explained_before : R² of least squares on these, and on those before it alone.
    pvalue : that the best of features without any relation to the labels explains as much of what
        those before it leave (approximate).
    """

    feature: str
    errors: int
    explained: float
    explained_before: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class ChanceOfAdding:
    """What chance adds to a set.

    Attributes
    ----------
    shuffled : F of the best single feature on every shuffled labelling, (shuffles,).
    n_columns : columns among which the best is chosen.
    n_dimensions : those that thresholds and covariates leave to the labels.
    """

    shuffled: Floats
    n_columns: int
    n_dimensions: int

    def pvalue(self, share: float, n_others: int) -> float:
        """The probability that chance explains such a share of what other features leave.

        It is approximate.

        Parameters
        ----------
        share : explained, of what the others leave of the labels.
        n_others : number of these other features.
        """
        n_left = max(2, self.n_dimensions - n_others)
        statistic = float(f_statistic(np.array(share), n_left))
        if len(self.shuffled) == 0:
            pvalue_of_column = float(f_distribution.sf(statistic, 1, n_left - 1))
            return min(1.0, self.n_columns * pvalue_of_column)
        n_as_good = int(np.count_nonzero(self.shuffled >= statistic))
        return (1 + n_as_good) / (1 + len(self.shuffled))


def chance_of_adding(plan: Plan, results: StageResults) -> ChanceOfAdding:
    """The F statistic of the best single feature on every shuffled labelling.

    It says what chance does: a feature that adds to a set is compared with these numbers.
    """
    columns = results.path.columns
    # What thresholds, blocks and covariates leave; F needs two dimensions at least.
    n_dimensions = max(2, plan.design.sizes.n_units - n_terms_of_design(columns))
    path_losses = results.shuffles.losses.losses.path  # (labellings, steps)
    # Row 0 has the observed labels. Column 0 is the first step, whose loss is 1 − R² of the best
    # single feature.
    r_squared = 1 - path_losses[1:, 0]  # (shuffles,)
    return ChanceOfAdding(
        shuffled=f_statistic(r_squared, n_dimensions),
        n_columns=len(columns.feature_of_column),
        n_dimensions=n_dimensions,
    )


def f_statistic(shares: Floats, n_dimensions: int) -> Floats:
    """F of columns that explain these shares of what is left in `n_dimensions` dimensions."""
    # F = (d − 1)·s/(1 − s); a share of 1, which leaves nothing, is infinitely good.
    with np.errstate(divide="ignore"):
        return (n_dimensions - 1) * shares / (1 - shares)


def n_terms_of_design(columns: ForwardColumns) -> int:
    """Dimensions that the threshold (of every block) and covariates take of the labels."""
    if not columns.intercept:
        return 0
    n_thresholds = 1
    if columns.block_of_sample is not None:
        n_thresholds = len(np.unique(columns.block_of_sample))
    if columns.covariate_basis is None:
        return n_thresholds
    return n_thresholds + columns.covariate_basis.shape[1]


def adds_enough(plan: Plan, pvalue: float) -> bool:
    """Whether a feature that adds so much is named."""
    return pvalue <= NAMING_SHARE * plan.settings.level


def pvalues_of_adding(plan: Plan, results: StageResults, support: Ints) -> list[float]:
    """The p-values of what the features of a set add to each other, one for each in their order.

    A feature adds the share that it explains of what the others leave of the labels.

    Parameters
    ----------
    support : columns of X of the set, (features,).
    """
    columns = results.path.columns
    chance = chance_of_adding(plan, results)
    explained_by_all = span_of_set(plan, columns, support).explained
    pvalues = []
    for feature in support.tolist():
        others = support[support != feature]
        explained_by_others = span_of_set(plan, columns, others).explained
        left_unexplained = 1 - explained_by_others
        if left_unexplained <= ROUNDING_TOLERANCE:
            # The others determine the labels, and no feature can add to them.
            share = 0.0
        else:
            share = (explained_by_all - explained_by_others) / left_unexplained
        pvalues.append(chance.pvalue(share, n_others=len(others)))
    return pvalues


def features_that_add(plan: Plan, results: StageResults, support: Ints) -> tuple[Addition, ...]:
    """The features outside a set that add to it, one after the other, the best first.

    The set grows by each of them. It ends when the best of the other features does not add enough,
    or when the set is as large as the path.

    Parameters
    ----------
    support : columns of X of the set, ascending, (features,).
    """
    columns = results.path.columns
    chance = chance_of_adding(plan, results)
    additions: list[Addition] = []
    while len(support) < results.path.n_steps:
        # The feature that explains most of what the set leaves, if it leaves anything.
        span = span_of_set(plan, columns, support)
        next_column = span.next_column(columns)
        if next_column is None:
            break
        pvalue = chance.pvalue(next_column.share, n_others=len(support))
        if not adds_enough(plan, pvalue):
            break

        # Add it to the set.
        support = np.sort(np.append(support, next_column.feature))
        addition = Addition(
            feature=plan.data.feature_names[next_column.feature],
            errors=results.fewest_errors_on(plan, support),
            explained=span_of_set(plan, columns, support).explained,
            explained_before=span.explained,
            pvalue=pvalue,
        )
        additions.append(addition)
    return tuple(additions)
