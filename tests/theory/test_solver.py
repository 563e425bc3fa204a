"""Newton and continuation, on equations whose answers are known."""

from dataclasses import dataclass

import numpy as np
import pytest

import chanceline
from chanceline.errors import ConvergenceError, InputError
from chanceline.theory.continuation import follow
from chanceline.theory.newton import Newton, OutsideDomain, difference_jacobian


@dataclass(frozen=True)
class State:
    residual: np.ndarray
    jacobian: np.ndarray


def circle(x, radius=1.0):
    return State(np.array([x @ x - radius**2, x[0] - x[1]]), np.array([2 * x, [1.0, -1.0]]))


def test_newton_finds_the_root():
    solved = Newton().solve(circle, np.array([3.0, 1.0]), jacobian=lambda state: state.jacobian)
    np.testing.assert_allclose(solved.unknowns, np.sqrt([0.5, 0.5]), rtol=1e-12)
    assert solved.residual <= 1e-12


def test_no_root_raises_and_says_where():
    with pytest.raises(ConvergenceError, match=r"parabola: Newton stopped with residual .* try"):
        Newton().solve(lambda x: State(x**2 + 1, np.diag(2 * x)), np.array([0.7]), "parabola")


def test_steps_out_of_the_domain_are_shortened():
    def logarithm(x):
        if x[0] <= 0:
            raise OutsideDomain("x must be positive")
        return State(np.log(x) - 1, np.diag(1 / x))

    assert Newton(longest_step=100).solve(logarithm, np.array([20.0])).unknowns[0] == pytest.approx(
        np.e, rel=1e-12
    )
    with pytest.raises(ConvergenceError, match="x must be positive"):
        Newton().solve(logarithm, np.array([-1.0]))


def test_follow_ends_where_told():
    newton = Newton()
    points = list(
        follow(
            lambda radius, guess: newton.solve(lambda x: circle(x, radius), guess),
            newton.solve(circle, np.array([1.0, 1.0])),
            begin=1.0,
            step=0.5,
            until=lambda point: point.unknowns[0] > 3,
        )
    )
    assert points[-1].unknowns[0] > 3
    assert all(point.unknowns[0] <= 3 for point in points[:-1])


def test_follow_gives_up_at_a_fold():
    """x² = −t has no root beyond t = 0."""
    newton = Newton()

    def solve_at(t, guess):
        return newton.solve(lambda x: State(x**2 + t, np.diag(2 * x)), guess)

    with pytest.raises(ConvergenceError):
        list(
            follow(
                solve_at,
                solve_at(-1.0, np.array([1.0])),
                begin=-1.0,
                step=0.3,
                until=lambda point: False,
            )
        )


def test_difference_jacobian_of_a_known_map():
    jacobian = difference_jacobian(
        lambda x: np.array([x[0] ** 2 * x[1], np.exp(x[1])]), np.array([1.5, -0.5])
    )
    np.testing.assert_allclose(jacobian, [[-1.5, 2.25], [0.0, np.exp(-0.5)]], atol=1e-9)


def test_many_loads_are_followed_along_one_branch():
    loads = [1.5, 0.4, 1.1, 1.79, 1.0, 1.5]
    together = chanceline.solve(loads, 0.5)
    assert list(together.alpha) == loads
    for load, found in zip(loads, together.points, strict=True):
        alone = chanceline.solve(load, 0.5)
        assert found.entropy == pytest.approx(alone.entropy, abs=1e-12)
        assert found.q0 == pytest.approx(alone.q0, abs=1e-10)
    frame = together.to_frame()
    assert {"alpha", "entropy", "between", "mixed"} <= set(frame.columns)
    assert "6 solutions at ρ = 0.5" in repr(together)
    broken = chanceline.solve(np.array([1.6, 1.78]), 0.5, "1rsb")
    assert [point.broken for point in broken.points] == [False, True]
    with pytest.raises(InputError, match="l0-Gardner"):
        chanceline.solve([1.2, 1.9], 0.5)
