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
        """Copy the rules of another `BestRules` at the sizes where the mask, (M + 1,), is true."""
        self.errors[where] = other.errors[where]
        self.supports[where] = other.supports[where]
        self.weights[where] = other.weights[where]

    def candidate(self, n_variables: int, n_unpenalized: int, iterations: int) -> Candidate:
        """Return the best rule of `n_variables` variables as a candidate.

        n_unpenalized : columns that come before the variables: 1 with an intercept, else 0.
        iterations : the effort after which it was found.
        """
        size = n_variables + n_unpenalized
        return as_candidate(
            self.supports[n_variables, :size],
            self.weights[n_variables, :size],
            n_unpenalized=n_unpenalized,
            iterations=iterations,
        )


def make_best_rules(max_variables: int, n_unpenalized: int, n_samples: int) -> BestRules:
    """Allocate the best rules of 0 … `max_variables` variables, none of which is known yet.

    An unknown rule has `n_samples` errors, and −1 as the first column of its support.

    n_unpenalized : columns of every rule that are no variables: 1 with an intercept, else 0.
    """
    n_sizes = max_variables + 1
    width = max_variables + n_unpenalized + 1  # columns of the largest rule, and one in reserve
    return BestRules(
        errors=np.full(n_sizes, n_samples, dtype=np.int64),
        supports=np.full((n_sizes, width), -1, dtype=np.int64),
        weights=np.zeros((n_sizes, width)),
        trial_weights=np.zeros(width),
        trial_margins=np.zeros(n_samples),
        line=make_line_scratch(n_samples),
    )


@leaf_kernel()
def store(
    best_rules: Any, n_unpenalized: int, support: NDArray, weights: NDArray, size: int
) -> None:
    """Copy a rule of `size` columns into `best_rules`, at its number of variables.

    best_rules : the `BestRules`. Its `errors` are not set here, but by the caller.
    n_unpenalized : how many of the columns are no variables; they come first.
    support, weights : (≥ size,) the columns of the rule and their weights.
    """
    supports = best_rules.supports
    stored_weights = best_rules.weights
    n_variables = size - n_unpenalized
    for i in range(size):
        supports[n_variables, i] = support[i]
        stored_weights[n_variables, i] = weights[i]


@leaf_kernel()
def note_rule(workspace: Any, best_rules: Any) -> int:
    """Count the errors of the present rule, and store it if it is the best of its size so far.

    The size of a rule is its number of variables. `best_rules` has one row for each size: the
    fewest errors found, and the columns and weights of the rule that makes them.

    workspace : the `Hinge` with the present rule: its support, weights and margins. Only the first
        `n_used[0]` places of support and weights are in use. The unpenalized columns (the
        intercept), which are no variables, come first among them.
    best_rules : the `BestRules` so far; its row of this size is overwritten if the rule is better.

    Returns
    -------
    The number of errors.
    """
    state = workspace.state
    errors = count_errors(state.margins)
    n_columns = state.n_used[0]
    n_unpenalized = workspace.data.n_unpenalized
    n_variables = n_columns - n_unpenalized

    # Rules without variables are not stored, and there is no room for rules that are too large.
    fewest_errors = best_rules.errors
    is_stored_size = 1 <= n_variables < fewest_errors.size
    if is_stored_size:
        # A first column of −1 says that no rule of this size is stored yet.
        is_first_rule = best_rules.supports[n_variables, 0] < 0
        if is_first_rule or errors < fewest_errors[n_variables]:
            fewest_errors[n_variables] = errors
            store(best_rules, n_unpenalized, state.support, state.weights, size=n_columns)
    return errors


@leaf_kernel()
def is_near_best(workspace: Any, best_rules: Any, errors: int, descent_gap: int) -> bool:
    """Whether the present rule makes at most `descent_gap` errors more than the best of its size.

    It is False for a rule without errors, which cannot be improved, and for sizes that are not
    stored.

    workspace : the `Hinge` with the present rule.
    best_rules : the `BestRules` so far.
    errors : those of the present rule.
    """
    n_variables = workspace.state.n_used[0] - workspace.data.n_unpenalized
    fewest_errors = best_rules.errors  # by the number of variables
    is_stored_size = 1 <= n_variables < fewest_errors.size
    return is_stored_size and errors > 0 and errors <= fewest_errors[n_variables] + descent_gap


