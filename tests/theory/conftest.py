"""Σ as a function of all order parameters, off the saddle too: what the solvers' equations must be derivatives of."""

from types import SimpleNamespace

import numpy as np
import pytest

from chanceline.theory import rsb_recursions
from chanceline.theory.ensemble import PLAIN
from chanceline.theory.pattern_averages import PatternParameters, class_laws
from chanceline.theory.quadrature import QUADRATURE_STEP
from chanceline.theory.support_averages import VariableParameters, variable_law_at_nodes


def symmetric(o, alpha, rho, ensemble=PLAIN):
    patterns = PatternParameters(
        rho=rho,
        q0=o.q0,
        s2=rho - o.q0,
        chi=o.chi,
        threshold=o.threshold,
        ceiling=np.sqrt(2 * o.chi * o.price),
    )
    laws_of_classes = class_laws(ensemble, patterns, QUADRATURE_STEP)
    supports = VariableParameters(F0=o.F0, V=o.F1 - o.F0, d=o.E - o.F1 + o.F0, K=o.K)
    support, rule_u = variable_law_at_nodes(supports, QUADRATURE_STEP, ensemble.signed)
    return float(
        alpha * sum(class_law.mean(class_law.law.log_mean_weight) for class_law in laws_of_classes)
        + rule_u.mean(support.log_partition)
        + o.K * rho
        + 0.5 * (o.E - o.F1) * rho
        - 0.5 * o.F1 * o.chi
        + 0.5 * o.F0 * o.q0
        + (alpha * o.price * ensemble.error_rate if ensemble.error_rate else 0.0)
    )


def broken(o, alpha, rho, ensemble=PLAIN):
    p, G, x = np.array(o.p), np.array(o.G), np.array(o.x)
    value = 0.0
    for share, _, offset in ensemble.offsets(rho, o.threshold):
        _, patterns = rsb_recursions.pattern_recursion(p, x, o.chi, rho, offset=offset)
        value += share * patterns.mean_values[0]
    d = o.E - o.F1 + G[-1]
    _, supports = rsb_recursions.support_recursion(G, x, d, o.K - 0.5 * np.log(o.E / d))
    gaps = np.diff(np.array([0.0, *o.x, 1.0]))
    outside = o.K * rho + 0.5 * ((o.E - o.F1) * rho - o.F1 * o.chi + gaps @ (G * p))
    return float(alpha * value + supports.mean_values[0] + outside)


@pytest.fixture(scope="session")
def free_entropy():
    """Replica symmetric and with breaking between supports: `free_entropy.symmetric(order, alpha, rho, ensemble)`."""
    return SimpleNamespace(symmetric=symmetric, broken=broken)
