"""A linear rule for new samples: the rule itself, and how it is made from a table.

The steps are in other modules: `screening` and `scaling` of columns, the candidates (`small` sets
of features from `paths`, and `dense` rules), which of them to take (`choose`), and all of it on
training samples (`train`). Here the result becomes a rule in the units of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Floats, Ints
from chanceline._parallel import one_thread
from chanceline._results import Result
from chanceline.columns.table import ColumnTable
from chanceline.errors import InputError
from chanceline.perceptron.validation import column_names
from chanceline.prediction.candidates import Family, describe, mean_penalty
from chanceline.prediction.columns import as_table, columns_of, covariates_in
from chanceline.prediction.covariates import CovariateEncoder
from chanceline.prediction.repeats import n_tuning_repeats
from chanceline.prediction.ridge_logistic import sigmoid
from chanceline.prediction.samples import Samples, names_of
from chanceline.prediction.table_pool import pool_samples
from chanceline.prediction.train import TrainedRule, check_feature_choice, train


@dataclass(frozen=True, eq=False, repr=False)
class PredictionRule(Result):
    """Positive where x_S·w + b > 0.

    Attributes
    ----------
    support : sorted indices of the columns of X it uses, (support,)
    weights, bias : in the units of X, (support,). With blocks the bias is that of a block whose
        means are those of all samples.
    penalty : the ridge λ on the weights of scaled columns. Of a dense rule it is in units of the
        mean eigenvalue; of the mean of several dense rules, the geometric mean of their ridges.
    kind : how the features were found, and the ridge chosen; of the mean of several dense rules how
        many there are, with their ridges and numbers of features.
    covariate_weights : one for each of `encoder.terms`: of a number that enters as it is in its own
        units; of a level of a category, the step from the first level to it; of a number that was
        adjusted for, those of z and z² (see `chanceline.prediction.covariates.QuadraticNumber`).
    block_biases : the bias for every block declared, by its name.
    encoder : how covariates become columns of numbers; without any if the rule has none.
    block_column : the column that told the blocks, where it had a name.
    features : names of the columns of `support`, where X had names.
    family : where the features come from; `kind` says it in words.
    """

    support: Ints
    weights: Floats
    bias: float
    penalty: float
    kind: str
    covariate_weights: Floats = field(default_factory=lambda: np.zeros(0))
    block_biases: dict[str, float] = field(default_factory=dict)
    encoder: CovariateEncoder = field(default_factory=CovariateEncoder)
    block_column: str = ""
    features: tuple[str, ...] = ()
    family: Family = Family.NAMED

    _derived = ("threshold", "dense")

    @property
    def threshold(self) -> float:
        """Positive where x_S·w lies above it."""
        return -self.bias

    @property
    def dense(self) -> bool:
        """Whether it has many features, by cross-validation clearly better than a small set."""
        return self.family is Family.DENSE

    def scores(self, X: Any, blocks: ArrayLike | None = None, covariates: Any = None) -> Floats:
        """x_S·w + b for every row, (rows,).

        Parameters
        ----------
        X : the columns that the rule was made from, in their order; or a DataFrame, of which those
            that the rule knows by name are taken: features, covariates, the column of the blocks.
        blocks : the block of every row, which must be one of those the rule was made from. Without
            them the bias is that of the average block.
        covariates : a DataFrame or a mapping with the covariates by name, or an array in the order
            of `encoder.names`, as they were when the rule was made: text as text, numbers in the
            same units.
        """
        table = as_table(X)
        columns = columns_of(table, self.support, self.features)
        return self.scores_of(columns, table, blocks, covariates)

    def scores_of(
        self,
        columns: Floats,
        table: Any,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> Floats:
        """The rule's score of every row, (rows,), from columns that are selected already.

        The score is x_S·w, with the columns x_S of the support and weights w; plus terms of
        covariates, if the rule has any; plus the bias, which may be another one for every block.

        Parameters
        ----------
        columns : x_S, (rows, support)
        table : a DataFrame or an array. If covariates or blocks are not given, they are looked for
            here by name.
        blocks, covariates : as in `scores`
        """
        scores = columns @ self.weights

        # Terms of covariates.
        if self.encoder.covariates:
            if covariates is None:
                covariates = covariates_in(table, self.encoder)
            terms = self.encoder.transform(covariates, len(scores))  # (rows, terms)
            scores = scores + terms @ self.covariate_weights

        # The bias of every row's block; of the average block if blocks are neither given nor in the
        # table.
        if blocks is None:
            blocks = self._blocks_in(table)
        if blocks is None:
            return scores + self.bias
        block_names = names_of(blocks, len(scores), "blocks")
        return scores + self._biases_of(block_names.tolist())

    def probabilities(
        self,
        X: Any,
        blocks: ArrayLike | None = None,
        covariates: Any = None,
    ) -> Floats:
        """Estimated probability of the positive class for every row; parameters as in `scores`."""
        return sigmoid(self.scores(X, blocks, covariates))

    def summary(self) -> str:
        return f"{len(self.support)} features ({self.kind})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; `kind` begins with the family."""
        record = super().to_dict()
        del record["family"]
        return record

    def _blocks_in(self, table: Any) -> Any:
        """The column of the table that tells the blocks; None if there is no such column."""
        names = column_names(table) or ()
        if self.block_column and self.block_column in names:
            return table[self.block_column]
        return None

    def _biases_of(self, block_names: list[str]) -> Floats:
        """The bias of every row's block, (rows,)."""
        unknown = sorted(set(block_names) - set(self.block_biases))
        if unknown:
            culprit = "blocks"
            if self.block_column:
                culprit = f"blocks (column {self.block_column!r})"
            remedy = f"leave the {culprit} of new samples out"
            raise InputError(f"the rule knows no block {unknown[0]!r}; {remedy}.")
        return np.array([self.block_biases[name] for name in block_names])


