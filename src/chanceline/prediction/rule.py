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
        """x_S·w + b for every row, (rows,), where the columns x_S are picked already.

        Parameters
        ----------
        columns : x_S, the columns of the support, (rows, support)
        table : a DataFrame or an array. Covariates and blocks that are not given are looked for
            here by name.
        blocks, covariates : as in `scores`
        """
        scores = columns @ self.weights
        if self.encoder.covariates:
            if covariates is None:
                covariates = covariates_in(table, self.encoder)
            terms = self.encoder.transform(covariates, len(scores))
            scores = scores + terms @ self.covariate_weights
        if blocks is None:
            blocks = self._blocks_in(table)
        if blocks is None:
            # Neither given nor in the table: the bias is that of the average block.
            return scores + self.bias
        names = names_of(blocks, len(scores), "blocks")
        return scores + self._biases_of(names.tolist())

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
    groups : samples of a group stay together in a fold.
    blocks : columns are measured from the mean of their block.
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
    # Of a very wide table only a pool of columns is in memory.
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
    choice = check_feature_choice(pooled.n_features, features, max_features)
    n_repeats = n_tuning_repeats(samples.X.size)

    # Train on the pool; then columns are numbered as in the table again.
    trained_in_pool = train(
        samples, samples.all_rows, pooled.choice_in_pool(choice), [seed], n_repeats
    )
    trained = pooled.rules_of_table(trained_in_pool)
    to_use = rule_in_original_units(trained.to_use, samples, X, blocks)
    few = None
    if trained.few is not None:
        few = rule_in_original_units(trained.few, samples, X, blocks)
    return FittedRules(to_use, few)


def rule_in_original_units(
    trained: TrainedRule,
    samples: Samples,
    X: ArrayLike | ColumnTable,
    blocks: ArrayLike | None,
) -> PredictionRule:
    """The rule on X itself, from one on scaled columns and standardized covariates.

    With the scaled columns (x − m_B)/s of a sample in block B, and standardized terms (z − c)/d,

        η = u₀ + Σ u_t (z_t − c_t)/d_t + Σ v_j (x_j − m_Bj)/s_j
          = b_B + Σ (u_t/d_t) z_t + Σ (v_j/s_j) x_j.

    Parameters
    ----------
    trained : the rule on scaled columns, from all samples
    samples : the samples it was trained on
    X, blocks : as the user gave them, with their names
    """
    # A rule lists its columns in ascending order.
    ascending = np.argsort(trained.support)
    support = trained.support[ascending]
    scale = trained.scale.take(ascending)

    # u₀, u and v of the formula above: the constant, the terms of covariates, the columns.
    n_nuisance = samples.n_nuisance
    scaled_constant = trained.weights[0]
    scaled_term_weights = trained.weights[1:n_nuisance]
    scaled_column_weights = trained.weights[n_nuisance:][ascending]

    # The weights v/s and u/d in original units, and the bias b_B of every block, (blocks,).
    weights = scaled_column_weights / scale.spreads
    covariate_weights = scaled_term_weights / samples.term_spreads
    constant = scaled_constant - samples.term_means @ covariate_weights
    biases = constant - scale.block_means @ weights

    # Names of blocks, where the user gave any.
    block_biases: dict[str, float] = {}
    block_column = ""
    if blocks is not None:
        block_names = np.unique(names_of(blocks, samples.n_samples, "blocks")).tolist()
        block_biases = dict(zip(block_names, biases.tolist(), strict=True))
        block_column = str(getattr(blocks, "name", None) or "")

    return PredictionRule(
        support=support,
        weights=weights,
        bias=float(biases[samples.block_of_sample].mean()),
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
