"""The loads around α_VS(ρ) that need no replica calculation, or only one with all variables."""

from __future__ import annotations

from dataclasses import dataclass

from chanceline.theory.closed_forms import l0_gardner, union_bound
from chanceline.theory.ensemble import PLAIN, Ensemble
from chanceline.theory.first_moment import first_moment_load
from chanceline.theory.gardner import gardner, l0_load
from chanceline.theory.weight_clusters import one_step_gardner


@dataclass(frozen=True)
class Bounds:
    """The loads around α_VS, in their order for small ρ.

    Attributes
    ----------
    vc : α_VC = ρ. Below it *every* choice of ρN variables separates patterns in general position;
        None with a margin, which no load is small enough to leave for every choice, or given signs.
    cover_gardner : α_CG, 2ρ for the plain ensemble, ρ with given signs. Below it a *typical* choice
        separates (Cover 1965, Gardner 1988, Amit, Wong and Campbell 1989).
    union : the load where the expected number of separating choices vanishes; a theorem for every
        kind of inputs.
    l0_gardner : the load where the replica-symmetric branch ends. Without errors it is Gordon's
        comparison bound for sparse weights, a theorem for Gaussian inputs as N → ∞.
    """

    vc: float | None
    cover_gardner: float
    union: float
    l0_gardner: float


def bounds_at(rho: float, ensemble: Ensemble = PLAIN) -> Bounds:
    """Return four loads that lie around the capacity at density ρ and are easier to compute.

    There are N variables and αN random patterns (labelled points); α is the load. A choice of ρN
    variables separates the patterns if a linear rule on these variables classifies them. The
    capacity is the largest load at which some choice separates. The result has the loads

        vc                   below which every choice separates (None if there is no such load),
        cover_gardner        below which a typical choice separates,
        union, l0_gardner    which are upper bounds on the capacity.
    """
    if ensemble.plain:
        # For equal classes, no margin, no errors and free signs there are simple formulas.
        return Bounds(
            vc=rho,
            cover_gardner=2 * rho,
            union=union_bound(rho),
            l0_gardner=l0_gardner(rho),
        )

    # With a margin, or with given signs of the weights, some choices fail at every load.
    vc = None
    if not ensemble.margin and not ensemble.signed:
        vc = rho

    # `typical_load` is patterns per chosen variable; times ρ it is patterns per variable.
    cover_gardner = rho * typical_load(ensemble)
    return Bounds(
        vc=vc,
        cover_gardner=cover_gardner,
        union=first_moment_load(rho, ensemble),
        l0_gardner=l0_load(rho, ensemble),
    )


def typical_load(ensemble: Ensemble) -> float:
    """The load, in patterns per chosen variable, up to which a typical choice separates: α_CG/ρ.

    A typical choice of variables is as good as any, so that it is the load of a rule that keeps all
    its variables. With errors the replica-symmetric value is too high, and that with one step of
    breaking is taken.
    """
    if ensemble.error_rate:
        return one_step_gardner(ensemble).state.alpha
    return gardner(ensemble).load
