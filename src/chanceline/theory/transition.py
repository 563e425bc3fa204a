"""How symmetry between supports breaks at one density: the replicon line, or a jump before it.

Where the break point on the replicon line is above 1 (`break_point`), the solution with one step of
breaking appears before that line, at x = 1 and with a finite gap between the overlaps p₁ within a
group and p₀ between groups. At x = 1 all other order parameters are those of replica symmetry, and
so is the entropy Σ of all supports. It has two parts, the entropy inside a group and the
complexity, which counts the groups:

    Σ = Σ_group + complexity.

- From α_d on (dynamic) a solution with p₁ > p₀ exists: the supports fall into exponentially many
  groups, which together hold as many supports as replica symmetry says.
- At α_K (static; Kauzmann's) the complexity vanishes. From there on few groups hold everything,
  x falls below 1, and replica symmetry is wrong.

The solutions at x = 1 form a line along which p₁ − p₀ grows. It leaves the replicon line backwards,
turns at α_d, and passes α_K on its way to larger loads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from chanceline.theory.break_point import break_point, replicon_line
from chanceline.theory.continuation import follow
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.newton import Solved
from chanceline.theory.quadrature import Array
from chanceline.theory.rs_equations import RSState
from chanceline.theory.rsb import RSBBranch, RSBOrder, RSBState, pack_order

# Where a point of `rsb.pack_order` with one step of breaking holds ln (p₁ − p₀)/(ρ − p₁), the
# amplitude of the breaking, and ln x.
LOG_AMPLITUDE = 3
LOG_BREAK = 4
# The first amplitude (p₁ − p₀)/(ρ − p₁) of the line x = 1, in units of x_c − 1; α_d has 3 or more.
_FIRST_AMPLITUDE_PER_EXCESS = 1.0
_LOG_AMPLITUDE_STEP = 0.3
# Nearer to 1 break points are taken for 1; the jump is then within 2e-7 of the replicon line.
_SMALLEST_EXCESS = 3e-4
_TOLERANCE_OF_LOG_AMPLITUDE = 1e-7


class _Jump(NamedTuple):
    """Where symmetry between supports breaks by a jump."""

    dynamic_alpha: float  # α_d, from which on the supports fall into groups
    static: Solved[RSBState]  # the solution at α_K, with x = 1


@dataclass(frozen=True)
class SupportTransition:
    """How symmetry between supports breaks as the load grows, at one density.

    `jump` is None if it breaks continuously, at the replicon line.
    """

    critical: RSState  # on the replicon line, where replica symmetry becomes unstable
    break_point: float  # x_c on that line; above 1 symmetry breaks before, by a jump
    jump: _Jump | None

    @property
    def replicon_alpha(self) -> float:
        """The load from which on replica symmetry is unstable."""
        return self.critical.alpha

    @property
    def dynamic_alpha(self) -> float | None:
        """α_d, from which on supports fall into exponentially many groups; None without a jump."""
        if self.jump is None:
            return None
        return self.jump.dynamic_alpha

    @property
    def static_alpha(self) -> float | None:
        """α_K, from which on few groups hold all supports; None without a jump."""
        if self.jump is None:
            return None
        return self.jump.static.state.alpha

    @property
    def breaking_alpha(self) -> float:
        """The load from which on the entropy of replica symmetry is wrong.

        It is α_K if symmetry breaks by a jump, and else where it becomes unstable.
        """
        if self.static_alpha is None:
            return self.replicon_alpha
        return self.static_alpha

    def as_fields(self) -> dict[str, Any]:
        """Where and how symmetry breaks, as fields of a `Capacity` or of a solution."""
        return {
            "replicon_alpha": self.replicon_alpha,
            "break_point": self.break_point,
            "dynamic_alpha": self.dynamic_alpha,
            "static_alpha": self.static_alpha,
        }

    @property
    def first_break(self) -> float:
        """The break point where breaking begins: x_c, or 1 with a jump, where x_c is above 1."""
        return min(self.break_point, 1.0)

    @property
    def amplitude(self) -> float:
        """(p₁ − p₀)/(ρ − p₁) where breaking begins: 0 unless it begins with a jump.

        p₁ and p₀ are the overlaps of two supports within a group and between groups, ρ the density.
        """
        if self.jump is None:
            return 0.0
        return float(np.exp(self.jump.static.unknowns[LOG_AMPLITUDE]))


@lru_cache(maxsize=64)
def transition_at(rho: float, ensemble: Ensemble = PLAIN) -> SupportTransition:
    """How symmetry between supports breaks at the density ρ, remembered for the next call.

    The ensemble must be one that `one_step.check_breaking` accepts.
    """
    return transition_from(replicon_line(rho, ensemble).state, rho, ensemble)


def transition_from(critical: RSState, rho: float, ensemble: Ensemble) -> SupportTransition:
    """The transition at a density ρ whose state on the replicon line is `critical`.

    On that line replica symmetry becomes unstable. The break point x_c there tells how it breaks:
    as a break point is a probability, x_c > 1 means that it has broken before, by a jump.
    """
    x_c = break_point(critical, rho, ensemble)
    jump = None
    if x_c > 1 + _SMALLEST_EXCESS:
        jump = _find_jump(RSBBranch(rho, steps=1, ensemble=ensemble), critical, x_c)
    return SupportTransition(critical=critical, break_point=x_c, jump=jump)


def complexity(state: RSBState, rho: float) -> float:
    """The entropy of groups of supports, ln(their number)/N, at the break point x = 1.

    It is S₀ + Kρ − Σ_group: the entropy of all supports, S₀ + Kρ, minus that inside a group (S₀ are
    the terms of the bottom level, K is the multiplier of the density ρ). The saddle equation of x
    says that this difference vanishes. Relative to Kρ, it is the last component of the residual
    (`RSBBranch._break_errors`).
    """
    relative_difference = float(state.residual[-1])
    return relative_difference * state.order.K * rho


def _find_jump(branch: RSBBranch, critical: RSState, x_c: float) -> _Jump:
    """A jump: the load α_d, from which on groups of supports exist, and α_K, where few are left.

    Both lie on the line of solutions with break point x = 1 that begins at `critical`, on the
    replicon line. α_d is where its load turns; α_K is where the complexity changes its sign,
    between its last two points. `x_c` > 1 is the break point at `critical`.
    """
    line = _solutions_at_unit_break(branch, critical, x_c)
    return _Jump(
        dynamic_alpha=_smallest_load_with_groups(branch, line),
        static=_solution_of_zero_complexity(branch, before=line[-2], after=line[-1]),
    )


def _solution_of_zero_complexity(
    branch: RSBBranch, before: Solved[RSBState], after: Solved[RSBState]
) -> Solved[RSBState]:
    """Find the solution at which the number of groups of supports stops being exponentially large.

    Supports are choices of variables. Those that separate the classes fall into groups, and the
    complexity is ln(number of groups) per variable. It is positive at the solution `before` and
    negative at `after`; the result is the solution between them where it is 0. All three have the
    break point x = 1: two supports are in different groups with probability 1.

    The solutions with x = 1 form a line. The place on it is the amplitude (p₁ − p₀)/(ρ − p₁), where
    p₁ is the overlap (scalar product of the weights, per variable) of two supports in the same
    group, p₀ that of two in different groups, and ρ the density. Brent's method finds the root in
    the logarithm of the amplitude.
    """

    def solved_at(log_amplitude: float) -> Solved[RSBState]:
        """The solution at x = 1 with this amplitude, by Newton's method from `before`."""
        return _at_unit_break(branch, log_amplitude, before.unknowns)

    def complexity_at(log_amplitude: float) -> float:
        """The complexity of this solution."""
        return complexity(solved_at(log_amplitude).state, branch.rho)

    log_amplitude_of_root = brentq(
        complexity_at,
        before.unknowns[LOG_AMPLITUDE],
        after.unknowns[LOG_AMPLITUDE],
        xtol=_TOLERANCE_OF_LOG_AMPLITUDE,
    )
    return solved_at(float(log_amplitude_of_root))


