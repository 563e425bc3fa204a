"""The best rule of every size, and searches that look for fewer errors and note it.

The fits trim samples: they aim at one error fewer than the best rule has. Where a rule comes near
the best of its size, a descent on the errors themselves follows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import NONE, inner_kernel, kernel, leaf_kernel
from chanceline.perceptron.hinge import SWAP_FIT_STEPS, refit
from chanceline.perceptron.workspace import Hinge
from chanceline.select.line_errors import LineScratch, count_errors, descend, make_line_scratch
from chanceline.select.outcome import Candidate
from chanceline.select.starts import as_candidate
from chanceline.select.tabu import (
    ADDITION_FIT_STEPS,
    choose_addition,
    choose_removal,
    find_gradient,
)

NO_NEWTON_STEPS = 0  # as `max_newton`: the change of the support is all, without a fit
NO_DESCENT = -1  # as `descent_gap`: no rule descends on its errors


class BestRules(NamedTuple):
    """The best rule of every number of variables 0 … M, and room to work in.

    Attributes
    ----------
    errors : (M + 1,) its errors.
    supports : (M + 1, width) its columns, the unpenalized ones first; the first is −1 where there
        is no rule yet.
    weights : (M + 1, width) its weights.
    trial_weights : (width,) where a descent works.
    trial_margins : (P,) the same.
    line : for line searches among P samples.
    """

    errors: NDArray[np.int64]
    supports: NDArray[np.int64]
    weights: NDArray[np.float64]
    trial_weights: NDArray[np.float64]
    trial_margins: NDArray[np.float64]
    line: LineScratch

    def take_where(self, where: NDArray[np.bool_], other: BestRules) -> None:
        """Take over another's rules at the sizes `where` this mask, (M + 1,), is true."""
        self.errors[where] = other.errors[where]
        self.supports[where] = other.supports[where]
        self.weights[where] = other.weights[where]

    def candidate(self, n_variables: int, n_unpenalized: int, iterations: int) -> Candidate:
        """The candidate of the best rule of so many variables, found after so many iterations.

        `n_unpenalized` columns, 1 with an intercept and 0 without, come before the variables.
        """
        size = n_variables + n_unpenalized
        return as_candidate(
            self.supports[n_variables, :size],
            self.weights[n_variables, :size],
            n_unpenalized=n_unpenalized,
            iterations=iterations,
        )


def make_best_rules(max_variables: int, n_unpenalized: int, n_samples: int) -> BestRules:
    """Make room for rules of 0 … `max_variables` variables, none of which is found yet.

    So all `n_samples` are errors, and the first column of every support is −1.
    """
    width = max_variables + n_unpenalized + 1  # the largest rule, and one place in reserve
    return BestRules(
        errors=np.full(max_variables + 1, n_samples, dtype=np.int64),
        supports=np.full((max_variables + 1, width), -1, dtype=np.int64),
        weights=np.zeros((max_variables + 1, width)),
        trial_weights=np.zeros(width),
        trial_margins=np.zeros(n_samples),
        line=make_line_scratch(n_samples),
    )


@leaf_kernel()
def store(best: Any, n_unpenalized: int, support: NDArray, weights: NDArray, size: int) -> None:
    """Copy a rule of `size` columns into `best` (`BestRules`), at its number of variables.

    `support` and `weights` have shape (capacity,), the unpenalized columns first; the first `size`
    entries count. The caller sets `best.errors`.
    """
    supports = best.supports
    stored_weights = best.weights
    n_variables = size - n_unpenalized
    for i in range(size):
        supports[n_variables, i] = support[i]
        stored_weights[n_variables, i] = weights[i]


@leaf_kernel()
def note_rule(hinge: Any, best: Any) -> int:
    """Count the errors of the workspace's present rule, and store it if it is the best of its size.

    `hinge` is a fitted `Hinge`; `best`, the `BestRules` so far, is changed. Returns the errors.
    """
    n_unpenalized = hinge.data.n_unpenalized
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    n_variables = size - n_unpenalized
    fewest = best.errors
    supports = best.supports

    errors = count_errors(margins)
    # Rules without variables are not noted, and for too large ones there is no room.
    has_place = 1 <= n_variables < fewest.size
    if has_place:
        is_first_of_size = supports[n_variables, 0] < 0  # a first column of −1: no rule yet
        if is_first_of_size or errors < fewest[n_variables]:
            fewest[n_variables] = errors
            store(best, n_unpenalized, support=support, weights=weights, size=size)
    return errors


