"""Dual numbers: every rule, and the closed forms made of them, against central differences."""

import numpy as np
import pytest

from chanceline.theory import dual, first_moment
from chanceline.theory.dual import Dual, independent
from chanceline.theory.ensemble import Ensemble
from chanceline.theory.pattern_averages import PatternParameters, class_laws, pattern_means
from chanceline.theory.patterns import pattern_law
from chanceline.theory.quadrature import QUADRATURE_STEP
from chanceline.theory.support_averages import VariableParameters, variable_means
from chanceline.theory.supports import variable_law

STEP = 1e-5


def differences(function, point):
    """∂function/∂point by central differences, (coordinates, …)."""
    point = np.array(point)
    moves = STEP * np.eye(len(point))
    return np.array([(function(*(point + m)) - function(*(point - m))) / (2 * STEP) for m in moves])


def assert_differentiates(function, point, rel=1e-7, floor=1e-8):
    """The function of Duals has the values of that of floats, and its differences as differential."""
    found = function(*independent(np.array(point)))
    assert isinstance(found, Dual)
    plain = function(*point)
    np.testing.assert_allclose(found.value, plain, rtol=1e-15)
    expected = differences(function, point).reshape(len(point), -1)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found.differential, expected, rtol=rel, atol=floor * scale)


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: x + y + 2.5 + (1 + y),
        lambda x, y: x - y - 0.5 - (3 - x),
        lambda x, y: -x * y * 1.5 + 2 * x,
        lambda x, y: x / y + y / 4 + 3 / x,
        lambda x, y: dual.square(x * y),
        lambda x, y: dual.sqrt(x + y),
        lambda x, y: dual.exp(-x * y),
        lambda x, y: dual.log(x / y),
        lambda x, y: dual.log1p(x * y),
        lambda x, y: dual.expit(x - 3 * y),
        lambda x, y: dual.softplus(x - 3 * y),
        lambda x, y: dual.logaddexp(2 * x, 3 * y),
        lambda x, y: dual.log_ndtr(x - 4 * y) + dual.log_ndtr(3 * x),
        lambda x, y: dual.where(np.array(True), x, y) + dual.where(np.array(False), x, 2 * y),
    ],
)
@pytest.mark.parametrize("point", [(0.7, 1.3), (2.0, 0.2)])
def test_rules_of_differentiation(formula, point):
    assert_differentiates(formula, point)


def test_numbers_go_together_with_arrays_and_sums_over_nodes():
    nodes = np.array([-1.0, 0.5, 2.0])
    weights = np.array([0.2, 0.5, 0.3])
    assert_differentiates(lambda x, y: nodes * x + y * nodes - nodes / y, (0.7, 1.3))
    assert_differentiates(lambda x, y: dual.weighted_sum(weights, x * nodes + y), (0.7, 1.3))
    number = dual.weighted_sum(weights, Dual(1.5, np.array([[2.0], [3.0]])) * nodes)
    np.testing.assert_allclose(number.gradient, (weights @ nodes) * np.array([2.0, 3.0]))


def test_slope_of_log_ndtr_does_not_underflow():
    """φ/Φ: −x − 1/x + … far on the left, and 0 far on the right."""
    x, slope = -1e4, dual.log_ndtr(Dual(-1e4, np.ones((1, 1)))).gradient[0]
    assert slope == pytest.approx(-x - 1 / x, rel=1e-14)
    assert dual.log_ndtr(Dual(60.0, np.ones((1, 1)))).gradient[0] == 0


MU = np.array([-2.0, -0.3, 0.1, 0.9, 2.5])


@pytest.mark.parametrize(
    "field", ["log_mean_weight", "p_tight", "p_not_tight", "mean_correction", "correction_variance"]
)
@pytest.mark.parametrize("point", [(0.0, 0.3, 0.2), (0.1, 0.05, 4.0), (0.2, 0.4, 0.001)])
def test_pattern_law(field, point):
    """The derivatives by μ, s² and χ."""

    def value(shift, s2, chi):
        return getattr(pattern_law(MU + shift, s2, chi), field)

    assert_differentiates(value, point, rel=1e-4 if point[2] < 0.01 else 1e-6, floor=1e-6)


