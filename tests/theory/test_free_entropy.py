"""The door for ensembles, and two that came through it: points −1, 0, 1, and correlated variables."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr
from scipy.stats import norm

import chanceline
from chanceline.errors import InputError
from chanceline.theory.correlated import correlated_groups
from chanceline.theory.free_entropy import Domain, FreeEntropy, OrderStart, log_sum, log_tail
from chanceline.theory.points import POINTS, points_union_bound


def plain_points_entropy(alpha, rho, q, q_hat, K):
    """Σ of points by adaptive quadrature, as the formula stands."""
    slope = np.sqrt(q / (rho - q))
    patterns = quad(lambda z: norm.pdf(z) * log_ndtr(-slope * z), -9, 9, epsabs=1e-13)[0]
    variables = quad(
        lambda z: norm.pdf(z) * np.log(1 + 2 * np.exp(-K) * np.cosh(np.sqrt(q_hat) * z)),
        -12,
        12,
        epsabs=1e-13,
        limit=200,
    )[0]
    return alpha * patterns + variables + K * rho - 0.5 * q_hat * (rho - q)


@pytest.mark.parametrize(("rho", "alpha"), [(0.1, 0.50793), (0.6305, 1.17448), (0.999, 0.8397)])
def test_points_are_stationary_by_adaptive_quadrature(rho, alpha):
    found = POINTS.capacity(rho)
    assert found.alpha == pytest.approx(alpha, abs=2e-5)
    order = [rho * found.order["q_share"], found.order["q_hat"], found.order["K"]]
    assert plain_points_entropy(found.alpha, rho, *order) == pytest.approx(0, abs=1e-9)
    for i, value in enumerate(order):
        step = 1e-4 * abs(value)
        ends = []
        for sign in (-1, 1):
            moved = list(order)
            moved[i] += sign * step
            ends.append(plain_points_entropy(found.alpha, rho, *moved))
        # The slope is 0; the bound is what the third derivative leaves of the difference.
        assert (ends[1] - ends[0]) / (2 * step) * value == pytest.approx(0, abs=1e-6)


def test_points_curve_has_its_maximum_and_ends_at_krauth_and_mezard():
    best = minimize_scalar(
        lambda rho: -POINTS.capacity(rho).alpha, bounds=(0.5, 0.75), method="bounded"
    )
    assert -best.fun == pytest.approx(1.17448, abs=1e-5)
    assert best.x == pytest.approx(0.6305, abs=1e-3)
    # α − 0.8331 falls as (1 − ρ) ln 1/(1 − ρ), the entropy of the points that are left out.
    left_out = np.array([1e-4, 1e-5])
    loads = POINTS.curve(1 - left_out).alpha
    terms = -left_out * np.log(left_out)
    limit = loads[1] - (loads[0] - loads[1]) * terms[1] / (terms[0] - terms[1])
    assert limit == pytest.approx(0.8331, abs=2e-4)


def test_points_lie_below_their_union_bound_and_below_free_weights():
    curve = POINTS.curve([0.5, 0.05, 0.9])
    assert list(curve.rho) == [0.5, 0.05, 0.9]
    for point in curve.points:
        assert point.alpha < points_union_bound(point.rho)
        assert point.alpha < chanceline.capacity(point.rho).alpha
        assert point.replicon < 1
    assert {"alpha", "rho", "q_share", "replicon"} <= set(curve.to_frame().columns)
    assert POINTS.density(curve.points[1].alpha).rho == pytest.approx(0.05, abs=1e-8)


def all_scores(n, m):
    """Every score with m points ±1 among n variables, (scores, n)."""
    signs = np.array(list(product((-1, 1), repeat=m)), dtype=np.float32)
    blocks = []
    for support in combinations(range(n), m):
        block = np.zeros((len(signs), n), dtype=np.float32)
        block[:, support] = signs
        blocks.append(block)
    return np.vstack(blocks)


def mean_log_share(n, problems, rng):
    """Mean and error of ln(share of scores that separate)/n at α = ¼, ρ = ½, and the shares."""
    scores = all_scores(n, n // 2)
    shares = []
    for _ in range(problems):
        left = scores
        for pattern in rng.normal(size=(n // 4, n)).astype(np.float32):
            left = left[left @ pattern > 0]
        shares.append(len(left) / len(scores))
    assert min(shares) > 0
    logs = np.log(shares) / n
    return logs.mean(), logs.std() / np.sqrt(problems), np.array(shares)


def test_points_entropy_and_first_moment_by_exact_counts():
    """N = 8 and 12, extrapolated in 1/N; E[share] = 2^−P exactly."""
    rng = np.random.default_rng(11)
    small, small_error, shares = mean_log_share(8, 4000, rng)
    assert shares.mean() == pytest.approx(2.0**-2, abs=4 * shares.std() / np.sqrt(4000))
    large, large_error, _ = mean_log_share(12, 700, rng)
    # The line through 1/8 and 1/12 meets 1/N = 0 at 3·large − 2·small.
    limit = 3 * large - 2 * small
    error = np.hypot(3 * large_error, 2 * small_error)
    of_all = np.log(2) + 0.5 * np.log(2)  # H₂(½) + ½ ln 2
    assert error < 0.006
    assert POINTS.saddle(0.25, 0.5).entropy - of_all == pytest.approx(limit, abs=3 * error)


def test_groups_without_correlation_are_the_plain_ensemble():
    for size in (1, 2):
        ensemble = correlated_groups(0.0, size)
        found = ensemble.capacity(0.1)
        plain = chanceline.capacity(0.1)
        assert found.alpha == pytest.approx(plain.alpha, abs=1e-9)
        inside = chanceline.solve(0.6, 0.1)
        saddle = ensemble.saddle(0.6, 0.1)
        assert saddle.entropy == pytest.approx(inside.entropy, abs=1e-9)
        assert saddle.order["chi"] == pytest.approx(inside.chi, rel=1e-6)
        assert 0.1 * saddle.order["q0_share"] == pytest.approx(inside.q0, rel=1e-6)


@pytest.mark.slow
def test_nodes_of_pairs_resolve_the_switch_up_to_half_of_the_variables():
    half = correlated_groups(0.0).capacity(0.5)
    assert half.alpha == pytest.approx(chanceline.capacity(0.5).alpha, abs=1e-7)


def pair_term(E, d, F0, K, r):
    """½∫D²z ln Σ_S for pairs, written out, by Gauss and Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(160)
    weights = weights / weights.sum()
    u1 = np.sqrt(F0) * nodes[:, None]
    u2 = r * u1 + np.sqrt(1 - r**2) * np.sqrt(F0) * nodes[None, :]
    one = 0.5 * np.log(E / d) - K + u1**2 / (2 * d)
    other = 0.5 * np.log(E / d) - K + u2**2 / (2 * d)
    both = np.log(E / d) - 2 * K + (u1**2 + u2**2 - 2 * r * u1 * u2) / (2 * d * (1 - r**2))
    total = np.logaddexp(np.logaddexp(0 * u2, one + 0 * u2), np.logaddexp(other, both))
    return 0.5 * weights @ total @ weights


