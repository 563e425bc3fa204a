import numpy as np
import pytest

from chanceline.errors import InputError
from chanceline.experiments.fits import average, extrapolate, typical


def test_exact_polynomial_in_one_over_n_is_found():
    n = np.array([12, 16, 20, 24, 32])
    fit = extrapolate(n, 0.4 - 1.5 / n + 3.0 / n**2, np.full(5, 0.01))
    assert fit.coefficients == pytest.approx((0.4, -1.5, 3.0), abs=1e-9)
    assert fit.chi2 == pytest.approx(0.0, abs=1e-15)
    assert fit.dof == 2
    assert fit.systematic == pytest.approx(0.0, abs=1e-9)
    assert repr(fit).startswith("<Extrapolation: 0.4000 ± ")
    assert fit.to_dict()["kind"] == "extrapolated"
    assert fit.at([16]) == pytest.approx([0.4 - 1.5 / 16 + 3.0 / 256])


def test_systematic_error_is_what_the_smallest_size_changes():
    n = np.array([12, 16, 20, 24])
    y = 0.4 - 1.5 / n + 3.0 / n**2
    fit = extrapolate(n, y, np.full(4, 0.01))
    assert len(fit.coefficients) == 2
    lines = [np.polynomial.polynomial.polyfit(1 / n[k:], y[k:], 1)[0] for k in (0, 1)]
    assert fit.value == pytest.approx(lines[0], abs=1e-9)
    assert fit.systematic == pytest.approx(abs(lines[0] - lines[1]), abs=1e-9)
    assert fit.error == pytest.approx(np.hypot(fit.statistical, fit.systematic))
    # Two sizes fix a line and leave nothing to compare with.
    assert extrapolate(n[:2], y[:2], np.full(2, 0.01)).systematic == 0.0


def test_statistical_error_is_that_of_repeated_fits():
    rng = np.random.default_rng(5)
    n, error = np.array([12, 16, 20, 24, 32, 48]), np.array([3, 2, 2, 1, 1, 2]) * 1e-3
    limits, covered = [], 0
    for _ in range(2000):
        fit = extrapolate(n, 0.3 + 0.7 / n + error * rng.normal(size=6), error, degree=1)
        limits.append(fit.value)
        covered += abs(fit.value - 0.3) < 2 * fit.statistical
    design = np.column_stack([np.ones(6), 1 / n]) / error[:, None]
    expected = np.sqrt(np.linalg.inv(design.T @ design)[0, 0])
    assert np.std(limits) == pytest.approx(expected, rel=0.05)
    # The error never shrinks below the given ones, so that the interval covers at least its nominal 95 %.
    assert covered / 2000 > 0.945


def test_points_that_scatter_too_much_enlarge_the_error():
    n = np.array([10, 20, 40, 80])
    calm = extrapolate(n, [1.0, 1.0, 1.0, 1.0], np.full(4, 0.01), degree=1)
    wild = extrapolate(n, [1.1, 0.9, 1.1, 0.9], np.full(4, 0.01), degree=1)
    assert wild.statistical > 3 * calm.statistical


def test_median_covers_at_its_nominal_rate_and_bears_minus_infinity():
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(2000):
        sample = rng.gumbel(size=100)
        sample[rng.random(100) < 0.1] = -np.inf
        estimate = typical(sample)
        # 10 % at −∞ move the median to the 4/9 quantile of the rest.
        truth = -np.log(-np.log(4 / 9))
        covered += abs(estimate.value - truth) < 2 * estimate.error
    assert 0.93 < covered / 2000 < 0.985


def test_median_is_unknown_when_half_are_infinite_or_few():
    assert np.isnan(typical([1.0] * 9).value)
    assert np.isnan(typical([-np.inf] * 45 + [1.0] * 56).value)
    assert typical(range(11)).value == 5


def test_average_covers_at_its_nominal_rate_with_few_samples_too():
    estimate = average([1.0, 2.0, 3.0])
    assert (estimate.value, estimate.samples) == (2.0, 3)
    assert np.isnan(average([1.0]).error)
    rng = np.random.default_rng(7)
    for samples in (2, 5, 40):
        trials = [average(rng.normal(size=samples)) for _ in range(2000)]
        covered = np.mean([abs(trial.value) < trial.error for trial in trials])
        assert abs(covered - 0.683) < 4 * np.sqrt(0.683 * 0.317 / 2000)


def test_bad_points_are_refused():
    with pytest.raises(InputError, match="2 sizes cannot fix 3"):
        extrapolate([10, 20], [1, 1], [0.1, 0.1], degree=2)
    with pytest.raises(InputError, match="positive error"):
        extrapolate([10, 20, 30, 40], [1, 1, 1, np.nan], [0.1] * 4)
