"""p-values of many hypotheses from the same labellings, adjusted for their number by the largest
score.

Let s[b, k] be the score of labelling b (0 observed, 1 … B drawn from the null) in hypothesis k,
large where the evidence is. Hypotheses are taken from the smallest observed score to the largest;
of each

    m[b] = the largest score of labelling b in this hypothesis and those taken before,
    p = #{b : m[b] ≥ s[0, k]}/(1 + B),

and no hypothesis has a smaller p-value than one with a larger score (Westfall and Young 1993,
step-down). Correlation between the hypotheses is in the labellings, so that nothing is lost to it.

Let labels be exchangeable with regard to all columns of the true null hypotheses together. The
largest score over these is then as likely to be that of any labelling, and the probability that any
of them has p ≤ α is at most α, whatever holds for the others.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats
from chanceline.significance.arrays import ROUNDING_TOLERANCE

OBSERVED_LABELLING = 0  # its position among the labellings


def step_down_pvalues(scores: Floats) -> Floats:
    """p-values of many hypotheses, adjusted for their number (Westfall and Young, step-down).

    To adjust a hypothesis, every labelling (the observed one, or a shuffle) is given its largest
    score in this hypothesis and in all hypotheses with smaller observed scores. The p-value is the
    share of labellings in which this reaches the observed score of the hypothesis.

    Parameters
    ----------
    scores : (hypotheses, labellings) larger for more evidence, and comparable between hypotheses.
        Column 0 is the observed labelling.

    Returns
    -------
    (hypotheses,) the adjusted p-values.
    """
    n_hypotheses, n_labellings = scores.shape
    observed_scores = scores[:, OBSERVED_LABELLING]
    smallest_first = np.argsort(observed_scores, kind="stable")

    # From the smallest observed score upwards, keep the largest score of every labelling so far.
    pvalues = np.empty(n_hypotheses)
    largest_so_far = np.full(n_labellings, -np.inf)
    for hypothesis in smallest_first:
        largest_so_far = np.maximum(largest_so_far, scores[hypothesis])
        reaches_observed = largest_so_far >= observed_scores[hypothesis] - ROUNDING_TOLERANCE
        pvalues[hypothesis] = np.count_nonzero(reaches_observed) / n_labellings

    # A hypothesis must not have a smaller p-value than one with a larger observed score.
    largest_first = smallest_first[::-1]
    pvalues[largest_first] = np.maximum.accumulate(pvalues[largest_first])
    return pvalues