@leaf_kernel()
def is_near_best(hinge: Any, best: Any, errors: int, descent_gap: int) -> bool:
    """Whether the present rule makes at most `descent_gap` errors more than the best of its size.

    `errors` are those of the present rule of the workspace `hinge`; `best` are the `BestRules` so
    far. Never for a rule without errors, which has nothing to gain.
    """
    n_variables = hinge.state.n_used[0] - hinge.data.n_unpenalized
    fewest = best.errors
    has_place = 1 <= n_variables < fewest.size
    return has_place and errors > 0 and errors <= fewest[n_variables] + descent_gap


@inner_kernel()
def descend_and_note(hinge: Any, best: Any) -> int:
    """Descend on the errors from the present rule, on a copy; the errors that are left.

    What is found replaces the best rule of its size even if that has as many errors: what starts
    from the best rule next then begins elsewhere on the plateau.

    `hinge` is a fitted `Hinge`, whose rule stays; `best`, the `BestRules` so far, is changed. The
    size of the rule must have a place there, which `is_near_best` tests.
    """
    n_unpenalized = hinge.data.n_unpenalized
    support = hinge.state.support
    weights = hinge.state.weights
    margins = hinge.state.margins
    size = hinge.state.n_used[0]
    n_variables = size - n_unpenalized
    fewest = best.errors
    trial_weights = best.trial_weights
    trial_margins = best.trial_margins

    # Copy weights and margins, and let the copies descend.
    for i in range(size):
        trial_weights[i] = weights[i]
    for sample in range(margins.size):
        trial_margins[sample] = margins[sample]
    errors = descend(hinge, trial_weights, trial_margins, best.line)
    if errors <= fewest[n_variables]:
        fewest[n_variables] = errors
        store(best, n_unpenalized, support=support, weights=trial_weights, size=size)
    return errors


@kernel()
def refit_and_note(  # noqa: PLR0913
    hinge: Any, best: Any, add: int, drop: int, n_trimmed: int, max_newton: int, descent_gap: int
) -> int:
    """Change the support, fit it and note the rule; its errors. The compiled part of `try_change`.

    Parameters
    ----------
    hinge : the workspace; it ends with the new support, its weights and margins.
    best : the `BestRules` so far; the rule is stored there if it is the best of its size.
    add : a column to take in, or −1.
    drop : the place in the support of a column to take out, or −1.
    n_trimmed : how many samples, those of smallest margin, the fit leaves out as lost.
    max_newton : Newton's steps of the fit at most.
    descent_gap : a rule with at most so many errors more than the best of its size descends on its
        errors.
    """
    refit(
        hinge,
        add=add,
        drop=drop,
        max_errors=n_trimmed,  # a fit trims as many samples as it allows errors
        trim_noise=0.0,
        max_newton=max_newton,
    )
    errors = note_rule(hinge, best)
    if is_near_best(hinge, best, errors=errors, descent_gap=descent_gap):
        errors = descend_and_note(hinge, best)
    return errors


def try_change(  # noqa: PLR0913
    hinge: Hinge,
    best: BestRules,
    *,
    add: int = -1,
    drop: int = -1,
    n_trimmed: int = 0,
    max_newton: int = int(SWAP_FIT_STEPS),
    descent_gap: int = 0,
) -> int:
    """Change the support, fit it, and note the rule if it is the best of its size.

    Parameters
    ----------
    hinge : the workspace.
    best : the best rules so far, changed.
    add : a column to take in, or −1.
    drop : the place in the support of a column to take out, or −1.
    n_trimmed : how many samples, those of smallest margin, the fit leaves out as lost.
    max_newton : Newton's steps of the fit at most.
    descent_gap : a rule with at most so many errors more than the best of its size descends on its
        errors (NO_DESCENT: none does).

    Returns
    -------
    The errors of the rule, after the descent if there was one.
    """
    errors = refit_and_note(
        hinge,
        best,
        add=add,
        drop=drop,
        n_trimmed=n_trimmed,
        max_newton=max_newton,
        descent_gap=descent_gap,
    )
    return int(errors)


