"""The capacity α_VS(ρ), replica symmetric or with breaking; its inverse ρ_VS(α) is in `line`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scipy.special import logit

from chanceline._validation import shown
from chanceline.errors import InputError
from chanceline.theory.bounds import Bounds, bounds_at
from chanceline.theory.ensemble import Ensemble, EnsembleResult, check_rho
from chanceline.theory.line import APPROXIMATE, End, density as density, with_error, zero_entropy
from chanceline.theory.quadrature import Array
from chanceline.theory.rs import Branch
from chanceline.theory.rsb_capacity import capacity_1rsb, full_breaking
from chanceline.theory.solve import replicon_line

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Capacity(EnsembleResult):
    """α_VS(ρ) with its numerical error, and the load where replica symmetry between supports breaks."""

    rho: float
    ansatz: str
    alpha: float
    error: float
    bounds: Bounds
    replicon_alpha: float | None

    kind = "asymptotic (replica method)"

    def summary(self) -> str:
        at = self.ensemble.label(f"ρ = {self.rho:g}")
        return f"capacity at {at} ({self.ansatz}): α_VS = {with_error(self.alpha, self.error)}"

    def __str__(self) -> str:
        b = self.bounds
        typical = f"typical ones below {'2ρ' if self.ensemble.plain else 'α_CG'} = {b.cover_gardner:g}"
        union = f"{b.union:.8f} (rigorous)" if math.isfinite(b.union) else "none"
        lines = [
            self.summary(),
            f"  every choice separates below α_VC = {b.vc:g}, {typical}" if b.vc is not None else f"  {typical} separate",
            f"  upper bounds: union {union}, ℓ₀-Gardner {b.l0_gardner:.8f}",
        ]
        if self.ensemble.free_threshold:
            lines.append(f"  threshold b/|w| = {self.threshold:.8f}")
        if self.replicon_alpha is not None:
            lines.append(f"  symmetry between supports breaks at α = {self.replicon_alpha:.8f}")
        if self.errors:
            lines.append(f"  {APPROXIMATE}")
        return "\n".join(lines)


def _capacity(branch: Branch, end: End, replicon: bool) -> Capacity:
    """The result, with the load where the replicon between supports reaches 1, sought backwards from the capacity."""
    breaks = None
    if replicon and end.solved.state.between > 1:
        *_, unstable, stable = branch.follow(end.solved, 0.25, lambda state: state.between < 1)
        breaks = branch.point_where((unstable, stable), lambda state: state.between - 1).state.alpha
    bounds, threshold = bounds_at(branch.rho, branch.ensemble), end.solved.state.order.threshold
    return Capacity(branch.rho, "rs", end.alpha, end.error, bounds, breaks, ensemble=branch.ensemble, threshold=threshold)


def capacity(rho: float, ansatz: str = "rs", *, balance: float = 0.5, margin: float = 0.0, errors: float = 0.0) -> Capacity:
    """α_VS(ρ): the load above which no choice of ρN variables separates random patterns.

    Parameters
    ----------
    rho
        Share of the variables kept, 0 < ρ < 1.
    ansatz
        "rs", replica symmetric; "1rsb", one step of breaking between supports; "full", the limit of infinitely many steps, with
        the error of that extrapolation.
    balance
        Share of positive patterns, 0 < balance < 1. Unless it is ½ the rule has a free threshold.
    margin
        y(w·x + b)/|w| must be at least this, for inputs of unit variance.
    errors
        Share of patterns that may be wrong, below the share of the rarer class. With errors the weights of a support form
        clusters, Σ counts pairs of a support and a cluster, and one step is an approximation; `bounds.one_step_gardner` has the
        limit ρ → 1.
    """
    rho, ensemble = check_rho(rho), Ensemble.checked(balance, margin, errors)
    if ansatz == "rs":
        branch = Branch(rho, ensemble)
        return _capacity(branch, zero_entropy(branch, None), replicon=True)
    if ansatz not in ("1rsb", "full"):
        raise InputError(f"ansatz must be 'rs', '1rsb' or 'full', but is {shown(ansatz)}")
    if ansatz == "full" and not ensemble.plain:
        raise InputError("the limit of full breaking is known for balance ½, no margin and no errors; use ansatz '1rsb' or 'rs'")
    broken = capacity_1rsb(rho, ensemble)
    alpha, error = (broken.alpha, broken.error) if ansatz == "1rsb" else full_breaking(rho, broken.alpha)
    breaks, threshold = replicon_line(rho, ensemble).state.alpha, broken.state.order.threshold
    return Capacity(rho, ansatz, alpha, error, bounds_at(rho, ensemble), breaks, ensemble=ensemble, threshold=threshold)


def capacity_curve(
    rhos: Iterable[float],
    ansatz: str = "rs",
    replicon: bool = False,
    *,
    balance: float = 0.5,
    margin: float = 0.0,
    errors: float = 0.0,
) -> tuple[Capacity, ...]:
    """α_VS at many densities, each started from its neighbour; in the order of `rhos`.

    With `replicon` the load where symmetry breaks is found too (it costs more than the capacity itself). The other parameters are
    those of `capacity`.
    """
    wanted = [check_rho(rho) for rho in rhos]
    if ansatz != "rs":
        return tuple(capacity(rho, ansatz, balance=balance, margin=margin, errors=errors) for rho in wanted)
    ensemble = Ensemble.checked(balance, margin, errors)
    found: dict[float, Capacity] = {}
    recent: list[tuple[float, Array]] = []
    for rho in sorted(set(wanted)):
        x = logit(rho)
        start = recent[-1][1] if recent else None
        if len(recent) == 2:
            (x0, p0), (x1, p1) = recent
            start = p1 + (p1 - p0) * (x - x1) / (x1 - x0)
        branch = Branch(rho, ensemble)
        end = zero_entropy(branch, start)
        recent = [*recent[-1:], (x, end.solved.unknowns)]
        found[rho] = _capacity(branch, end, replicon)
    return tuple(found[rho] for rho in wanted)


def evenly_spaced(points: int) -> list[float]:
    """ρ = 1/(n+1), …, n/(n+1)."""
    return [(i + 1) / (points + 1) for i in range(points)]


def curve_table(rhos: Iterable[float], replicon: bool = False, **ensemble: Any) -> pd.DataFrame:
    """One row a density: α_VC, α_CG, α_VS with its error, union bound, ℓ₀-Gardner.

    The keywords balance, margin and errors are those of `capacity`; other values than the paper's add columns for them, and the
    threshold.
    """
    import pandas as pd

    points = capacity_curve(rhos, replicon=replicon, **ensemble)
    more = ["replicon_alpha"] if replicon else []
    if not all(point.ensemble.plain for point in points):
        more += ["balance", "margin", "errors", "threshold"]
    return pd.DataFrame(
        {
            "rho": point.rho,
            "vc": point.bounds.vc,
            "cover_gardner": point.bounds.cover_gardner,
            "alpha_vs": point.alpha,
            "error": point.error,
            "union": point.bounds.union,
            "l0_gardner": point.bounds.l0_gardner,
            **{name: getattr(point, name) for name in more},
        }
        for point in points
    )
