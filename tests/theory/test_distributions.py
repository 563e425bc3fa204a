"""Laws of weights and stabilities: moments, limits, plain quadrature, and what a search finds."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import chanceline
from chanceline.errors import InputError
from chanceline.figures.theory import draw_stabilities, draw_weights


@pytest.fixture(scope="module")
def symmetric():
    return chanceline.solve(1.0, chanceline.density(1.0).rho)


@pytest.fixture(scope="module")
def broken():
    rho = chanceline.density(1.0, "1rsb").rho
    return chanceline.solve(1.0 - 1e-9, rho, "1rsb")


def test_weights_at_capacity_with_and_without_breaking(symmetric, broken):
    """Shares below ¼, ½ and 1 root mean squares; breaking empties the middle."""
    for solution, shares in ((symmetric, (0.042, 0.133, 0.584)), (broken, (0.0044, 0.111, 0.601))):
        law = solution.weights()
        found = [law.share_below(limit) for limit in (0.25, 0.5, 1.0)]
        assert found == pytest.approx(shares, abs=6e-4)
        # The norm of the weights: their mean square is 1.
        assert law.shares @ (law.means**2 + law.sd**2) == pytest.approx(1, abs=1e-9)
        assert quad(law.density, -6, 6, limit=200)[0] == pytest.approx(1, abs=1e-7)


def test_weights_by_plain_quadrature(symmetric):
    """∫Dz p(u) N(w; u/d, V/Ed)/ρ as docs/theory.md has p."""
    s = symmetric
    d = s.E - s.F1 + s.F0
    sd = np.sqrt((s.E - d) / (s.E * d))

    def integrand(z, weight):
        u = np.sqrt(s.F0) * z
        chosen = expit(0.5 * np.log(s.E / d) + u**2 / (2 * d) - s.K)
        return norm.pdf(z) * chosen * norm.pdf(weight, u / d, sd) / s.rho

    law = s.weights()
    for weight in (0.0, 0.4, -1.1, 2.0):
        plain = quad(integrand, -9, 9, args=(weight,), points=[-2, 0, 2], limit=300)[0]
        assert float(law.density(weight)) == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("options", [{}, {"margin": 0.3}, {"balance": 0.3}])
def test_stabilities_add_up_and_count_the_tight_patterns(options):
    solution = chanceline.solve(0.5, 0.1, **options)
    law = solution.stabilities()
    margin = options.get("margin", 0.0)
    assert law.share_below(margin - 1e-9) == 0
    assert law.share_below(30.0) == pytest.approx(1, abs=1e-9)
    if not margin:
        assert law.at_margin == pytest.approx(solution.rho / solution.alpha, abs=1e-9)
    above = quad(law.density, margin, margin + 12, limit=200)[0]
    assert law.at_margin + above == pytest.approx(1, abs=1e-6)


def test_stabilities_with_breaking_and_just_above_the_entrance(broken):
    law = broken.stabilities()
    assert law.at_margin == pytest.approx(broken.rho / broken.alpha, abs=1e-7)
    assert law.share_below(30.0) == pytest.approx(1, abs=1e-9)
    # At 2ρ half of the patterns are at the margin, and the others have a half-Gaussian law.
    entrance = chanceline.solve(0.2 + 1e-6, 0.1).stabilities()
    assert entrance.at_margin == pytest.approx(0.5, abs=1e-4)
    assert float(entrance.density(1.0)) == pytest.approx(norm.pdf(1.0), rel=1e-3)


def test_laws_have_pictures_and_limits(symmetric):
    figure, axes = plt.subplots(1, 2)
    draw_weights(axes[0], symmetric.weights())
    draw_stabilities(axes[1], symmetric.stabilities())
    assert all(ax.lines for ax in axes)
    plt.close(figure)
    with pytest.raises(InputError, match="choose a larger alpha"):
        chanceline.solve(0.1, 0.1).weights()
    with pytest.raises(InputError, match="errors = 0"):
        chanceline.solve(0.8, 0.1, errors=0.03).weights()
