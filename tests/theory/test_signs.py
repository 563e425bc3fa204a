"""Weights of given sign: reference values, the support side, identities, the union bound's count, both ends of the curve."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog, nnls
from scipy.stats import norm

import chanceline
from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at
from chanceline.theory.closed_forms import binary_entropy, l0_gardner, union_bound
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.gardner import gardner
from chanceline.theory.rs_branch import entrance_overlap
from chanceline.theory.supports import variable_law

GIVEN = Ensemble(signs="given")


@pytest.mark.parametrize(
    ("rho", "alpha"), [(0.02, 0.180575), (0.1, 0.571180), (0.25, 0.898955), (0.4, 0.993383)]
)
def test_values_of_an_independent_program(rho, alpha):
    assert round(chanceline.capacity(rho, signs="given").alpha, 6) == alpha


def test_entropy_of_an_independent_program():
    assert round(chanceline.solve(0.75, 0.25, signs="given").entropy, 6) == 0.316537
    assert round(chanceline.solve(0.75, 0.25).entropy, 6) == 0.508368


def test_the_whole_curve_is_solved_and_in_order():
    """ρ = α_CG < α_VS < min(union, ℓ₀-Gardner) ≤ 1, below the line of free signs; where symmetry breaks lies between."""
    rhos = np.linspace(0.005, 0.49, 40)
    curve = chanceline.capacity_curve(rhos, replicon=True, signs="given")
    for given, free in zip(curve, chanceline.capacity_curve(rhos), strict=True):
        bounds = given.bounds
        assert bounds.vc is None
        assert bounds.cover_gardner == pytest.approx(given.rho, rel=1e-15)
        assert (
            given.rho
            < given.replicon_alpha
            < given.alpha
            < min(bounds.union, bounds.l0_gardner, free.alpha)
        )
        assert bounds.l0_gardner <= 1
        assert given.error < 1e-14
    assert np.all(np.diff([point.alpha for point in curve]) > 0)
    assert curve[7].alpha == pytest.approx(
        chanceline.capacity(rhos[7], signs="given").alpha, abs=1e-13
    )


def test_variable_law_is_the_integral():
    """B, P(w > 0), and the first two moments of w = h₊/E under the tilt exp(h₊²/2E), for h ~ N(u, V)."""
    e, v, k = 1.7, 0.9, 0.6
    for u in (-2.0, -0.3, 0.8, 3.0):

        def part(j, low, high, u=u):
            def tilted(h):
                return (
                    norm.pdf(h, u, math.sqrt(v))
                    * math.exp(max(h, 0.0) ** 2 / (2 * e))
                    * (h / e) ** j
                )

            return quad(tilted, low, high, epsabs=1e-14, epsrel=1e-12, limit=400)[0]

        b = part(0, -20, 0) + part(0, 0, 40)
        positive, *moments = (part(j, 0, 40) / b for j in range(3))
        law = variable_law(np.array([u]), v, e - v, k, signed=True)
        odds = b * math.exp(-k)
        assert law.log_partition[0] == pytest.approx(math.log1p(odds), rel=1e-10)
        assert law.p_chosen[0] == pytest.approx(odds / (1 + odds), rel=1e-10)
        assert law.p_nonzero[0] == pytest.approx(positive, rel=1e-9)
        assert law.mean_weight[0] == pytest.approx(moments[0], rel=1e-9)
        assert law.weight_variance[0] == pytest.approx(moments[1] - moments[0] ** 2, rel=1e-8)
        step = 1e-4
        below, above = (
            variable_law(np.array([u + x]), v, e - v, k, signed=True) for x in (-step, step)
        )
        assert law.slope[0] == pytest.approx(
            (above.log_partition - below.log_partition)[0] / (2 * step), rel=1e-6
        )
        assert law.curvature[0] == pytest.approx(
            (above.slope - below.slope)[0] / (2 * step), rel=1e-6
        )
        assert law.mean_slope[0] == pytest.approx(
            (above.mean_weight - below.mean_weight)[0] / (2 * step), rel=1e-6
        )


@pytest.mark.parametrize(
    "ensemble", [GIVEN, Ensemble(0.2, signs="given"), Ensemble(0.35, 0.4, signs="given")]
)
@pytest.mark.parametrize("rho", [0.01, 0.2, 0.45, 0.8])
def test_as_many_tight_constraints_as_weights(ensemble, rho):
    kind = {"balance": ensemble.balance, "margin": ensemble.margin, "signs": "given"}
    alpha = (
        0.3 * bounds_at(rho, ensemble).cover_gardner + 0.7 * chanceline.capacity(rho, **kind).alpha
    )
    s = chanceline.solve(alpha, rho, **kind)
    assert abs(s.identity_error) <= 1e-10
    assert s.residual <= 1e-10
    assert s.E * s.chi == pytest.approx(s.nonzero, rel=1e-12)
    assert 0 < s.nonzero < rho
    assert (
        s.stability.within == pytest.approx(1, abs=1e-9)
        if not ensemble.margin
        else s.stability.within < 1
    )
    # Every set that contains a separating one separates: the share of sets that do cannot fall with ρ, so dΣ/dρ ≥ H₂'(ρ).
    if not ensemble.margin:
        assert math.log((1 - rho) / rho) <= s.K


def test_equations_by_plain_nested_quadrature():
    """The six equations of the notes, with nothing in closed form."""
    alpha, rho = 0.75, 0.25
    s = chanceline.solve(alpha, rho, signs="given")
    z = np.linspace(-8, 8, 321)[:, None]
    y = np.linspace(-30, 30, 15001)[None, :]
    dz, dy = (np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum() for grid in (z, y))
    h = np.sqrt(s.F1 - s.F0) * y + np.sqrt(s.F0) * z
    weight = np.maximum(h, 0) / s.E
    odds = np.exp(np.maximum(h, 0) ** 2 / (2 * s.E) - s.K) * dy
    total = 1 + odds.sum(axis=1, keepdims=True)

    def mean(values):
        return (values * odds).sum(axis=1, keepdims=True) / total

    assert rho == pytest.approx(float((dz * mean(np.ones_like(h))).sum()), rel=1e-5)
    assert rho == pytest.approx(float((dz * mean(weight**2)).sum()), rel=1e-5)
    assert s.q0 == pytest.approx(float((dz * mean(weight) ** 2).sum()), rel=1e-5)
    assert s.chi * s.E == pytest.approx(float((dz * mean(h > 0)).sum()), rel=1e-3)
    v = np.sqrt(rho - s.q0) * y + np.sqrt(s.q0) * z
    cost = np.where(v > 0, np.exp(-(v**2) / (2 * s.chi)), 1.0) * dy
    inner = cost.sum(axis=1, keepdims=True)
    square = (np.maximum(v, 0) ** 2 * cost).sum(axis=1, keepdims=True) / inner
    first = (np.maximum(v, 0) * cost).sum(axis=1, keepdims=True) / inner
    assert pytest.approx(alpha / s.chi**2 * float((dz * square).sum()), rel=1e-3) == s.F1
    assert pytest.approx(alpha / s.chi**2 * float((dz * first**2).sum()), rel=1e-3) == s.F0


@pytest.mark.parametrize(("samples", "columns"), [(3, 2), (4, 3), (5, 2), (3, 4)])
def test_the_union_bound_counts_exactly(samples, columns):
    """Over all 2^{P+M} signs of rows and columns, weights ≥ 0 separate 2 Σ_{k<M} C(P+M−1, k) times, for any table."""
    table = np.random.default_rng(samples).standard_normal((samples, columns))
    found = 0
    for signs in itertools.product((-1, 1), repeat=samples + columns):
        signed = np.array(signs[:samples])[:, None] * table * np.array(signs[samples:])
        found += (
            linprog(np.ones(columns), A_ub=-signed, b_ub=-np.ones(samples), bounds=(0, None)).status
            == 0
        )
    assert found == 2 * sum(math.comb(samples + columns - 1, k) for k in range(columns))


def test_the_first_moment_is_the_mean_of_brute_force_counts():
    """C(N, M) 2^{1−P−M} Σ_{k<M} C(P+M−1, k) at N = 12, P = 9, M = 3: w ≥ 0 with yXw − slack = 1, by NNLS."""
    n, patterns, size, tables = 12, 9, 3, 60
    generator, counts = np.random.default_rng(5), []
    for _ in range(tables):
        table = generator.standard_normal((patterns, n))  # the labels are in the signs of the rows
        sets = itertools.combinations(range(n), size)
        left = [
            nnls(np.column_stack([table[:, some], -np.eye(patterns)]), np.ones(patterns))[1]
            for some in sets
        ]
        counts.append(sum(rest < 1e-8 for rest in left))
    exact = (
        math.comb(n, size)
        * 2 ** (1 - patterns - size)
        * sum(math.comb(patterns + size - 1, k) for k in range(size))
    )
    assert abs(np.mean(counts) - exact) < 3 * np.std(counts, ddof=1) / math.sqrt(tables)


@pytest.mark.parametrize("rho", [1e-4, 0.1, 0.5, 0.9])
def test_a_given_sign_costs_one_pattern_in_the_union_bound(rho):
    assert bounds_at(rho, GIVEN).union == pytest.approx(union_bound(rho) - rho, rel=1e-10)


def test_l0_gardner_and_the_typical_load_are_half():
    """Typical: half of the free load for every balance and margin. ℓ₀: α_c[ρ + tφ(t)] with H(t) = ρ."""
    for ensemble in (Ensemble(), Ensemble(0.2), Ensemble(0.5, 0.7)):
        given = Ensemble(ensemble.balance, ensemble.margin, signs="given")
        free, half = bounds_at(0.3, ensemble), bounds_at(0.3, given)
        assert half.cover_gardner == pytest.approx(free.cover_gardner / 2, rel=1e-14)
        t = norm.isf(0.3)
        assert half.l0_gardner == pytest.approx(
            gardner(ensemble).load * (0.3 + t * norm.pdf(t)), rel=1e-12
        )
    assert bounds_at(0.48, GIVEN).l0_gardner == pytest.approx(
        1 - 4 * math.pi / 3 * 0.02**3, abs=1e-7
    )
    assert bounds_at(0.7, GIVEN).l0_gardner == 1


@pytest.mark.parametrize("kind", [{}, {"balance": 0.2}, {"margin": 0.5}])
def test_the_branch_enters_at_the_typical_load(kind):
    """α → ρα_c, Σ → H₂(ρ), ρ₊ → ρ/2 and q₀/ρ → c."""
    rho, ensemble = 0.3, Ensemble(**kind, signs="given")
    typical = bounds_at(rho, ensemble).cover_gardner
    gaps = []
    for epsilon in (1e-3, 1e-4):
        s = chanceline.solve(typical * (1 + epsilon), rho, signs="given", **kind)
        gaps.append(
            [
                binary_entropy(rho) - s.entropy,
                s.nonzero - rho / 2,
                abs(s.q0 / rho - entrance_overlap(rho, ensemble)),
            ]
        )
    assert np.all(np.array(gaps[1]) < 0.4 * np.array(gaps[0]))


@pytest.mark.parametrize("rho", [0.5, 0.6, 0.9])
def test_half_of_the_inputs_hold_what_all_do(rho):
    """α = 1 in closed form; as the branch comes there Σ falls to ½H₂(2ρ − 1) and half of all inputs have a weight."""
    assert chanceline.capacity(rho, signs="given").alpha == 1
    limit = 0.5 * binary_entropy(2 * rho - 1) if rho > 0.5 else 0.0
    solutions = [chanceline.solve(1 - gap, rho, signs="given") for gap in (1e-3, 1e-5, 1e-7)]
    above, missing = np.array([(s.entropy - limit, 0.5 - s.nonzero) for s in solutions]).T
    assert np.all(above > 0)
    assert np.all(above[1:] < 0.45 * above[:-1])
    assert np.all(missing[1:] < 0.45 * missing[:-1])


def test_right_end_falls_like_the_cube():
    """1 − α_VS lies above ℓ₀-Gardner's (4π/3)(½ − ρ)³ by a factor that falls slowly. At 0.48 40 digits give 5.24922e-5."""
    assert 1 - chanceline.capacity(0.48, signs="given").alpha == pytest.approx(5.24922e-5, rel=1e-5)
    gaps = np.array([0.03, 0.01, 3e-3, 1e-3, 3e-4])
    factors = [
        (1 - chanceline.capacity(0.5 - gap, signs="given").alpha)
        / (1 - l0_gardner(1 - 2 * gap) / 2)
        for gap in gaps
    ]
    assert np.all(np.diff(factors) < 0)
    assert factors[0] < 1.6
    assert factors[-1] > 1.4


