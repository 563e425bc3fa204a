"""A door for other ensembles: from a free entropy to saddle, capacity, curve and density.

An ensemble is one function Σ(α, ρ, order parameters), the logarithm per variable of how many
choices separate, to be taken where it is stationary in its order parameters. `FreeEntropy` has
everything else: derivatives, Newton's method and continuation. Σ = 0 is the capacity.

Derivatives by the order parameters are taken by complex steps, ∂Σ/∂x = Im Σ(x + ih)/h, which do not
cancel: the function is written with numpy for complex numbers, and real ones are a special case.
`log_tail` and `log_sum` are complex, too. Order parameters have domains, and the solver moves in
coordinates that cannot leave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr, logit

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.theory.continuation import follow, last_point
from chanceline.theory.ensemble import check_alpha, check_rho
from chanceline.theory.newton import Newton, Solved, check_logarithms
from chanceline.theory.quadrature import Array

if TYPE_CHECKING:
    import pandas as pd

# Σ(load α, density ρ, order parameters), complex if one of them is.
Entropy = Callable[[Any, Any, Sequence[Any]], Any]
# The replicon product at a load, a density and order parameters.
Replicon = Callable[[float, float, Sequence[float]], float]

# The length h of complex steps: the error of such a derivative is of the order of h², which must
# not count beside 1.
_COMPLEX_STEP = 1e-20
# First steps along a branch: of logit ρ and of ln α.
_DENSITY_STEP = 0.3
_LOAD_STEP = 0.1
_NEWTON = Newton(tolerance=1e-11, step_tolerance=1e-6)


class Domain(StrEnum):
    """Where an order parameter lives."""

    REAL = "real"
    POSITIVE = "positive"
    SHARE = "share"  # between 0 and 1

    def to_coordinate(self, value: float) -> float:
        """The unbounded coordinate of a value: its logarithm, its logit, or the value itself."""
        if self is Domain.POSITIVE:
            return float(np.log(value))
        if self is Domain.SHARE:
            return float(logit(value))
        return float(value)

    def from_coordinate(self, coordinate: Any) -> Any:
        """The value at a coordinate, which may be complex: the inverse of `to_coordinate`."""
        if self is Domain.POSITIVE:
            return np.exp(coordinate)
        if self is Domain.SHARE:
            return 1 / (1 + np.exp(-coordinate))  # expit of SciPy takes no complex numbers
        return coordinate


class OrderStart(NamedTuple):
    """A guess of the capacity at one density, from which all others are followed."""

    alpha: float
    rho: float
    order: tuple[float, ...]  # in the order of the ensemble's parameters


@dataclass(frozen=True, repr=False)
class Saddle(Result):
    """A stationary point of a free entropy; at the capacity its entropy is 0."""

    name: str  # of the ensemble
    alpha: float
    rho: float
    entropy: float
    order: dict[str, float]
    replicon: float | None  # above 1 replica symmetry is unstable; None if no formula was given
    residual: float  # the largest derivative left

    kind = "asymptotic (replica symmetric)"

    def summary(self) -> str:
        """The point and its entropy, in one line."""
        return f"{self.name} at α = {self.alpha:.8g}, ρ = {self.rho:g}: Σ = {self.entropy:.8g}"


@dataclass(frozen=True, repr=False)
class SaddleCurve(Result):
    """Saddles at several densities or loads, in the order asked for."""

    points: tuple[Saddle, ...]

    kind = "asymptotic (replica symmetric)"

    @property
    def rho(self) -> Array:
        """The densities, (points,)."""
        return np.array([point.rho for point in self.points])

    @property
    def alpha(self) -> Array:
        """The loads, (points,)."""
        return np.array([point.alpha for point in self.points])

    def summary(self) -> str:
        """The ensemble and the number of points, in one line."""
        return f"{self.points[0].name}: {len(self.points)} points"

    def to_frame(self) -> pd.DataFrame:
        """Return the points as a table, one row per point.

        The columns are load, density, entropy, one column for each order parameter, and the
        replicon, which is None if the ensemble has no formula for it.
        """
        import pandas as pd

        rows = []
        for point in self.points:
            row: dict[str, float | None] = {
                "alpha": point.alpha,
                "rho": point.rho,
                "entropy": point.entropy,
            }
            row.update(point.order)
            row["replicon"] = point.replicon
            rows.append(row)
        return pd.DataFrame(rows)


class _SaddleState(NamedTuple):
    """What is known at a point of the solver."""

    alpha: float
    rho: float
    order: tuple[float, ...]
    entropy: float
    residual: Array  # derivatives of Σ by the coordinates, (parameters,)


@dataclass(frozen=True)
class FreeEntropy:
    """An ensemble by its free entropy.

    Attributes
    ----------
    name : in words, for results and errors.
    entropy : Σ(α, ρ, order), for real or complex numbers.
    parameters : names of the order parameters with their domains.
    start : a guess of the capacity at one density.
    replicon : the product that is above 1 where replica symmetry is unstable, if it is known.
    """

    name: str
    entropy: Entropy
    parameters: dict[str, Domain]
    start: OrderStart
    replicon: Replicon | None = None

    def capacity(self, rho: float) -> Saddle:
        """The load where Σ vanishes at the density ρ, followed from the density of the start."""
        first = self._capacity_at_start()
        return self._public_result(self._follow_capacity(check_rho(rho), first))

    def curve(self, rhos: Iterable[float]) -> SaddleCurve:
        """The capacity at many densities, each followed from the next smaller one of them.

        The points of the result are in the order of `rhos`.
        """
        densities = [check_rho(rho) for rho in rhos]
        capacity_at: dict[float, Saddle] = {}
        last = self._capacity_at_start()
        for rho in sorted(set(densities)):
            last = self._follow_capacity(rho, last)
            capacity_at[rho] = self._public_result(last)
        return SaddleCurve(tuple(capacity_at[rho] for rho in densities))

    def saddle(self, alpha: float, rho: float) -> Saddle:
        """The stationary point of the entropy Σ at a load α and a density ρ.

        α is patterns per variable, ρ the share of variables chosen, and Σ is ln(number of
        separating choices)/N. At the point Σ is stationary in the parameters of the theory, the
        order parameters. It is reached in small steps of ln α, each solved by Newton's method, from
        the capacity at this density, where Σ = 0.
        """
        alpha = check_alpha(alpha)
        rho = check_rho(rho)
        capacity = self._follow_capacity(rho, self._capacity_at_start())

        def point_at(log_alpha: float, guess: Array) -> Solved[_SaddleState]:
            """The stationary point at this ln α, from a guess of the coordinates, (parameters,)."""
            load = float(np.exp(log_alpha))

            def state_at(coordinates: Array) -> _SaddleState:
                """Σ and its derivatives at coordinates of the order parameters."""
                return self._evaluate(load, rho, coordinates)

            return _NEWTON.solve(state_at, guess, f"{self.name} at α = {load:g}")

        # The unknowns of a capacity are the coordinates of the order parameters and, last, ln α.
        order_coordinates = capacity.unknowns[:-1]
        log_capacity = float(np.log(capacity.state.alpha))
        first_point = point_at(log_capacity, order_coordinates)
        solved = _follow_to(
            point_at,
            first=first_point,
            begin=log_capacity,
            end=float(np.log(alpha)),
            step=_LOAD_STEP,
        )
        return self._public_result(solved)

    def density(self, alpha: float) -> Saddle:
        """The density ρ whose capacity is the load α.

        The capacity of a density is the load at which Σ, the entropy of separating choices of
        variables, is 0. The search starts from the density of `start` and its capacity. From there
        the load is moved to α in small steps of ln α, and the density with it, so that Σ stays 0.
        Loads beyond a maximum of the capacity cannot be reached in this way.
        """
        alpha = check_alpha(alpha)
        first_capacity = self._capacity_at_start()
        log_capacity = float(np.log(first_capacity.state.alpha))

        # The unknowns change: `first_capacity` was solved at given ρ for the coordinates of the
        # order parameters and, last, ln α. Here ln α is given, and the last unknown is logit ρ.
        order_coordinates = first_capacity.unknowns[:-1]
        logit_rho = logit(first_capacity.state.rho)
        first_guess = np.append(order_coordinates, logit_rho)
        first_point = self._solve_density(log_capacity, first_guess)

        solved = _follow_to(
            self._solve_density,
            first=first_point,
            begin=log_capacity,
            end=float(np.log(alpha)),
            step=_LOAD_STEP,
        )
        return self._public_result(solved)

    def _solve_density(self, log_alpha: float, guess: Array) -> Solved[_SaddleState]:
        """Solve for the density ρ whose capacity is the load α, by Newton's method.

        The capacity of a density is the load at which the entropy Σ is 0. Σ(α, ρ, order parameters)
        is also stationary in the order parameters, the other unknowns. The load is given as ln α,
        because `density` moves it in steps of ln α.

        The unknowns are the coordinates of the order parameters (any real numbers, see `Domain`)
        and, last, logit ρ: (parameters + 1,), as in `guess` and in the result. There are as many
        equations: ∂Σ/∂x = 0 for each coordinate x of an order parameter, and Σ = 0.
        """
        alpha = float(np.exp(log_alpha))

        def state_at(unknowns: Array) -> _SaddleState:
            """Σ and its derivatives by the coordinates of the order parameters."""
            order_coordinates = unknowns[:-1]
            logit_rho = unknowns[-1]
            rho = Domain.SHARE.from_coordinate(logit_rho)  # the inverse of the logit
            return self._evaluate(alpha, rho, order_coordinates)

        return _NEWTON.solve(
            state_at,
            guess,
            f"{self.name}: density at α = {alpha:g}",
            residual=_slopes_and_entropy,  # the left sides of the equations
        )

    def _capacity_at_start(self) -> Solved[_SaddleState]:
        """Solve for the capacity at the density of `start`, by Newton's method from `start`.

        `start` has a density, a guess of its capacity, and guesses of the order parameters, in the
        order of `parameters`. Newton's method works in coordinates that may be any real number,
        such as the logarithm of a positive order parameter (`Domain`). Raises InputError if `start`
        does not have exactly one value for each order parameter.
        """
        if len(self.start.order) != len(self.parameters):
            raise InputError(
                f"{self.name}: the start has {len(self.start.order)} order parameters, but "
                f"{len(self.parameters)} are named"
            )

        # The unknowns of `_solve_capacity`: coordinates of the order parameters and, last, ln α.
        unknowns = []
        for domain, value in zip(self.parameters.values(), self.start.order, strict=True):
            unknowns.append(domain.to_coordinate(value))
        unknowns.append(np.log(self.start.alpha))
        return self._solve_capacity(self.start.rho, np.array(unknowns))

    def _follow_capacity(
        self, rho: float, known_capacity: Solved[_SaddleState]
    ) -> Solved[_SaddleState]:
        """Find the capacity at density ρ, starting from the known capacity at another density.

        The density is the share of variables chosen. The capacity is the load α (patterns per
        variable) at which Σ, the entropy of separating choices, is 0. The density is moved to ρ in
        small steps, and each solution on the way starts Newton's method for the next. The steps are
        taken in the logit of the density, so that it stays between 0 and 1.
        """
        known_logit = float(logit(known_capacity.state.rho))
        target_logit = float(logit(rho))

        def capacity_at(density_logit: float, guess: Array) -> Solved[_SaddleState]:
            """The capacity at the density with this logit; `guess` starts Newton's method."""
            # The last step ends exactly at `target_logit`. It uses `rho` as given, because
            # converting ρ to its logit and back may change its last digit.
            if density_logit == target_logit:
                return self._solve_capacity(rho, guess)
            density = Domain.SHARE.from_coordinate(density_logit)  # the inverse of the logit
            return self._solve_capacity(density, guess)

        return _follow_to(
            capacity_at,
            first=known_capacity,
            begin=known_logit,
            end=target_logit,
            step=_DENSITY_STEP,
        )

    def _solve_capacity(self, rho: float, guess: Array) -> Solved[_SaddleState]:
        """Solve for the capacity at density ρ, by Newton's method.

        The capacity is the load α (patterns per variable) at which the entropy Σ is 0. Σ(α, ρ,
        order parameters) is also stationary in the order parameters, the other unknowns.

        The unknowns are the coordinates of the order parameters (any real numbers, see `Domain`)
        and, last, ln α: (parameters + 1,), as in `guess` and in the result. There are as many
        equations: ∂Σ/∂x = 0 for each coordinate x of an order parameter, and Σ = 0.
        """

        def state_at(unknowns: Array) -> _SaddleState:
            """Σ and its derivatives by the coordinates of the order parameters."""
            order_coordinates = unknowns[:-1]
            log_alpha = unknowns[-1]
            alpha = float(np.exp(log_alpha))
            return self._evaluate(alpha, rho, order_coordinates)

        return _NEWTON.solve(
            state_at,
            guess,
            f"{self.name}: capacity at ρ = {rho:g}",
            residual=_slopes_and_entropy,  # the left sides of the equations
        )

    def _evaluate(self, alpha: float, rho: float, coordinates: Array) -> _SaddleState:
        """Evaluate the entropy Σ and its derivatives by the coordinates of the order parameters.

        `coordinates`, (parameters,), may be any real numbers, such as the logarithm of a positive
        order parameter (`Domain`). The derivative by a coordinate x is taken by a complex step:

            ∂Σ/∂x = Im Σ(x + ih)/h,    i = √−1, h tiny.

        Unlike a difference quotient it loses no digits.
        """
        check_logarithms(coordinates)

        slopes = []  # ∂Σ/∂x for each coordinate x
        complex_moves = 1j * _COMPLEX_STEP * np.eye(len(coordinates))  # a row moves one coordinate
        for moved_coordinates in coordinates + complex_moves:
            moved_order = self._order(moved_coordinates)
            moved_entropy = self.entropy(alpha, rho, moved_order)
            slopes.append(moved_entropy.imag / _COMPLEX_STEP)

        order = self._order(coordinates)
        entropy = self.entropy(alpha, rho, order)
        return _SaddleState(
            alpha=alpha,
            rho=rho,
            order=tuple(float(value) for value in order),
            entropy=float(np.real(entropy)),
            residual=np.array(slopes),
        )

    def _order(self, coordinates: Sequence[Any] | Array) -> list[Any]:
        """The order parameters at coordinates, (parameters,), real or complex."""
        domains = self.parameters.values()
        return [
            domain.from_coordinate(coordinate)
            for domain, coordinate in zip(domains, coordinates, strict=True)
        ]

    def _public_result(self, solved: Solved[_SaddleState]) -> Saddle:
        """Convert a solved point to the result that users see.

        Its replicon, which is above 1 where the solution is unstable, is None unless the ensemble
        has a formula for it.
        """
        state = solved.state
        replicon = None
        if self.replicon is not None:
            replicon = self.replicon(state.alpha, state.rho, state.order)
        return Saddle(
            name=self.name,
            alpha=state.alpha,
            rho=state.rho,
            entropy=state.entropy,
            order=dict(zip(self.parameters, state.order, strict=True)),
            replicon=replicon,
            residual=solved.residual,
        )