def _solutions_at_unit_break(
    branch: RSBBranch, critical: RSState, x_c: float
) -> list[Solved[RSBState]]:
    """Return the solutions with groups of supports and break point x = 1, in their order on a line.

    Supports are choices of variables, and x = 1 means that two of them are in different groups with
    probability 1. The place on the line is the amplitude (p₁ − p₀)/(ρ − p₁), which says how
    distinct the groups are: p₁ is the overlap (scalar product of the weights, per variable) of two
    supports in the same group, p₀ that of two in different groups, and ρ the density. The line
    begins with amplitude 0 at `critical`, the state where the solution without groups becomes
    unstable; `x_c` > 1 is the break point there. It is followed until the complexity, ln(number of
    groups) per variable, is negative, which holds at the last point of the result only.
    """

    def has_negative_complexity(point: Solved[RSBState]) -> bool:
        """Whether the number of groups is no longer exponentially large."""
        return complexity(point.state, branch.rho) < 0

    def solve_at(log_amplitude: float, guess: Array) -> Solved[RSBState]:
        """The solution of the line with this amplitude."""
        return _at_unit_break(branch, log_amplitude, guess)

    # Along the line the load first decreases and then increases again. The first solution should
    # come before the smallest load, whose amplitude becomes small as x_c approaches 1. So the first
    # amplitude is proportional to x_c − 1, and a few times smaller.
    first_amplitude = _FIRST_AMPLITUDE_PER_EXCESS * (x_c - 1)
    first_log_amplitude = float(np.log(first_amplitude))
    start = start_near_symmetric(branch, critical, np.exp(first_log_amplitude), x=1.0)
    first = solve_at(first_log_amplitude, start)

    # The line is followed in the amplitude, because each amplitude has only one solution. A load
    # can have two.
    solutions = follow(
        solve_at,
        first=first,
        begin=first_log_amplitude,
        step=_LOG_AMPLITUDE_STEP,
        until=has_negative_complexity,
    )
    return list(solutions)


