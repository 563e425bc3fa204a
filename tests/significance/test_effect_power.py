"""Power before the study: the drawn statistics against tables, against closed forms, and the p-value against the test's own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, nct, t as student

import chanceline
from chanceline.significance import effect_power
from chanceline.significance.combination import combine_losses
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.drawn_statistics import (
    EffectDesign,
    draw_correlations,
    draw_member_losses,
    make_ridge_model,
    random_spectrum,
)
from chanceline.significance.effect_power import DRAWS, estimate_power, permutation_pvalues
from chanceline.significance.members import MemberArrays, join_labellings
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns

DESIGN = EffectDesign(n_samples=30, positives=9, n_features=40, effect=0.9, features_with_effect=3)
N_STEPS = 4


@pytest.fixture
def few_draws(monkeypatch):
    """Enough for a test."""
    few = effect_power.NumberOfDraws(null=1000, effect=500)
    monkeypatch.setattr(effect_power, "DRAWS", few)
    monkeypatch.setattr(effect_power, "ROUGH_DRAWS", few)


def table_losses(design: EffectDesign, n_tables: int) -> MemberArrays:
    """The losses of whole tables, by the functions of the test."""
    rng = np.random.default_rng(5)
    y = np.where(np.arange(design.n_samples) < design.positives, 1.0, -1.0)
    batches = []
    for _ in range(n_tables):
        X = rng.standard_normal((design.n_samples, design.n_features))
        X[y > 0, : design.features_with_effect] += design.effect
        columns = make_path_columns(
            X, make_design(y, DeclaredRoles(), X=X), intercept=True, max_columns_for_pairs=0
        )
        batches.append(follow_paths(columns, y[None], N_STEPS).member_losses)
    return join_labellings(batches)


def drawn_losses(design: EffectDesign, n_draws: int, seed: int) -> MemberArrays:
    rng = np.random.default_rng(seed)
    ridge_model = make_ridge_model(design.n_dimensions, design.n_features, rng)
    return draw_member_losses(design, ridge_model, n_draws, n_steps=N_STEPS, rng=rng)


# Where features are fewer than samples, ridges are approximate with a large effect.
@pytest.mark.parametrize(("n_features", "effect"), [(12, 0.0), (40, 0.9), (100, 0.9)])
def test_drawn_statistics_are_those_of_tables(n_features, effect):
    design = EffectDesign(30, 9, n_features, effect=effect, features_with_effect=3)
    of_tables = table_losses(design, 400)
    drawn = drawn_losses(design, 4000, seed=1)
    for table_member, drawn_member in zip(of_tables, drawn, strict=True):
        error = table_member.std(axis=0) * np.sqrt(1 / 400 + 1 / 4000)
        distance = np.abs(table_member.mean(axis=0) - drawn_member.mean(axis=0))
        assert np.all(distance < 4 * error + 0.004 * np.abs(table_member.mean(axis=0)))
        ratio = drawn_member.std(axis=0) / table_member.std(axis=0)
        assert np.all((ratio > 0.8) & (ratio < 1.25))


def test_members_depend_on_each_other_as_in_tables():
    design = EffectDesign(30, 9, 100, effect=0.9, features_with_effect=3)
    of_tables = np.hstack(table_losses(design, 400))
    drawn = np.hstack(drawn_losses(design, 2000, seed=2))
    difference = np.corrcoef(of_tables.T) - np.corrcoef(drawn.T)
    assert np.abs(difference).max() < 0.2


def test_correlations_are_students_t():
    # So many values have the effect that columns are drawn at once, not sample by sample.
    design = EffectDesign(300, 90, 40, effect=0.3, features_with_effect=20)
    correlations = draw_correlations(design, 100, np.random.default_rng(3))
    freedom = design.n_samples - 2
    t = correlations * np.sqrt(freedom / (1 - correlations**2))
    shifted = t[:, :20].ravel()
    plain = t[:, 20:].ravel()
    assert kstest(plain, student(freedom).cdf).pvalue > 0.01
    assert kstest(shifted, nct(freedom, design.shift).cdf).pvalue > 0.01


def test_an_effect_in_a_few_samples_is_pulled_in():
    design = EffectDesign(
        n_samples=40, positives=4, n_features=2, effect=3.5, features_with_effect=1
    )
    drawn = draw_correlations(design, 4000, np.random.default_rng(8))[:, 0]

    y = np.where(np.arange(40) < 4, 1.0, -1.0)
    X = np.random.default_rng(9).standard_normal((40, 4000))
    X[y > 0] += design.effect
    columns = make_path_columns(
        X, make_design(y, DeclaredRoles(), X=X), intercept=True, max_columns_for_pairs=0
    )
    centred = columns.residuals(y[None])
    of_tables = columns.products(centred)[0] / np.linalg.norm(centred)
    assert kstest(drawn, of_tables).pvalue > 0.01


@pytest.mark.parametrize("shape", [(6, 15), (15, 6)])
def test_spectrum_of_random_tables(shape):
    rng = np.random.default_rng(4)
    drawn = np.array([np.sort(random_spectrum(*shape, rng)) for _ in range(2000)])
    tables = rng.standard_normal((2000, *shape))
    singular = np.linalg.svd(tables, compute_uv=False)
    of_tables = np.sort(singular**2, axis=1)
    error = np.sqrt(drawn.var(axis=0) / 2000 + of_tables.var(axis=0) / 2000)
    assert np.all(np.abs(drawn.mean(axis=0) - of_tables.mean(axis=0)) < 4 * error)


def test_pvalues_are_those_of_the_combination():
    null = drawn_losses(DESIGN.without_effect(), 300, seed=6)
    losses = drawn_losses(DESIGN, 40, seed=7)
    pvalues = permutation_pvalues(losses, null)
    for row, pvalue in enumerate(pvalues):
        together = join_labellings([MemberArrays(*(m[row : row + 1] for m in losses)), null])
        assert pvalue == pytest.approx(combine_losses(together).as_good.mean(), abs=0.012)


def test_without_an_effect_the_power_is_the_level():
    estimate = estimate_power(DESIGN.without_effect(), level=0.05, seed=0, draws=DRAWS)
    assert estimate.power == pytest.approx(0.05, abs=0.02)
    assert 0 < estimate.error < 0.01


@pytest.mark.usefixtures("few_draws")
def test_power_rises_with_everything_that_helps():
    def power(n_samples=60, n_features=100, effect=1.0, **options):
        return chanceline.power_of_effect(n_samples, n_features, effect, **options).power

    plain = power()
    assert power(n_samples=80) > plain + 0.1
    assert power(effect=1.3) > plain + 0.1
    assert power(features_with_effect=3) > plain + 0.1
    assert power(n_features=1000) < plain - 0.1
    assert power(balance=0.2) < plain - 0.1
    assert power(level=0.01) < plain - 0.1


@pytest.mark.usefixtures("few_draws")
def test_samples_for_a_power_have_it():
    plan = chanceline.samples_for_effect(100, 1.2, power=0.7)
    assert plan.power == pytest.approx(0.7, abs=0.05)
    again = chanceline.power_of_effect(plan.n_samples, 100, 1.2)
    assert again == plan


@pytest.mark.usefixtures("few_draws")
def test_plan_with_an_effect(command, tmp_path):
    figure = tmp_path / "power.svg"
    code, out, err = command("plan", "-N", "50", "--effect", "1.5", "--figure", figure)
    assert code == 0, err
    assert "with probability 0." in out
    assert figure.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        (["--effect", "0"], "the effect"),
        (["--effect", "1", "-P", "8"], "the number of samples"),
        (["--effect", "1", "-P", "50", "--power", "0.8"], "--power"),
        (["--effect", "1", "-M", "3"], "-M"),
        (["--effect", "1", "--power", "0.01"], "the power"),
        (["--effect", "1", "--features-with-effect", "51"], "features with an effect"),
        (["--effect", "1", "--positives", "20"], "--positives"),
        (["--effect", "0.0001"], "larger effect"),
        (["--power", "0.8", "-M", "3"], "--effect"),
    ],
)
def test_mistakes_about_effects_get_one_sentence(command, options, culprit):
    code, out, err = command("plan", "-N", "50", *options)
    assert code == 2
    assert out == ""
    assert culprit in err
    assert err.count("\n") == 1
