"""Dual numbers: a value with its differential, so that a formula gives its derivatives too.

A formula is written once, for numbers or arrays. Given `Dual` numbers it is differentiated by the
rules d(a + b) = da + db, d(ab) = a db + b da, d(a/b) = (da − (a/b) db)/b and df(a) = f'(a) da. The
functions here (`exp`, `log_ndtr`, …) take plain numbers and arrays as well as Duals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import special

from chanceline.theory.quadrature import Array

# A float, an array, or a `Dual` of either: the same formula serves all of them.
Numbers: TypeAlias = Any

_ROOT_TWO = float(np.sqrt(2))
_ROOT_TWO_OVER_PI = float(np.sqrt(2 / np.pi))


@dataclass(eq=False, slots=True)
class Dual:
    """A number or an array of them, and its differential by the coordinates of a point.

    The differential of a number has the shape (coordinates, 1), that of values at the nodes of a
    rule, (nodes,), the shape (coordinates, nodes): so numbers and arrays go together by the rules
    of numpy.

    Never changed once it is made. It is not frozen all the same: one is made in every step of a
    formula, and a frozen one takes twice as long to make.
    """

    value: Any  # float or (nodes,)
    differential: Array

    # Numpy leaves sums and products with its own arrays to the methods here.
    __array_ufunc__: ClassVar[None] = None

    @property
    def gradient(self) -> Array:
        """The derivatives of a number by the coordinates, (coordinates,)."""
        return self.differential[:, 0]

    def __add__(self, other: Numbers) -> Dual:
        """d(a + b) = da + db; a plain number or array b has db = 0."""
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.differential + other.differential)
        return Dual(self.value + other, self.differential)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        """d(−a) = −da."""
        return Dual(-self.value, -self.differential)

    def __sub__(self, other: Numbers) -> Dual:
        """d(a − b) = da − db."""
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.differential - other.differential)
        return Dual(self.value - other, self.differential)

    def __rsub__(self, other: Numbers) -> Dual:
        """d(c − b) = −db, for a plain number or array c."""
        return Dual(other - self.value, -self.differential)

    def __mul__(self, other: Numbers) -> Dual:
        """d(ab) = a db + b da."""
        if isinstance(other, Dual):
            differential = self.value * other.differential + other.value * self.differential
            return Dual(self.value * other.value, differential)
        return Dual(self.value * other, self.differential * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Numbers) -> Dual:
        """d(a/b) = (da − (a/b) db)/b."""
        if isinstance(other, Dual):
            ratio = self.value / other.value
            differential = (self.differential - ratio * other.differential) / other.value
            return Dual(ratio, differential)
        return Dual(self.value / other, self.differential / other)

    def __rtruediv__(self, other: Numbers) -> Dual:
        """d(c/b) = −(c/b) db/b, for a plain number or array c."""
        ratio = other / self.value
        return Dual(ratio, (-ratio / self.value) * self.differential)


def independent(point: Array) -> list[Dual]:
    """The coordinates of a point, (coordinates,), as Duals.

    The differential of each is 1 by itself and 0 by the others.
    """
    unit_columns = np.eye(len(point))[:, :, None]  # one (coordinates, 1) for each coordinate
    return [Dual(value, unit) for value, unit in zip(point.tolist(), unit_columns, strict=True)]


def value_of(x: Numbers) -> Any:
    """The value of a Dual; a plain number or array as it is."""
    if isinstance(x, Dual):
        return x.value
    return x


def _has_dual(x: Numbers, y: Numbers) -> bool:
    """Whether one of them is a Dual."""
    return isinstance(x, Dual) or isinstance(y, Dual)


def _differential_of(x: Numbers) -> Array | float:
    """The differential of a Dual; 0 for a plain number or array."""
    if isinstance(x, Dual):
        return x.differential
    return 0.0


def weighted_sum(weights: Array, values: Numbers) -> Numbers:
    """Σ weights·values over the nodes, both (nodes,): a number, or a Dual of one.

    The differential of the sum is that of the values, (coordinates, nodes), summed as they are, and
    kept as a column, (coordinates, 1).
    """
    if not isinstance(values, Dual):
        return float(weights @ values)
    differential = (values.differential @ weights)[:, None]
    return Dual(float(weights @ values.value), differential)


def where(condition: Array, x: Numbers, y: Numbers) -> Numbers:
    """x where the condition holds, y elsewhere; either may be a Dual.

    The condition, (nodes,), is a plain array: it does not move with the coordinates.
    """
    value = np.where(condition, value_of(x), value_of(y))
    if not _has_dual(x, y):
        return value
    return Dual(value, np.where(condition, _differential_of(x), _differential_of(y)))


def square(x: Numbers) -> Numbers:
    """x², of slope 2x."""
    if not isinstance(x, Dual):
        return np.square(x)
    return Dual(np.square(x.value), (2 * x.value) * x.differential)


def sqrt(x: Numbers) -> Numbers:
    """√x, of slope 1/(2√x)."""
    if not isinstance(x, Dual):
        return np.sqrt(x)
    root = np.sqrt(x.value)
    return Dual(root, (0.5 / root) * x.differential)


def exp(x: Numbers) -> Numbers:
    """e^x, its own slope."""
    if not isinstance(x, Dual):
        return np.exp(x)
    power = np.exp(x.value)
    return Dual(power, power * x.differential)


def log(x: Numbers) -> Numbers:
    """ln x, of slope 1/x."""
    if not isinstance(x, Dual):
        return np.log(x)
    return Dual(np.log(x.value), x.differential / x.value)


def log1p(x: Numbers) -> Numbers:
    """ln(1 + x), of slope 1/(1 + x)."""
    if not isinstance(x, Dual):
        return np.log1p(x)
    return Dual(np.log1p(x.value), x.differential / (1 + x.value))


def expit(x: Numbers) -> Numbers:
    """The logistic function s(x) = 1/(1 + e^{−x}), of slope s(x) s(−x)."""
    if not isinstance(x, Dual):
        return special.expit(x)
    value = special.expit(x.value)
    slope = value * special.expit(-x.value)
    return Dual(value, slope * x.differential)


def logaddexp(x: Numbers, y: Numbers) -> Numbers:
    """ln(e^x + e^y), whose slope by x is the share of e^x in the sum, and by y the rest."""
    x_value = value_of(x)
    y_value = value_of(y)
    value = np.logaddexp(x_value, y_value)
    if not _has_dual(x, y):
        return value
    share_of_x = special.expit(x_value - y_value)  # 1/(1 + e^{y − x})
    share_of_y = special.expit(y_value - x_value)
    return Dual(value, share_of_x * _differential_of(x) + share_of_y * _differential_of(y))


def softplus(x: Numbers) -> Numbers:
    """ln(1 + e^x), whose slope is the logistic function."""
    if not isinstance(x, Dual):
        return np.logaddexp(0.0, x)
    return Dual(np.logaddexp(0.0, x.value), special.expit(x.value) * x.differential)


def log_ndtr(x: Numbers) -> Numbers:
    """ln Φ(x) of the normal distribution function Φ, whose slope is its density over Φ.

    Without underflow that is √(2/π)/erfcx(−x/√2), as Φ(x) = ½ e^{−x²/2} erfcx(−x/√2).
    """
    if not isinstance(x, Dual):
        return special.log_ndtr(x)
    slope = _ROOT_TWO_OVER_PI / special.erfcx(x.value / -_ROOT_TWO)
    return Dual(special.log_ndtr(x.value), slope * x.differential)
