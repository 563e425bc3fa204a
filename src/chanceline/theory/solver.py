"""Solving saddle-point equations: Newton, continuation, several starts. Method only; the equations come from elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.optimize import brentq

from chanceline.errors import ConvergenceError
from chanceline.theory.quadrature import Array

State = TypeVar("State")
Start = TypeVar("Start")
Found = TypeVar("Found")


class OutsideDomain(Exception):
    """The point breaks a constraint of the equations (such as d > 0); the step that led there is shortened."""


@dataclass(frozen=True)
class Solved(Generic[State]):
    """A converged point with everything the equations returned there, the largest residual and the Jacobian."""

    unknowns: Array
    state: State
    iterations: int
    residual: float
    jacobian: Array


@dataclass(frozen=True)
class Newton:
    """Damped Newton; it ends when the residual *and* the step are small, or the residual is small and no step betters it.

    Parameters
    ----------
    tolerance
        Largest residual accepted.
    step_tolerance
        Largest last step accepted.
    longest_step
        Steps are shortened to this length (largest component).
    """

    tolerance: float = 1e-12
    step_tolerance: float = 1e-6
    longest_step: float = 1.5
    iterations: int = 30

    def solve(
        self,
        equations: Callable[[Array], State],
        start: Array,
        what: str = "the saddle",
        *,
        residual: Callable[[Any], Array] = lambda state: state.residual,
        jacobian: Callable[[State], Array] | None = None,
    ) -> Solved[State]:
        """Solve residual(equations(unknowns)) = 0 from `start`, or raise ConvergenceError that says where it stopped.

        Without `jacobian` the derivatives are taken by central differences.
        """
        unknowns = np.array(start, dtype=float)
        try:
            state = equations(unknowns)
        except OutsideDomain as outside:
            raise ConvergenceError(f"{what}: the start lies outside the domain ({outside}); start nearer") from None
        for iteration in range(1, self.iterations + 1):
            errors = residual(state)
            size = float(np.abs(errors).max())
            try:
                slopes = jacobian(state) if jacobian else difference_jacobian(lambda point: residual(equations(point)), unknowns)
                step = np.linalg.solve(slopes, -errors)
            except (np.linalg.LinAlgError, OutsideDomain):
                break
            length = np.abs(step).max()
            if not np.isfinite(length):
                break
            if size <= self.tolerance and length <= self.step_tolerance:
                return Solved(unknowns, state, iteration, size, slopes)
            fraction = min(1.0, self.longest_step / length)
            while fraction > 1e-2:
                try:
                    trial = equations(unknowns + fraction * step)
                except OutsideDomain:
                    fraction /= 2
                    continue
                # Natural monotonicity: the correction that the old Jacobian would make next must be shorter, whatever the
                # scales of the equations (Deuflhard, Newton Methods for Nonlinear Problems, 2004, section 3.3).
                next_length = np.abs(np.linalg.solve(slopes, residual(trial))).max()
                # Where rounding blurs that test a smaller residual will do.
                next_size = np.abs(residual(trial)).max()
                if next_length <= (1 - fraction / 4) * length or next_size <= (1 - fraction / 4) * size:
                    break
                fraction /= 2
            else:
                if size <= self.tolerance:
                    # No step improves on it: rounding is all that is left, and the equations are ill-conditioned.
                    return Solved(unknowns, state, iteration, size, slopes)
                break
            unknowns, state = unknowns + fraction * step, trial
        raise ConvergenceError(
            f"{what}: Newton stopped with residual {np.abs(residual(state)).max():.2e} at "
            f"{np.array2string(unknowns, precision=6)}; try a start nearer to the solution or a smaller continuation step"
        )


def difference_jacobian(residual: Callable[[Array], Array], point: Array, step: float = 1e-5) -> Array:
    """∂residual/∂point by central differences: one-sided ones would slow Newton down where the equations are stiff."""
    columns = [(residual(point + move) - residual(point - move)) / (2 * step) for move in step * np.eye(len(point))]
    return np.column_stack(columns)


def follow(
    solve_at: Callable[[float, Array], Solved[State]],
    first: Solved[State],
    begin: float,
    step: float,
    until: Callable[[Solved[State]], bool] | float,
    smallest: float = 1e-4,
) -> Iterator[Solved[State]]:
    """Yield the points of a branch in one parameter, with a secant predictor and a step that adapts.

    Ends with the first point where `until` holds, or at the parameter `until` if it is a number; raises ConvergenceError when the
    step falls below `smallest`.
    """
    parameter, solved = begin, first
    yield solved
    previous: tuple[float, Array] | None = None
    while not (until(solved) if callable(until) else parameter == until):
        target = parameter + step
        if not callable(until) and (until - target) * step <= 0:
            target = until
        guess = solved.unknowns
        if previous is not None:
            guess = guess + (guess - previous[1]) * (target - parameter) / (parameter - previous[0])
        try:
            new = solve_at(target, guess)
        except ConvergenceError:
            step /= 2
            if abs(step) < smallest:
                raise
            continue
        previous = (parameter, solved.unknowns)
        parameter, solved = target, new
        yield solved
        if new.iterations <= 6:
            step *= 1.5


class ChiBranch(ABC, Generic[State]):
    """A branch of saddles along which χ falls steadily; ln χ is the first coordinate of every point."""

    @abstractmethod
    def at_chi(self, log_chi: float, start: Array, /) -> Solved[State]:
        """The saddle at a given χ, by Newton from a point near to it; `unknowns` of the result is the whole point."""

    def follow(self, first: Solved[State], step: float, until: Callable[[State], bool]) -> Iterator[Solved[State]]:
        """Continuation in ln χ from any point; ends with the first point where `until` holds."""
        return follow(self.at_chi, first, float(first.unknowns[0]), step, lambda point: until(point.state))

    def point_where(
        self, bracket: tuple[Solved[State], Solved[State]], value: Callable[[State], float], tolerance: float = 1e-14
    ) -> Solved[State]:
        """The point between two points of the branch where `value` vanishes."""
        begin, end = (point.unknowns for point in bracket)

        def solved_at(log_chi: float) -> Solved[State]:
            return self.at_chi(log_chi, begin + (end - begin) * (log_chi - begin[0]) / (end[0] - begin[0]))

        root: Any = brentq(lambda log_chi: value(solved_at(log_chi).state), begin[0], end[0], xtol=tolerance, rtol=tolerance)
        return solved_at(float(root))


def first_success(attempt: Callable[[Start], Found], starts: Iterable[Start]) -> Found:
    """What `attempt` finds from the first start that leads anywhere; the last failure if none does."""
    *others, last = starts
    for start in others:
        try:
            return attempt(start)
        except ConvergenceError:
            continue
    return attempt(last)
