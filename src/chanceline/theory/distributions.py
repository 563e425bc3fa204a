"""The weights of chosen variables and the stabilities of patterns at a load, as distributions.

A variable of field u is chosen with probability p(u), and its weight is then Gaussian with mean u/d
and variance V/(Ed). A pattern of field μ has the violation v, Gaussian with mean μ and variance s²
and tilted by e^{−v²/2χ} where it is positive. Violations are corrected: such patterns, a share ρ/α
of all without a margin, lie at the margin itself, and the others have the law of −v > 0. The law of
the fields is Gaussian with replica symmetry, and that of the top level (`parisi`) with breaking.

Weights are in units of their root mean square, stabilities y(w·x + b)/|w| in units of |w|.
`figures.theory` draws both laws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtr

from chanceline.errors import InputError
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.quadrature import Array
from chanceline.theory.rsb_recursions import pattern_recursion, support_recursion


@dataclass(frozen=True)
class FieldLaws:
    """The order parameters that the laws depend on, with k steps of breaking; k = 0 without."""

    alpha: float  # load
    rho: float  # density, also |w|² per variable
    chi: float  # χ, the response: a violation v that is corrected weighs e^{−v²/2χ}
    K: float  # price of a variable
    E: float  # multiplier of the norm of the weights: a field h gives the weight h/E
    F1: float  # F₁, multiplier of the overlap within a support
    overlaps: tuple[float, ...]  # p₀ … p_k of the weights of two supports, by level
    conjugates: tuple[float, ...]  # their multipliers G₀ … G_k
    breaks: tuple[float, ...]  # break points x₁ … x_k
    threshold: float  # b/|w|
    ensemble: Ensemble

    @property
    def d(self) -> float:
        """E − F₁ + G_k: a chosen variable of field u has the mean weight u/d."""
        return self.E - self.F1 + self.conjugates[-1]


@dataclass(frozen=True)
class WeightLaw:
    """The law of the weights of chosen variables: a mixture of Gaussians of one variance."""

    shares: Array  # of the Gaussians, (components,)
    means: Array  # (components,)
    sd: float

    def density(self, weight: Array | float) -> Array:
        """The density at weights of any shape, in units of their root mean square."""
        distance = (np.asarray(weight, dtype=float)[..., None] - self.means) / self.sd
        return np.asarray(_normal_density(distance) @ self.shares / self.sd)

    def share_below(self, limit: float) -> float:
        """The share of weights whose size is below `limit` times their root mean square."""
        # Of each Gaussian, the part between −limit and limit.
        below_limit = ndtr((limit - self.means) / self.sd)
        below_minus_limit = ndtr((-limit - self.means) / self.sd)
        return float(self.shares @ (below_limit - below_minus_limit))


@dataclass(frozen=True)
class StabilityLaw:
    """The law of the stabilities y(w·x + b)/|w|: an atom at the margin, and a density above it.

    The density is a sum of Gaussians of one variance, each cut at the margin.
    """

    margin: float
    at_margin: float  # the weight of the atom
    log_shares: Array  # ln of the weights of Gaussians before they are cut there, (components,)
    means: Array  # of the Gaussians, (components,)
    sd: float

    def density(self, stability: Array | float) -> Array:
        """The density at stabilities of any shape; 0 below the margin, without the atom."""
        values = np.asarray(stability, dtype=float)
        distance = (values[..., None] - self.means) / self.sd
        # A Gaussian that lies far below the margin has a huge weight before it is cut there, and a
        # tiny density above: their logarithms are added before the exponential is taken.
        terms = np.exp(self.log_shares - 0.5 * distance**2)
        smooth = terms.sum(axis=-1) / (np.sqrt(2 * np.pi) * self.sd)
        return np.asarray(np.where(values > self.margin, smooth, 0.0))

    def share_below(self, limit: float) -> float:
        """The share of patterns with a stability of at most `limit`, the atom included."""
        if limit < self.margin:
            return 0.0
        # The atom, and what lies above the margin but not above the limit.
        return self.at_margin + self._share_above(self.margin) - self._share_above(limit)

    def _share_above(self, limit: float) -> float:
        """The share of patterns with a stability above `limit`, which is not below the margin."""
        log_tails = log_ndtr((self.means - limit) / self.sd)
        return float(np.exp(self.log_shares + log_tails).sum())


def weight_law(laws: FieldLaws) -> WeightLaw:
    """Compute the distribution of the weights of chosen variables, in units of their RMS.

    A variable is described by its field u, by which the patterns pull its weight. It is chosen with
    probability p(u), and then has a Gaussian weight:

        log-odds of p(u)        u²/2d − switch,    switch = K − ½ ln(E/d),
        mean of the weight      u/d,
        variance of the weight  1/d − 1/E, the same for all u.

    K is the price of a variable, E the stiffness of the weights and d their net stiffness, which is
    smaller. On a grid of fields the distribution is a mixture of Gaussians, one for each node.
    `laws` has the parameters of a solution of the theory, which determine K, E, d and the
    distribution P(u) of the fields.
    """
    _check_laws(laws)
    stiffness = laws.E  # E
    net_stiffness = laws.d  # d
    switch = laws.K - 0.5 * np.log(stiffness / net_stiffness)

    # The choices of variables that separate the patterns may fall into groups within groups.
    # `multipliers` has a number for each level, `breaks` one between levels (none without groups).
    law_at_field, recursion = support_recursion(
        multipliers=np.array(laws.conjugates),
        breaks=np.array(laws.breaks),
        d=net_stiffness,
        switch=switch,
    )
    # The fields are those on the last level, inside the smallest groups.
    field_probabilities = recursion.weights[-1]  # P(u) du, (nodes,)
    chosen_shares = field_probabilities * law_at_field.p_chosen  # P(u) p(u) du, their sum is ρ

    # The equations that the solution fulfils make the mean square of these weights 1. So they are
    # already in units of their RMS.
    weight_variance = (stiffness - net_stiffness) / (stiffness * net_stiffness)  # 1/d − 1/E
    return WeightLaw(
        shares=chosen_shares / chosen_shares.sum(),
        means=law_at_field.mean_weight,  # u/d
        sd=float(np.sqrt(weight_variance)),
    )


def stability_law(laws: FieldLaws) -> StabilityLaw:
    """Compute the distribution of the stabilities y(w·x + b)/|w| of patterns x with labels y.

    A stability is the signed distance of a pattern from the boundary of the rule, and the rule
    demands that it is at least the margin. A share of all patterns has its stability exactly at the
    margin: those which would violate it if the rule were not fitted to them. The others have a
    density above the margin, a sum of Gaussians that are cut off there. `laws` has the parameters
    of a solution of the theory.
    """
    _check_laws(laws)
    law_parts = []  # one for each class of patterns
    for pattern_class in laws.ensemble.offsets(laws.rho, laws.threshold):
        law_part = _stabilities_of_class(
            laws, class_share=pattern_class.share, offset=pattern_class.offset
        )
        law_parts.append(law_part)

    # The shares at the margin are added, and the Gaussians of all classes are put into one list.
    share_at_margin = float(sum(part.corrected_share for part in law_parts))
    log_shares = np.concatenate([part.log_shares for part in law_parts])
    mean_violations = np.concatenate([part.mean_violations for part in law_parts])

    # A violation v < 0 corresponds to the stability margin − v/|w|, above the margin.
    weight_length = np.sqrt(laws.rho)  # |w|, because |w|² per variable is the density ρ
    largest_overlap = laws.overlaps[-1]  # of the weights on two choices of variables
    violation_sd = np.sqrt(laws.rho - largest_overlap)
    return StabilityLaw(
        margin=laws.ensemble.margin,
        at_margin=share_at_margin,
        log_shares=log_shares,
        means=laws.ensemble.margin - mean_violations / weight_length,
        sd=float(violation_sd / weight_length),
    )


class _ClassStabilities(NamedTuple):
    """What one class of patterns adds to the law of the stabilities.

    The Gaussians are those of the violations v ~ N(μ, s²), one for each node μ that counts.
    """

    corrected_share: float  # of all patterns: in this class and, once violated, corrected
    log_shares: Array  # ln of the weights of the Gaussians before they are cut, (components,)
    mean_violations: Array  # μ, (components,)


def _stabilities_of_class(laws: FieldLaws, class_share: float, offset: float) -> _ClassStabilities:
    """Compute what one class of patterns adds to the distribution of the stabilities.

    Before the rule is fitted to a pattern, it violates the margin of the pattern by v ~ N(μ, s²).
    If v > 0, the fit corrects the violation: the pattern then lies exactly at the margin ("tight"),
    and counts in `corrected_share`. If v < 0, nothing changes, and v has the density
    N(v; μ, s²)/A(μ), where A(μ) is a normalisation. μ differs from pattern to pattern, and its
    values are the nodes of a grid.

    `class_share` is the share of the class among all patterns, and `offset` the mean of μ in the
    class before any fit. `laws` has the parameters of the theory on which the distribution of μ
    depends.
    """
    # `recursion` has the distribution of μ, and `law_at_field` what follows for v at each node μ.
    law_at_field, recursion = pattern_recursion(
        overlaps=np.array(laws.overlaps),
        breaks=np.array(laws.breaks),
        chi=laws.chi,
        rho=laws.rho,
        offset=offset,
    )
    # The theory has levels of groups of choices of variables; the last level, with the smallest
    # groups, has the whole of μ.
    probabilities = recursion.weights[-1]  # P(μ) dμ, (nodes,)
    shares = class_share * probabilities  # of all patterns, (nodes,)

    # Patterns with v > 0: `p_tight` is their probability at each node.
    corrected_share = float(shares @ law_at_field.p_tight)

    # Patterns with v < 0: each node μ adds the Gaussian N(v; μ, s²) with the factor share/A(μ),
    # which is stored as a logarithm. Nodes whose share underflows to 0 are left out.
    is_positive = shares > 0
    log_mean_weight = law_at_field.log_mean_weight[is_positive]  # ln A(μ)
    return _ClassStabilities(
        corrected_share=corrected_share,
        log_shares=np.log(shares[is_positive]) - log_mean_weight,
        mean_violations=recursion.top_nodes[is_positive],
    )


def _check_laws(laws: FieldLaws) -> None:
    """InputError where the laws are not known: below α_CG, with errors or with given signs.

    Below α_CG, up to which typical choices separate, the response χ is infinite.
    """
    if laws.ensemble.error_rate or laws.ensemble.signed:
        raise InputError("distributions are known for errors = 0 and free signs only")
    if not np.isfinite(laws.chi):
        raise InputError(
            f"at alpha = {laws.alpha:g} typical choices of variables separate; distributions are "
            "those of selected ones: choose a larger alpha"
        )


def _normal_density(x: Array) -> Array:
    """The density of the standard normal distribution, at x of any shape."""
    return np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi)
