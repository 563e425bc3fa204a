"""Balance, margin and errors: gradients, identities, limits, first values, closed forms by other routes."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.stats import norm

import chanceline
from chanceline.errors import InputError
from chanceline.theory.bounds import bounds_at, typical_load
from chanceline.theory.closed_forms import binary_entropy, l0_gardner, union_bound
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.first_moment import first_moment_load
from chanceline.theory.gardner import gardner
from chanceline.theory.patterns import pattern_law
from chanceline.theory.quadrature import focused_rule
from chanceline.theory.rs_branch import Branch, entrance_overlap
from chanceline.theory.symmetric import solve_rs
from chanceline.theory.weight_clusters import one_step_gardner


@pytest.mark.parametrize(
    ("rho", "kind", "value"),
    [
        (0.1, {"balance": 0.3}, 0.806833),
        (0.1, {"balance": 0.1}, 1.441425),
        (0.1, {"margin": 0.1}, 0.626195),
        (0.1, {"margin": 0.5}, 0.375563),
    ],
)
def test_values_of_an_independent_program(rho, kind, value):
    assert chanceline.capacity(rho, **kind).alpha == pytest.approx(value, abs=5.1e-7)


def test_errors_of_an_independent_program():
    """It held the price y = 5.75, printed ε = 0.03491 and α = 0.93724: our ε at that price rounds to the same."""
    at = chanceline.capacity(0.1, errors=0.03491)
    assert at.alpha == pytest.approx(0.93724, abs=1e-5)
    branch = Branch(0.1, Ensemble(error_rate=0.034911))
    *_, before, after = branch.from_entrance(lambda state: state.entropy <= 0)
    end = branch.point_where((before, after), lambda state: state.entropy).state
    assert end.order.price == pytest.approx(5.75, abs=5e-3)
    assert round(end.alpha, 5) == 0.93724


@pytest.mark.parametrize("f", [0.01, 0.1, 0.37, 0.8])
@pytest.mark.parametrize("rho", [0.01, 0.4, 0.95])
def test_as_many_tight_constraints_as_weights_for_every_balance(f, rho):
    ensemble = Ensemble(f)
    alpha = 0.5 * (gardner(ensemble).load * rho + chanceline.capacity(rho, balance=f).alpha)
    s = solve_rs(alpha, rho, ensemble)
    assert abs(s.identity_error) <= 1e-10
    assert s.stability.within == pytest.approx(1, abs=1e-10)
    assert s.residual <= 1e-11


def test_pattern_law_with_errors_is_the_integral():
    s2, chi, top = 0.3, 0.05, 0.7
    law = pattern_law(np.array([-1.0, 0.2, 0.9, 2.0]), s2, chi, top)
    for i, mu in enumerate((-1.0, 0.2, 0.9, 2.0)):

        def average(function, low, high, mu=mu):
            return quad(
                lambda v: function(v) * norm.pdf(v, mu, math.sqrt(s2)),
                low,
                high,
                epsabs=1e-13,
                epsrel=1e-12,
            )[0]

        wrong = math.exp(-top * top / (2 * chi)) * norm.sf(top, mu, math.sqrt(s2))
        a = (
            norm.cdf(0, mu, math.sqrt(s2))
            + average(lambda v: math.exp(-v * v / (2 * chi)), 0, top)
            + wrong
        )
        moments = [
            average(lambda v, k=k: v**k * math.exp(-v * v / (2 * chi)), 0, top) / a
            for k in range(3)
        ]
        assert law.log_mean_weight[i] == pytest.approx(math.log(a), abs=1e-10)
        assert law.p_tight[i] == pytest.approx(moments[0], rel=1e-9)
        assert law.mean_correction[i] == pytest.approx(moments[1], rel=1e-9)
        assert law.p_wrong[i] == pytest.approx(wrong / a, rel=1e-9)
        # T is 0 with the rest of the weight.
        assert law.correction_variance[i] == pytest.approx(moments[2] - moments[1] ** 2, rel=1e-7)
        ceiling_density = math.exp(-top * top / (2 * chi)) * norm.pdf(top, mu, math.sqrt(s2)) / a
        assert law.ceiling_density[i] == pytest.approx(top * ceiling_density, rel=1e-9)


def test_focused_rule_resolves_sharp_features_off_centre():
    rule = focused_rule((-1.3, 2.0), (1e-3, 1e-4))
    assert rule.mean(rule.nodes**4) == pytest.approx(3, rel=1e-13)
    logistic = 1 / (1 + np.exp(np.clip((rule.nodes - 2.0) / 1e-4, -700, 700)))
    # ∫Dz of a logistic step of width w at a: H(…) to second order in w.
    step = norm.cdf(2.0) - math.pi**2 / 6 * 1e-8 * 2.0 * norm.pdf(2.0)
    assert rule.mean(logistic) == pytest.approx(step, abs=1e-13)


def test_gardner_with_bias_and_margin_by_quadrature():
    for f, kappa in ((0.3, 0.0), (0.1, 0.5), (0.5, 1.0)):

        def inverse(b, f=f, kappa=kappa):
            total = 0.0
            for share, tau in ((f, kappa - b), (1 - f, kappa + b)):
                total += share * quad(lambda t, tau=tau: norm.pdf(t) * (t + tau) ** 2, -tau, 12)[0]
            return total

        best = minimize_scalar(inverse, bracket=(-1, 0), tol=1e-10)
        found = gardner(Ensemble(f, kappa))
        assert found.load == pytest.approx(1 / best.fun, rel=1e-7)
        if f != 0.5:
            assert found.threshold == pytest.approx(best.x, abs=1e-4)
    assert gardner(Ensemble()).load == pytest.approx(2, abs=1e-14)


def test_gardner_derrida_without_threshold():
    """1/α = ∫_0^{t*} Dt t² with H(t*) = ε; ε → ½ takes α → ∞."""
    for epsilon in (0.01, 0.2):
        top = norm.isf(epsilon)
        assert 1 / gardner(Ensemble(error_rate=epsilon)).load == pytest.approx(
            quad(lambda t: norm.pdf(t) * t * t, 0, top)[0], rel=1e-10
        )
    loads = [gardner(Ensemble(error_rate=e)).load for e in (0.3, 0.4, 0.45, 0.49)]
    assert np.all(np.diff(np.log(loads)) > 1)


@pytest.mark.parametrize(
    "kind", [{"balance": 0.2}, {"margin": 0.7}, {"balance": 0.1, "margin": 0.3}]
)
def test_towards_all_variables_the_capacity_is_gardners(kind):
    """α_c − α_VS vanishes like (1 − ρ)³, from below."""
    top = gardner(Ensemble(**kind)).load
    gaps = [top - chanceline.capacity(1 - e, **kind).alpha for e in (0.1, 0.03, 0.01)]
    assert 0 < gaps[2] < gaps[1] / 20 < gaps[0] / 400
    assert gaps[2] < 1e-4 * top


def test_errors_towards_one_half_separate_any_load():
    loads = [chanceline.capacity(0.2, errors=e).alpha for e in (0.0, 0.1, 0.2, 0.3, 0.39)]
    assert np.all(np.diff(loads) > 0)
    assert loads[-1] > 30


def test_small_departures_are_continuous():
    plain = chanceline.capacity(0.2).alpha
    assert chanceline.capacity(0.2, balance=0.4999).alpha == pytest.approx(plain, abs=1e-6)
    assert chanceline.capacity(0.2, margin=1e-6).alpha == pytest.approx(plain, abs=1e-5)
    assert chanceline.capacity(0.2, errors=1e-6).alpha == pytest.approx(plain, abs=1e-4)


def test_classes_exchanged_change_the_sign_of_the_threshold():
    few, many = (chanceline.capacity(0.1, balance=f) for f in (0.2, 0.8))
    assert few.alpha == pytest.approx(many.alpha, rel=1e-12)
    assert few.threshold == pytest.approx(-many.threshold, rel=1e-10)
    assert few.threshold < 0


@pytest.mark.parametrize("rho", [0.001, 0.3, 0.999])
@pytest.mark.parametrize("f", [0.01, 0.2])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 3.0])
def test_order_of_the_curves_over_the_whole_range(rho, f, kappa):
    end = chanceline.capacity_curve([rho], balance=f, margin=kappa)[0]
    # Towards ρ = 1 a margin takes α_VS to the ℓ₀ bound within rounding.
    assert (
        end.bounds.cover_gardner
        < end.alpha
        <= min(end.bounds.union, end.bounds.l0_gardner) * (1 + 1e-14)
    )
    assert end.error < 1e-11


@pytest.mark.parametrize("rho", [0.001, 0.1, 0.6, 0.999])
@pytest.mark.parametrize("epsilon", [1e-4, 0.1, 0.39])
def test_capacity_with_errors_over_the_whole_range(rho, epsilon):
    end = chanceline.capacity(rho, errors=epsilon)
    assert end.error < 1e-9
    assert chanceline.capacity(rho).alpha < end.alpha < min(end.bounds.union, end.bounds.l0_gardner)


@pytest.mark.parametrize(
    ("rho", "kind"),
    [
        (0.999, {"errors": 0.035}),
        (0.5, {"errors": 0.2}),
        (0.99, {"balance": 0.2, "margin": 3.0, "errors": 0.1}),
        (0.955, {"balance": 0.195, "errors": 0.1168}),
        (
            0.736699,
            {"balance": 0.424922, "margin": 2.14954, "errors": 0.392203},
        ),  # two stationary thresholds
    ],
)
def test_capacity_with_errors_where_the_entrance_or_the_first_moment_is_hard(rho, kind):
    end = chanceline.capacity_curve([rho], **kind)[0]
    assert end.bounds.cover_gardner < end.alpha < min(end.bounds.union, end.bounds.l0_gardner)
    assert end.error < 1e-9


@pytest.mark.slow
def test_capacity_at_random_points_of_the_whole_range():
    rng = np.random.default_rng(0)
    for _ in range(150):
        balance = 10 ** rng.uniform(-2, math.log10(0.5))
        margin = rng.choice([0.0, rng.uniform(0, 3)])
        errors = rng.uniform(0, min(0.4, balance))
        rho = 1 / (1 + math.exp(-rng.uniform(-6.9, 6.9)))
        end = chanceline.capacity_curve([rho], balance=balance, margin=margin, errors=errors)[0]
        assert (
            end.bounds.cover_gardner
            < end.alpha
            <= min(end.bounds.union, end.bounds.l0_gardner) * (1 + 1e-12)
        ), end
        assert end.error < 1e-8, end


@pytest.mark.parametrize(
    "ensemble",
    [
        Ensemble(error_rate=0.1),
        Ensemble(0.2, 0.0, 0.08),
        Ensemble(0.3, 0.5, 0.05),
        Ensemble(0.0105, 0.0, 0.0102),  # nearly as many errors as the smaller class has patterns
    ],
)
def test_towards_all_variables_errors_are_those_of_clusters_of_weights(ensemble):
    """Σ counts pairs of a support and a cluster of weights: at ρ = 1 its zero is the one-step capacity."""
    top = typical_load(ensemble)
    kind = {"balance": ensemble.balance, "margin": ensemble.margin, "errors": ensemble.error_rate}
    gaps = [abs(chanceline.capacity(1 - e, **kind).alpha / top - 1) for e in (1e-2, 1e-3, 1e-4)]
    assert gaps[2] < gaps[1] / 4 < gaps[0] / 12
    assert gaps[2] < 1e-3
    assert top < gardner(ensemble).load


@pytest.mark.parametrize(
    ("errors", "row"),
    [(0.01, "2.3365 2.3076 2.3146"), (0.1, "5.7114 4.7077 4.7185"), (0.3, "56.594 25.639 25.671")],
)
def test_loads_with_errors_as_printed_in_the_docs(errors, row):
    ensemble = Ensemble(error_rate=errors)
    loads = (
        gardner(ensemble).load,
        typical_load(ensemble),
        chanceline.capacity_curve([0.999], errors=errors)[0].alpha,
    )
    assert " ".join(f"{load:.5g}" for load in loads) == row


def test_few_errors_leave_one_cluster():
    ratios = [
        typical_load(Ensemble(error_rate=e)) / gardner(Ensemble(error_rate=e)).load
        for e in (1e-2, 1e-3, 1e-4, 1e-5)
    ]
    assert np.all(np.diff(ratios) > 0)
    assert 1 - 1e-6 < ratios[-1] < 1


def test_clusters_are_stationary_where_they_vanish():
    """Finite differences of the exponent in q₀, χ, threshold and price, at the load found."""
    ensemble = Ensemble(0.3, 0.2, 0.06)
    at = one_step_gardner(ensemble)
    chi, q0, b, ceiling = (
        math.exp(at.unknowns[0]),
        1 / (1 + math.exp(-at.unknowns[1])),
        at.unknowns[2],
        math.exp(at.unknowns[3]),
    )

    def exponent(values):
        q, x, threshold, y = values
        total = 0.0
        for share, sign in ensemble.classes:

            def log_a(z, sign=sign):
                mu = math.sqrt(q) * z + ensemble.margin + sign * threshold
                return norm.pdf(z) * float(
                    pattern_law(np.array([mu]), 1 - q, x, math.sqrt(2 * x * y)).log_mean_weight[0]
                )

            total += share * quad(log_a, -10, 10, limit=200, epsabs=1e-12)[0]
        s2 = 1 - q
        return (
            at.state.alpha * (total + y * ensemble.error_rate)
            + 0.5 * math.log1p(s2 / x)
            + 0.5 * q / (x + s2)
        )

    point = np.array([q0, chi, b, ceiling**2 / (2 * chi)])
    assert exponent(point) == pytest.approx(0, abs=1e-9)
    for move in np.diag(1e-4 * point):
        assert (exponent(point + move) - exponent(point - move)) / (
            2 * np.abs(move).sum()
        ) == pytest.approx(0, abs=2e-5)


def test_union_bound_and_l0_bound_reduce_to_the_plain_ones():
    for rho in (0.01, 0.3, 0.9):
        assert first_moment_load(rho, Ensemble()) == pytest.approx(union_bound(rho), rel=1e-12)
        assert bounds_at(rho, Ensemble(0.3)).l0_gardner == pytest.approx(
            gardner(Ensemble(0.3)).load / 2 * l0_gardner(rho), rel=1e-14
        )


@pytest.mark.parametrize(
    "ensemble",
    [Ensemble(), Ensemble(0.15), Ensemble(0.5, 1.5), Ensemble(0.4, 0.3), Ensemble(signs="given")],
    ids=str,
)
def test_first_moment_is_found_where_almost_all_variables_are_kept(ensemble):
    """Rounding is all that is left of its exponent; the load falls to that of all variables."""
    complements = np.array([1.3e-6, 1.7e-7, 2.3e-8, 3.1e-9])
    loads = [first_moment_load(1 - left_out, ensemble) for left_out in complements]
    above_all = np.array(loads) - gardner(ensemble).load
    assert np.all(np.diff(above_all) < 0)
    # The exponent is quadratic around the load of all variables, so the excess grows as √H₂(ρ).
    entropies = np.array([binary_entropy(c) for c in complements])
    ratios = above_all / np.sqrt(entropies)
    np.testing.assert_allclose(ratios, ratios[-1], rtol=0.01)
    if ensemble == Ensemble():
        assert loads == pytest.approx([union_bound(1 - c) for c in complements], rel=1e-10)


def test_first_moment_with_errors_counts_them():
    """Without margin and with equal classes the exponent is H₂(ρ) + αH₂(ε) + α(1−ε)[H₂(ρ/α(1−ε)) − ln 2]."""

    def entropy(p):
        return -p * math.log(p) - (1 - p) * math.log(1 - p)

    rho, epsilon = 0.1, 0.05
    alpha = first_moment_load(rho, Ensemble(error_rate=epsilon))
    kept = alpha * (1 - epsilon)
    assert entropy(rho) + alpha * entropy(epsilon) + kept * (
        entropy(rho / kept) - math.log(2)
    ) == pytest.approx(0, abs=1e-10)
    assert math.isinf(first_moment_load(rho, Ensemble(error_rate=0.3)))


@pytest.mark.parametrize(
    "kind", [{"balance": 0.2}, {"margin": 0.5}, {"balance": 0.3, "margin": 0.2}]
)
def test_both_sides_of_the_cover_gardner_load_meet(kind):
    rho, ensemble = 0.3, Ensemble(**kind)
    edge = rho * gardner(ensemble).load
    gaps = []
    for epsilon in (1e-3, 1e-4):
        below, above = (solve_rs(edge * (1 + sign * epsilon), rho, ensemble) for sign in (-1, 1))
        assert (below.regime, above.regime) == ("typical", "selected")
        gaps.append([rho - below.q1, abs(below.entropy - above.entropy), 1 / above.chi])
        gaps[-1] += [
            abs(side.q0 - entrance_overlap(rho, ensemble) * rho) for side in (below, above)
        ]
        gaps[-1] += [abs(side.threshold - gardner(ensemble).threshold) for side in (below, above)]
    for coarse, fine in zip(*gaps, strict=True):
        assert fine <= 0.4 * coarse + 1e-12


def test_no_breaking_with_errors_and_no_full_breaking_off_the_plain_line():
    with pytest.raises(InputError, match="errors = 0"):
        chanceline.capacity(0.3, "1rsb", errors=0.1)
    with pytest.raises(InputError, match="margin"):
        chanceline.capacity(0.3, "1rsb", margin=2)
    with pytest.raises(InputError, match="full breaking"):
        chanceline.capacity(0.3, "full", balance=0.3)
    with pytest.raises(InputError, match="too close to 1"):
        chanceline.solve(0.5, 0.9999999999999999)
