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
    smallest : (words,), the open part of the smallest one, for the level entered last.
    """

    cuts: NDArray[np.uint64]
    n_unmet: NDArray[np.int64]
    smallest: NDArray[np.uint64]


class Levels(NamedTuple):
    """Where the walk is. At each level one variable of a cut is included.

    current : (1,), the level; −1 before and after the walk.
    method : (levels,), GROWING, BY_MARGIN or BY_PATTERNS.
    branches : (levels, features), the variables of the cut.
    n_waiting : (levels,), that many of them, the first ones, are still to be included; meanwhile
        they are excluded.
    chosen : (levels,), the one that is included, −1 at first.
    max_branches : (levels,), the size of the smallest cut of few patterns: one by the margin must
        be smaller.
    first_fit : (levels,), the place in `CutFits` of the fit before the cut's first variable was
        excluded.
    """

    current: NDArray[np.int64]
    method: NDArray[np.int64]
    branches: NDArray[np.int64]
    n_waiting: NDArray[np.int64]
    chosen: NDArray[np.int64]
    max_branches: NDArray[np.int64]
    first_fit: NDArray[np.int64]


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

    is_asked : (1,), 1 while the walk waits for an answer.
    answer : (1,), SEPARABLE, INSEPARABLE, UNDECIDED or NO_ANSWER.
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
    fit: SupportFit


def make_walk(
    problem: Problem,
    size: int,
    max_errors: int = 0,
    counts_supports: bool = False,
    limits: CutLimits = DEFAULT_LIMITS,
) -> Walk:
    """Prepare a walk over all supports of `size` variables that make at most `max_errors` errors.

    A cut is a set of variables of which every such support contains at least one. If cuts made of a
    few patterns help, they are computed here, and the walk numbers the variables in the order that
    suits these cuts.

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

    # Columns of the fits: the variables in this order, then those that belong to every support.
    unpenalized = np.arange(n_features, n_features + problem.n_unpenalized)
    fit = make_support_fit(problem, np.append(order, unpenalized), max_errors)

    # At the beginning all variables are open.
    path = WalkPath(
        size=size,
        max_errors=max_errors,
        counts_supports=counts_supports,
        variables=Variables(
            status=np.full(n_features, OPEN),
            open_words=pack_set(np.ones(n_features, dtype=np.bool_)),
        ),
        unmet=_unmet_cuts(cuts, size),
        levels=_levels(size, n_features),
        tally=fit.state.tally,
    )
    return Walk(
        n_unpenalized=problem.n_unpenalized,
        order=order,
        path=path,
        cut_fits=_cut_fits(n_features, problem.n_samples),
        question=Question(is_asked=np.zeros(1, dtype=np.int64), answer=np.full(1, NO_ANSWER)),
        fit=fit,
    )


def _cut_fits(n_features: int, n_samples: int) -> CutFits:
    """Allocate the fits of growing cuts, with 0, 1, … or all variables excluded."""
    n_rows = n_features + 1
    return CutFits(
        weights=np.zeros((n_rows, n_features)),
        multipliers=np.zeros((n_rows, n_samples)),
        of_support=np.zeros(n_samples),
    )


def _unmet_cuts(cuts: NDArray[np.uint64], n_levels: int) -> UnmetCuts:
    """Allocate the unmet cuts of every level; at level 0 these are all `cuts`, (words, cuts)."""
    n_words, n_cuts = cuts.shape
    of_level = np.zeros((n_levels, n_words, n_cuts), dtype=np.uint64)
    of_level[0] = cuts
    return UnmetCuts(
        cuts=of_level,
        n_unmet=np.full(n_levels, n_cuts),
        smallest=np.zeros(n_words, dtype=np.uint64),
    )


def _levels(n_levels: int, n_features: int) -> Levels:
    """Allocate the levels of a walk that has not begun.

    There is no current level and no variable chosen yet, which −1 stands for. The other arrays,
    which `Levels` explains, are filled in when the walk enters a level.
    """
    return Levels(
        current=np.full(1, -1),  # an array of one entry, which compiled functions can change
        method=np.zeros(n_levels, dtype=np.int64),
        branches=np.zeros((n_levels, n_features), dtype=np.int64),
        n_waiting=np.zeros(n_levels, dtype=np.int64),
        chosen=np.full(n_levels, -1),
        max_branches=np.zeros(n_levels, dtype=np.int64),
        first_fit=np.zeros(n_levels, dtype=np.int64),
    )