@kernel()
def swap_and_note(  # noqa: PLR0913
    hinge: Any,
    best: Any,
    size: int,
    max_swaps: int,
    target_errors: int,
    n_trimmed_at_first: int,
    trim_share: float,
    trim_noise: float,
    descent_gap: int,
) -> int:
    """Swap columns at a fixed size, and note the rule after each change; the swaps done.

    The compiled part of `swap_for_errors`. A swap has two halves: an addition and, as the support
    is then too large, a removal; each with a fit that trims samples (leaves them out, as lost).

    Parameters
    ----------
    hinge : a fitted `Hinge`. Its `n_used` (columns in use, which refits change) and `iteration`
        (swaps begun) are arrays of one number, so that kernels can change them.
    best : the `BestRules` so far, changed.
    size : columns of the support to keep to, the unpenalized ones among them.
    max_swaps : it ends after so many, or where no column is left to add.
    target_errors : it ends when the best rule of this size makes no more.
    n_trimmed_at_first : samples that are trimmed until the first addition.
    trim_share : from then on trim_share · (E − 1) are, where the best rule of this size makes E
        errors: with 1 the fit aims at one error fewer than that.
    trim_noise : size of the noise in which samples are trimmed after an addition.
    descent_gap : a rule with at most so many errors more than the best of its size descends on
        its errors.
    """
    n_used = hinge.state.n_used
    iteration = hinge.state.iteration
    fewest = best.errors
    n_variables = size - hinge.data.n_unpenalized
    n_trimmed = n_trimmed_at_first
    for n_halves in range(2 * max_swaps):
        if n_used[0] <= size and fewest[n_variables] <= target_errors:
            return n_halves // 2

        if n_used[0] > size:
            # The second half, which trims as many as the addition before it. As in
            # `refit_and_note`; to call that would be slower by 4 %.
            refit(
                hinge,
                add=NONE,
                drop=choose_removal(hinge),
                max_errors=n_trimmed,
                trim_noise=0.0,
                max_newton=SWAP_FIT_STEPS,
            )
            errors = note_rule(hinge, best)
            if is_near_best(hinge, best, errors=errors, descent_gap=descent_gap):
                descend_and_note(hinge, best)
        else:
            # The first half, a look ahead: few steps, samples trimmed at random, and no descent on
            # the errors.
            iteration[0] += 1
            find_gradient(hinge)
            add = choose_addition(hinge)
            if add == NONE:
                break
            # Aim below the best rule, which makes an error at least, or the swaps had ended.
            n_trimmed = int(trim_share * (fewest[n_variables] - 1))
            refit(
                hinge,
                add=add,
                drop=NONE,
                max_errors=n_trimmed,
                trim_noise=trim_noise,
                max_newton=ADDITION_FIT_STEPS,
            )
            note_rule(hinge, best)
    return max_swaps


def swap_for_errors(  # noqa: PLR0913
    hinge: Hinge,
    best: BestRules,
    *,
    size: int,
    max_swaps: int,
    target_errors: int = 0,
    n_trimmed_at_first: int = 0,
    trim_share: float = 1.0,
    trim_noise: float = 0.0,
    descent_gap: int = 0,
) -> int:
    """Swap columns at a fixed size until the best rule of that size makes few enough errors.

    Parameters
    ----------
    hinge : a fitted workspace.
    best : the best rules so far, changed.
    size : columns of the support, the unpenalized ones among them. Where nonnegative columns have
        left the support, additions fill it up.
    max_swaps : swaps at most.
    target_errors : at which the swaps end.
    n_trimmed_at_first : samples that fits trim (leave out, as lost) before the first addition.
    trim_share : from then on fits trim trim_share · (E − 1) samples, where the best rule of this
        size makes E errors. With 1 they always aim at a better rule; 0 is the plain squared hinge,
        whose landscape is smoother.
    trim_noise : size of the noise in which samples are trimmed after an addition.
    descent_gap : a rule with at most so many errors more than the best of its size descends on its
        errors.

    Returns
    -------
    The swaps done: `max_swaps` unless the target was reached, even if no column was left to add.
    """
    n_swaps = swap_and_note(
        hinge,
        best,
        size=size,
        max_swaps=max_swaps,
        target_errors=target_errors,
        n_trimmed_at_first=n_trimmed_at_first,
        trim_share=trim_share,
        trim_noise=trim_noise,
        descent_gap=descent_gap,
    )
    return int(n_swaps)