@pytest.mark.slow
def test_left_end_approaches_the_union_bound():
    """α_VS/α_union → 1, and a given sign costs one pattern for each input chosen: (α_free − α_given)/ρ falls to 1."""
    rhos = [0.1, 0.01, 1e-3, 1e-4, 1e-5]
    given, free = (
        [chanceline.capacity(rho, signs=signs) for rho in rhos] for signs in ("given", "free")
    )
    ratios = [point.alpha / point.bounds.union for point in given]
    costs = [(b.alpha - a.alpha) / a.rho for a, b in zip(given, free, strict=True)]
    assert np.all(np.diff(ratios) > 0)
    assert ratios[-1] > 0.95
    assert np.all(np.diff(costs) < 0)
    assert 1 < costs[-1] < 1.08


def test_the_replicon_breaks_before_the_capacity():
    end = chanceline.capacity(0.25, signs="given")
    crossing = chanceline.solve(end.replicon_alpha, 0.25, signs="given")
    assert crossing.stability.between == pytest.approx(1, abs=1e-6)
    assert 0 < crossing.entropy < 0.5


@pytest.mark.parametrize(
    ("word", "call"),
    [
        ("signs must be", lambda: chanceline.capacity(0.1, signs="dale")),
        ("signs must be", lambda: chanceline.density(0.5, signs=1)),
        ("errors = 0 only", lambda: chanceline.capacity(0.1, signs="given", errors=0.01)),
        ("free signs only", lambda: chanceline.capacity(0.1, "1rsb", signs="given")),
        ("free signs only", lambda: chanceline.solve(0.3, 0.1, "1rsb", signs="given")),
        ("known for", lambda: chanceline.capacity(0.1, "full", signs="given")),
        ("typical choices", lambda: chanceline.solve(0.2, 0.25, signs="given")),
        ("l0-Gardner", lambda: chanceline.solve(1.0, 0.25, signs="given")),
        ("must be below 1,", lambda: chanceline.density(1.0, signs="given")),
    ],
)
def test_what_is_not_solved_is_named(word, call):
    with pytest.raises(InputError, match=word):
        call()
