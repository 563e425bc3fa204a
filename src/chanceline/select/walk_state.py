"""The state of a walk over all supports of one size; `walk.py` says how it is walked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline.kernels.compile import counter
from chanceline.perceptron.problem import Problem
from chanceline.select.bitsets import WORD_BITS, pack_set
from chanceline.select.cuts import DEFAULT_LIMITS, CutLimits, arranged_cuts, pattern_cuts_help
from chanceline.select.support_fit import SupportFit, make_support_fit

# Status of a variable.
OPEN = counter(0)  # nothing is decided
INCLUDED = counter(1)
EXCLUDED = counter(2)

# How the cut of a level was found.
GROWING = 0  # by the margin, and not yet complete
BY_MARGIN = 1
BY_PATTERNS = 2  # one of the cuts of few patterns; all open variables if there is none

NO_ANSWER = counter(-2)  # nothing was asked, or the walk shall test once more


class Variables(NamedTuple):
    """What is decided on the variables.

    status : (features,), OPEN, INCLUDED or EXCLUDED.
    open_words : (words,), the open ones as bits.
    """

    status: NDArray[np.int64]
    open_words: NDArray[np.uint64]


class UnmetCuts(NamedTuple):
    """Cuts of few patterns that no included variable meets yet.

    cuts : (levels, words, cuts), as bits; the first n_unmet[level] of each level.
    n_unmet : (levels,).
    branching_words : (words,), the open variables to branch on at the level entered last;
        `find_branching_variables` says which.
    """

    cuts: NDArray[np.uint64]
    n_unmet: NDArray[np.int64]
    branching_words: NDArray[np.uint64]


class Levels(NamedTuple):
    """Where the walk is. At each level one variable of a cut is included.

    current_level : (1,), the level; −1 before and after the walk.
    method : (levels,), how the cut is found: GROWING, BY_MARGIN or BY_PATTERNS.
    cut_variables : (levels, features), the variables of the cut.
    n_branches_left : (levels,), that many of these, the first ones, are still to be included;
        meanwhile they are excluded. While the cut grows, these are all its variables so far.
    included_variable : (levels,), the variable of the cut that is included, −1 at first.
    known_cut_size : (levels,), the open variables of the smallest cut of few patterns; a cut by the
        margin must have fewer.
    first_fit_row : (levels,), the row of `CutFits` with the fit before the cut's first variable was
        excluded.
    """

    current_level: NDArray[np.int64]
    method: NDArray[np.int64]
    cut_variables: NDArray[np.int64]
    n_branches_left: NDArray[np.int64]
    included_variable: NDArray[np.int64]
    known_cut_size: NDArray[np.int64]
    first_fit_row: NDArray[np.int64]


class CutFits(NamedTuple):
    """Fits of the variables that are included or open.

    Row r is the fit without the r variables that growing cuts have excluded: 0 … features.

    weights : (features + 1, features).
    multipliers : (features + 1, patterns).
    of_support : (patterns,), multipliers of the fit of the included variables alone.
    """

    weights: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    of_support: NDArray[np.float64]


class Question(NamedTuple):
    """A support on which rounding leaves a doubt.

    is_asked : (1,), 1 while the walk waits for an answer of its caller.
    answer : (1,), written by the caller: SEPARABLE, INSEPARABLE, UNDECIDED or NO_ANSWER.
    """

    is_asked: NDArray[np.int64]
    answer: NDArray[np.int64]


class WalkPath(NamedTuple):
    """What is walked over, and where the walk is: all that it needs between two fits.

    Few arrays: each one that a compiled function gets costs time at every call.

    size : variables of a support.
    max_errors : patterns that may be wrong.
    counts_supports : whether to count all supports that suffice, rather than stop at the first.
    tally : (3,), that of the fits.
    """

    size: int
    max_errors: int
    counts_supports: bool
    variables: Variables
    unmet: UnmetCuts
    levels: Levels
    tally: NDArray[np.int64]


class Walk(NamedTuple):
    """A depth-first walk that can pause.

    n_unpenalized : columns that belong to every support.
    order : (features,), the variable of the problem that each variable of the walk is.
    """

    n_unpenalized: int
    order: NDArray[np.int64]
    path: WalkPath
    cut_fits: CutFits
    question: Question
    workspace: SupportFit


def make_walk(
    problem: Problem,
    size: int,
    max_errors: int = 0,
    counts_supports: bool = False,
    limits: CutLimits = DEFAULT_LIMITS,
) -> Walk:
    """Prepare a depth-first walk over all supports (sets of features) of `size` variables.

    The walk looks for supports that suffice: some rule on them makes at most `max_errors` errors. A
    cut is a set of variables of which every support that suffices contains at least one. At each
    level of its tree the walk includes one variable of a cut that is unmet: none of its variables
    is included yet. If cuts made of a few patterns (samples times labels) help, they are computed
    here, and the walk numbers the variables in the order that suits these cuts.

    The result holds the arrays of the walk at its start. `Walk`, `WalkPath` and their parts say
    what each of them means.

    problem : the data.
    counts_supports : whether to count all supports that suffice, rather than stop at the first one.
    limits : for which problems cuts of few patterns are used, and how many.
    """
    # The order of the variables, (features,), and the cuts as bits in words of 64, (words, cuts).
    n_features = problem.n_features
    if max_errors == 0 and pattern_cuts_help(problem, size, limits):
        with_six_patterns = size >= limits.sixes_from
        order, cuts = arranged_cuts(problem, with_six_patterns, limits.max_cuts)
    else:
        order = np.arange(n_features)
        n_words = -(-n_features // WORD_BITS)  # rounded up
        cuts = np.zeros((n_words, 0), dtype=np.uint64)  # no cuts

    # The fits use the variables in this order, and then the columns that belong to every support.
    unpenalized_columns = np.arange(n_features, n_features + problem.n_unpenalized)
    fit_columns = np.append(order, unpenalized_columns)
    workspace = make_support_fit(problem, fit_columns, max_errors)

    # At the beginning all variables are open: neither included nor excluded.
    variables = Variables(
        status=np.full(n_features, OPEN),
        open_words=pack_set(np.ones(n_features, dtype=np.bool_)),
    )
    path = WalkPath(
        size=size,
        max_errors=max_errors,
        counts_supports=counts_supports,
        variables=variables,
        unmet=_allocate_unmet_cuts(cuts, n_levels=size),
        levels=_allocate_levels(size, n_features),
        tally=workspace.state.tally,  # one array of counts, for the walk and for its fits
    )

    # The walk will ask its caller where rounding leaves a doubt. Nothing is asked yet.
    question = Question(is_asked=np.zeros(1, dtype=np.int64), answer=np.full(1, NO_ANSWER))
    return Walk(
        n_unpenalized=problem.n_unpenalized,
        order=order,
        path=path,
        cut_fits=_allocate_cut_fits(n_features, problem.n_samples),
        question=question,
        workspace=workspace,
    )


def _allocate_cut_fits(n_features: int, n_samples: int) -> CutFits:
    """Allocate the fits of growing cuts, with 0, 1, … or all variables excluded."""
    n_rows = n_features + 1
    return CutFits(
        weights=np.zeros((n_rows, n_features)),
        multipliers=np.zeros((n_rows, n_samples)),
        of_support=np.zeros(n_samples),
    )


def _allocate_unmet_cuts(cuts: NDArray[np.uint64], n_levels: int) -> UnmetCuts:
    """Allocate the unmet cuts of every level; at level 0 these are all `cuts`, (words, cuts)."""
    n_words, n_cuts = cuts.shape
    of_level = np.zeros((n_levels, n_words, n_cuts), dtype=np.uint64)
    of_level[0] = cuts
    return UnmetCuts(
        cuts=of_level,
        n_unmet=np.full(n_levels, n_cuts),
        branching_words=np.zeros(n_words, dtype=np.uint64),
    )


def _allocate_levels(n_levels: int, n_features: int) -> Levels:
    """Allocate the levels of a depth-first walk that has not begun.

    At each level the walk branches on the variables of a cut, a set of variables of which every
    support that suffices contains one: it includes one of them after the other. There is no current
    level and no included variable yet, which −1 stands for. The other arrays are filled in when the
    walk enters a level.
    """
    return Levels(
        current_level=np.full(1, -1),  # an array of one entry, which compiled functions can change
        method=np.zeros(n_levels, dtype=np.int64),  # how the cut is found
        cut_variables=np.zeros((n_levels, n_features), dtype=np.int64),
        # So many of the cut's variables are still to be included.
        n_branches_left=np.zeros(n_levels, dtype=np.int64),
        included_variable=np.full(n_levels, -1),
        # The size of the smallest cut known before; a cut found by fits must be smaller.
        known_cut_size=np.zeros(n_levels, dtype=np.int64),
        # The row of `CutFits` with the first fit for the level's cut.
        first_fit_row=np.zeros(n_levels, dtype=np.int64),
    )