def fit_rule(  # noqa: PLR0913
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    features: Sequence[int] | None = None,
    max_features: int | None = None,
    seed: int = 0,
) -> PredictionRule:
    """Make a rule for new samples, on few features unless many are clearly better.

    Parameters
    ----------
    X : (samples, features)
    y : two classes, the larger value positive, as in scikit-learn (`separation_test` chooses the
        positive class by its name).
    groups : samples of a group (a patient, say) stay together in a fold.
    blocks : columns are measured from the mean of their block (a site, say).
    covariates : further columns of the rule, whose weights are not shrunk: a DataFrame or a mapping
        by name, or an array (samples, covariates). Units do not matter; text has an indicator for
        every level but the first.
    encoder : how covariates become columns of numbers; by default numbers enter as they are.
    features : columns fixed beforehand, which are all used; by default columns are chosen.
    max_features : largest number of features chosen; None: thirty, or all where many are clearly
        better than a small set.
    seed : seed of the folds.
    """
    rules = fit_rules(
        X,
        y,
        groups=groups,
        blocks=blocks,
        covariates=covariates,
        encoder=encoder,
        features=features,
        max_features=max_features,
        seed=seed,
    )
    return rules.to_use


class FittedRules(NamedTuple):
    """The rule to use, and the one on few features; None where there is no such rule."""

    to_use: PredictionRule
    few: PredictionRule | None


@one_thread()
def fit_rules(  # noqa: PLR0913
    X: ArrayLike | ColumnTable,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    covariates: Any = None,
    encoder: CovariateEncoder | None = None,
    features: Sequence[int] | None = None,
    max_features: int | None = None,
    seed: int = 0,
) -> FittedRules:
    """Make a rule for new samples; if it has many features, make one on few features as well.

    Parameters as in `fit_rule`; X may be a `ColumnTable`, too.
    """
    # Take the samples into memory; of a very wide table only a pool of columns, the most promising
    # ones.
    pooled = pool_samples(
        X,
        y,
        groups=groups,
        blocks=blocks,
        covariates=covariates,
        encoder=encoder,
        features=features,
    )
    samples = pooled.samples

    # Which features the rules may have. The user numbers features as columns of the table, and
    # `samples` as columns of the pool: convert the numbers.
    choice_by_table_columns = check_feature_choice(pooled.n_features, features, max_features)
    choice_by_pool_columns = pooled.choice_in_pool(choice_by_table_columns)

    # Train from all samples, then convert the numbers of the rules' columns back.
    rules_by_pool_columns = train(
        samples,
        training=samples.all_rows,
        features=choice_by_pool_columns,
        seed=[seed],
        n_repeats=n_tuning_repeats(samples.X.size),
    )
    trained = pooled.rules_of_table(rules_by_pool_columns)

    # The rules are on scaled columns: convert their weights into the units of the table.
    rule_to_use = rule_in_original_units(trained.to_use, samples=samples, X=X, blocks=blocks)
    rule_on_few = None
    if trained.few is not None:
        rule_on_few = rule_in_original_units(trained.few, samples=samples, X=X, blocks=blocks)
    return FittedRules(rule_to_use, rule_on_few)


