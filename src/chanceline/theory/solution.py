"""What a solution at one point of the diagram holds, and how it shows itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from chanceline._results import Result
from chanceline.theory.distributions import (
    FieldLaws,
    StabilityLaw,
    WeightLaw,
    stability_law,
    weight_law,
)
from chanceline.theory.ensemble import EnsembleResult
from chanceline.theory.quadrature import Array

if TYPE_CHECKING:
    import pandas as pd

# A replicon product this near to 1 is marginal.
MARGINAL = 1e-9


class Regime(StrEnum):
    """Which choices of variables separate."""

    TYPICAL = "typical"  # α ≤ α_CG: typical choices do
    SELECTED = "selected"  # only exponentially rare choices do
    BEYOND = "beyond"  # Σ < 0: none does


def regime_above_entrance(entropy: float) -> Regime:
    """The regime at a load above α_CG, from the entropy Σ of separating choices.

    α_CG is the Cover–Gardner load, up to which typical choices separate. Σ < 0 means that no choice
    does.
    """
    if entropy > 0:
        return Regime.SELECTED
    return Regime.BEYOND


@dataclass(frozen=True)
class Stability:
    """The replicon products of a solution; each is stable below 1.

    Attributes
    ----------
    within : within a support (the paper's λλ̂, among the m replicas). Above 2ρ it equals
        α∫Dz p₊/ρ, which scale invariance sets to exactly 1: marginal everywhere, violated nowhere.
        For a fixed support the feasible set of w is convex, so there is nothing to break. A margin
        makes it smaller than 1. Errors make the set non-convex, and it is infinite: the violation
        that is corrected jumps at v*.
    between : between supports (among the n replicas): α∫Dz [g''(√q₀ z)]² · ∫Dz [f''(√F₀ z)]². This
        one does pass 1, before Σ = 0. Below 1 a solution is stable against small changes, but a
        jump may have come before (`Capacity.static_alpha`).
    weights, mixed : the same for changes that differ among the weights of two supports, or of one
        of them: (α/χ²)⟨p₊²⟩⟨p²⟩/E² and (α/χ)⟨−g''p₊⟩⟨f''p⟩/E. As p₊² ≤ p₊ and p² ≤ p the first is
        not above `within`, and the second, by Cauchy and Schwarz, not above √(between·weights):
        neither passes 1 first. Known for replica symmetry above α_CG without errors.
    """

    within: float
    between: float
    weights: float | None = None
    mixed: float | None = None

    @property
    def verdict(self) -> str:
        """`stable`, or `unstable` where one of the products is above 1.

        `within` may be 1 within rounding, which it is by an identity without margin and errors.
        """
        if self.between < 1 and self.within < 1 + MARGINAL:
            return "stable"
        return "unstable"

    def __str__(self) -> str:
        """Both products, each with a word for what it means."""
        within = f"within a support {self.within:.6f} ({_stability_word(self.within)})"
        between = f"between supports {self.between:.6f} ({_stability_word(self.between)})"
        return f"{within}, {between}"


def _stability_word(product: float) -> str:
    """Whether a replicon product is stable (below 1), unstable, or marginal: 1 within rounding."""
    if abs(product - 1) <= MARGINAL:
        return "marginal"
    if product < 1:
        return "stable"
    return "unstable"


@dataclass(frozen=True, repr=False)
class ReplicaSolution(EnsembleResult):
    """What the solutions have in common, replica symmetric or broken, in the limit m → 0.

    `regime` is "typical" (α ≤ α_CG, 2ρ for the plain ensemble: typical choices of variables
    separate), "selected" (only exponentially rare choices do) or "beyond" (Σ < 0: no choice does).
    """

    alpha: float  # α, patterns per variable
    rho: float  # ρ, the share of variables chosen
    regime: str
    entropy: float  # Σ, ln(number of separating choices) per variable
    q0: float  # overlap of the weights of two choices
    q1: float  # overlap of two weight vectors of the same choice
    chi: float  # χ: a violation v that is corrected has the weight e^{−v²/2χ}
    K: float  # price of a variable: the odds that it is chosen have the factor e^{−K}
    E: float  # stiffness of the weights: a field h gives the weight h/E
    F1: float  # variance of the field on a variable
    F0: float  # … and the part of it that two choices have in common
    stability: Stability
    residual: float  # largest relative error of the equations
    quadrature_error: float  # how far a finer quadrature moves the result
    identity_error: float  # of the identity αp₊ = ρ: as many tight patterns as weights

    ansatz: ClassVar[str]
    _derived = (*EnsembleResult._derived, "ansatz")

    def weights(self) -> WeightLaw:
        """The law of the weights of chosen variables, at loads above α_CG and without errors."""
        return weight_law(self._law_parameters())

    def stabilities(self) -> StabilityLaw:
        """The law of the stabilities of the patterns, where that of the weights is known."""
        return stability_law(self._law_parameters())

    def _law_parameters(self) -> FieldLaws:
        """Return the parameters that determine the distributions of weights and stabilities.

        They are fields of this solution, and most keep their names, those of the paper:

            alpha, rho      load (patterns per variable) and density (share of variables chosen),
            chi             χ: a violation v that is corrected has the weight e^{−v²/2χ},
            K               price of a variable: its odds to be chosen have the factor e^{−K},
            E               stiffness of the weights: a field h gives the weight h/E,
            F1              variance of the field on a variable,
            q0, F0          scalar product, per variable, of the weights of two choices, and
                            covariance of the fields on a variable in two choices.

        In this solution the separating choices of variables do not fall into groups. `overlaps` and
        `conjugates` therefore have one number each, q0 and F0, and `breaks`, the sizes of groups,
        is empty. A subclass whose choices do fall into groups returns several numbers.
        """
        return FieldLaws(
            alpha=self.alpha,
            rho=self.rho,
            chi=self.chi,
            K=self.K,
            E=self.E,
            F1=self.F1,
            overlaps=(self.q0,),
            conjugates=(self.F0,),
            breaks=(),
            threshold=self.threshold,
            ensemble=self.ensemble,
        )

    def summary(self) -> str:
        """The point and its regime, in one line."""
        at = self.ensemble.label(f"α = {self.alpha:g}, ρ = {self.rho:g}")
        return f"{self.ansatz.upper()} solution at {at}: {self.regime}"

    def _entropy_line(self) -> str:
        """The entropy with its error, as a line of the text of a solution."""
        error = f"(quadrature error {self.quadrature_error:.1e})"
        return f"  entropy Σ    {self.entropy:.10f}   {error}"


@dataclass(frozen=True, repr=False)
class Solutions(Result):
    """Solutions at several loads of one density, in the order asked for."""

    points: tuple[ReplicaSolution, ...]

    kind = "asymptotic (replica method)"

    @property
    def alpha(self) -> Array:
        """The loads α, (points,)."""
        return np.array([point.alpha for point in self.points])

    @property
    def entropy(self) -> Array:
        """The entropies Σ of separating choices, (points,)."""
        return np.array([point.entropy for point in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> ReplicaSolution:
        return self.points[index]

    def summary(self) -> str:
        """How many solutions there are, and their range of loads, in one line."""
        if not self.points:
            return "no points"
        loads = f"α from {min(self.alpha):g} to {max(self.alpha):g}"
        return f"{len(self)} solutions at ρ = {self.points[0].rho:g}, {loads}"

    def to_frame(self) -> pd.DataFrame:
        """Return the solutions as a table, one row per solution, in the order of `points`.

        The columns are the entries of `to_dict`. The entry `stability` has several products of its
        own, and each becomes a column.
        """
        import pandas as pd

        rows = []
        for point in self.points:
            row = point.to_dict()
            # `to_dict` returns a new dictionary, so entries can be removed. Nested records do not
            # fit into one column: the stability products become columns of their own; the
            # conjugates, which only some solutions have, are left out.
            stability_products = row.pop("stability")
            row.pop("conjugates", None)
            rows.append({**row, **stability_products})
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class Conjugates:
    """q̂₁, q̂₀ and Q̂, conjugate to q₁, q₀ and ρ; finite only below the Cover–Gardner load."""

    q1: float
    q0: float
    Q: float


@dataclass(frozen=True, repr=False)
class RSSolution(ReplicaSolution):
    """Replica-symmetric solution. Below α_CG, χ = ∞ and E = F₁ = F₀ = 0, the limits when rescaled.

    An error has the weight e^{−price}; `price` is None without errors. `nonzero` is ρ₊, the share
    of inputs with a weight other than zero, None where the signs are free: then all chosen ones
    have.
    """

    conjugates: Conjugates | None = None
    price: float | None = None
    nonzero: float | None = None

    ansatz = "rs"
    kind = "asymptotic (replica symmetric)"

    def __str__(self) -> str:
        """Return the solution as lines of text.

        The lines of threshold, price of an error, and ρ₊ appear only if the solution has these. ρ₊,
        the share of variables with a nonzero weight, is ρ, the share of variables chosen, unless
        the sign of each weight is given; a chosen variable may then have the weight 0.
        """
        # Overlaps of weights on one choice of variables and on two choices.
        overlaps = f"q₁ {self.q1:.10g}   q₀ {self.q0:.10g}"
        # The scale χ of the cost v²/2χ of a violation v, and the price of a variable.
        cost_and_price = f"χ {self.chi:.10g}   K {self.K:.10g}"
        stiffness = f"E {self.E:.10g}"
        # Variance of the field on a variable, and the part of it that two choices have in common.
        field_variances = f"F₁ {self.F1:.10g}   F₀ {self.F0:.10g}"
        lines = [
            self.summary(),
            self._entropy_line(),
            f"  {overlaps}   {cost_and_price}",
            f"  {stiffness}   {field_variances}",
        ]
        if self.ensemble.free_threshold or self.price is not None:
            lines.append(self._threshold_line())

        # `nonzero` is None with free signs, where ρ₊ = ρ.
        nonzero_symbol = "ρ"
        if self.nonzero is not None:
            nonzero_symbol = "ρ₊"
            lines.append(f"  ρ₊ {self.nonzero:.10g}, the share of inputs whose weight is not zero")

        lines.append(f"  stability    {self.stability}")
        # A check of the solution: the number of tight patterns (exactly at the margin), αp₊ per
        # variable, equals the number of nonzero weights.
        identity_error = f"|αp₊ − {nonzero_symbol}| {abs(self.identity_error):.1e}"
        lines.append(f"  residual     {self.residual:.1e}   {identity_error}")
        return "\n".join(lines)

    def _threshold_line(self) -> str:
        """The threshold and, where errors are allowed, the weight of one."""
        line = f"  threshold b/|w| {self.threshold:.10g}"
        if self.price is not None:
            line += f"   −ln of an error's weight {self.price:.10g}"
        return line
