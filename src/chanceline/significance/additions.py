"""Whether a feature adds to the other features of a set, and so is named in the result.

The other features of the set leave residuals of the labels. By least squares, a feature explains a
share s of these residuals. With d dimensions left for the residuals, the statistic is

    F = (d − 1)·s/(1 − s).

It is compared with F of the best single feature on shuffled labels. That feature too is the best
of all columns, but no column has a relation to shuffled labels, so its F is due to chance. If no
labels were shuffled, F is compared with its distribution for normal residuals, and the p-value is
multiplied by the number of columns.

The comparison is approximate, because residuals of labels are not labels. It does not decide the
verdict, only which features are named. The names are tested at a small share of the level, so that
they are surer than the verdict.
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

# A feature adds enough to be named if its p-value is at most this share of the level. Chosen on
# tables with one and with three true features, and checked on further tables of the same designs
# (docs/tables/names.md).
NAMING_SHARE = 0.2


@dataclass(frozen=True)
class Addition:
    """A feature that adds to those named before it.

    Attributes
    ----------
    feature : its name.
    errors : the fewest errors of any known rule on this feature and those before it.
    explained, explained_before : R² of least squares with this feature, and without it.
    pvalue : the probability that the best of all features, if none had any relation to the labels,
        would explain as large a share of the residuals (approximate).
    """

    feature: str
    errors: int
    explained: float
    explained_before: float
    pvalue: float


@dataclass(frozen=True, eq=False)
class AdditionNull:
    """The null distribution of the F statistic of a feature that is added to a set.

    Attributes
    ----------
    shuffled : F of the best single feature on every shuffled labelling, (shuffles,); empty if no
        labels were shuffled.
    n_columns : number of columns among which the best is chosen.
    n_dimensions : dimensions of the labels that remain after thresholds and covariates are fitted.
    """

    shuffled: Floats
    n_columns: int
    n_dimensions: int

    def pvalue(self, share: float, n_others: int) -> float:
        """The approximate p-value of a feature that is added to others.

        Parameters
        ----------
        share : of the residuals that the other features leave of the labels, the share that this
            feature explains.
        n_others : number of the other features.
        """
        # Each of the other features takes one dimension; F needs at least two.
        n_dimensions_left = max(2, self.n_dimensions - n_others)
        statistic = float(f_statistic(np.array(share), n_dimensions_left))
        if len(self.shuffled) == 0:
            # Nothing was shuffled: Bonferroni over all columns with the F distribution.
            pvalue_of_column = float(f_distribution.sf(statistic, 1, n_dimensions_left - 1))
            return min(1.0, self.n_columns * pvalue_of_column)
        n_as_good = int(np.count_nonzero(self.shuffled >= statistic))
        return (1 + n_as_good) / (1 + len(self.shuffled))


def addition_null(plan: Plan, results: StageResults) -> AdditionNull:
    """The null distribution of the F statistic of a feature that is added to a set.

    It consists of the F of the best single feature on every shuffled labelling. With R² of this
    feature and d dimensions of the labels,

        F = (d − 1)·R²/(1 − R²).

    `AdditionNull.pvalue` compares the F of an added feature with this distribution.

    Parameters
    ----------
    plan : of the test; its design says how many independent units (samples or groups) there are.
    results : of the test's stages. They hold the losses 1 − R² of forward stepwise least squares
        (the path) on shuffled labels.
    """
    columns = results.path.columns  # of the table, prepared for the forward path
    # d: each threshold (one per block) and each covariate term takes one dimension from the labels.
    n_dimensions_left = plan.design.sizes.n_units - n_terms_of_design(columns)
    n_dimensions = max(2, n_dimensions_left)  # with fewer than two, F would be 0 or negative

    # The first step of a path takes the best single feature.
    shuffled_losses = results.shuffles.losses  # of the path, and of other statistics
    path_losses = shuffled_losses.losses.path  # (labellings, steps)
    losses_of_first_step = path_losses[:, 0]
    losses_of_best_feature = losses_of_first_step[1:]  # (shuffles,): row 0 has the observed labels
    r_squared = 1 - losses_of_best_feature
    return AdditionNull(
        shuffled=f_statistic(r_squared, n_dimensions),
        n_columns=len(columns.feature_of_column),
        n_dimensions=n_dimensions,
    )


def f_statistic(shares: Floats, n_dimensions: int) -> Floats:
    """F = (d − 1)·s/(1 − s) of columns that explain the shares s of residuals in d dimensions."""
    # A share of 1 leaves no residuals: its F is infinite.
    with np.errstate(divide="ignore"):
        return (n_dimensions - 1) * shares / (1 - shares)


def n_terms_of_design(columns: ForwardColumns) -> int:
    """The number of parameters fitted before any feature: thresholds and covariate terms.

    There is one threshold for each block, or a single one without blocks. Without thresholds (rules
    through the origin) there are no blocks or covariates either.
    """
    if not columns.intercept:
        return 0
    n_thresholds = 1
    if columns.block_of_sample is not None:
        n_thresholds = len(np.unique(columns.block_of_sample))
    if columns.covariate_basis is None:
        return n_thresholds
    return n_thresholds + columns.covariate_basis.shape[1]


def adds_enough(plan: Plan, pvalue: float) -> bool:
    """Whether a feature with this p-value of adding to the others is named."""
    return pvalue <= NAMING_SHARE * plan.settings.level


def pvalues_of_adding(plan: Plan, results: StageResults, support: Ints) -> list[float]:
    """For each feature of a set, the p-value of what it adds to the other features of the set.

    Least squares on the other features leaves residuals of the labels. What the feature adds is the
    share of these residuals' squares that it explains,

        (R² of all features − R² of the other features)/(1 − R² of the other features).

    This share is compared with that of the best single feature on shuffled labels.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    support : (features,) columns of X that form the set.

    Returns
    -------
    One p-value for each feature, in the order of `support`.
    """
    columns = results.path.columns  # of the table, prepared for the forward path
    null = addition_null(plan, results)  # how well the best feature does on shuffled labels
    explained_by_all = span_of_set(plan, columns, support).explained  # R²
    pvalues = []
    for feature in support.tolist():
        other_features = support[support != feature]
        explained_by_others = span_of_set(plan, columns, other_features).explained  # R²
        unexplained_by_others = 1 - explained_by_others
        if unexplained_by_others <= ROUNDING_TOLERANCE:
            # The other features explain the labels fully, so that nothing is left to add.
            added_share = 0.0
        else:
            added_share = (explained_by_all - explained_by_others) / unexplained_by_others
        pvalue = null.pvalue(added_share, n_others=len(other_features))
        pvalues.append(pvalue)
    return pvalues


def features_that_add(plan: Plan, results: StageResults, support: Ints) -> tuple[Addition, ...]:
    """Extend a set greedily by the features that add enough to it, the best first.

    In each round the feature that explains most of the residuals of the labels joins the set. The
    rounds end when that feature does not add enough to be named, or when the set has as many
    features as the forward stepwise path has steps.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    support : (features,) columns of X that form the set at the start, ascending. The caller's array
        is not changed.

    Returns
    -------
    The added features, in the order in which they joined.
    """
    columns = results.path.columns  # of the table, prepared for the forward path
    null = addition_null(plan, results)
    additions: list[Addition] = []
    while len(support) < results.path.n_steps:
        # The feature that explains most of the residuals that the set leaves.
        span = span_of_set(plan, columns, support)
        next_column = span.next_column(columns)
        if next_column is None:  # no residual is left, or every column lies in the span of the set
            break
        pvalue = null.pvalue(next_column.share, n_others=len(support))
        if not adds_enough(plan, pvalue):
            break

        # This feature joins the set.
        extended_support = np.append(support, next_column.feature)
        support = np.sort(extended_support)
        addition = Addition(
            feature=plan.data.feature_names[next_column.feature],
            errors=results.fewest_errors_on(plan, support),
            explained=span_of_set(plan, columns, support).explained,
            explained_before=span.explained,
            pvalue=pvalue,
        )
        additions.append(addition)
    return tuple(additions)