def rule_in_original_units(
    trained: TrainedRule,
    samples: Samples,
    X: ArrayLike | ColumnTable,
    blocks: ArrayLike | None,
) -> PredictionRule:
    """Turn a rule on scaled columns and standardized covariates into one on the table itself.

    For a sample in block B (a site, say) with columns x_j, and terms z_t of covariates, the rule's
    score is

        η = u₀ + Σ_t u_t (z_t − c_t)/d_t + Σ_j v_j (x_j − m_Bj)/s_j
          = b_B + Σ_t (u_t/d_t) z_t + Σ_j (v_j/s_j) x_j,

    where c and d are the means and spreads of the terms, m_B the means of the columns in block B,
    and s the spreads of the columns. The bias b_B collects all that depends on neither z nor x.

    Parameters
    ----------
    trained : the rule on scaled columns, from all samples
    samples : the samples that the rule was trained on
    X, blocks : as the user gave them, with their names
    """
    # A rule lists its columns in ascending order.
    ascending = np.argsort(trained.support)
    support = trained.support[ascending]
    scale = trained.scale.take(ascending)  # of these columns: spreads s, and means m of the blocks

    # The weights on scaled columns: of the constant, of the terms of covariates, of the columns.
    n_nuisance = samples.n_nuisance  # the constant and the terms
    scaled_constant = trained.weights[0]  # u₀
    scaled_term_weights = trained.weights[1:n_nuisance]  # u
    scaled_column_weights = trained.weights[n_nuisance:][ascending]  # v

    # The weights in original units, and the bias of every block.
    weights = scaled_column_weights / scale.spreads  # v/s
    covariate_weights = scaled_term_weights / samples.term_spreads  # u/d
    constant = scaled_constant - samples.term_means @ covariate_weights  # u₀ − Σ_t u_t c_t/d_t
    biases = constant - scale.block_means @ weights  # b_B, (blocks,)

    # For new samples whose block is not told: the mean of the biases over the samples.
    mean_bias = float(biases[samples.block_of_sample].mean())

    # Biases by the names of blocks, if the user gave any. Both are in the order of the names.
    block_biases: dict[str, float] = {}
    block_column = ""
    if blocks is not None:
        block_names = np.unique(names_of(blocks, samples.n_samples, "blocks")).tolist()
        block_biases = dict(zip(block_names, biases.tolist(), strict=True))
        block_column = str(getattr(blocks, "name", None) or "")

    return PredictionRule(
        support=support,
        weights=weights,
        bias=mean_bias,
        penalty=mean_penalty(trained.candidates),
        kind=f"{describe(trained.candidates)}, {describe_tuning(samples)}",
        covariate_weights=covariate_weights,
        block_biases=block_biases,
        encoder=samples.encoder,
        block_column=block_column,
        features=_names_of_columns(X, support),
        family=trained.candidates[0].family,
    )


def _names_of_columns(table: ArrayLike | ColumnTable, support: Ints) -> tuple[str, ...]:
    """The names of these columns, (support,), in the table; none if it has no names."""
    names_in_table = column_names(table)
    if names_in_table is None:
        return ()
    return tuple(names_in_table[column] for column in support)


def describe_tuning(samples: Samples) -> str:
    """Whether there was anything to hold out."""
    n_units = len(np.unique(samples.unit_of_sample))
    if n_units == 1:
        return "not tuned, as all samples belong together"
    return "tuned by cross-validation"