@pytest.mark.parametrize(("r", "alpha"), [(0.5, 0.71305), (0.9, 0.68889)])
def test_pairs_by_another_quadrature(r, alpha):
    found = correlated_groups(r).capacity(0.1)
    assert found.alpha == pytest.approx(alpha, abs=6e-6)
    o = found.order
    s2, q0 = 0.1 * (1 - o["q0_share"]), 0.1 * o["q0_share"]

    def log_pattern(z):
        mu = np.sqrt(q0) * z
        t = mu * np.sqrt(o["chi"] / (s2 * (o["chi"] + s2)))
        log_c = 0.5 * np.log(o["chi"] / (o["chi"] + s2)) - mu**2 / (2 * (o["chi"] + s2))
        return np.logaddexp(log_ndtr(-mu / np.sqrt(s2)), log_c + log_ndtr(t))

    patterns = quad(lambda z: norm.pdf(z) * log_pattern(z), -10, 10, points=[0.0], epsabs=1e-12)[0]
    F1 = o["V_share"] * o["E"] + o["F0"]
    variables = pair_term(o["E"], o["E"] * (1 - o["V_share"]), o["F0"], o["K"], r)
    coupling = o["K"] * 0.1 + 0.5 * ((o["E"] - F1) * 0.1 - F1 * o["chi"] + o["F0"] * q0)
    assert found.alpha * patterns + variables + coupling == pytest.approx(0, abs=2e-6)


def test_correlation_lowers_the_capacity_little_and_steadily():
    loads = [correlated_groups(r).capacity(0.1).alpha for r in (0.0, 0.6, 0.9)]
    assert loads == sorted(loads, reverse=True)
    assert loads[-1] > 0.95 * loads[0]
    with pytest.raises(InputError, match="correlation must be at least 0 and below 1"):
        correlated_groups(1.0)
    with pytest.raises(InputError, match="size"):
        correlated_groups(0.5, 9)


def test_the_door_finds_a_known_saddle():
    """Ising perceptron, written down anew: α = 0.8331 by Krauth and Mézard."""
    z, weights = np.polynomial.hermite_e.hermegauss(101)
    weights = weights / weights.sum()

    def entropy(alpha, rho, order):
        q, q_hat = order
        patterns = weights @ log_tail(np.sqrt(q / (1 - q)) * z)
        u = np.sqrt(q_hat) * z
        variables = weights @ log_sum(u, -u)
        return alpha * patterns + variables - 0.5 * q_hat * (1 - q) + 0 * rho

    ising = FreeEntropy(
        name="Ising perceptron",
        entropy=entropy,
        parameters={"q": Domain.SHARE, "q_hat": Domain.POSITIVE},
        start=OrderStart(alpha=0.8, rho=0.5, order=(0.6, 2.5)),
    )
    found = ising.capacity(0.5)
    assert found.alpha == pytest.approx(0.8331, abs=5e-5)
    assert found.replicon is None
    assert "Ising perceptron at α = 0.833" in repr(found)
    short = FreeEntropy("short", entropy, {"q": Domain.SHARE}, OrderStart(0.8, 0.5, (0.6, 2.5)))
    with pytest.raises(InputError, match="2 order parameters, but 1"):
        short.capacity(0.5)


def test_domains_and_sums_of_logarithms():
    for domain, value in ((Domain.REAL, -3.0), (Domain.POSITIVE, 0.2), (Domain.SHARE, 0.7)):
        assert domain.from_coordinate(domain.to_coordinate(value)) == pytest.approx(value)
    x, y = np.array([1.0, -800.0]), np.array([-2.0, 700.0])
    np.testing.assert_allclose(log_sum(x, y), np.logaddexp(x, y))
    assert (log_sum(x + 1e-20j, y)).imag[0] / 1e-20 == pytest.approx(1 / (1 + np.exp(-3)))
