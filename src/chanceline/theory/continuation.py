"""Following a branch of solutions in one parameter, and trying several starts in turn."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from scipy.optimize import brentq

from chanceline.errors import ConvergenceError
from chanceline.theory.newton import Solved, State
from chanceline.theory.quadrature import Array

Start = TypeVar("Start")
Success = TypeVar("Success")

# A point found in at most so many Newton steps lets the next step be longer, by the factor.
_EASY_ITERATIONS = 6
_GROWTH = 1.5


class _Visited(NamedTuple):
    """A point of a branch: its parameter, and its unknowns, (unknowns,)."""

    parameter: float
    unknowns: Array


def follow(  # noqa: PLR0913
    solve_at: Callable[[float, Array], Solved[State]],
    first: Solved[State],
    begin: float,
    step: float,
    until: Callable[[Solved[State]], bool] | float,
    smallest: float = 1e-4,
) -> Iterator[Solved[State]]:
    """Follow a branch of solutions in one parameter, and yield its points one after the other.

    Each point starts from a linear extrapolation of the two points before it. The step of the
    parameter is halved where Newton's method fails, and grows after points that were easy to find.

    Parameters
    ----------
    solve_at
        Returns the point at a parameter, from a guess of its unknowns, or raises ConvergenceError.
    first, begin
        The first point and its parameter.
    step
        First step of the parameter; its sign is the direction.
    until
        Where the branch ends: a condition, which holds at the last point and at none before it, or
        the parameter of the last point.
    smallest
        When the step falls below this length, the last ConvergenceError is raised.
    """
    # The parameter at which to end. It is infinite, and never reached, if `until` is a condition.
    goal = math.copysign(math.inf, step)
    if not callable(until):
        goal = until

    def is_last(point: Solved[State], parameter: float) -> bool:
        """Whether the branch ends with this point."""
        if callable(until):
            return until(point)
        return parameter == goal

    parameter = begin
    solved = first
    previous: _Visited | None = None  # the point before `solved`; none yet
    yield solved
    while not is_last(solved, parameter):
        # Try the next point. If Newton's method fails, try again with half the step.
        target = _not_beyond(goal, parameter + step, direction=step)
        current = _Visited(parameter, solved.unknowns)
        guess = _secant_guess(previous, current, target)
        try:
            next_solved = solve_at(target, guess)
        except ConvergenceError:
            step /= 2
            if abs(step) < smallest:
                raise
            continue

        # Accept the point.
        previous = current
        parameter = target
        solved = next_solved
        yield solved
        if solved.iterations <= _EASY_ITERATIONS:
            step *= _GROWTH


def _not_beyond(goal: float, target: float, direction: float) -> float:
    """Return `target`, or `goal` if the target reaches or passes it.

    The sign of `direction` is that of the step towards the target.
    """
    if (goal - target) * direction <= 0:
        return goal
    return target


def last_point(points: Iterable[Solved[State]]) -> Solved[State]:
    """Run a continuation to its end; its last point."""
    *_, last = points
    return last


def last_two_points(points: Iterable[Solved[State]]) -> tuple[Solved[State], Solved[State]]:
    """Run a continuation to its end; its last two points.

    The condition that ended it holds at the second of them and not at the first: a function that
    changes its sign there has its zero between them.
    """
    *_, before, last = points
    return before, last


def _secant_guess(previous: _Visited | None, current: _Visited, target: float) -> Array:
    """Guess the unknowns at the parameter `target`, (unknowns,).

    The guess lies on the straight line through the previous and the current point. If there is no
    previous point, the guess is the current point.
    """
    if previous is None:
        return current.unknowns
    last_move = current.unknowns - previous.unknowns
    last_step = current.parameter - previous.parameter
    return current.unknowns + last_move * (target - current.parameter) / last_step


class ChiBranch(ABC, Generic[State]):
    """A branch of saddles along which χ falls steadily; ln χ comes first in every point.

    A saddle is a solution of the equations at one load, a point its unknowns, (unknowns,). χ is the
    response of the weights; as the load grows it falls, and is the parameter to follow.
    """

    @abstractmethod
    def at_chi(self, log_chi: float, start: Array, /) -> Solved[State]:
        """The saddle at a given χ, by Newton from `start`, a point near to it, (unknowns,).

        `unknowns` of the result is the whole point, ln χ first.
        """

    def follow(
        self, first: Solved[State], step: float, until: Callable[[State], bool]
    ) -> Iterator[Solved[State]]:
        """Yield points of the branch from `first` on; the last is the first where `until` holds.

        `step` is the first step of ln χ: negative towards larger loads, positive towards smaller.
        """
        return follow(
            self.at_chi,
            first,
            begin=float(first.unknowns[0]),
            step=step,
            until=lambda point: until(point.state),
        )

    def point_where(
        self,
        bracket: tuple[Solved[State], Solved[State]],
        function: Callable[[State], float],
        tolerance: float = 1e-14,
    ) -> Solved[State]:
        """Find the point of the branch where a function of the state is zero, by Brent's method.

        The parameter along the branch is ln χ, the first unknown of every point, where χ is the
        response of the weights. `bracket` holds two points at which the function has different
        signs. At each ln χ Newton's method starts from the straight line between these two points.
        `tolerance` is the accuracy of ln χ.
        """
        begin, end = (point.unknowns for point in bracket)  # (unknowns,), ln χ first
        log_chi_begin = begin[0]
        log_chi_end = end[0]
        log_chi_range = log_chi_end - log_chi_begin

        def solved_at(log_chi: float) -> Solved[State]:
            """The point of the branch at this ln χ."""
            guess = begin + (end - begin) * (log_chi - log_chi_begin) / log_chi_range
            return self.at_chi(log_chi, guess)

        root: Any = brentq(
            lambda log_chi: function(solved_at(log_chi).state),
            log_chi_begin,
            log_chi_end,
            xtol=tolerance,
            rtol=tolerance,
        )
        return solved_at(float(root))


def first_success(attempt: Callable[[Start], Success], starts: Iterable[Start]) -> Success:
    """What `attempt` returns for the first of the starts for which it raises no ConvergenceError.

    If it does for all of them, the error of the last one is raised.
    """
    *all_but_last, last = starts
    for start in all_but_last:
        try:
            return attempt(start)
        except ConvergenceError:
            continue
    return attempt(last)
