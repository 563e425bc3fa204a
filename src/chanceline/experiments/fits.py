"""From samples to typical values, and from finite sizes to N → ∞, with errors that say what they cover."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from chanceline._results import Result
from chanceline.errors import InputError

ONE_SIGMA = stats.norm.cdf(1.0)


@dataclass(frozen=True)
class Estimate:
    """A typical value over random problems, with one standard error."""

    value: float
    error: float
    samples: int


@dataclass(frozen=True, repr=False)
class Extrapolation(Result):
    """The limit N → ∞ of values at finite N.

    Attributes
    ----------
    value : float
    statistical : float
        Standard error of the fit, from the errors of the points (enlarged when they scatter more than that).
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

    @property
    def error(self) -> float:
        """Both errors in quadrature."""
        return float(np.hypot(self.statistical, self.systematic))

    def at(self, n: ArrayLike) -> NDArray[np.float64]:
        """The fitted curve at finite N."""
        powers = np.vander(1.0 / np.asarray(n, dtype=float), len(self.coefficients), increasing=True)
        return powers @ np.array(self.coefficients)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self), "error": self.error}

    def summary(self) -> str:
        return (
            f"{self.value:.4f} ± {self.error:.4f} (statistical {self.statistical:.4f}, systematic "
            f"{self.systematic:.4f}; χ² = {self.chi2:.1f} for {self.dof} degrees of freedom)"
        )

    def __str__(self) -> str:
        return self.summary()


def typical(values: ArrayLike) -> Estimate:
    """The median and its standard error: a quarter of the width of its 95 % interval by order statistics.

    Values may be −∞ (the logarithm of no support at all): a mean of logarithms does not exist then, a median does as
    long as clearly fewer than half are infinite. With too many of them, or fewer than 10 samples, it is NaN.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    count = len(ordered)
    if count < 10:
        return Estimate(np.nan, np.nan, count)
    # The number of samples below the true median is binomial, with standard deviation √n / 2.
    low = int(np.floor(0.5 * count - np.sqrt(count)))
    high = count - 1 - low
    if not np.isfinite(ordered[low]):
        return Estimate(np.nan, np.nan, count)
    return Estimate(float(np.median(ordered)), float(ordered[high] - ordered[low]) / 4, count)


def average(values: ArrayLike) -> Estimate:
    """The mean and its standard error, widened by Student's t: with few samples their scatter is uncertain too."""
    data = np.asarray(values, dtype=float)
    if len(data) < 2:
        return Estimate(float(data.mean()) if len(data) else np.nan, np.nan, len(data))
    wider = stats.t.ppf(ONE_SIGMA, len(data) - 1)
    return Estimate(float(data.mean()), float(wider * data.std(ddof=1) / np.sqrt(len(data))), len(data))


def extrapolate(sizes: ArrayLike, values: ArrayLike, errors: ArrayLike, degree: int | None = None) -> Extrapolation:
    """Weighted least squares in powers of 1/N, and the limit at 1/N = 0.

    Parameters
    ----------
    sizes, values, errors : arrays
        One entry a point; several points may have the same size.
    degree : int, optional
        Highest power of 1/N: by default 2 with five or more different sizes, 1 with fewer.

    The systematic error is the change of the limit when the points of the smallest size are left out (0 when too few
    sizes are left to fit without them): what the chosen powers miss shows there first.
    """
    n, y, e = (np.asarray(part, dtype=float) for part in (sizes, values, errors))
    different = len(np.unique(n))
    if degree is None:
        degree = 2 if different >= 5 else 1
    if different <= degree:
        raise InputError(f"{different} sizes cannot fix {degree + 1} coefficients; give more sizes or a lower degree")
    if not (np.all(np.isfinite(y)) and np.all(e > 0)):
        raise InputError("every point of an extrapolation needs a finite value and a positive error")
    coefficients, statistical, chi2 = _least_squares(n, y, e, degree)
    larger = n > n.min()
    without = _least_squares(n[larger], y[larger], e[larger], degree)[0] if different > degree + 1 else coefficients
    return Extrapolation(
        value=float(coefficients[0]),
        statistical=statistical,
        systematic=float(abs(coefficients[0] - without[0])),
        coefficients=tuple(map(float, coefficients)),
        chi2=chi2,
        dof=len(n) - degree - 1,
    )


def _least_squares(
    n: NDArray[np.float64], y: NDArray[np.float64], e: NDArray[np.float64], degree: int
) -> tuple[NDArray[np.float64], float, float]:
    design = np.vander(1.0 / n, degree + 1, increasing=True) / e[:, None]
    inverse = np.linalg.pinv(design)
    coefficients = inverse @ (y / e)
    chi2 = float(np.sum((design @ coefficients - y / e) ** 2))
    dof = len(n) - degree - 1
    scale = max(1.0, chi2 / dof) if dof else 1.0
    return coefficients, float(np.sqrt(scale) * np.linalg.norm(inverse[0])), chi2