@pytest.mark.parametrize(
    "field",
    [
        "log_mean_weight",
        "p_tight",
        "p_wrong",
        "mean_correction",
        "correction_variance",
        "net_p_tight",
    ],
)
@pytest.mark.parametrize("point", [(0.0, 0.3, 0.05, 0.7), (0.1, 0.05, 0.4, 1.5)])
def test_pattern_law_with_errors(field, point):
    def value(shift, s2, chi, ceiling):
        return getattr(pattern_law(MU + shift, s2, chi, ceiling), field)

    assert_differentiates(value, point, rel=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    "field", ["log_partition", "p_chosen", "p_rejected", "mean_weight", "slope", "curvature"]
)
def test_variable_law(field, signed):
    def value(shift, V, d, K):
        return getattr(variable_law(MU + shift, V, d, K, signed), field)

    assert_differentiates(value, (0.0, 0.9, 0.8, 0.6), rel=1e-6)


def test_far_from_the_boundary_the_variance_keeps_its_derivative():
    """There T is the Gaussian N(m', σ'²) with σ'² = s²χ/(s² + χ), whatever μ."""
    mu, s2, chi = independent(np.array([1.0, 1e-6, 2e-6]))
    variance = pattern_law(mu * np.ones(1), s2, chi).correction_variance
    by_s2, by_chi = (2 / 3) ** 2, (1 / 3) ** 2
    np.testing.assert_allclose(variance.gradient, [0.0, by_s2, by_chi], rtol=1e-13, atol=1e-18)


ENSEMBLES = [
    Ensemble(),
    Ensemble(0.2, 0.3),
    Ensemble(0.5, 0.0, 0.05),
    Ensemble(0.3, 0.2, 0.05),
]


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
@pytest.mark.parametrize(
    "field",
    [
        "effective_tight",
        "mean_correction_square",
        "correction_variance",
        "correction_by_sign",
        "wrong",
        "log_mean_weight",
    ],
)
def test_means_over_patterns(ensemble, field):
    rho = 0.4
    ceiling_is_free = ensemble.error_rate > 0

    def value(log_chi, q0, threshold, log_ceiling):
        order = PatternParameters(
            rho=rho,
            q0=q0,
            s2=rho - q0,
            chi=dual.exp(log_chi),
            threshold=threshold if ensemble.free_threshold else 0.0,
            ceiling=dual.exp(log_ceiling) if ceiling_is_free else np.inf,
        )
        laws_of_classes = class_laws(ensemble, order, QUADRATURE_STEP)
        return getattr(pattern_means(laws_of_classes, ensemble, rho), field)

    point = (-2.0, 0.15, -0.3, -0.2)
    is_zero = (field == "wrong" and not ceiling_is_free) or (
        field == "correction_by_sign" and not ensemble.free_threshold
    )
    if is_zero:
        found = value(*independent(np.array(point)))
        assert dual.value_of(found) == 0
        return
    assert_differentiates(value, point, rel=1e-6)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("point", [(0.3, 0.7, 1.5), (2e-3, -4.0, 0.8), (8.0, 2.0, 40.0)])
@pytest.mark.parametrize(
    "field", ["chosen", "rejected", "nonzero", "norm", "overlap", "log_partition"]
)
def test_means_over_supports(signed, point, field):
    F0, log_V_over_d, K = point

    def value(log_F0, log_ratio, price):
        order = VariableParameters(
            F0=dual.exp(log_F0), V=dual.expit(log_ratio), d=dual.expit(-log_ratio), K=price
        )
        return getattr(variable_means(order, QUADRATURE_STEP, signed), field)

    assert_differentiates(value, (np.log(F0), log_V_over_d, K), rel=1e-6, floor=1e-7)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
@pytest.mark.parametrize("log_response", [-6.0, 0.5, 12.0])
def test_exponents_of_the_first_moment(ensemble, log_response):
    """By ln x, b and y; for a large response x the derivative by ln x does not cancel."""

    def per_pattern(log_x, threshold, price):
        unknowns = first_moment._Unknowns(
            response=dual.exp(log_x),
            threshold=threshold if ensemble.free_threshold else 0.0,
            price=price if ensemble.error_rate else np.inf,
        )
        return first_moment._exponent_per_pattern(unknowns, ensemble)

    assert_differentiates(per_pattern, (log_response, -0.3, 2.0), rel=1e-5)


@pytest.mark.parametrize("signed", [False, True])
def test_exponent_of_a_variable(signed):
    def per_variable(log_x):
        return first_moment._exponent_per_variable(dual.exp(log_x), signed)

    assert_differentiates(per_variable, (0.7,))
    # ln γ ≈ 1/2x, or 1/4x with given signs, for a large response x.
    far = per_variable(*independent(np.array([25.0])))
    share = 0.5 if signed else 1.0
    assert far.gradient[0] == pytest.approx(-share * np.exp(-25.0) / 2, rel=1e-10)
