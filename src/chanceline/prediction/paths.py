"""Which features, for every number of them: the path of the L1-penalised least-squares fit, from the largest penalty down."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# Columns whose product with the direction is so near that of the active ones are copies; shares below the second are rounding.
COPY, SMALL = 1e-6, 1e-9


def lasso_path(columns: Floats, target: Floats, most: int) -> list[Ints]:
    """Supports of 0, 1, 2, … columns, each as it was when the lasso first had so many.

    Least angle regression with the lasso's drops (Efron, Hastie, Johnstone and Tibshirani 2004): all active columns keep the
    same product with the residual, in absolute value the largest; it sinks until another column has it, or a coefficient is 0.

    Parameters
    ----------
    columns : samples × columns, centred and of length 1 (or zero: never chosen).
    target : centred labels.
    most : largest number of columns.
    """
    products = target @ columns
    active, coefficients = np.zeros(0, dtype=np.int64), np.zeros(0)
    found, dropped = [active], -1
    highest = start = float(np.abs(products).max(initial=0.0))
    joining = int(np.abs(products).argmax())
    for _ in range(4 * most):
        if highest <= SMALL * start or len(found) > most:
            break
        if dropped < 0:
            active, coefficients = np.append(active, joining), np.append(coefficients, 0.0)
            found += [active] if len(active) == len(found) else []
        signs = np.sign(products[active])
        chosen = columns[:, active] * signs
        slopes = np.linalg.solve(chosen.T @ chosen + SMALL * np.eye(len(active)), np.ones(len(active)))
        moved = (chosen @ slopes) @ columns
        # How far the common product sinks until a column has it, with either sign.
        steps = np.minimum(
            np.where(moved < 1 - COPY, (highest - products) / np.maximum(1 - moved, COPY), np.inf),
            np.where(moved > COPY - 1, (highest + products) / np.maximum(1 + moved, COPY), np.inf),
        )
        steps[active] = np.inf
        steps[dropped if dropped >= 0 else active] = np.inf
        joining = int(steps.argmin())
        vanishing = np.where(coefficients * signs * slopes < 0, np.abs(coefficients / slopes), np.inf)
        place = int(vanishing.argmin())
        step = min(highest, float(steps[joining]), float(vanishing[place]))
        dropped = int(active[place]) if vanishing[place] == step else -1
        coefficients, products, highest = coefficients + step * signs * slopes, products - step * moved, highest - step
        if dropped >= 0:
            active, coefficients = np.delete(active, place), np.delete(coefficients, place)
    return found
