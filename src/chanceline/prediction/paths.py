"""Nested sets of 1, 2, 3, … columns for a target: least angle regression and forward stepwise.

Both take columns (samples, columns), centred and of length 1, or zero if a column must never be
chosen; and a centred target (samples,). Both return the supports of 0, 1, 2, … columns in the order
in which the columns joined, up to `max_columns`; fewer where no further column adds anything.
Columns may be in single precision. Products with them then have seven digits, and everything else
is in double precision.
"""

from __future__ import annotations

import numpy as np

from chanceline._arrays import Floats, Ints

# Stepwise regression is good where labels are nearly free of noise, and then sets are small.
MAX_STEPWISE = 9
# Columns whose product with the path's direction is so near that of the active ones are copies of
# them; columns of which less (as a squared length) lies outside the chosen ones' span are too. By
# the columns' precision.
COPY_TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}
# Smaller shares are rounding.
ROUNDING = 1e-9


def least_angle_path(columns: Floats, target: Floats, max_columns: int) -> list[Ints]:
    """The supports of 0, 1, 2, … columns that least angle regression goes through.

    This is the path of the lasso, except that no column leaves it (Efron, Hastie, Johnstone and
    Tibshirani 2004). The columns chosen so far (the support) have the same absolute product C with
    the residual, and all others have smaller ones. The fit moves in the direction in which these
    common products sink together, until another column has an equal product and joins. The products
    are followed from step to step; the fit itself is not needed.

    Parameters
    ----------
    columns : centred and of length 1 (or zero), (samples, columns)
    target : centred, (samples,)
    max_columns : the path ends with so many columns, or earlier if nothing is left to explain

    Returns
    -------
    supports : indices of the chosen columns in the order in which they joined; first none, then
        one, two, …
    """
    support = np.zeros(0, dtype=np.int64)
    supports = [support]
    if columns.shape[1] == 0:
        return supports

    # Products of all columns with the residual, (columns,). At first the residual is the target,
    # and the column with the largest product joins.
    n_samples = len(columns)
    products = products_with(columns, target)
    joining_column = int(np.abs(products).argmax())
    common_product = float(np.abs(products[joining_column]))  # C
    negligible = ROUNDING * common_product
    # A column whose product sinks just as C does, up to this, is a copy of the support's columns.
    copy_tolerance = COPY_TOLERANCE[columns.dtype]

    # Centred columns of n samples span no more than n − 1 dimensions.
    for _ in range(min(max_columns, n_samples - 1)):
        if common_product <= negligible:
            break
        support = np.append(support, joining_column)
        supports.append(support)

        # How fast every column's product sinks when C sinks at rate 1; and how far C must sink
        # until each column joins. Columns of the support cannot join again.
        rates = equiangular_rates(columns, support, np.sign(products[support]))
        steps = steps_until_joining(products, rates, common_product, copy_tolerance)
        steps[support] = np.inf
        joining_column = int(steps.argmin())

        # Move until the next column joins, but no farther than C = 0, the least-squares fit.
        step = min(common_product, float(steps[joining_column]))
        products = products - step * rates
        common_product = common_product - step
    return supports


def equiangular_rates(columns: Floats, support: Ints, signs: Floats) -> Floats:
    """Products (columns,) of all columns with the vector u that has product 1 with the active ones.

    u = A (AᵀA)⁻¹ 1, where A has the active columns, each with the sign of its product.
    """
    active = columns[:, support] * signs  # in double precision, as the signs are
    gram = active.T @ active + ROUNDING * np.eye(len(support))
    coefficients = np.linalg.solve(gram, np.ones(len(support)))
    return products_with(columns, active @ coefficients)


def products_with(columns: Floats, vector: Floats) -> Floats:
    """Products (columns,) of all columns with a vector (samples,), in double precision.

    They are computed in the columns' own.
    """
    products = vector.astype(columns.dtype) @ columns
    return products.astype(float)


