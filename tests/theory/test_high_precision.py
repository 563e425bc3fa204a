"""The capacity once more in 40-digit arithmetic, with its own quadrature and root finding (mpmath)."""

import pytest

import chanceline
from chanceline.theory.chance_line import zero_entropy
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.rs_branch import Branch

mp = pytest.importorskip("mpmath").mp


def rule(scale, nodes=600):
    """Nodes and weights of the standard normal law for a function that varies over `scale` around 0."""
    width = 4 * min(mp.mpf(1), scale)
    top = mp.asinh(14 / width)
    step = 2 * top / nodes
    t = [-top + step * i for i in range(nodes + 1)]
    z = [width * mp.sinh(x) for x in t]
    w = [mp.exp(-(x**2) / 2) * mp.cosh(y) for x, y in zip(z, t, strict=True)]
    total = mp.fsum(w)
    return z, [x / total for x in w]


def free_entropy(chi, q0, K, E, V, F0, alpha, rho, signed, rules):
    """Σ alone, without any saddle equation."""
    s2, d, log_a, log_b = rho - q0, E - V, mp.mpf(0), mp.mpf(0)
    for x, weight in zip(*rules[0], strict=True):
        mu, total = mp.sqrt(q0) * x, s2 + chi
        tail = (
            mp.sqrt(chi / total)
            * mp.exp(-(mu**2) / (2 * total))
            * mp.ncdf(mu * mp.sqrt(chi / (s2 * total)))
        )
        log_a += weight * mp.log(mp.ncdf(-mu / mp.sqrt(s2)) + tail)
    for x, weight in zip(*rules[1], strict=True):
        u = mp.sqrt(F0) * x
        b = mp.sqrt(E / d) * mp.exp(u**2 / (2 * d))
        if signed:
            b = mp.ncdf(-u / mp.sqrt(V)) + b * mp.ncdf(u * mp.sqrt(E / (V * d)))
        log_b += weight * mp.log(1 + b * mp.exp(-K))
    return alpha * log_a + log_b + K * rho + ((E - F0 - V) * rho - (F0 + V) * chi + F0 * q0) / 2


