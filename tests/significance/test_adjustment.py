"""Covariates whose part is no line: the terms that are taken up, their evidence, and the check of what is left."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, combine_pvalues, norm

import chanceline
from chanceline.prediction.covariates import make_encoder
from chanceline.significance.adjustment import LabelledUnits
from chanceline.significance.adjustment_words import adjustment_findings, kind_of_pvalue
from chanceline.significance.covariate_model import residual_basis
from chanceline.significance.covariate_terms import FactorShape, make_library, normal_scores
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.fit_check import (
    N_PERMUTATIONS,
    Side,
    find_missed_dependences,
    make_neighbourhoods,
    neighbour_pvalue,
)
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths
from chanceline.significance.term_choice import choose_terms
from chanceline.significance.term_evidence import (
    Responses,
    correlation_log_pvalues,
    dependence_log_pvalues,
    make_known_span,
    product_log_pvalues,
    sum_log_pvalues,
)
from chanceline.tables.dataset import Severity


def confounded(seed, shape, *, rows=100, features=40, strength=1.0):
    """A function of age and weight drives a fifth of the features and the label."""
    rng = np.random.default_rng([seed, 38])
    z, w = rng.normal(size=(2, rows))
    driver = shape(z, w)
    driver = (driver - driver.mean()) / driver.std()
    X = rng.normal(size=(rows, features))
    X[:, : features // 5] += strength * driver[:, None]
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-1.5 * driver)), 1.0, -1.0)
    return X, y, {"age": 50 + 10 * z, "weight": 70 + 9 * w}


def line(z, w):
    return z


def step(z, w):
    return np.sign(z - 0.3)


def wave(z, w):
    return np.sin(3 * z)


def product(z, w):
    return z * w


def span_of_lines(columns, block_of_unit=None):
    """Lines and squares of all covariates."""
    n_units = len(next(iter(columns.values())))
    blocks = np.zeros(n_units, dtype=np.int64) if block_of_unit is None else block_of_unit
    encoder = make_encoder(columns, adjusting=True)
    return encoder, make_known_span(encoder.transform(columns, n_units), blocks)


@pytest.mark.parametrize("n_free", [5, 30, 200])
def test_p_of_a_correlation_is_bounded_closely(n_free):
    """Against the beta distribution of a squared correlation."""
    exact = np.array([0.1, 0.01, 1e-4, 1e-9])
    squares = beta.isf(exact, 0.5, (n_free - 1) / 2)
    bounds = np.exp(correlation_log_pvalues(squares, n_free))
    assert np.all(bounds >= exact * (1 - 1e-9))
    assert np.all(bounds <= 1.5 * exact)


@pytest.mark.parametrize("degrees", [1, 2, 7, 60])
def test_p_of_a_sum_is_bounded_closely(degrees):
    """Orthogonal features: the sum is the squared length of a uniform direction's part in a subspace, a beta variable."""
    n_units = 5000
    residuals = np.eye(n_units, degrees)
    exact = np.array([0.05, 0.001, 1e-8])
    sums = beta.isf(exact, degrees / 2, (n_units - degrees) / 2)
    bounds = np.exp(sum_log_pvalues(sums, residuals, n_units))
    # χ² has the same two moments, and nearly the same tails.
    assert np.all(bounds >= 0.99 * exact)
    assert np.all(bounds <= 2 * exact)


def test_moments_of_the_sum_by_drawing_directions():
    """Where a sum at the 1 % point of drawn directions gets a p-value about 1 %, for correlated features."""
    rng = np.random.default_rng(3)
    residuals = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 12)) + rng.normal(size=(40, 12))
    residuals /= np.linalg.norm(residuals, axis=0)
    directions = rng.normal(size=(40, 20_000))
    directions /= np.linalg.norm(directions, axis=0)
    sums = ((residuals.T @ directions) ** 2).sum(axis=0)
    pvalue = np.exp(sum_log_pvalues(np.quantile(sums, [0.99]), residuals, 40))[0]
    # The sum is a mixture of squares, which two moments describe roughly.
    assert 0.003 < pvalue < 0.03


def test_two_p_values_are_multiplied_as_fisher_does():
    expected = combine_pvalues([0.03, 0.2], method="fisher").pvalue
    assert np.exp(product_log_pvalues(np.log([0.03 * 0.2])))[0] == pytest.approx(expected)


def test_the_known_span_is_what_is_taken_out():
    """By singular vectors within blocks, and by Gram and Schmidt: the same projection."""
    rng = np.random.default_rng(1)
    terms = rng.normal(size=(30, 4))
    terms[:, 3] = terms[:, 0] - 2 * terms[:, 1]
    blocks = np.arange(30) % 3
    span = make_known_span(terms, blocks)
    basis = residual_basis(terms, blocks)
    assert span.basis.shape == basis.shape == (30, 3)
    assert span.basis @ span.basis.T == pytest.approx(basis @ basis.T)
    assert span.n_free == 30 - 3 - 3