@inner_kernel()
def descend_and_note(workspace: Any, best_rules: Any) -> int:
    """Lower the errors of a rule by line searches, and store it if no rule of its size is better.

    The result replaces the best rule of its size even if both make equally many errors. So the next
    search from the best rule starts from another one of the equally good rules.

    workspace : the `Hinge` with the present rule, which stays the same: the descent changes a copy
        of the weights and margins. (The descent works with the workspace's table.)
    best_rules : the `BestRules` so far; changed. It must have a place for rules of this number of
        variables, which `is_near_best` tests.

    Returns
    -------
    The number of errors after the descent.
    """
    # The present rule. Its columns are the variables and the unpenalized ones (the intercept).
    n_unpenalized = workspace.data.n_unpenalized
    support = workspace.state.support
    weights = workspace.state.weights
    margins = workspace.state.margins
    n_columns = workspace.state.n_used[0]
    n_variables = n_columns - n_unpenalized

    # Copy its weights and margins into arrays that `best_rules` keeps for this purpose.
    trial_weights = best_rules.trial_weights
    trial_margins = best_rules.trial_margins
    for i in range(n_columns):
        trial_weights[i] = weights[i]
    for sample in range(margins.size):
        trial_margins[sample] = margins[sample]

    # Lower the errors of the copy: `descend` changes both arrays.
    line_scratch = best_rules.line
    errors = descend(workspace, trial_weights, trial_margins, line_scratch)

    # Store the support with the new weights.
    fewest_errors = best_rules.errors  # index: number of variables
    if errors <= fewest_errors[n_variables]:
        fewest_errors[n_variables] = errors
        store(best_rules, n_unpenalized, support, trial_weights, size=n_columns)
    return errors


@kernel()
def refit_and_note(  # noqa: PLR0913
    workspace: Any,
    best_rules: Any,
    add: int,
    drop: int,
    n_trimmed: int,
    max_newton: int,
    descent_gap: int,
) -> int:
    """Change the support by one column, refit, and store the rule if it is the best of its size.

    This is the compiled part of `try_change`. A rule that is nearly as good as the best of its size
    is improved by a descent on its errors.

    Parameters
    ----------
    workspace : the `Hinge` with the support and its fitted weights. Afterwards it has the changed
        support, and the weights and margins of the refit (not those of the descent).
    best_rules : the `BestRules` so far, one for each number of variables; changed.
    add : index, in the table, of a column to add; −1 to add none.
    drop : place, in the support, of a column to remove; −1 to remove none.
    n_trimmed : how many samples, those of smallest margin, the fit leaves out as errors.
    max_newton : largest number of Newton steps of the fit.
    descent_gap : the rule descends if it makes at most so many errors more than the best of its
        size.

    Returns
    -------
    The number of errors, after the descent if there was one.
    """
    refit(
        workspace,
        add=add,
        drop=drop,
        max_errors=n_trimmed,  # a fit trims as many samples as it allows errors
        trim_noise=0.0,
        max_newton=max_newton,
    )
    errors = note_rule(workspace, best_rules)
    if is_near_best(workspace, best_rules, errors=errors, descent_gap=descent_gap):
        errors = descend_and_note(workspace, best_rules)
    return errors


def try_change(  # noqa: PLR0913
    workspace: Hinge,
    best_rules: BestRules,
    *,
    add: int = -1,
    drop: int = -1,
    n_trimmed: int = 0,
    max_newton: int = int(SWAP_FIT_STEPS),
    descent_gap: int = 0,
) -> int:
    """Change the support by one column, refit, and store the rule if it is the best of its size.

    A rule that is nearly as good as the best of its size is improved by a descent on its errors.

    Parameters
    ----------
    workspace : the `Hinge` with the support and its fitted weights; changed.
    best_rules : the best rules so far, one for each number of variables; changed.
    add : index of a column to add, or −1.
    drop : place in the support of a column to remove, or −1.
    n_trimmed : how many samples, those of smallest margin, the fit leaves out as errors.
    max_newton : largest number of Newton steps of the fit.
    descent_gap : a rule with at most so many errors more than the best of its size is improved by a
        descent (NO_DESCENT: none is).

    Returns
    -------
    The number of errors, after the descent if there was one.
    """
    errors = refit_and_note(
        workspace,
        best_rules,
        add=add,
        drop=drop,
        n_trimmed=n_trimmed,
        max_newton=max_newton,
        descent_gap=descent_gap,
    )
    return int(errors)


