"""Estimates with errors from samples, and their limit N → ∞ by a fit in powers of 1/N."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from chanceline._results import Result
from chanceline.errors import InputError

ONE_SIGMA = stats.norm.cdf(1.0)  # the probability below one standard deviation
MIN_SAMPLES_OF_MEDIAN = 10  # with fewer, order statistics give no interval of 95 %
SIZES_FOR_SQUARES = 5  # different sizes from which on 1/N² is fitted too


class Estimate(NamedTuple):
    """A value and its standard error; NaN where the samples do not tell."""

    value: float
    error: float


@dataclass(frozen=True, repr=False)
class Extrapolation(Result):
    """The limit N → ∞ of values at finite N.

    Attributes
    ----------
    value : float
    statistical : float
        Standard error of the fit, from the errors of the points (enlarged when they scatter more
        than that).
    systematic : float
        Change of the limit when the smallest size is left out of the fit.
    coefficients : tuple of float
        Of 1, 1/N, 1/N², …
    chi2, dof : float, int
        Misfit and degrees of freedom.
    """

    value: float
    statistical: float
    systematic: float
    coefficients: tuple[float, ...]
    chi2: float
    dof: int
    kind = "extrapolated"
    _derived = ("error",)

    @property
    def error(self) -> float:
        """Both errors in quadrature."""
        return float(np.hypot(self.statistical, self.systematic))

    def at(self, n: ArrayLike) -> NDArray[np.float64]:
        """The fitted curve at finite N."""
        inverse_sizes = 1 / np.asarray(n, dtype=float)
        highest_first = self.coefficients[::-1]
        return np.asarray(np.polyval(highest_first, inverse_sizes), dtype=np.float64)

    def summary(self) -> str:
        return (
            f"{self.value:.4f} ± {self.error:.4f} (statistical {self.statistical:.4f}, "
            f"systematic {self.systematic:.4f}; "
            f"χ² = {self.chi2:.1f} for {self.dof} degrees of freedom)"
        )

    __str__ = summary


def median_estimate(values: ArrayLike) -> Estimate:
    """The median of a sample and its standard error, from a distribution-free 95 % interval.

    The error is a quarter of the width of the interval, as the 95 % interval of a Gaussian is four
    standard errors wide.

    Values may be −∞ (logarithms of counts that are zero). The mean does not exist then, but the
    median does if clearly fewer than half of the values are infinite. If there are more of them, or
    fewer than 10 values, both the median and its error are NaN.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n_samples = len(ordered)
    if n_samples < MIN_SAMPLES_OF_MEDIAN:
        return Estimate(np.nan, np.nan)
    # The number of samples below the true median is binomial, with probability 1/2: its mean is n/2
    # and its standard deviation √n/2. So the 95 % interval reaches from the ordered value number
    # n/2 − 2·√n/2, counted from below, to the value of the same number counted from above.
    standard_deviation = 0.5 * np.sqrt(n_samples)
    low = int(np.floor(0.5 * n_samples - 2 * standard_deviation))
    if not np.isfinite(ordered[low]):
        return Estimate(np.nan, np.nan)
    width = float(ordered[-1 - low] - ordered[low])
    return Estimate(value=float(np.median(ordered)), error=width / 4)


def mean_estimate(values: ArrayLike) -> Estimate:
    """The mean and its standard error, widened by Student's t.

    With few samples their scatter is uncertain too; with one the error is NaN.
    """
    samples = np.asarray(values, dtype=float)
    if len(samples) == 0:
        return Estimate(np.nan, np.nan)
    if len(samples) == 1:
        return Estimate(float(samples[0]), np.nan)
    factor = stats.t.ppf(ONE_SIGMA, len(samples) - 1)
    return Estimate(value=float(samples.mean()), error=float(factor * stats.sem(samples)))


def extrapolate(
    sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, degree: int | None = None
) -> Extrapolation:
    """Fit values at finite sizes N by a polynomial in 1/N, and return its limit for N → ∞.

    Parameters
    ----------
    sizes, values, errors : arrays, (points,)
        N, the value there, and its standard error; several points may have the same size.
    degree : int, optional
        Highest power of 1/N: by default 2 with five or more different sizes, 1 with fewer.

    Notes
    -----
    The fit is one of weighted least squares. Powers of 1/N beyond `degree` matter most at the
    smallest size. So the systematic error is the change of the limit when the points of this size
    are left out. It is 0 if too few sizes would be left for a fit.
    """
    sizes = np.asarray(sizes, dtype=float)
    values = np.asarray(values, dtype=float)
    errors = np.asarray(errors, dtype=float)

    # Choose the degree, and check that the points determine the fit.
    n_sizes = len(np.unique(sizes))
    if degree is None:
        degree = 1
        if n_sizes >= SIZES_FOR_SQUARES:
            degree = 2
    if n_sizes <= degree:
        raise InputError(
            f"{n_sizes} sizes cannot fix {degree + 1} coefficients; "
            "give more sizes or a lower degree"
        )
    if not (np.all(np.isfinite(values)) and np.all(errors > 0)):
        raise InputError(
            "every point of an extrapolation needs a finite value and a positive error"
        )

    # Fit all points, then all but those of the smallest size.
    fit = _fit_powers(sizes, values, errors, degree)
    limit = fit.coefficients[0]
    limit_without_smallest = limit
    if n_sizes > degree + 1:
        is_larger = sizes > sizes.min()
        without_smallest = _fit_powers(
            sizes[is_larger], values[is_larger], errors[is_larger], degree
        )
        limit_without_smallest = without_smallest.coefficients[0]
    return Extrapolation(
        value=limit,
        statistical=fit.limit_error,
        systematic=abs(limit - limit_without_smallest),
        coefficients=fit.coefficients,
        chi2=fit.chi2,
        dof=fit.dof,
    )


class _PowerFit(NamedTuple):
    """Coefficients of 1, 1/N, …, the error of the first, misfit and degrees of freedom."""

    coefficients: tuple[float, ...]
    limit_error: float
    chi2: float
    dof: int


def _fit_powers(
    sizes: NDArray[np.float64],
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    degree: int,
) -> _PowerFit:
    """Fit `values` ± `errors`, (points,), by a polynomial in 1/size with weighted least squares.

    If the points scatter more than their errors say (χ² > dof, the degrees of freedom), the error
    of the limit is multiplied by √(χ²/dof).
    """
    # NumPy has the coefficient of the highest power first. That of the power 0, which is the limit
    # at 1/size = 0, is the last; its variance is the last entry of the covariance matrix.
    coefficients_highest_first, covariance = np.polyfit(
        1 / sizes, values, degree, w=1 / errors, cov="unscaled"
    )
    fitted_values = np.polyval(coefficients_highest_first, 1 / sizes)
    chi2 = float(np.sum(((fitted_values - values) / errors) ** 2))
    dof = len(sizes) - degree - 1
    variance_inflation = 1.0
    if dof > 0:
        variance_inflation = max(1.0, chi2 / dof)
    return _PowerFit(
        coefficients=tuple(map(float, coefficients_highest_first[::-1])),
        limit_error=float(np.sqrt(variance_inflation * covariance[-1, -1])),
        chi2=chi2,
        dof=dof,
    )
