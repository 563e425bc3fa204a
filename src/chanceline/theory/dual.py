"""Dual numbers: a value with its differential.

A formula written once in them gives its derivatives too, by the rules d(a + b) = da + db,
d(ab) = a db + b da and d(a/b) = (da − (a/b) db)/b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chanceline.theory.quadrature import Array


@dataclass(eq=False, slots=True)
class Dual:
    """A number and its differential by the coordinates of a point, (coordinates,).

    Never changed once it is made. It is not frozen all the same: one is made in every step of a
    formula, and a frozen one takes twice as long to make.
    """

    value: float
    differential: Array

    # Numpy leaves sums and products with its own numbers to the methods here.
    __array_ufunc__: ClassVar[None] = None

    def __add__(self, other: Dual | float) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.differential + other.differential)
        return Dual(self.value + other, self.differential)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.differential)

    def __sub__(self, other: Dual | float) -> Dual:
        return self + (-other)

    def __rsub__(self, other: float) -> Dual:
        return -self + other

    def __mul__(self, other: Dual | float) -> Dual:
        """d(ab) = a db + b da."""
        if isinstance(other, Dual):
            differential = self.value * other.differential + other.value * self.differential
            return Dual(self.value * other.value, differential)
        return Dual(self.value * other, self.differential * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Dual | float) -> Dual:
        """d(a/b) = (da − (a/b) db)/b."""
        if isinstance(other, Dual):
            ratio = self.value / other.value
            differential = (self.differential - ratio * other.differential) / other.value
            return Dual(ratio, differential)
        return Dual(self.value / other, self.differential / other)
