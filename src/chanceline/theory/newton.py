"""Newton's method for a few equations: damped, and its error says where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from chanceline.errors import ConvergenceError
from chanceline.theory.quadrature import Array

State = TypeVar("State")

# Relative rounding of a float, of which tolerances are multiples.
EPS = float(np.finfo(float).eps)
# A step shortened to less than this share is given up.
_SMALLEST_FRACTION = 1e-2
# Logarithms of unknowns beyond this are no longer those of numbers to compute with.
_LARGEST_LOG = 100


class OutsideDomain(Exception):
    """The equations make no sense at a point, such as one with a negative variance.

    Newton then takes a shorter step.
    """


def _state_at_start(equations: Callable[[Array], State], start: Array, name: str) -> State:
    """What the equations return at the start; ConvergenceError if it lies outside the domain."""
    try:
        return equations(start)
    except OutsideDomain as outside:
        raise ConvergenceError(
            f"{name}: the start lies outside the domain ({outside}); start nearer"
        ) from None


def check_logarithms(logarithms: Array) -> None:
    """Raise OutsideDomain if any of these logarithms, (unknowns,), is too large or too small.

    `exp` of such a logarithm would overflow, or be so small that products of it underflow.
    """
    if np.abs(logarithms).max() > _LARGEST_LOG:
        raise OutsideDomain("an order parameter left the range of floating-point numbers")


@dataclass(frozen=True)
class Solved(Generic[State]):
    """A converged point with all that the equations returned there, and the Jacobian."""

    unknowns: Array  # (unknowns,)
    state: State  # what the equations returned
    iterations: int  # Newton steps that it took
    residual: float  # largest absolute one
    jacobian: Array  # (equations, unknowns)


@dataclass(frozen=True)
class Newton:
    """Damped Newton's method.

    It ends when the residual *and* the step are small, or when the residual is small and no step
    improves it.

    Parameters
    ----------
    tolerance
        Largest residual accepted.
    step_tolerance
        Largest last step accepted.
    longest_step
        Steps are shortened to this length (largest component).
    iterations
        Steps after which it gives up.
    """

    tolerance: float = 1e-12
    step_tolerance: float = 1e-6
    longest_step: float = 1.5
    iterations: int = 30

    def solve(
        self,
        equations: Callable[[Array], State],
        start: Array,
        name: str = "the saddle",
        *,
        residual: Callable[[Any], Array] = lambda state: state.residual,
        jacobian: Callable[[State], Array] | None = None,
    ) -> Solved[State]:
        """Solve residual(equations(unknowns)) = 0 from `start`, or raise ConvergenceError.

        Parameters
        ----------
        equations
            Evaluates everything at a point, (unknowns,), and returns it as an object, the state.
            Raises OutsideDomain where the equations are not defined.
        start : (unknowns,)
            A point near the solution.
        name
            What is solved, for error messages.
        residual
            Reads the residual from a state, (equations,).
        jacobian
            Reads the Jacobian from a state, (equations, unknowns). Without it the Jacobian is taken
            by central differences.
        """
        unknowns = np.array(start, dtype=float)
        state = _state_at_start(equations, unknowns, name)
        problem = _Problem(equations, residual, jacobian)

        # Each round moves the point, returns it as the solution, or gives up (`break`).
        for iteration in range(1, self.iterations + 1):
            direction = problem.newton_direction(unknowns, state)
            if direction is None:
                break  # there is no Newton step from here
            largest_residual = problem.largest_residual(state)
            residual_is_small = largest_residual <= self.tolerance
            step_is_small = direction.length <= self.step_tolerance

            has_converged = residual_is_small and step_is_small
            if not has_converged:
                better_point = self._shortened_step(problem, direction, unknowns, largest_residual)
                if better_point is not None:
                    unknowns, state = better_point
                    continue  # with the next Newton step
                if not residual_is_small:
                    break  # no step leads to a better point
                # No step is an improvement, but the residual is small: rounding allows no smaller
                # one, and the point is accepted although the full step is long.

            return Solved(
                unknowns=unknowns,
                state=state,
                iterations=iteration,
                residual=largest_residual,
                jacobian=direction.jacobian,
            )

        raise ConvergenceError(
            f"{name}: Newton stopped with residual {problem.largest_residual(state):.2e} at "
            f"{np.array2string(unknowns, precision=6)}; try a start nearer to the solution or a "
            "smaller continuation step"
        )

    def _shortened_step(
        self,
        problem: _Problem[State],
        direction: _Direction,
        unknowns: Array,
        old_largest_residual: float,
    ) -> tuple[Array, State] | None:
        """Search along a Newton step for a better point; return the point and its state, or None.

        The full step is first cut to the longest length allowed. It is then halved until the new
        point lies in the domain of the equations and is better than the old one (`is_better`). The
        old point is `unknowns`, (unknowns,); the largest absolute component of its residual is
        `old_largest_residual`. Returns None if even a very short step does not give a better point.
        """
        fraction = min(1.0, self.longest_step / direction.length)  # of the full Newton step
        while fraction > _SMALLEST_FRACTION:
            trial_point = unknowns + fraction * direction.step
            try:
                trial_state = problem.equations(trial_point)
            except OutsideDomain:
                fraction /= 2
                continue

            # To first order a step of this fraction leaves the share 1 − fraction of the error. The
            # point counts as better if it removes at least a quarter of what is expected.
            largest_remaining_share = 1 - fraction / 4
            is_better = problem.is_better(
                trial_state,
                largest_remaining_share=largest_remaining_share,
                direction=direction,
                old_largest_residual=old_largest_residual,
            )
            if is_better:
                return trial_point, trial_state
            fraction /= 2
        return None


@dataclass(frozen=True)
class _Direction:
    """A full Newton step and the Jacobian it came from."""

    step: Array  # (unknowns,)
    length: float  # its largest component
    jacobian: Array  # (equations, unknowns)


@dataclass(frozen=True)
class _Problem(Generic[State]):
    """The equations with how to read residual and Jacobian off a state."""

    equations: Callable[[Array], State]
    residual: Callable[[Any], Array]
    jacobian: Callable[[State], Array] | None

    def largest_residual(self, state: State) -> float:
        """The largest absolute component of the residual."""
        return float(np.abs(self.residual(state)).max())

    def is_better(
        self,
        trial: State,
        largest_remaining_share: float,
        direction: _Direction,
        old_largest_residual: float,
    ) -> bool:
        """Whether a trial state is nearer to the solution than the point that `direction` left.

        The test is natural monotonicity (Deuflhard, Newton Methods for Nonlinear Problems, 2004,
        section 3.3): the correction that the old Jacobian would make next must be shorter than the
        last one, by the factor `largest_remaining_share`. Unlike the residual the correction does
        not depend on the scales of the equations. Where rounding blurs this test, it is enough that
        the largest residual is smaller than the last one, `old_largest_residual`, by this factor.
        """
        residual = self.residual(trial)
        # The correction from the trial point, with the Jacobian of the point before.
        next_length = np.abs(np.linalg.solve(direction.jacobian, residual)).max()
        next_largest_residual = np.abs(residual).max()
        has_shorter_correction = next_length <= largest_remaining_share * direction.length
        largest_residual_allowed = largest_remaining_share * old_largest_residual
        has_smaller_residual = next_largest_residual <= largest_residual_allowed
        return bool(has_shorter_correction or has_smaller_residual)

    def newton_direction(self, unknowns: Array, state: State) -> _Direction | None:
        """Compute the full Newton step from `unknowns`, (unknowns,), where the state is `state`.

        Returns None if there is no such step: the Jacobian is singular or not finite, or a point
        that its central differences need lies outside the domain of the equations.
        """
        try:
            jacobian = self._jacobian_at(unknowns, state)
            step = np.asarray(np.linalg.solve(jacobian, -self.residual(state)), dtype=float)
        except (np.linalg.LinAlgError, OutsideDomain):
            return None

        length = np.abs(step).max()  # the largest component
        if not np.isfinite(length):
            return None
        return _Direction(step=step, length=length, jacobian=jacobian)

    def _jacobian_at(self, unknowns: Array, state: State) -> Array:
        """The analytic Jacobian if the state has one, else that of central differences."""
        if self.jacobian is not None:
            return self.jacobian(state)
        return difference_jacobian(lambda point: self.residual(self.equations(point)), unknowns)


def difference_jacobian(
    residual: Callable[[Array], Array], point: Array, step: float = 1e-5
) -> Array:
    """∂residual/∂point by central differences, (equations, unknowns).

    `residual` gives (equations,) at a point, (unknowns,). One-sided differences, which cost half as
    much, have larger errors and would slow Newton down where the equations are stiff.
    """
    columns = []
    for move in step * np.eye(len(point)):  # each row moves one unknown
        difference = residual(point + move) - residual(point - move)
        columns.append(difference / (2 * step))
    return np.column_stack(columns)