def test_evidence_is_that_of_partial_correlations():
    """Of the labels, given lines and squares, by regressions one term at a time."""
    X, y, columns = confounded(0, step)
    encoder, known = span_of_lines(columns)
    terms = make_library(encoder, columns).values[:, ::9]
    without_features = Responses(y, np.zeros((len(y), 0)))
    found = dependence_log_pvalues(terms, known, without_features)
    design = np.column_stack([np.ones(len(y)), encoder.transform(columns, len(y))])
    for column, log_pvalue in zip(terms.T, found, strict=True):
        residuals = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (column, y)]
        square = np.corrcoef(residuals)[0, 1] ** 2
        if np.linalg.norm(residuals[0]) > 0.1 * np.linalg.norm(column - column.mean()):
            assert log_pvalue == pytest.approx(
                correlation_log_pvalues(np.array([square]), known.n_free)[0]
            )
    # Features in which the driver is add to it.
    with_features = dependence_log_pvalues(terms, known, Responses(y, X))
    assert with_features.min() < found.min()


def test_units_of_curves_do_not_matter():
    """Normal scores are the same for a number and for its exponential, and normal quantiles of ranks."""
    values = np.random.default_rng(2).normal(size=50)
    assert normal_scores(np.exp(values)) == pytest.approx(normal_scores(values))
    rank = np.argsort(np.argsort(values))
    assert normal_scores(values) == pytest.approx(np.clip(norm.ppf((rank + 0.5) / 50), -2.5, 2.5))


def test_many_numbers_have_products_of_lines_only():
    rng = np.random.default_rng(8)
    columns = {f"c{j}": rng.normal(size=30) for j in range(13)}
    products = [
        term
        for term in make_library(make_encoder(columns, adjusting=True), columns).terms
        if len(term.factors) == 2
    ]
    assert len(products) == 13 * 12 / 2
    shapes = {factor.shape for term in products for factor in term.factors}
    assert shapes == {FactorShape.LINE}
    assert products[0].values == pytest.approx(
        products[0].factors[0].values * products[0].factors[1].values
    )


def test_a_step_is_found_where_it_is():
    X, y, columns = confounded(4, step)
    encoder, known = span_of_lines(columns)
    choice = choose_terms(make_library(encoder, columns), known, Responses(y, X))
    factor = choice.added[0].factors[0]
    assert (factor.covariate, factor.shape) == ("age", FactorShape.STEP)
    # The step is at 53; a cut is the last value below it, or one of few beside that.
    between = np.count_nonzero(
        (columns["age"] > min(factor.cut, 53)) & (columns["age"] <= max(factor.cut, 53))
    )
    assert between <= 2


def test_a_product_of_steps_is_found_at_its_cuts():
    """Cuts that are far from the quartiles at which products are looked for first."""
    X, y, columns = confounded(5, lambda z, w: ((z > 0.3) - 0.38) * ((w > -0.4) - 0.66), rows=200)
    encoder, known = span_of_lines(columns)
    choice = choose_terms(make_library(encoder, columns), known, Responses(y, X))
    first = choice.added[0]
    assert first.covariates == ("age", "weight")
    for factor, cut in zip(first.factors, (53.0, 66.4), strict=True):
        values = columns[factor.covariate]
        n_between = np.count_nonzero((values > cut) != (values > factor.cut))
        # One of 60 cuts is at most two of 200 values away.
        assert n_between <= 3


def test_nothing_is_added_where_lines_are_enough():
    """Terms come in at most 30 % of the sets (Bonferroni): fewer plain sets of 20 than this have probability 0.005."""
    n_plain = 0
    for seed in range(20):
        X, y, columns = confounded(seed, line)
        encoder, known = span_of_lines(columns)
        choice = choose_terms(make_library(encoder, columns), known, Responses(y, X))
        n_plain += not choice.added
    assert n_plain >= binom.ppf(0.005, 20, 0.7)


