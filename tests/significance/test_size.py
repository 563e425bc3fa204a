"""How many features noise needs: against search, in its limits, in words."""

import math

import numpy as np
import pytest

import chanceline

SHAPES = [(40, 500, 20), (100, 200, 50), (100, 200, 10), (60, 2000, 20)]


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "features", "positives"), SHAPES)
def test_within_one_of_the_median_over_twenty_shuffles(samples, features, positives):
    sizes = []
    for seed in range(20):
        rng = np.random.default_rng([seed, samples, features, positives])
        inputs = rng.normal(size=(samples, features))
        labels = rng.permutation(np.repeat([1, -1], [positives, samples - positives]))
        sizes.append(len(chanceline.search(inputs, labels, intercept=True, seed=seed).support))
    size = chanceline.chance_size(samples, features, positives=positives)
    assert abs(math.ceil(size.typical) - np.median(sizes)) <= 1
    assert sum(math.ceil(size.low) <= k <= math.ceil(size.high) for k in sizes) >= 18


def test_a_small_shape_within_one_of_search():
    sizes = []
    for seed in range(7):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.repeat([1, -1], [6, 18]))
        sizes.append(
            len(
                chanceline.search(
                    rng.normal(size=(24, 60)), labels, intercept=True, seed=seed
                ).support
            )
        )
    size = chanceline.chance_size(24, 60, positives=6)
    assert abs(math.ceil(size.typical) - np.median(sizes)) <= 1


def test_grows_with_samples_and_falls_with_imbalance_errors_and_features():
    def typical(samples=60, features=300, **keywords):
        return chanceline.chance_size(samples, features, **keywords).typical

    assert typical(80) > typical() > typical(40)
    assert typical() > typical(positives=15) > typical(positives=6)
    assert typical() > typical(errors=2) > typical(errors=5)
    assert typical() > typical(features=3000)


def test_limit_of_many_samples_is_the_chance_line():
    rho = chanceline.density(0.5, balance=0.2).rho
    shares = [
        chanceline.chance_size(n // 2, n, positives=n // 10).typical / n for n in (100, 400, 1000)
    ]
    gaps = np.array(shares) - rho
    assert np.all(np.diff(np.abs(gaps)) < 0)
    assert abs(gaps[-1]) < 0.05 * rho


def test_ends():
    assert math.isinf(chanceline.chance_size(100, 40).typical)
    assert chanceline.chance_size(20, 100, positives=3, errors=3).typical == 0
