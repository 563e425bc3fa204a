"""Searches from several seeds: the best of them, whatever the number of jobs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.select import random_problem
from chanceline.select.restarts import front_from_seeds, search_from_seeds


def noise():
    rng = np.random.default_rng(11)
    return rng.normal(size=(40, 30)), rng.permutation(40) % 2


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_best_of_several_seeds(n_jobs):
    X, y = random_problem(40, 1.0, 2)
    single = [chanceline.search(X, y, budget=30, seed=seed) for seed in range(4, 9)]
    heard = []
    best = search_from_seeds(
        X,
        y,
        restarts=5,
        seed=4,
        budget=30,
        n_jobs=n_jobs,
        progress=lambda *told: heard.append(told),
    )
    sizes = [outcome.n_selected for outcome in single]
    assert best.n_selected == min(sizes) < max(sizes)
    assert best.seed == 4 + sizes.index(min(sizes))
    assert best.support.tolist() == single[best.seed - 4].support.tolist()
    assert heard[-1] == (5, 5)


def test_a_front_is_the_best_at_every_size():
    X, y = noise()
    options = {"max_features": 6, "budget": 10}
    single = [chanceline.front(X, y, seed=seed, **options) for seed in range(3)]
    best = front_from_seeds(X, y, restarts=3, **options)
    for k, point in enumerate(best.points):
        assert point.k == k
        assert point.errors == min(found.at(k).errors for found in single)
        assert point.errors == point.rule.errors
    assert best.errors.sum() < max(found.errors.sum() for found in single)
    assert best.iterations == sum(found.iterations for found in single)


def test_a_front_ends_with_the_first_point_without_errors():
    X, y = random_problem(30, 0.5, 1)
    best = front_from_seeds(X, y, restarts=2, max_features=12, budget=50)
    assert best.errors[-1] == 0
    assert (best.errors[:-1] > 0).all()


def test_restarts_on_the_command_line(command, tmp_path):
    X, y = noise()
    path = tmp_path / "table.csv"
    header = ",".join([*(f"x{j}" for j in range(30)), "y"])
    np.savetxt(path, np.column_stack([X, y]), "%.6g", ",", header=header, comments="")
    common = ("--label", "y", "--budget", 20, "--json", "-q", "-j", 1)
    code, out, err = command("search", path, *common, "--intercept", "--restarts", 2)
    assert code == 0, err
    sizes = [
        json.loads(command("search", path, *common, "--intercept", "--seed", seed)[1])["n_selected"]
        for seed in range(2)
    ]
    assert json.loads(out)["n_selected"] == min(sizes)
    code, out, err = command("front", path, *common, "--restarts", 2, "--max-features", 3)
    assert code == 0, err
    assert len(json.loads(out)["front"]) == 4
    with pytest.raises(InputError, match="restarts"):
        search_from_seeds(X, y, restarts=0)
