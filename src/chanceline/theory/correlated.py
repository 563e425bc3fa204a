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
_FIELD_NODES = {1: 401, 2: 121, 3: 41}
_FIELD_REACH = 7.5
_RULE = rule_for(scale=0.05)
# The capacity at ρ = 0.1 without correlation: χ, q₀/ρ, K, E, V/E and F₀, with V = F₁ − F₀.
_START = OrderStart(alpha=0.7185, rho=0.1, order=(0.000448, 0.715, 6.526, 223.2, 0.93945, 43.44))


class _ChoiceForm(NamedTuple):
    """u_S·C_SS⁻¹u_S at the nodes of the fields, for each choice S of a group, without √F₀."""

    sizes: Array  # |S|, (choices,)
    forms: Array  # (choices, nodes)
    weights: Array  # of the nodes, (nodes,)


def correlated_groups(correlation: float, size: int = 2) -> FreeEntropy:
    """The ensemble whose variables come in groups of `size` with a common correlation, 0 ≤ r < 1.

    The density ρ of its results is the share of variables chosen, and α is patterns per variable.
    """
    correlation = real_number(correlation, "correlation")
    if not 0 <= correlation < 1:
        raise InputError(f"correlation must be at least 0 and below 1, but is {correlation:g}")
    size = whole_number(size, "size", at_least=1, at_most=LARGEST_GROUP)
    choices = _choice_forms(correlation, size)

    def entropy(alpha: Any, rho: Any, order: Sequence[Any]) -> Any:
        return _entropy(alpha, rho, order, choices=choices, size=size)

    return FreeEntropy(
        name=f"groups of {size} with correlation {correlation:g}",
        entropy=entropy,
        parameters={
            "chi": Domain.POSITIVE,
            "q0_share": Domain.SHARE,
            "K": Domain.REAL,
            "E": Domain.POSITIVE,
            "V_share": Domain.SHARE,
            "F0": Domain.POSITIVE,
        },
        start=_START,
    )


def _choice_forms(correlation: float, size: int) -> _ChoiceForm:
    """The quadratic forms of all choices but the empty one, at the nodes of a product rule."""
    matrix = np.full((size, size), correlation) + (1 - correlation) * np.eye(size)
    line = np.linspace(-_FIELD_REACH, _FIELD_REACH, _FIELD_NODES[size])
    # Nothing changes with the sign of all fields: the first one need not be negative.
    half_line = line[line >= 0]
    axes = [half_line, *[line] * (size - 1)]
    independent = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, size)
    weights = np.exp(-0.5 * (independent**2).sum(axis=1))
    weights[independent[:, 0] > 0] *= 2
    fields = independent @ np.linalg.cholesky(matrix).T  # covariance C, (nodes, size)

    sizes = []
    forms = []
    for count in range(1, size + 1):
        for choice in combinations(range(size), count):
            chosen_fields = fields[:, choice]
            inverse = np.linalg.inv(matrix[np.ix_(choice, choice)])
            sizes.append(count)
            forms.append(np.einsum("ni,ij,nj->n", chosen_fields, inverse, chosen_fields))
    return _ChoiceForm(np.array(sizes), np.array(forms), weights / weights.sum())


def _entropy(alpha: Any, rho: Any, order: Sequence[Any], *, choices: _ChoiceForm, size: int) -> Any:
    """Σ at χ, q₀/ρ, K, E, V/E and F₀; V = F₁ − F₀ and d = E − V."""
    chi, q0_share, K, E, V_share, F0 = order
    q0 = rho * q0_share
    F1 = V_share * E + F0
    d = E * (1 - V_share)
    patterns = _pattern_term(q0, rho * (1 - q0_share), chi)
    log_partition = 0.0
    for count, form in zip(choices.sizes, choices.forms, strict=True):
        # ln of e^{−K|S|}(E/d)^{|S|/2} exp(F₀ form/2d)
        log_weight = count * (0.5 * np.log(E / d) - K) + F0 * form / (2 * d)
        log_partition = log_sum(log_partition, log_weight)
    variables = (choices.weights @ log_partition) / size
    coupling = K * rho + 0.5 * ((E - F1) * rho - F1 * chi + F0 * q0)
    return alpha * patterns + variables + coupling


def _pattern_term(q0: Any, s2: Any, chi: Any) -> Any:
    """∫Dz ln A(√q₀ z), A = H(μ/s) + CΦ(t), as in `patterns` but for complex numbers."""
    mu = np.sqrt(q0) * _RULE.nodes
    t = mu * np.sqrt(chi / (s2 * (chi + s2)))
    log_c = 0.5 * np.log(chi / (chi + s2)) - mu**2 / (2 * (chi + s2))
    return _RULE.mean(log_sum(log_tail(mu / np.sqrt(s2)), log_c + log_tail(-t)))
