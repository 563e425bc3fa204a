"""A rule as plain sums over features and covariates, which is what new samples need.

With the column means m and target means t of the training samples in each block, the slopes of
columns and targets on the covariates' terms z, and the weights w, a rule fits

    t_block + (z − z_block)·slopes_t + (x − m_block − (z − z_block)·slopes_m)·w
        = x·w + z·v + intercept_block,   v = slopes_t − slopes_m·w.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Floats
from chanceline.significance.outcomes.rule_roles import Stratum
from chanceline.significance.outcomes.rule_samples import Background, RuleSamples
from chanceline.significance.outcomes.score_rule import ScoreRule

# One new sample of a stratum says nothing about where the stratum's other samples lie.
MIN_SAMPLES_OF_NEW_STRATUM = 2


@dataclass(frozen=True, eq=False)
class RuleSums:
    """Fitted targets = x·weights + z·term_weights + an intercept.

    Attributes
    ----------
    weights : (features, targets)
    term_weights : (terms, targets) of the covariates that are no blocks.
    intercepts : (targets,) of the average stratum, whose means are those of all training samples.
    stratum_intercepts : (targets,) for every stratum of the training samples.
    """

    weights: Floats
    term_weights: Floats
    intercepts: Floats
    stratum_intercepts: Mapping[Stratum, Floats]

    def fits(
        self,
        columns: Floats,
        terms: Floats,
        strata: Sequence[Stratum] | None,
        training_means: Floats,
    ) -> Floats:
        """The fitted targets of new samples: (samples, targets).

        A stratum (the samples of one block) that the training samples had has its own intercept.
        A new stratum of several samples is shifted so that its mean features m count as if they
        were the training mean m̄: its intercept is that of the average stratum plus
        (m̄ − m)·weights. A new stratum of one sample has the intercept of the average stratum.

        Parameters
        ----------
        columns : (samples, features) the features of the rule.
        terms : (samples, terms) covariates as numbers.
        strata : the stratum of every sample; None if unknown: then all have the average intercept.
        training_means : (features,) m̄, the means of the training samples.
        """
        fitted_targets: Floats = columns @ self.weights + terms @ self.term_weights
        # Add the intercepts, (targets,) each: `self.intercepts` are those of the average stratum.
        if strata is None:
            return fitted_targets + self.intercepts
        distinct_strata = dict.fromkeys(strata)
        for stratum in distinct_strata:
            in_stratum = np.array([stratum_of_sample == stratum for stratum_of_sample in strata])
            if stratum in self.stratum_intercepts:
                intercepts = self.stratum_intercepts[stratum]
            elif np.count_nonzero(in_stratum) >= MIN_SAMPLES_OF_NEW_STRATUM:
                shift = training_means - columns[in_stratum].mean(axis=0)
                intercepts = self.intercepts + shift @ self.weights
            else:
                intercepts = self.intercepts
            fitted_targets[in_stratum] += intercepts
        return fitted_targets


def sums_of_rule(
    score_rule: ScoreRule, training: RuleSamples, strata: Sequence[Stratum]
) -> RuleSums:
    """Rewrite a rule as plain sums x·w + z·v + intercept of features x and covariates z.

    Covariates enter as columns of numbers, which are called terms. The rule itself works with
    features and targets adjusted for blocks and covariates. With the means of a block, x̄, z̄ and t̄,
    the slopes m of the features and s of the targets on the covariates, and the weights w of the
    features, it predicts

        t̄ + (z − z̄)·s + (x − x̄ − (z − z̄)·m)·w.

    Collecting the factors of x and z gives v = s − m·w, and the intercept t̄ − x̄·w − z̄·v of the
    block.

    Parameters
    ----------
    score_rule : the rule, made from all training samples. Its two backgrounds hold the means of the
        blocks and the slopes, of columns and of targets.
    training : the training samples.
    strata : the name of every block, in the order of the blocks' numbers.
    """
    column_background = score_rule.column_background
    target_background = score_rule.target_background
    weights = score_rule.weights  # w, (columns, targets)
    term_weights = target_background.slopes - column_background.slopes @ weights  # v
    # The intercepts of the blocks, (blocks, targets): first t̄ − x̄·w, then t̄ − x̄·w − z̄·v.
    intercepts_at_zero_terms = (
        target_background.block_means - column_background.block_means @ weights
    )
    block_intercepts = intercepts_at_zero_terms - target_background.term_means @ term_weights

    # Samples of unknown block have the intercept that the means of all training samples give.
    mean_columns = training.X[:, score_rule.support].mean(axis=0)
    mean_targets = training.outcome.targets.mean(axis=0)
    mean_terms = training.terms.mean(axis=0)
    average_intercept = mean_targets - mean_columns @ weights - mean_terms @ term_weights
    return RuleSums(
        weights=weights,
        term_weights=term_weights,
        intercepts=average_intercept,
        stratum_intercepts=dict(zip(strata, block_intercepts, strict=True)),
    )


def sums_of_guesses(
    target_background: Background, training: RuleSamples, strata: Sequence[Stratum]
) -> RuleSums:
    """Write predictions from blocks and covariates alone, without features, as linear functions.

    Such a prediction (a guess) is the sum intercept + z·slopes of the covariates z. Each block has
    an intercept of its own, for which the sum at the block's mean covariates is the block's mean
    target. Samples of unknown block have an intercept by the means of all training samples.

    Parameters
    ----------
    target_background : the fit of the targets by blocks and covariates: mean targets and mean
        covariates of the blocks, and the slopes of the targets on the covariates.
    training : the training samples, from which this fit was learnt.
    strata : the name of every block, in the order of the blocks' numbers. (A stratum is a declared
        block, divided further by categorical covariates.)
    """
    slopes = target_background.slopes  # (terms, targets)
    # (blocks, targets)
    block_intercepts = target_background.block_means - target_background.term_means @ slopes

    # Samples of unknown block.
    mean_targets = training.outcome.targets.mean(axis=0)  # (targets,)
    mean_terms = training.terms.mean(axis=0)  # (terms,)
    average_intercept = mean_targets - mean_terms @ slopes
    no_weights = np.zeros((0, len(mean_targets)))  # (features, targets): there are no features
    return RuleSums(
        weights=no_weights,
        term_weights=slopes,
        intercepts=average_intercept,
        stratum_intercepts=dict(zip(strata, block_intercepts, strict=True)),
    )
