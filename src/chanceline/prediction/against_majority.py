"""Is a rule better than always naming the larger class? Compared sample by sample.

A sample is *won* if the rule is right where the larger class is wrong, and *lost* if the rule is
wrong where the larger class is right. All others tell nothing about the difference (McNemar 1947).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from chanceline._arrays import Bools, Floats

# Better is said where chance does as well in at most this share of cases.
LEVEL = 0.05


@dataclass(frozen=True)
class MajorityComparison:
    """The rule against the larger class.

    Attributes
    ----------
    won, lost : numbers of samples; means over repeats of the cross-validation.
    pvalue : one-sided, of the sign test for as many independent samples as these are worth.
    """

    won: float
    lost: float
    pvalue: float

    @property
    def better(self) -> bool:
        """Whether the rule is better than the larger class, at the level of 5 %."""
        return self.pvalue <= LEVEL


def compare_with_majority(
    errors: Floats, positive: Bools, independent_share: float
) -> MajorityComparison:
    """Compare a rule with always naming the larger class, by a one-sided sign test.

    Always naming the larger class is right for every sample of the larger class and wrong for every
    sample of the smaller one. So the rule *wins* the samples of the smaller class that it
    classifies rightly, and *loses* the samples of the larger class that it classifies wrongly. If
    the classes have the same size, there is no larger one to name, and naming either is as good as
    tossing a coin: then the rule wins all samples that it classifies rightly, and loses the others.

    Parameters
    ----------
    errors : 1 where the rule is wrong and 0 where it is right, (samples,); a fraction is the share
        of repeated cross-validations in which it is wrong
    positive : which samples are positive, (samples,)
    independent_share : how many independent samples one sample is worth, at most 1
    """
    n_positive = int(np.count_nonzero(positive))
    n_negative = len(positive) - n_positive
    if n_positive == n_negative:
        n_won = float(np.sum(1 - errors))
        n_lost = float(np.sum(errors))
    else:
        in_smaller_class = positive
        if n_negative < n_positive:
            in_smaller_class = ~positive
        n_won = float(np.sum(1 - errors[in_smaller_class]))
        n_lost = float(np.sum(errors[~in_smaller_class]))

    # Dependent samples count less in the test.
    pvalue = sign_test(n_won * independent_share, n_lost * independent_share)
    return MajorityComparison(n_won, n_lost, pvalue)


def sign_test(won: float, lost: float) -> float:
    """P(at least `won` of `won + lost` fair coins show heads); numbers need not be whole.

    P(X ≥ k) = I_½(k, n − k + 1) for X of n coins, I the regularized incomplete beta function.
    """
    if won == 0:
        return 1.0
    return float(betainc(won, lost + 1, 0.5))
