"""α_VS(ρ), its inverse, its neighbours and its ends."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.closed_forms import first_moment_exponent, l0_gardner, union_bound
from chanceline.theory.ensemble import Ensemble


def test_reference_capacities():
    """Solved by two independent programs; 5.795 is α_VS/2ρ at ρ = 0.01."""
    assert chanceline.capacity(0.5).alpha == pytest.approx(1.79649, abs=5e-6)
    assert chanceline.capacity(0.1).alpha == pytest.approx(0.71855, abs=5e-6)
    assert chanceline.capacity(0.01).alpha / 0.02 == pytest.approx(5.795, abs=5e-4)


def test_replicon_crossing_at_one_half():
    assert chanceline.capacity(0.5).replicon_alpha == pytest.approx(1.716, abs=5e-4)


@pytest.mark.parametrize("rho", [0.001, 0.01, 0.3, 0.8, 0.97, 0.999])
def test_entropy_vanishes_at_the_capacity(rho):
    end = chanceline.capacity(rho)
    solution = chanceline.solve(end.alpha, rho)
    slack = 1e-12 * max(1.0, solution.F0 * (rho - solution.q0))
    assert abs(solution.entropy) <= slack + 1e-9 * (1 - rho)
    assert end.error < 1e-13
    crossing = chanceline.solve(end.replicon_alpha, rho)
    assert crossing.stability.between == pytest.approx(1, abs=1e-6)
    assert crossing.entropy > 0


def test_order_of_the_curves_everywhere():
    rhos = np.concatenate([[0.001, 0.003], np.linspace(0.01, 0.99, 50), [0.997, 0.999]])
    for point in chanceline.capacity_curve(rhos):
        b = point.bounds
        assert b.vc == point.rho
        assert b.vc < b.cover_gardner < point.alpha < min(b.union, b.l0_gardner) < 2


def test_curve_agrees_with_single_solves_in_any_order():
    rhos = [0.9, 0.2, 0.55, 0.2]
    curve = chanceline.capacity_curve(rhos, replicon=True)
    assert [point.rho for point in curve] == rhos
    for point in curve:
        alone = chanceline.capacity(point.rho)
        assert point.alpha == pytest.approx(alone.alpha, abs=1e-13)
        assert point.replicon_alpha == pytest.approx(alone.replicon_alpha, abs=1e-10)


@pytest.mark.parametrize(
    ("rho", "kind"),
    [
        *((rho, {}) for rho in (0.002, 0.05, 0.4, 0.8, 0.98)),
        (0.07, {"balance": 0.15}),
        (0.07, {"margin": 0.3}),
        (0.07, {"errors": 0.02}),
        (0.07, {"signs": "given"}),
        (0.47, {"signs": "given", "balance": 0.2, "margin": 0.1}),
    ],
)
def test_density_inverts_capacity(rho, kind):
    back = chanceline.density(chanceline.capacity(rho, **kind).alpha, **kind)
    assert back.rho == pytest.approx(rho, rel=1e-8)
    assert back.error < 1e-8


def test_right_end_falls_like_the_cube():
    """2 − α_VS = c (1 − ρ)³ with c larger than π/3, the constant of ℓ₀-Gardner; successive ratios settle."""
    epsilons = np.array([0.03, 0.01, 0.003, 0.001])
    ratios = [(2 - chanceline.capacity(1 - e).alpha) / e**3 for e in epsilons]
    steps = np.abs(np.diff(ratios))
    assert ratios[-1] > math.pi / 3
    assert ratios[-1] == pytest.approx(1.7565, abs=2e-3)
    assert np.all(steps[1:] < steps[:-1])
    assert (2 - l0_gardner(0.999)) / 1e-9 == pytest.approx(math.pi / 3, rel=1e-5)


@pytest.mark.slow
def test_left_end_approaches_the_union_bound():
    """As ρ → 0 overlaps between supports vanish and the first moment becomes exact: α_VS/α_union → 1, q₀/ρ → 0."""
    rhos = [0.1, 0.03, 0.01, 0.003, 0.001]
    points = [chanceline.capacity(rho) for rho in rhos]
    ratios = [point.alpha / point.bounds.union for point in points]
    overlaps = [chanceline.solve(point.alpha, point.rho).q0 / point.rho for point in points]
    assert np.all(np.diff(ratios) > 0)
    assert ratios[-1] > 0.92
    assert np.all(np.diff(overlaps) < 0)
    assert np.all(np.diff([point.alpha / point.rho for point in points]) > 0)


def test_closed_forms_by_other_routes():
    from scipy.special import erfcinv
    from scipy.stats import norm

    for rho in (0.02, 0.5, 0.9):
        t = math.sqrt(2) * erfcinv(rho)
        assert 2 * norm.sf(t) == pytest.approx(rho, rel=1e-12)
        assert l0_gardner(rho) == pytest.approx(2 * (rho + 2 * t * norm.pdf(t)), rel=1e-12)
        assert first_moment_exponent(union_bound(rho), rho) == pytest.approx(0, abs=1e-13)


def test_first_moment_exponent_is_the_limit_of_covers_count():
    """ln[C(N,M) 2^{1−P} Σ_{k<M} C(P−1,k)]/N at N = 4000, in Python integers."""
    n, m, p = 4000, 1200, 4400
    count = math.comb(n, m) * 2 * sum(math.comb(p - 1, k) for k in range(m))
    exact = (math.log(count) - p * math.log(2)) / n
    assert exact == pytest.approx(first_moment_exponent(p / n, m / n), abs=3e-3)


BAD = [
    *(("rho", chanceline.capacity, (rho,), {}) for rho in (0, 1, -0.5, float("nan"), "many")),
    *(("alpha", chanceline.density, (alpha,), {}) for alpha in (0, 2, 2.5, float("inf"))),
    *(("alpha", chanceline.solve, (alpha, 0.5), {}) for alpha in (float("nan"), -1, 0, "x")),
    *(("rho", chanceline.solve, (1, rho), {}) for rho in (0, 1, float("inf"))),
    ("full", chanceline.solve, (1.2, 0.5, "full"), {}),
]
ENSEMBLES = [
    *(("balance", {"balance": balance}) for balance in (0, 1.2, "many")),
    *(("margin", {"margin": margin}) for margin in (-0.1, math.inf)),
    *(("errors", {"errors": errors}) for errors in (0.5, -0.1)),
    ("rarer class", {"balance": 0.1, "errors": 0.2}),
]
ASKED = [
    (chanceline.capacity, (0.3,)),
    (chanceline.density, (0.5,)),
    (chanceline.solve, (0.9, 0.3)),
]


@pytest.mark.parametrize(
    ("word", "function", "arguments", "kind"),
    [*BAD, *((word, *asked, kind) for word, kind in ENSEMBLES for asked in ASKED)],
)
def test_bad_input_is_named(word, function, arguments, kind):
    with pytest.raises(InputError, match=word):
        function(*arguments, **kind)


def test_arrays_give_curves_that_agree_with_single_values():
    rhos = [0.4, 0.1, 0.25]
    curve = chanceline.capacity(np.array(rhos), balance=0.3)
    assert [point.alpha for point in curve] == pytest.approx(
        [chanceline.capacity(rho, balance=0.3).alpha for rho in rhos], rel=1e-12
    )
    assert curve.rho.tolist() == rhos
    inverse = chanceline.density(curve.alpha, balance=0.3)
    assert inverse.rho == pytest.approx(rhos, rel=1e-10)
    assert list(inverse.to_frame()) == [
        "alpha",
        "rho",
        "error",
        "balance",
        "margin",
        "errors",
        "signs",
        "threshold",
    ]
    for line in (curve, inverse):
        assert line.plot().lines
        assert line.to_dict()["points"][1]["rho"] == pytest.approx(0.1)
        assert repr(line).startswith("<Curve: 3 points")
    plt.close("all")


def test_gordons_comparison_is_the_l0_gardner_load():
    """docs/proofs.md: √(P/2) against the norm of the M largest of N Gaussians, N = 400 000."""
    rng = np.random.default_rng(5)
    n = 400_000
    squares = np.sort(rng.normal(size=n) ** 2)[::-1]
    positive = np.sort(np.maximum(rng.normal(size=n), 0.0) ** 2)[::-1]
    violations = np.maximum(rng.normal(size=n) + 0.3, 0.0) ** 2  # with a margin of 0.3
    for rho in (0.05, 0.5, 0.9):
        m = round(rho * n)
        # One part in a hundred is about four standard errors.
        assert 2 * squares[:m].sum() / n == pytest.approx(l0_gardner(rho), rel=0.01)
        given = bounds_at(rho, Ensemble(signs="given")).l0_gardner
        assert 2 * positive[:m].sum() / n == pytest.approx(given, rel=0.01)
        with_margin = bounds_at(rho, Ensemble(margin=0.3)).l0_gardner
        assert squares[:m].sum() / violations.sum() == pytest.approx(with_margin, rel=0.01)


@pytest.mark.slow
def test_density_with_breaking_and_a_margin():
    found = chanceline.density(0.5, "1rsb", margin=0.2)
    back = chanceline.capacity(found.rho, "1rsb", margin=0.2)
    assert back.alpha == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("ansatz", ["1rsb", "full"])
def test_density_with_breaking_is_the_inverse_of_the_capacity(ansatz):
    curve = chanceline.density([1.0], ansatz)
    found = curve.points[0]
    assert found.rho > chanceline.density(1.0).rho
    assert chanceline.capacity(found.rho, ansatz).alpha == pytest.approx(1.0, abs=1e-9)
    assert found.ansatz == ansatz
    assert f"({ansatz})" in str(found)
    with pytest.raises(InputError, match="'full'"):
        chanceline.density(1.0, "2rsb")