def _at_unit_break(branch: RSBBranch, log_amplitude: float, start: Array) -> Solved[RSBState]:
    """The solution at the break point x = 1 with this amplitude, from a point near to it.

    The amplitude (p₁ − p₀)/(ρ − p₁) is the distance of the overlaps within and between groups. It
    is held, and so is x, which is 1 in `start`, (coordinates,), already.
    """
    point = np.array(start)
    point[LOG_AMPLITUDE] = log_amplitude
    return branch.solve_with(
        point, held=(LOG_AMPLITUDE,), name="groups of supports at x = 1", hold_breaks=True
    )


def _smallest_load_with_groups(branch: RSBBranch, line: list[Solved[RSBState]]) -> float:
    """Return α_d, the smallest load at which the separating supports form groups.

    Supports are choices of variables, and the load is patterns per variable. `line` has the
    solutions with groups and break point x = 1, in the order of their amplitude. The amplitude
    (p₁ − p₀)/(ρ − p₁) says how distinct the groups are: p₁ and p₀ are the overlaps of supports
    within and between groups, ρ the density. Along the line the load first decreases and then
    increases. Its minimum, α_d, lies between the neighbours of the solution with the smallest load.
    """
    loads = [point.state.alpha for point in line]
    lowest_index = int(np.argmin(loads))
    lowest = line[lowest_index]
    # If the lowest point is an end of the line, it replaces its missing neighbour.
    before = line[max(lowest_index - 1, 0)]
    after = line[min(lowest_index + 1, len(line) - 1)]

    def load_at(log_amplitude: float) -> float:
        """The load of the solution at x = 1 with this amplitude."""
        return _at_unit_break(branch, log_amplitude, lowest.unknowns).state.alpha

    minimum = minimize_scalar(
        load_at,
        bounds=(before.unknowns[LOG_AMPLITUDE], after.unknowns[LOG_AMPLITUDE]),
        method="bounded",
        options={"xatol": _TOLERANCE_OF_LOG_AMPLITUDE},
    )
    return float(minimum.fun)


def start_near_symmetric(branch: RSBBranch, critical: RSState, amplitude: float, x: float) -> Array:
    """Return a start for Newton's method with groups of supports, near a state without groups.

    Supports are choices of variables. Without groups any two have the same overlap q₀ (scalar
    product of their weights, per variable). The start, (coordinates,), has an overlap p₀ a little
    below q₀ for supports in different groups, and p₁ a little above q₀ for supports in the same
    group. Each overlap has a Lagrange multiplier: F₀ without groups, and G₀ a little below F₀ and
    G₁ a little above F₀ with groups. All other parameters are those of `critical`; F₁ is not one of
    these multipliers, but that of the overlap within one support, which does not change.

    Parameters
    ----------
    branch
        The equations with one step of breaking, at a density ρ.
    critical
        The state without groups.
    amplitude
        How different the two overlaps are, (p₁ − p₀)/(ρ − p₁).
    x
        The break point: the probability that two supports belong to different groups.
    """
    order_without_groups = critical.order
    overlap = order_without_groups.q0  # q₀
    multiplier = order_without_groups.F0  # F₀

    # By definition p₁ − p₀ = amplitude·(ρ − p₁). p₁ is not known yet, and is replaced by q₀.
    overlap_difference = amplitude * (branch.rho - overlap)  # p₁ − p₀
    p0 = overlap - overlap_difference / 2
    p1 = overlap + overlap_difference / 2

    # The difference of the multipliers is only guessed, and Newton's method corrects it: relative
    # to F₀ it is as large as that of the overlaps relative to q₀.
    multiplier_difference = overlap_difference * (multiplier / overlap)  # G₁ − G₀
    G0 = multiplier - multiplier_difference / 2
    G1 = multiplier + multiplier_difference / 2

    order_with_groups = RSBOrder(
        chi=order_without_groups.chi,
        K=order_without_groups.K,
        E=order_without_groups.E,
        F1=order_without_groups.F1,
        p=(p0, p1),
        G=(G0, G1),
        x=(x,),
        threshold=order_without_groups.threshold,
    )
    point = pack_order(order_with_groups, branch.rho, branch.ensemble)
    # Callers hold this coordinate in Newton's method, so it must be exact.
    point[LOG_AMPLITUDE] = np.log(amplitude)
    return point
