"""benchmarks/breaking.py: its closed forms by quadrature, and its capacities against what is known."""

from __future__ import annotations

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from chanceline.theory.quadrature import Array

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "breaking.py"


@pytest.fixture(scope="module")
def breaking() -> ModuleType:
    spec = importlib.util.spec_from_file_location("breaking", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["breaking"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("choice", [0.0, 1.0])
def test_last_level_is_the_integral(breaking: ModuleType, choice: float) -> None:
    V, x, d = 0.3, 2.5, 1.7

    edge = np.sqrt(2 * d * choice)

    def averaged(power: int, u: float) -> float:
        """∫N(u' − u; V) e^{x f(u')} (slope of f)^power."""

        def integrand(v: float) -> float:
            chosen = not choice or abs(v) > edge
            value = v**2 / (2 * d) - choice if chosen else 0.0
            return float(norm.pdf(v, u, np.sqrt(V)) * np.exp(x * value) * (v / d * chosen) ** power)

        ends = [-12.0, -edge, edge, 12.0] if choice else [-12.0, 12.0]
        return float(
            sum(
                quad(integrand, low, high, epsabs=1e-12, limit=200)[0]
                for low, high in pairwise(ends)
            )
        )

    for u in (-1.4, 0.0, 0.6, 2.2):
        found = breaking.last_level(np.array([u]), V, x, d, choice)
        total = averaged(0, u)
        assert found["value"][0] == pytest.approx(np.log(total) / x, abs=1e-9)
        slope = averaged(1, u) / total
        assert found["slope"][0] == pytest.approx(slope, abs=1e-9)
        square = averaged(2, u) / total
        assert found["square"][0] == pytest.approx(square, abs=1e-9)
        # The heat equation: the mean of f_k'' is that of the level below, less the spread of the slopes.
        step = 1e-4
        near = breaking.last_level(np.array([u - step, u + step]), V, x, d, choice)["slope"]
        curvature = (near[1] - near[0]) / (2 * step) - x * (square - slope**2)
        assert found["curvature"][0] == pytest.approx(curvature, abs=1e-5)


def test_replica_symmetry_of_the_known_case() -> None:
    """The paper's 7.65 from the functional with one overlap: max_χ [α E min(z₊²/2χ, 1) − 1/2χ] = 1."""

    def energy(alpha: float) -> float:
        def at(log_chi: float) -> float:
            c = np.sqrt(2 * np.exp(log_chi))
            below = norm.cdf(c) - 0.5 - c * norm.pdf(c)
            return float((alpha * below - 1) / c**2 + alpha * norm.sf(c))

        return -float(
            minimize_scalar(lambda log_chi: -at(log_chi), bounds=(-3, 4), method="bounded").fun
        )

    assert brentq(lambda alpha: energy(alpha) - 1, 4, 12) == pytest.approx(7.65, abs=5e-3)


def levels(
    breaking: ModuleType, model: object, start: Array, few: int, k: int
) -> tuple[Array, float]:
    point, state = breaking.solve(model, breaking.finer(model, start, few, k), k)
    assert abs(state.counted) < 2e-4
    return point, state.alpha


def test_six_levels_of_both_cases(breaking: ModuleType) -> None:
    for model, known, error in (
        (breaking.SUPPORTS, 1.79018, 1e-5),
        (breaking.INJECTIVITY, 6.698, 5e-4),
    ):
        _, alpha = levels(breaking, model, np.array(model.start), 6, 6)
        assert alpha == pytest.approx(known, abs=error)


@pytest.mark.slow
def test_more_levels_grids_and_domains_change_little(breaking: ModuleType) -> None:
    for model, error in ((breaking.SUPPORTS, 1e-5), (breaking.INJECTIVITY, 1e-4)):
        six, alpha = levels(breaking, model, np.array(model.start), 6, 6)
        twelve, finer = levels(breaking, model, six, 6, 12)
        assert alpha - error < finer < alpha
        for other in (breaking.Accuracy(fineness=1.5), breaking.Accuracy(reach=12.0)):
            assert breaking.equations(model, twelve, 12, other).alpha == pytest.approx(
                finer, abs=1e-9
            )
