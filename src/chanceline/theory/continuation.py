"""Following a branch of solutions in one parameter, and trying several starts in turn."""

from __future__ import annotations

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


class _BranchPoint(NamedTuple):
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
    """Solve equations along a changing parameter, and yield the solutions one after the other.

    Newton's method for each solution starts from a linear extrapolation of the two before it. The
    step of the parameter is halved where Newton's method fails, and grows after solutions that were
    easy to find.

    Parameters
    ----------
    solve_at
        Returns the solution at a parameter, from a guess of its unknowns, or raises
        ConvergenceError.
    first, begin
        The first solution and its parameter.
    step
        First step of the parameter; its sign is the direction.
    until
        Where to stop: either the parameter of the last solution, or a condition on a solution (a
        function). The first solution that fulfils the condition is the last.
    smallest
        When the step falls below this length, the last ConvergenceError is raised.
    """
    # One of the two ways to stop is given by `until`, and the other one is None.
    condition: Callable[[Solved[State]], bool] | None = None
    last_parameter: float | None = None
    if callable(until):
        condition = until
    else:
        last_parameter = until

    def is_last(solution: Solved[State], parameter: float) -> bool:
        """Whether to stop with this solution."""
        if condition is not None:
            return condition(solution)
        return parameter == last_parameter

    parameter = begin
    solution = first
    point_before: _BranchPoint | None = None  # the point before `solution`; none yet
    yield solution
    while not is_last(solution, parameter):
        # Try the next parameter. If Newton's method fails, try again with half the step.
        next_parameter = parameter + step
        if last_parameter is not None:
            next_parameter = _not_beyond(last_parameter, next_parameter, direction=step)
        point = _BranchPoint(parameter, solution.unknowns)
        guess = _secant_guess(point_before, point, next_parameter)
        try:
            next_solution = solve_at(next_parameter, guess)
        except ConvergenceError:
            step /= 2
            if abs(step) < smallest:
                raise
            continue

        # Accept the next solution.
        point_before = point
        parameter = next_parameter
        solution = next_solution
        yield solution

        was_easy = solution.iterations <= _EASY_ITERATIONS
        if was_easy:
            step *= _GROWTH


def _not_beyond(limit: float, target: float, direction: float) -> float:
    """Return `target`, or `limit` if the target reaches or passes it.

    The sign of `direction` is that of the step towards the target.
    """
    if (limit - target) * direction <= 0:
        return limit
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


def _secant_guess(
    point_before: _BranchPoint | None, point: _BranchPoint, next_parameter: float
) -> Array:
    """Guess the unknowns at the parameter `next_parameter`, (unknowns,).

    The guess lies on the straight line through `point_before` and `point`, the last two points. If
    there is only `point`, the guess is this point.
    """
    if point_before is None:
        return point.unknowns
    last_move = point.unknowns - point_before.unknowns
    last_step = point.parameter - point_before.parameter
    next_step = next_parameter - point.parameter
    return point.unknowns + last_move * next_step / last_step


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

        A branch is a curve of solutions. The parameter along it is ln χ, the first unknown of every
        point; χ is the response of the weights. `bracket` holds two points at which the function
        has different signs. At every ln χ that Brent's method tries, the equations are solved anew,
        from a guess on the straight line between these two points. `tolerance` is the accuracy of
        ln χ.
        """
        begin = bracket[0].unknowns  # (unknowns,), ln χ first
        end = bracket[1].unknowns
        log_chi_begin = begin[0]
        log_chi_end = end[0]

        def point_at(log_chi: float) -> Solved[State]:
            """The point of the branch at this ln χ."""
            distance = log_chi - log_chi_begin
            whole_distance = log_chi_end - log_chi_begin
            guess = begin + (end - begin) * distance / whole_distance
            return self.at_chi(log_chi, guess)

        def value_at(log_chi: float) -> float:
            """The function whose zero is sought, at this ln χ."""
            return function(point_at(log_chi).state)

        root: Any = brentq(value_at, log_chi_begin, log_chi_end, xtol=tolerance, rtol=tolerance)
        return point_at(float(root))


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
