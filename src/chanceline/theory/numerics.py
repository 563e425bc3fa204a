"""Numerical methods without physics: averages over a Gaussian, Newton, continuation, several starts.

Averages over the standard Gaussian measure Dz are taken by the trapezoidal rule in a stretched variable.
With z = centre + w sinh(t) the nodes are w·step apart near the centre and grow in proportion to the distance beyond w: features
of width w at the centre and the unit width of the Gaussian are resolved by the same few hundred nodes. The integrands are
analytic in a strip around the real axis and decay like a Gaussian, so the error falls exponentially in 1/step (Trefethen &
Weideman, SIAM Review 56, 385, 2014): halving the step once more shows what is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from chanceline.errors import ConvergenceError

Array = NDArray[np.float64]

State = TypeVar("State")
Start = TypeVar("Start")
Found = TypeVar("Found")

STEP = 0.03125
REACH = 12.0  # Gaussian mass beyond: 4e-33


@dataclass(frozen=True)
class GaussianRule:
    """Nodes z and weights of ∫Dz; the weights sum to one."""

    nodes: Array
    weights: Array

    def mean(self, values: Array) -> Array:
        """∫Dz values(z), along the first axis of `values`."""
        return self.weights @ values


@lru_cache(maxsize=256)
def gaussian_rule(width: float = 4.0, step: float = STEP) -> GaussianRule:
    """Rule for ∫Dz on |z| ≤ REACH, graded so that features of size `width`/4 around z = 0 are resolved."""
    half = int(np.ceil(np.arcsinh(REACH / width) / step))
    t = step * np.arange(-half, half + 1, dtype=float)
    nodes = width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)
    return GaussianRule(nodes, weights / weights.sum())


def rule_for(scale: float, step: float = STEP, centre: float = 0.0) -> GaussianRule:
    """The rule for ∫Dz that resolves features of size `scale` (in units of z) around the centre, at most at the Gaussian's edge.

    Widths are rounded down to powers of two: the rule then stays put while a solver moves, and is found in the cache.
    """
    width = float(2.0 ** np.floor(np.log2(4.0 * min(1.0, scale))))
    if not centre:
        return gaussian_rule(width, step)
    nodes, weights = centred_rule(np.array([centre]), width, step)
    return GaussianRule(nodes[0], weights[0])


def focused_rule(centres: Sequence[float], sizes: Sequence[float], step: float = STEP) -> GaussianRule:
    """The rule for ∫Dz that resolves several features at once, the i-th of size `sizes[i]` around `centres[i]`.

    The variable is t(z) = Σ_i arcsinh((z − c_i)/w_i), w_i = 4·size: equal steps in t are fine near each centre. A centre
    beyond the reach of the Gaussian is moved to its edge.
    """
    middles = np.clip(np.asarray(centres, dtype=float), -REACH, REACH)[:, None]
    widths = 4.0 * np.minimum(1.0, np.asarray(sizes, dtype=float))[:, None]
    samples = np.unique(
        np.clip(middles + widths * np.sinh(np.linspace(-1, 1, 201) * np.arcsinh(2 * REACH / widths)), -REACH, REACH)
    )

    def stretched(z: Array) -> Array:
        return np.arcsinh((z - middles) / widths).sum(axis=0)

    at = stretched(samples)
    t = np.arange(at[0], at[-1], step)
    nodes = np.interp(t, at, samples)
    for _ in range(8):
        density = (1 / np.hypot(widths, nodes - middles)).sum(axis=0)
        nodes -= (stretched(nodes) - t) / density
    weights = np.exp(-0.5 * nodes**2) / (1 / np.hypot(widths, nodes - middles)).sum(axis=0)
    return GaussianRule(nodes, weights / weights.sum())


def centred_rule(centres: Array, width: float, step: float = STEP) -> tuple[Array, Array]:
    """Nodes and weights of ∫Dy, one row for each centre, graded around a feature of size `width`/4 at that centre.

    A centre outside the reach of the Gaussian is moved to its edge: the feature does not matter there.
    """
    middle = np.clip(np.asarray(centres, dtype=float), -REACH, REACH)[:, None]
    half = int(np.ceil(np.arcsinh(2 * REACH / width) / step))
    t = step * np.arange(-half, half + 1, dtype=float)
    nodes = middle + width * np.sinh(t)
    weights = np.exp(-0.5 * nodes**2) * np.cosh(t)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


# Newton and continuation.


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