@kernel()
def swap_and_note(  # noqa: PLR0913
    workspace: Any,
    best_rules: Any,
    size: int,
    max_swaps: int,
    target_errors: int,
    n_trimmed_at_first: int,
    trim_share: float,
    trim_noise: float,
    descent_gap: int,
) -> int:
    """Swap columns at a fixed size, and store every rule that is the best of its size.

    A swap has two halves: first the most attractive column is added, then the column that costs
    least is removed. Each pass of the loop is one half. Which half it is depends only on the number
    of columns in use: if there are more than `size` one is removed, else one is added. After each
    half the weights are fitted again. The fit trims samples: it leaves those of smallest margin
    out, as errors. (A fit may also remove columns by itself, whose weights would get a forbidden
    sign; then several additions follow each other, until the support is filled up.)

    This is the compiled part of `swap_for_errors`.

    Parameters
    ----------
    workspace : a fitted `Hinge`; changed. Every refit changes its support, weights, margins and
        `n_used`, the number of columns in use. `iteration` counts the additions; by this number a
        column that was swapped is tabu for a while. Both are arrays of one entry, so that compiled
        functions can change them.
    best_rules : the `BestRules` so far, one for each number of variables; changed.
    size : number of columns of the support, including the unpenalized ones (the intercept).
    max_swaps : largest number of swaps.
    target_errors : the swaps end when the best rule of this size makes at most so many errors.
    n_trimmed_at_first : number of samples trimmed until the first addition.
    trim_share : from the first addition on, trim_share · (E − 1) samples are trimmed, where E is
        the number of errors of the best rule of this size.
    trim_noise : size of the noise with which samples are trimmed after an addition.
    descent_gap : after a removal a rule is improved by a descent on its errors if it makes at most
        so many errors more than the best of its size.

    Returns
    -------
    The number of swaps done; `max_swaps` also if there is no column left to add.
    """
    n_used = workspace.state.n_used
    iteration = workspace.state.iteration
    fewest_errors = best_rules.errors  # index: number of variables; `note_rule` lowers its entries
    n_variables = size - workspace.data.n_unpenalized
    n_trimmed = n_trimmed_at_first  # set at every addition, and kept for the removal after it
    for n_halves_done in range(2 * max_swaps):
        # End if the target is reached, but never between the two halves of a swap.
        is_removal = n_used[0] > size
        if not is_removal and fewest_errors[n_variables] <= target_errors:
            return n_halves_done // 2  # two halves are a swap

        # Choose the column of this half, and how to fit after it.
        column_to_add = NONE  # index in the table
        place_to_drop = NONE  # place in the support
        if is_removal:
            place_to_drop = choose_removal(workspace)
            noise_of_trimming = 0.0
            max_newton = SWAP_FIT_STEPS
        else:
            iteration[0] += 1
            find_gradient(workspace)  # stored in the workspace; `choose_addition` needs it
            column_to_add = choose_addition(workspace)
            if column_to_add == NONE:
                break
            # Aim at one error fewer than the best rule makes. (The best rule has at least one
            # error, or the swaps would have ended.) A removal follows, so a rough fit is enough: it
            # has few steps, and trims with noise.
            n_trimmed = int(trim_share * (fewest_errors[n_variables] - 1))
            noise_of_trimming = trim_noise
            max_newton = ADDITION_FIT_STEPS

        # Refit, and store the rule if it is good. After a removal, improve a nearly best rule.
        refit(
            workspace,
            add=column_to_add,
            drop=place_to_drop,
            max_errors=n_trimmed,  # a fit trims as many samples as it allows errors
            trim_noise=noise_of_trimming,
            max_newton=max_newton,
        )
        errors = note_rule(workspace, best_rules)
        if is_removal and is_near_best(workspace, best_rules, errors, descent_gap):
            descend_and_note(workspace, best_rules)
    return max_swaps


def swap_for_errors(  # noqa: PLR0913
    workspace: Hinge,
    best_rules: BestRules,
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

    A swap adds the most attractive column and removes the one that costs least. Fits trim samples:
    they leave those of smallest margin out, as errors.

    Parameters
    ----------
    workspace : the `Hinge` with the support and its fitted weights; changed.
    best_rules : the best rules so far; changed.
    size : number of columns of the support, including the unpenalized ones. If nonnegative columns
        have left the support, additions fill it up.
    max_swaps : largest number of swaps.
    target_errors : number of errors at which the swaps end.
    n_trimmed_at_first : number of samples trimmed until the first addition (by a removal, if the
        support is too large at the beginning).
    trim_share : from the first addition on, trim_share · (E − 1) samples are trimmed, where E is
        the number of errors of the best rule of this size. With 1 fits always aim at a better rule;
        0 is the plain squared hinge, whose landscape is smoother.
    trim_noise : size of the noise with which samples are trimmed after an addition.
    descent_gap : a rule with at most so many errors more than the best of its size is improved by a
        descent on its errors.

    Returns
    -------
    The number of swaps done: `max_swaps` unless the target was reached, even if no column was left
    to add.
    """
    n_swaps = swap_and_note(
        workspace,
        best_rules,
        size=size,
        max_swaps=max_swaps,
        target_errors=target_errors,
        n_trimmed_at_first=n_trimmed_at_first,
        trim_share=trim_share,
        trim_noise=trim_noise,
        descent_gap=descent_gap,
    )
    return int(n_swaps)