def _slopes_and_entropy(state: _SaddleState) -> Array:
    """Return the residual of a capacity, (parameters + 1,): the derivatives of Σ, then Σ itself."""
    return np.append(state.residual, state.entropy)


def _follow_to(
    solve_at: Callable[[float, Array], Solved[_SaddleState]],
    first: Solved[_SaddleState],
    begin: float,
    end: float,
    step: float,
) -> Solved[_SaddleState]:
    """Follow a branch from its point `first` at the parameter `begin` to the parameter `end`.

    `solve_at` returns the point at a given parameter, starting from a guess of its unknowns. `step`
    > 0 is the length of the first step. The last step is shortened, so that it ends exactly at
    `end`. Returns the point at `end`.
    """
    if begin == end:
        return first
    direction = float(np.copysign(step, end - begin))
    return last_point(follow(solve_at, first, begin=begin, step=direction, until=end))


def log_tail(x: Any) -> Any:
    """ln H(x), H the upper tail of the normal distribution, for real or complex x."""
    return log_ndtr(-x)


def log_sum(x: Any, y: Any) -> Any:
    """ln(e^x + e^y) without overflow, for real or complex numbers.

    The power with the larger real part is taken out: ln(e^x + e^y) = x + ln(1 + e^{y − x}).
    (`np.logaddexp` takes real numbers only.)
    """
    x_is_larger = np.real(x) > np.real(y)
    larger = np.where(x_is_larger, x, y)
    smaller = np.where(x_is_larger, y, x)
    return larger + np.log1p(np.exp(smaller - larger))