def steps_until_joining(
    products: Floats, rates: Floats, common_product: float, copy_tolerance: float
) -> Floats:
    """How far the common product C must sink until each column joins least angle regression.

    All columns of the support have the product ±C with the residual. When C has sunk by γ, another
    column's product has moved from p to p − γr. It equals C − γ at γ = (C − p)/(1 − r), and
    −(C − γ) at γ = (C + p)/(1 + r): there the column joins, and the smaller γ is returned,
    (columns,). If a divisor vanishes, the column's product moves with C for ever (it is a copy of
    columns of the support), and that γ is infinite.

    Parameters
    ----------
    products : p, (columns,)
    rates : r, how far each product moves when C sinks by 1, (columns,)
    common_product : C
    copy_tolerance : a smaller divisor counts as vanishing
    """
    # `np.where` computes both branches: the floors only avoid divisions by zero in unused entries.

    # The γ at which the product equals C − γ.
    can_reach_positive = rates < 1 - copy_tolerance
    divisors = np.maximum(1 - rates, copy_tolerance)
    steps_to_positive = np.where(can_reach_positive, (common_product - products) / divisors, np.inf)

    # The γ at which the product equals −(C − γ).
    can_reach_negative = rates > copy_tolerance - 1
    divisors = np.maximum(1 + rates, copy_tolerance)
    steps_to_negative = np.where(can_reach_negative, (common_product + products) / divisors, np.inf)
    return np.minimum(steps_to_positive, steps_to_negative)


def stepwise_path(columns: Floats, target: Floats, max_columns: int) -> list[Ints]:
    """The supports of 0, 1, 2, … columns that forward stepwise least squares goes through.

    The next column is the one that shortens the residual of least squares most; at most
    `MAX_STEPWISE` columns join. For this, two numbers are kept of every column x: its product p
    with the residual, and the squared length ℓ² of its part outside the span of the chosen columns.
    If x joins, the residual's squared length falls by p²/ℓ².

    Parameters
    ----------
    columns : centred and of length 1 (or zero), (samples, columns)
    target : centred, (samples,)
    max_columns : the path ends with so many columns, or earlier if nothing is left to explain

    Returns
    -------
    supports : indices of the chosen columns in the order in which they joined; first none, then
        one, two, …
    """
    n_samples = len(columns)
    products = products_with(columns, target)  # p, (columns,)
    squared_lengths = np.einsum("ij,ij->j", columns, columns).astype(float)  # ℓ², (columns,)
    # Columns with a smaller ℓ² are copies of chosen columns, or in their span, up to rounding in
    # the precision of the columns.
    smallest_squared_length = COPY_TOLERANCE[columns.dtype]
    negligible_gain = ROUNDING * (target @ target)
    support = np.zeros(0, dtype=np.int64)
    supports = [support]

    # Centred columns of n samples span no more than n − 1 dimensions.
    for _ in range(min(max_columns, MAX_STEPWISE, n_samples - 1)):
        # By how much the residual's squared length falls if a column joins: p²/ℓ², or 0 for columns
        # in the span of the chosen ones. (`np.where` computes both branches: the floor only avoids
        # divisions by zero in unused entries.)
        is_outside_span = squared_lengths > smallest_squared_length
        divisors = np.maximum(squared_lengths, smallest_squared_length)
        gains = np.where(is_outside_span, products**2 / divisors, 0.0)
        if gains.max() <= negligible_gain:
            break
        support = np.append(support, gains.argmax())
        supports.append(support)

        # The direction that the newest column adds to the span: the last vector of an orthonormal
        # basis. The basis of the few columns is made anew each time, which is precise and cheap.
        orthonormal_basis, _ = np.linalg.qr(columns[:, support].astype(float))
        new_direction = orthonormal_basis[:, -1]

        # The residual loses its component along this direction, which is that of the target: the
        # earlier directions, which it has lost, are orthogonal to the new one. A column's product
        # with the residual changes by the product of the two components, and its ℓ² by the square
        # of the column's own component.
        column_components = products_with(columns, new_direction)  # (columns,)
        target_component = new_direction @ target
        products = products - target_component * column_components
        squared_lengths = squared_lengths - column_components**2
    return supports