def saddle_and_entropy(unknowns, rho, signed):
    """Equations (1) to (5) and Σ with α = ρ₊/∫p₊, from the definitions in rs.py, by a sinh-stretched trapezoidal rule.

    d and F₀ are given over E = ρ₊/χ, which follows: ρ₊ does not change when E, V and F₀ are scaled together.
    """
    chi, q0, K, d, F0 = unknowns
    s2 = rho - q0

    total = s2 + chi
    sd = mp.sqrt(s2 * chi / total)
    z, w = rule(mp.sqrt(s2 / q0))
    tight = first = var = log_a = mp.mpf(0)
    for x, weight in zip(z, w, strict=True):
        mu = mp.sqrt(q0) * x
        t = mu * mp.sqrt(chi / (s2 * total))
        c = mp.sqrt(chi / total) * mp.exp(-(mu**2) / (2 * total))
        a = mp.ncdf(-mu / mp.sqrt(s2)) + c * mp.ncdf(t)
        p, edge = c * mp.ncdf(t) / a, c * mp.npdf(t) / a
        mean, second = sd * (t * p + edge), sd**2 * ((t * t + 1) * p + t * edge)
        tight += weight * p
        first += weight * mean**2
        var += weight * (second - mean**2)
        log_a += weight * mp.log(a)
    V = 1 - d
    u, v = rule(mp.sqrt(d * (V if signed else 1) / F0))
    chosen = nonzero = norm = overlap = log_b = mp.mpf(0)
    for x, weight in zip(u, v, strict=True):
        h = mp.sqrt(F0) * x
        b = mp.exp(h**2 / (2 * d)) / mp.sqrt(d)
        centre, width, part, plus = h / d, mp.sqrt(V / d), mp.mpf(0), mp.mpf(1)
        if signed:  # a Gaussian of that mean and variance, cut at 0, and what is cut off at 0
            t, rest = centre / width, mp.ncdf(-h / mp.sqrt(V))
            plus, part = b * mp.ncdf(t), b * mp.npdf(t)
            b = rest + plus
            plus, part = plus / b, part / b
        w = centre * plus + width * part
        odds = b * mp.exp(-K)
        p = odds / (1 + odds)
        chosen += weight * p
        nonzero += weight * p * plus
        norm += weight * p * ((centre**2 + width**2) * plus + centre * width * part)
        overlap += weight * (p * w) ** 2
        log_b += weight * mp.log(1 + odds)
    E = (nonzero if signed else rho) / chi
    alpha = E * chi / tight
    d, V, F0, norm, overlap = E * d, E * V, E * F0, norm / E, overlap / E
    F1 = F0 + V
    sigma = alpha * log_a + log_b + K * rho + ((E - F1) * rho - F1 * chi + F0 * q0) / 2
    equations = [
        chosen / rho - 1,
        norm / rho - 1,
        alpha / chi**2 * first / F0 - 1,
        alpha / chi**2 * var / V - 1,
        sigma / rho,
    ]
    return alpha, equations, overlap / q0 - 1, (chi, q0, K, E, V, F0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rho", "signs"),
    [
        (0.01, "free"),
        (0.5, "free"),
        (0.99, "free"),
        (0.1, "given"),
        (0.25, "given"),
        (0.48, "given"),
    ],
)
def test_capacity_in_forty_digits(rho, signs):
    branch, signed = Branch(rho, Ensemble(signs=signs)), signs == "given"
    end = zero_entropy(branch, None)
    solved, alpha, error = end.solved, end.alpha, end.error
    order = solved.state.order
    with mp.workdps(40):
        density = mp.mpf(rho)
        start = [
            order.chi,
            order.q0,
            order.K,
            1 - (order.F1 - order.F0) / order.E,
            order.F0 / order.E,
        ]
        logs = [mp.log(mp.mpf(start[0])), mp.log(start[1] / (density - start[1])), mp.mpf(start[2])]
        logs += [mp.log(mp.mpf(start[3])), mp.log(mp.mpf(start[4]))]

        def point(x):
            share = 1 / (1 + mp.exp(-x[1]))
            return [mp.exp(x[0]), density * share, x[2], mp.exp(x[3]), mp.exp(x[4])]

        for _ in range(4):  # Newton with a difference Jacobian, which 40 digits make exact enough
            values = saddle_and_entropy(point(logs), density, signed)[1]
            h = mp.mpf(10) ** -18
            columns = []
            for k in range(5):
                moved = [x + (h if j == k else 0) for j, x in enumerate(logs)]
                after = saddle_and_entropy(point(moved), density, signed)[1]
                columns.append([(b - a) / h for a, b in zip(values, after, strict=True)])
            jacobian = mp.matrix(5, 5)
            for i in range(5):
                for j in range(5):
                    jacobian[i, j] = columns[j][i]
            step = mp.lu_solve(jacobian, -mp.matrix(values))
            logs = [x + step[k] for k, x in enumerate(logs)]
        reference, values, left_over, solution = saddle_and_entropy(point(logs), density, signed)
        assert max(abs(value) for value in values) < mp.mpf(10) ** -25
        assert abs(left_over) < mp.mpf(10) ** -20
        assert abs(reference - mp.mpf(alpha)) <= max(error, 1e-15)
        assert chanceline.capacity(rho, signs=signs).alpha == alpha
        assert branch.excess_load(solved.state, float(reference)) == pytest.approx(0, abs=1e-12)
        # A second route: Σ = 0 and its differences vanish in every direction.
        _, q0, _, E, V, F0 = solution
        rules = (
            rule(mp.sqrt((density - q0) / q0)),
            rule(mp.sqrt((E - V) * (V / E if signed else 1) / F0)),
        )
        h = mp.mpf(10) ** -16
        assert abs(free_entropy(*solution, reference, density, signed, rules)) < mp.mpf(10) ** -22
        for k in range(6):
            ends = (
                [x * (1 + sign * h * (j == k)) for j, x in enumerate(solution)] for sign in (1, -1)
            )
            above, below = (free_entropy(*end, reference, density, signed, rules) for end in ends)
            assert abs(above - below) / (2 * h) < mp.mpf(10) ** -12
