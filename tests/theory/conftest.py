"""Σ as a function of all order parameters, off the saddle too: what the solvers' equations must be derivatives of."""

from types import SimpleNamespace

import numpy as np
import pytest

from chanceline.theory import rsb
from chanceline.theory.ensemble import PLAIN
from chanceline.theory.kernels import class_sides, support_on_rule
from chanceline.theory.numerics import STEP


def symmetric(o, alpha, rho, ensemble=PLAIN):
    sides = class_sides(ensemble, rho, o.q0, rho - o.q0, o.chi, o.threshold, np.sqrt(2 * o.chi * o.price), STEP)
    d = o.E - o.F1 + o.F0
    support, rule_u = support_on_rule(o.F0, o.F1 - o.F0, d, o.K, STEP, ensemble.signed)
    return float(
        alpha * sum(one.mean(one.side.log_a) for one in sides)
        + rule_u.mean(support.log_one_plus)
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
        value += share * rsb.pattern_recursion(p, x, o.chi, rho, offset)[1].mean_values[0]
    _, supports = rsb.support_recursion(G, x, o.E, o.E - o.F1 + G[-1], o.K)
    gaps = np.diff(np.array([0.0, *o.x, 1.0]))
    outside = o.K * rho + 0.5 * ((o.E - o.F1) * rho - o.F1 * o.chi + gaps @ (G * p))
    return float(alpha * value + supports.mean_values[0] + outside)


@pytest.fixture(scope="session")
def free_entropy():
    """Replica symmetric and with breaking between supports: `free_entropy.symmetric(order, alpha, rho, ensemble)`."""
    return SimpleNamespace(symmetric=symmetric, broken=broken)
