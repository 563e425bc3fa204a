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

        Samples of a stratum that the training samples did not have are measured from their own mean
        if there are several: with m that mean, and m̄ the mean of the training samples, their
        intercept is that of the average stratum and (m̄ − m)·weights.

        Parameters
        ----------
        columns : (samples, features)
        terms : (samples, terms)
        strata : of every sample; None if they are not known, which makes all of them average.
        training_means : (features,) of the training samples.
        """
        fitted: Floats = columns @ self.weights + terms @ self.term_weights
        if strata is None:
            return fitted + self.intercepts
        for stratum in dict.fromkeys(strata):  # each once
            in_stratum = np.array([own == stratum for own in strata])
            intercepts = self.intercepts
            if stratum in self.stratum_intercepts:
                intercepts = self.stratum_intercepts[stratum]
            elif np.count_nonzero(in_stratum) >= MIN_SAMPLES_OF_NEW_STRATUM:
                shift = training_means - columns[in_stratum].mean(axis=0)
                intercepts = self.intercepts + shift @ self.weights
            fitted[in_stratum] += intercepts
        return fitted


def sums_of_rule(
    score_rule: ScoreRule, training: RuleSamples, strata: Sequence[Stratum]
) -> RuleSums:
    """A rule as plain sums x·w + z·v + intercept over columns x and covariates' terms z.

    The weights w are those of the rule. As it takes the covariates out of columns and targets, with
    slopes m and t, the terms have the weights v = t − m·w. In every block the intercept makes the
    rule fit the block's mean target at the block's mean column and mean terms.

    Parameters
    ----------
    score_rule : made from all training samples.
    training : these samples.
    strata : by the number of the block.
    """
    column_background = score_rule.column_background
    target_background = score_rule.target_background
    weights = score_rule.weights
    term_weights = target_background.slopes - column_background.slopes @ weights  # v
    block_intercepts = target_background.block_means - column_background.block_means @ weights
    block_intercepts = block_intercepts - target_background.term_means @ term_weights

    # The same with the means of all samples, for samples whose block is not known.
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
    """What blocks and covariates alone say of the targets, as plain sums without features.

    They say intercept + z·slopes for the covariates' terms z. An intercept makes that the mean
    target at the mean terms: of a block, or of all training samples for those of unknown block.

    Parameters
    ----------
    target_background : mean targets and mean terms of the blocks, and the slopes.
    training : the samples that it was learnt from.
    strata : by the number of the block.
    """
    slopes = target_background.slopes  # (terms, targets)
    # (blocks, targets)
    block_intercepts = target_background.block_means - target_background.term_means @ slopes

    mean_targets = training.outcome.targets.mean(axis=0)  # (targets,)
    mean_terms = training.terms.mean(axis=0)  # (terms,)
    average_intercept = mean_targets - mean_terms @ slopes
    return RuleSums(
        weights=np.zeros((0, len(mean_targets))),
        term_weights=slopes,
        intercepts=average_intercept,
        stratum_intercepts=dict(zip(strata, block_intercepts, strict=True)),
    )
