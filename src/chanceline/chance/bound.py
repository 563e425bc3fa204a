"""The rigorous bound: how often do labels that ignore the features let M of N features do as well?

A union over the C(N, M) supports of the labellings that one support can realise, divided by the
number of equally likely labellings. Turned round (the largest set that would convince, the samples
it takes) it is `planning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, floor, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.chance.binomial import LOG2, log_binomial
from chanceline.chance.cover import log_cover_curve
from chanceline.chance.fixed_classes import CountForm, log_fixed_class_labellings
from chanceline.chance.hamming import log_hamming_ball
from chanceline.chance.shape import Null, check_shape
from chanceline.errors import InputError

# Block → (its size, its positives).
Blocks = tuple[tuple[int, int], ...]

_LN10 = log(10.0)
# Numbers of supports with at most this log₁₀ are whole numbers that a float holds exactly.
_EXACT_LOG10 = 15.5
# … and up to this one a float holds them at all.
_LARGEST_LOG10 = 308


@dataclass(frozen=True, repr=False)
class Bound(Result):
    """An upper bound on the probability that chance does as well; every number here is rigorous.

    Attributes
    ----------
    log10_p : float
        log₁₀ of the bound, at most 0; the smallest over all set sizes M′ ≥ M.
    log10_union : float
        log₁₀ of the union bound at M itself, before the minimum over supersets and without the cap
        at 1.
    best_size : int
        The M′ ≥ M at which the bound is smallest.
    dimension : int
        Dimension d of the rule at M′ (M′ + 1 with an intercept).
    log10_supports : float
        log₁₀ of the number of supports in the union at M′.
    form : str
        The count used at M′: "cover", "threshold" (M′ = 1) or "planar k-sets" (M′ = 2).
    blocks : tuple of (size, positives), or None
        The blocks within which labels are exchanged.
    """

    log10_p: float
    log10_union: float
    null: str
    n_samples: int
    n_features: int
    n_selected: int
    positives: int | None
    errors: int
    intercept: bool
    preregistered: bool
    best_size: int
    dimension: int
    log10_supports: float
    form: str
    blocks: Blocks | None = None
    kind: str = "rigorous bound"
    _derived = ("supports",)

    @property
    def pvalue(self) -> float:
        """The bound itself; never 0, at least the smallest positive float (`log10_p` is exact)."""
        return float(max(10.0**self.log10_p, np.finfo(float).tiny))

    @property
    def supports(self) -> int | float:
        """Supports at M′: a whole number while a float holds it exactly, else a float."""
        if self.log10_supports >= _LARGEST_LOG10:
            return float("inf")
        if self.log10_supports >= _EXACT_LOG10:
            return 10.0**self.log10_supports
        if self.preregistered:
            return 1
        return comb(self.n_features, self.best_size)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "p": self.pvalue}

    def summary(self) -> str:
        """Say in one sentence how small p is, for which rule, and under which null hypothesis."""
        if self.positives is None:
            labels = "fair-coin labels"
        else:
            labels = f"fixed class sizes {self.positives}/{self.n_samples - self.positives}"
        if self.errors == 0:
            achievement = "separating"
        else:
            achievement = f"making at most {self.errors} errors on"
        return (
            f"p ≤ {format_p(self.log10_p)} for {self.n_selected} of {self.n_features} features "
            f"{achievement} {self.n_samples} samples ({labels}; rigorous bound)"
        )

    __str__ = summary


def format_p(log10_p: float) -> str:
    """A p-value for people: `0.013`, `6.3e-5`; never 0, however small."""
    if log10_p > -3:
        return f"{10.0 ** min(log10_p, 0.0):.2g}"
    exponent = floor(log10_p)
    digits = f"{10.0 ** (log10_p - exponent):.1f}"
    if digits == "10.0":  # 9.95 or more, rounded
        return f"1.0e{exponent + 1}"
    return f"{digits}e{exponent}"


def chance_bound(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    n_selected: int,
    *,
    positives: int | None = None,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
    preregistered: bool = False,
    blocks: Sequence[tuple[int, int]] | None = None,
) -> Bound:
    """Bound the probability that M of N features classify P samples with ≤ e errors by chance.

    Union over the C(N, M) supports of the labellings one support can realise
    (`chanceline.chance.fixed_classes`), divided by the number of equally likely labellings.
    Supersets of a set that does as well do as well, so the event at M is contained in the event at
    every M′ with M ≤ M′ ≤ N and the smallest of these bounds is taken. M may therefore be chosen
    after looking and found by any search, for a number of errors e fixed beforehand.

    Parameters
    ----------
    n_samples, n_features, n_selected : int
        P, N and M.
    positives : int
        Size n₊ of one class; required by `null="fixed"`.
    errors : int
        Errors e allowed, fixed beforehand. If e was chosen after looking, multiply p by 2^(e+1).
    null : {"fixed", "coin"}
        Labels permuted with the class sizes kept, or independent fair coins (wrong for unbalanced
        classes).
    intercept : bool
        Whether the rule has a free threshold.
    preregistered : bool
        The M features were fixed before the labels were seen: one support instead of C(N, M), no
        supersets.
    blocks : sequence of (size, positives), optional
        Labels are permuted only within blocks (sizes and positives add up to P and n₊).

    Returns
    -------
    Bound
    """
    shape = check_shape(n_samples, n_features, n_selected, positives, errors, null)
    if preregistered:
        largest = shape.n_selected
    else:
        # From P features on Cover's count is that of all labellings: the bound is 1 or more there.
        largest = min(shape.n_features, max(shape.n_selected, shape.n_samples))
    checked_blocks = None
    if blocks is not None:
        checked_blocks = tuple((int(size), int(number)) for size, number in blocks)
    labels_and_rule = _LabelsAndRule(
        n_samples=shape.n_samples,
        positives=shape.positives,
        errors=shape.errors,
        null=null,
        intercept=intercept,
        blocks=checked_blocks,
    )
    shares = _realised_shares(labels_and_rule, largest)

    # The union bound at every size M′ from M on, and the smallest of them.
    sizes = np.arange(shape.n_selected, largest + 1)
    log_supports = np.zeros(len(sizes))
    if not preregistered:
        log_supports = log_binomial(shape.n_features, sizes)
    log_shares = shares.log_shares[shape.n_selected :]  # index M′ of the shares is the size M′
    log_union = log_shares + log_supports
    best = int(np.argmin(log_union))
    best_size = int(sizes[best])

    to_log10 = 1 / _LN10
    return Bound(
        log10_p=min(0.0, float(log_union[best]) * to_log10),
        log10_union=float(log_union[0]) * to_log10,
        null=null,
        n_samples=shape.n_samples,
        n_features=shape.n_features,
        n_selected=shape.n_selected,
        positives=shape.positives if null == Null.FIXED else None,
        errors=shape.errors,
        intercept=intercept,
        preregistered=preregistered,
        best_size=best_size,
        dimension=best_size + int(intercept),
        log10_supports=float(log_supports[best]) * to_log10,
        form=shares.forms[best_size].value,
        blocks=checked_blocks,
    )


def bound_curve(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    *,
    positives: int | None = None,
    errors: int = 0,
    null: str = "fixed",
    intercept: bool = True,
    blocks: Sequence[tuple[int, int]] | None = None,
) -> NDArray[np.float64]:
    """log₁₀ of the bound of `chance_bound` for every number M of features, M = 0 … min(N, P).

    P = `n_samples`, N = `n_features`; the result is (min(N, P) + 1,). For each M the union bound on
    the probability that some M of N features realise the labels by chance is

        (share of all labellings that one support of M features realises) · C(N, M).

    A set of features that realises the labels is part of larger sets that realise them too. So the
    bound for M is the smallest union bound over all sizes from M on, and at most 1. It never falls
    with M; entry 0 is −∞. The parameters are those of `chance_bound`.
    """
    # `check_shape` wants a number M of selected features, which is not given here; 1 is always
    # allowed.
    shape = check_shape(
        n_samples, n_features, n_selected=1, positives=positives, errors=errors, null=null
    )
    largest = min(shape.n_features, shape.n_samples)
    labels_and_rule = _LabelsAndRule(
        n_samples=shape.n_samples,
        positives=shape.positives,
        errors=shape.errors,
        null=null,
        intercept=intercept,
        blocks=tuple(blocks) if blocks else None,
    )
    shares = _realised_shares(labels_and_rule, largest)

    # log₁₀ of the union bound for M = 1, 2, …: the entry for M = 0 is cut off.
    log_supports = log_binomial(shape.n_features, np.arange(largest + 1))
    log10_union = (shares.log_shares + log_supports)[1:] / _LN10

    # The smallest value from M on is a running minimum from the largest M down. As probabilities
    # are at most 1, their log₁₀ is at most 0.
    from_largest_down = np.minimum.accumulate(log10_union[::-1])
    log10_bound = np.minimum(from_largest_down[::-1], 0.0)
    return np.concatenate([[-np.inf], log10_bound])


class _LabelsAndRule(NamedTuple):
    """Labels under the null, and the rule that is to classify them; hashable, for the cache."""

    n_samples: int
    positives: int
    errors: int
    null: str
    intercept: bool
    blocks: Blocks | None


class _RealisedShares(NamedTuple):
    """The share of all labellings that one support of M features realises, for M = 0 … largest.

    Attributes
    ----------
    log_shares : (largest + 1,)
        Natural logarithms; entry 0 only fills its place.
    forms : (largest + 1,)
        Which count of labellings each share is from.
    """

    log_shares: NDArray[np.float64]
    forms: tuple[CountForm, ...]


@lru_cache(maxsize=8)
def _realised_shares(labels_and_rule: _LabelsAndRule, largest: int) -> _RealisedShares:
    """Bound the share of all labellings that one set of M features realises, M = 1 … `largest`.

    A labelling gives each sample one of two classes. A set of features realises it if some linear
    rule on them classifies it with at most `labels_and_rule.errors` errors. The share is

        (upper bound on the labellings that M features realise) / (labellings in all),

    where `labels_and_rule.null` says which labellings there are: all of them (fair coins), or only
    those with the class sizes of the table. If there are blocks, labels are shuffled only within
    each block, so that the class sizes of every block are kept.

    labels_and_rule : the parameters of the bound besides M: numbers of samples, positives and
        errors, the null, the blocks, and whether rules have an intercept.
    largest : the largest M.

    Returns
    -------
    For each M the natural logarithm of the share, and its form: the name of the bound on the number
    of labellings that was used. Index M belongs to M features, and index 0 is not used.
    """
    if labels_and_rule.blocks:
        _check_blocks(labels_and_rule.blocks, labels_and_rule)
    n_selected = np.arange(1, largest + 1)  # M
    if labels_and_rule.null == Null.COIN:
        counts = _counts_of_fair_coins(labels_and_rule, n_selected)
    else:
        counts = _counts_of_fixed_classes(labels_and_rule, n_selected)

    # Entry 0 only fills its place; its values mean nothing.
    unused_share = [0.0]
    unused_form = CountForm.COVER
    log_shares = np.concatenate([unused_share, counts.log_realised - counts.log_total])
    log_shares.setflags(write=False)  # the cache hands the same array to every caller
    return _RealisedShares(log_shares=log_shares, forms=(unused_form, *counts.forms))


class _LabellingCounts(NamedTuple):
    """How many labellings there are under a null, and how many of them M features realise.

    Attributes
    ----------
    log_total
        ln of the labellings in all.
    log_realised : (sizes,)
        ln of a bound on those that M features realise, for each M.
    forms : (sizes,)
        Which bound that is: Cover's count, or a smaller one known for one or two features.
    """

    log_total: float
    log_realised: NDArray[np.float64]
    forms: list[CountForm]


def _counts_of_fair_coins(
    labels_and_rule: _LabelsAndRule, sizes: NDArray[np.int64]
) -> _LabellingCounts:
    """Count all labellings (fair coins), and those that M features realise, for M in `sizes`."""
    return _LabellingCounts(
        log_total=labels_and_rule.n_samples * LOG2,
        log_realised=_log_coin_labellings(labels_and_rule, sizes),
        forms=[CountForm.COVER] * len(sizes),
    )


def _counts_of_fixed_classes(
    labels_and_rule: _LabelsAndRule, sizes: NDArray[np.int64]
) -> _LabellingCounts:
    """Count the labellings with fixed class sizes, and those that M features realise, M in `sizes`.

    A block is a set of samples whose labels are shuffled only among themselves; without blocks all
    samples are one block. The total counts the labellings with the right number of positives in
    each block. The realised labellings are counted with the right number of positives in the whole
    table only. That is an upper bound on their number, which is all that is needed.
    """
    n_samples = labels_and_rule.n_samples
    positives = labels_and_rule.positives
    blocks = labels_and_rule.blocks or ((n_samples, positives),)  # (size, positives) of each

    # There are Π_blocks C(size, positives) labellings in all.
    log_total = 0.0
    for block_size, block_positives in blocks:
        log_total += float(log_binomial(block_size, block_positives))

    log_realised, forms = log_fixed_class_labellings(
        n_points=n_samples,
        positives=positives,
        selected=sizes,
        errors=labels_and_rule.errors,
        intercept=labels_and_rule.intercept,
    )
    return _LabellingCounts(log_total=log_total, log_realised=log_realised, forms=forms)


def _log_coin_labellings(
    labels_and_rule: _LabelsAndRule, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """ln of the labellings of any class sizes within e errors of a rule on M features, (sizes,).

    Of P samples at most D(P, d) labellings are separable in d dimensions (Cover), where d is M, or
    M + 1 with an intercept. Each of them has Σ_{j≤e} C(P, j) labellings within e errors.
    """
    n_samples = labels_and_rule.n_samples
    dimensions = sizes + int(labels_and_rule.intercept)
    log_separable_labellings = log_cover_curve(n_samples, int(dimensions.max()))[dimensions]
    log_neighbours_of_one = log_hamming_ball(n_samples, labels_and_rule.errors)
    log_within_errors = log_separable_labellings + log_neighbours_of_one
    return np.minimum(log_within_errors, n_samples * LOG2)


def _check_blocks(blocks: Blocks, labels_and_rule: _LabelsAndRule) -> None:
    """Raise InputError unless labels are permuted and the blocks add up to the table."""
    total_size = sum(size for size, _ in blocks)
    total_positives = sum(number for _, number in blocks)
    sizes_agree = total_size == labels_and_rule.n_samples
    positives_agree = total_positives == labels_and_rule.positives
    if labels_and_rule.null != Null.FIXED or not (sizes_agree and positives_agree):
        raise InputError("the blocks' sizes and positives must add up to those of the fixed null.")