def test_terms_leave_room():
    """A quarter of the dimensions at most; with ten covariates of 40 samples no term can be taken up, and one that is needed is named."""
    rng = np.random.default_rng(7)
    columns = {f"c{j}": rng.normal(size=40) for j in range(10)}
    driver = np.sign(columns["c3"])
    X = rng.normal(size=(40, 30)) + 3 * driver[:, None]
    y = np.where(driver + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    design = make_design(y, DeclaredRoles(covariates=columns), X=X)
    assert design.adjustment.added == ()
    assert design.adjustment.left_out.covariates == ("c3",)
    warnings = [
        finding.message
        for finding in adjustment_findings(design.adjustment)
        if finding.severity == Severity.WARNING
    ]
    assert "depend on c3 in a way that so few samples do not allow" in warnings[0]
    assert kind_of_pvalue(design.adjustment).endswith("see the warning")


@pytest.mark.parametrize("shape", [step, wave, product])
def test_shapes_that_are_no_lines_do_not_alarm(shape):
    """Level 0.05 in 24 sets: 6 alarms or more have probability 0.001. With lines and squares alone most sets alarm."""
    alarms = 0
    for seed in range(24):
        X, y, columns = confounded(seed, shape)
        design = make_design(y, DeclaredRoles(covariates=columns), X=X)
        draws, _ = shuffle_paths(
            make_path_columns(X, design, True), design, ShufflePlan(19, seed), 4
        )
        alarms += draws.permutation_reading().pvalue <= 0.05
    assert alarms < 6


def test_means_of_groups_are_looked_at():
    X = np.arange(12.0).reshape(6, 2)
    units = LabelledUnits(
        labels=np.array([1.0, -1.0, 1.0]),
        block_of_unit=np.zeros(3, dtype=np.int64),
        unit_of_sample=np.array([0, 1, 2, 0, 1, 2]),
        sample_of_unit=np.array([0, 1, 2]),
    )
    assert units.feature_means(X) == pytest.approx((X[:3] + X[3:]) / 2)


def test_likeness_of_neighbours_by_all_permutations():
    """p of 999 deals against the share among all 720, within four standard errors."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=6)
    products = np.outer(values, values)
    neighbours = np.array([[1], [0], [1], [4], [3], [4]])
    observed = sum(products[i, j] for i, (j,) in enumerate(neighbours))
    as_alike = [
        sum(products[order[i], order[j]] for i, (j,) in enumerate(neighbours)) >= observed - 1e-12
        for order in permutations(range(6))
    ]
    exact = np.mean(as_alike)
    slack = 4 * np.sqrt(exact * (1 - exact) / N_PERMUTATIONS) + 1 / N_PERMUTATIONS
    assert abs(neighbour_pvalue(products, neighbours) - exact) < slack


def test_neighbours_are_the_nearest():
    rng = np.random.default_rng(12)
    columns = {"age": rng.normal(size=20), "sex": np.repeat(["f", "m"], 10)}
    encoder = make_encoder(columns, adjusting=True)
    neighbourhoods = make_neighbourhoods(encoder, columns)
    assert [one.covariates for one in neighbourhoods] == [("age",), ("age", "sex")]
    place = np.argsort(np.argsort(columns["age"]))
    # The three nearest of 20 lie at most three places away, or at an end.
    assert np.abs(place[neighbourhoods[0].neighbours] - place[:, None]).max() <= 3
    # Together: never of the other sex, which is far away.
    assert np.all((neighbourhoods[1].neighbours >= 10) == (np.arange(20) >= 10)[:, None])


def test_what_the_terms_cannot_follow_is_named():
    """A product of three signs has no term; where lines are enough nothing is left."""
    rng = np.random.default_rng(13)
    columns = {name: rng.normal(size=240) for name in ("age", "weight", "height")}
    driver = np.sign(columns["age"] * columns["weight"] * columns["height"])
    X = rng.normal(size=(240, 20)) + driver[:, None]
    y = np.where(rng.random(240) < 1 / (1 + np.exp(-2 * driver)), 1.0, -1.0)
    adjustment = make_design(y, DeclaredRoles(covariates=columns), X=X).adjustment
    sides = {dependence.side for dependence in adjustment.missed_dependences}
    assert sides == {Side.LABELS, Side.FEATURES}
    sentences = [str(finding) for finding in adjustment_findings(adjustment)]
    named = "the labels and the features still go with age, weight, height (together)"
    assert any(sentence.startswith("warning") and named in sentence for sentence in sentences)
    assert "a check found something else" in kind_of_pvalue(adjustment)

    encoder, known = span_of_lines(columns)
    noise = Responses(rng.permutation(y), rng.normal(size=(240, 20)))
    assert find_missed_dependences(encoder, columns, known, noise) == ()


def test_what_was_added_is_noted():
    X, y, columns = confounded(4, step)
    result = chanceline.separation_test(
        X, y, adjust=pd.DataFrame(columns), permutations=19, expected_error=False
    )
    notes = [finding.message for finding in result.findings if finding.severity == Severity.NOTE]
    design = make_design(y, DeclaredRoles(covariates=columns), X=X)
    cut = design.adjustment.added[0].factors[0].cut
    assert any(f"a step of age at {cut:.4g}" in note for note in notes)
    assert result.permutation.kind == kind_of_pvalue(design.adjustment)
