"""Correlated variables: groups of g inputs, any two of a group with the correlation r.

The patterns are as before. A group has the g × g correlation matrix C, and the weights of a choice
S of its variables enter the patterns as w·C w. With fields u ~ N(0, F₀C) a choice S of a group
weighs

    e^{−K|S|} (E/d)^{|S|/2} exp(u_S·C_SS⁻¹u_S/2d),    d = E − F₁ + F₀,

and the term of the variables in the free entropy of `rs_equations` becomes (1/g) E_u ln Σ_S of it.
g = 1, or r = 0, is the ensemble of independent variables. Correlation hardly moves the capacity.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from chanceline.errors import InputError, real_number, whole_number
from chanceline.theory.free_entropy import (
    Domain,
    FreeEntropy,
    OrderStart,
    log_sum,
    log_tail,
)
from chanceline.theory.quadrature import Array, rule_for

LARGEST_GROUP = 3
# Equally spaced nodes of each of the g Gaussians, an odd number, and how far they reach. Towards
# ρ = 1 variables switch on more sharply than these resolve: without correlation, where the load is
# known, that of pairs is off by 1e-8 at ρ = 0.5 and by 1e-4 at 0.9.
_NODES_PER_AXIS = {1: 401, 2: 121, 3: 41}
_GRID_REACH = 7.5
# The rule for the field z of the patterns: it resolves features down to this size in z.
_RULE = rule_for(scale=0.05)
# The capacity at ρ = 0.1 without correlation: χ, q₀/ρ, K, E, V/E and F₀, with V = F₁ − F₀.
_START = OrderStart(alpha=0.7185, rho=0.1, order=(0.000448, 0.715, 6.526, 223.2, 0.93945, 43.44))


class _ChoiceForms(NamedTuple):
    """For each choice S of variables of a group its quadratic form, at the nodes of the fields.

    Fields u ~ N(0, C) are those of the module over √F₀; C is the correlation matrix of the group.
    """

    sizes: Array  # |S|, the number of variables chosen, (choices,)
    forms: Array  # u_S·C_SS⁻¹u_S, (choices, nodes)
    weights: Array  # of the nodes in the mean over u, (nodes,)


def correlated_groups(correlation: float, size: int = 2) -> FreeEntropy:
    """The theory of the capacity for variables that come in groups with a common correlation.

    Any two variables of a group of `size` have the correlation r (`correlation`), 0 ≤ r < 1;
    variables of different groups are independent. The result is an object that computes, for
    example, the capacity: the load α (patterns per variable) up to which some choice of a share ρ
    of the variables separates random patterns. It does so from the entropy Σ of these choices,
    ln(their number)/N for N variables, where Σ is stationary in the six parameters named below.
    """
    correlation = real_number(correlation, "correlation")
    if not 0 <= correlation < 1:
        raise InputError(f"correlation must be at least 0 and below 1, but is {correlation:g}")
    size = whole_number(size, "size", at_least=1, at_most=LARGEST_GROUP)
    # These depend neither on α and ρ nor on the six parameters, and are computed once.
    choices = _choice_forms(correlation, size)

    def entropy(alpha: Any, rho: Any, order: Sequence[Any]) -> Any:
        """Σ at a load, a density and the six parameters, with this correlation and size."""
        return _entropy(alpha, rho, order, choices=choices, size=size)

    return FreeEntropy(
        name=f"groups of {size} with correlation {correlation:g}",
        entropy=entropy,
        # Names of the six parameters in results, with the ranges of their values. `entropy` and
        # `start` take the values in this order, which is also that of `_GroupOrder`.
        parameters={
            "chi": Domain.POSITIVE,  # χ, response: correcting a violation v costs v²/2χ
            "q0_share": Domain.SHARE,  # q₀/ρ, q₀ the overlap of the weights on two choices
            "K": Domain.REAL,  # price of a variable: a chosen one has the factor e^{−K}
            "E": Domain.POSITIVE,  # stiffness of a weight: a field h gives the weight h/E
            "V_share": Domain.SHARE,  # V/E, V the variance of a field around its mean
            "F0": Domain.POSITIVE,  # F₀, the variance of the mean field
        },
        start=_START,  # a guess of one capacity, from which all others are reached
    )


class _GaussianGrid(NamedTuple):
    """A rule for the mean over g independent standard Gaussians."""

    nodes: Array  # (nodes, g)
    weights: Array  # which sum to one, (nodes,)


def _gaussian_grid(n_gaussians: int) -> _GaussianGrid:
    """Return a grid for means of even functions of a few independent standard Gaussians.

    Each Gaussian has an axis of the grid with equally spaced values, and the weights of the nodes
    are Gaussian densities, normalised. An even function has the same value at −x as at x. Therefore
    the first axis has only nonnegative values, and nodes at which it is positive count twice.
    """
    whole_axis = np.linspace(-_GRID_REACH, _GRID_REACH, _NODES_PER_AXIS[n_gaussians])
    half_axis = whole_axis[whole_axis >= 0]
    other_axes = [whole_axis] * (n_gaussians - 1)
    coordinates = np.meshgrid(half_axis, *other_axes, indexing="ij")  # one array for each Gaussian
    nodes = np.stack(coordinates, axis=-1).reshape(-1, n_gaussians)  # (nodes, Gaussians)

    square_lengths = (nodes**2).sum(axis=1)  # (nodes,)
    weights = np.exp(-0.5 * square_lengths)
    counts_twice = nodes[:, 0] > 0
    weights[counts_twice] *= 2
    return _GaussianGrid(nodes=nodes, weights=weights / weights.sum())


def _choice_forms(correlation: float, size: int) -> _ChoiceForms:
    """Compute u_S·C_SS⁻¹u_S for every nonempty choice S of variables of a group.

    A group has `size` variables, and C is their correlation matrix: 1 on the diagonal and
    `correlation` elsewhere. u ~ N(0, C) has one component for each variable, and is needed at the
    nodes of a grid for means over u. u_S and C_SS are the parts of u and C that belong to S.
    """
    correlation_matrix = (  # C
        np.full((size, size), correlation) + (1 - correlation) * np.eye(size)
    )
    grid = _gaussian_grid(size)
    # Independent Gaussians, multiplied by the Cholesky factor of C, have the covariance C.
    cholesky_factor = np.linalg.cholesky(correlation_matrix)
    fields = grid.nodes @ cholesky_factor.T  # u, (nodes, size)

    sizes_of_choices = []
    forms_of_choices = []
    for n_chosen in range(1, size + 1):
        for choice in combinations(range(size), n_chosen):  # S, n_chosen numbers of variables
            chosen_fields = fields[:, choice]  # u_S, (nodes, n_chosen)
            chosen_matrix = correlation_matrix[np.ix_(choice, choice)]  # C_SS
            inverse = np.linalg.inv(chosen_matrix)
            # u_S·C_SS⁻¹u_S at each node, (nodes,).
            form = np.einsum("ni,ij,nj->n", chosen_fields, inverse, chosen_fields)
            sizes_of_choices.append(n_chosen)
            forms_of_choices.append(form)
    return _ChoiceForms(
        sizes=np.array(sizes_of_choices), forms=np.array(forms_of_choices), weights=grid.weights
    )


class _GroupOrder(NamedTuple):
    """The order parameters of the ensemble, in the order in which `correlated_groups` names them.

    Any of them may be complex, as derivatives are taken by complex steps.
    """

    response: Any  # χ, how the weights respond to a violated pattern
    overlap_share: Any  # q₀/ρ, q₀ the overlap of the weights of two choices of variables
    price: Any  # K, of choosing a variable, in logarithms
    stiffness: Any  # E, the multiplier of the norm of the weights
    variance_share: Any  # V/E, V = F₁ − F₀ the variance of a field within a choice
    overlap_multiplier: Any  # F₀, the multiplier of q₀

    @property
    def net_stiffness(self) -> Any:
        """d = E − V."""
        return self.stiffness * (1 - self.variance_share)

    @property
    def inner_multiplier(self) -> Any:
        """F₁ = V + F₀, the multiplier of the overlap of weights within a choice."""
        return self.variance_share * self.stiffness + self.overlap_multiplier


def _entropy(
    alpha: Any, rho: Any, order: Sequence[Any], *, choices: _ChoiceForms, size: int
) -> Any:
    """The entropy Σ of separating choices, ln(their number)/N, where variables come in groups.

    It is the free entropy of replica symmetry (`rs_equations`) with another term of the variables:

        Σ = α · (log-weight of a pattern) + (log-weight of a variable) + (terms of the order alone).

    Parameters
    ----------
    alpha, rho
        Load α (patterns per variable) and density ρ (share of variables chosen).
    order : (6,)
        Values of `_GroupOrder`.
    choices
        Of the variables of a group, as `_choice_forms` makes them.
    size
        Number of variables of a group.
    """
    order_parameters = _GroupOrder(*order)
    pattern_term = alpha * _pattern_term(rho, order_parameters)
    variable_term = _variable_term(order_parameters, choices, size)
    return pattern_term + variable_term + _order_terms(rho, order_parameters)


def _order_terms(rho: Any, order: _GroupOrder) -> Any:
    """The terms of the entropy that hold neither patterns nor variables, at the density ρ:

        Kρ + ½[(E − F₁)ρ − F₁χ + F₀q₀],

    with the letters of `_GroupOrder`.
    """
    overlap = rho * order.overlap_share  # q₀
    norm_term = (order.stiffness - order.inner_multiplier) * rho  # (E − F₁)ρ
    response_term = order.inner_multiplier * order.response  # F₁χ
    overlap_term = order.overlap_multiplier * overlap  # F₀q₀
    return order.price * rho + 0.5 * (norm_term - response_term + overlap_term)


def _variable_term(order: _GroupOrder, choices: _ChoiceForms, size: int) -> Any:
    """The mean log-weight of a variable, where variables come in groups of g = `size`:

        (1/g) E_u ln Σ_S e^{−K|S|} (E/d)^{|S|/2} exp(F₀ u_S·C_SS⁻¹u_S/2d).

    The g variables of a group have the correlation matrix C and fields u ~ N(0, C). Σ_S runs over
    the choices S of variables of a group, also the empty one, which weighs 1. `choices` has the
    sizes |S| and the quadratic forms u_S·C_SS⁻¹u_S of the others, at the nodes of a rule for E_u.
    K is the price of a variable, E the stiffness of its weight, d its net stiffness and F₀ the
    variance of the fields (`_GroupOrder`).
    """
    # ln of e^{−K}(E/d)^{1/2}
    log_weight_of_variable = 0.5 * np.log(order.stiffness / order.net_stiffness) - order.price

    # ln Σ_S at the nodes of u, begun with ln 1 = 0 of the empty choice.
    log_partition = 0.0
    for n_chosen, form in zip(choices.sizes, choices.forms, strict=True):
        exponent = order.overlap_multiplier * form / (2 * order.net_stiffness)
        log_partition = log_sum(log_partition, n_chosen * log_weight_of_variable + exponent)
    return (choices.weights @ log_partition) / size


def _pattern_term(rho: Any, order: _GroupOrder) -> Any:
    """Compute what the patterns add to the entropy: the mean of ln A(μ) over all patterns.

    A rule violates the constraint of a pattern by v ~ N(μ, s²). Each v has a weight: 1 if v < 0 (no
    violation), and e^{−v²/2χ} otherwise. A(μ) is the mean weight over v:

        A(μ) = Φ(−μ/s) + C Φ(t),    C = √(χ/(χ + s²)) e^{−μ²/2(χ + s²)},
                                    t = μ√(χ/(s²(χ + s²))).

    The mean over patterns is over μ ~ N(0, q₀). Here s² = ρ − q₀, χ is the response and q₀ the
    overlap of `order`, and Φ is the normal distribution function. `order` may have complex values,
    because derivatives are taken by complex steps.
    """
    overlap = rho * order.overlap_share  # q₀
    variance = rho * (1 - order.overlap_share)  # s²
    response = order.response  # χ
    response_plus_variance = response + variance  # χ + s²
    mean_violation = np.sqrt(overlap) * _RULE.nodes  # μ = √q₀ z at the nodes z, (nodes,)

    # ln of the first term of A. `log_tail(x)` is ln Φ(−x).
    log_satisfied = log_tail(mean_violation / np.sqrt(variance))  # ln Φ(−μ/s)

    # ln of the second term of A.
    exponent = mean_violation**2 / (2 * response_plus_variance)  # μ²/2(χ + s²)
    log_c = 0.5 * np.log(response / response_plus_variance) - exponent
    t = mean_violation * np.sqrt(response / (variance * response_plus_variance))
    log_violated = log_c + log_tail(-t)  # ln C Φ(t)

    log_mean_weight = log_sum(log_satisfied, log_violated)  # ln A, (nodes,)
    return _RULE.mean(log_mean_weight)
