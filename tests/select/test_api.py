"""The public face of the search: methods of one's own, interruption, and types."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import chanceline
from chanceline import InputError
from chanceline._parallel import run_ordered
from chanceline.select import iter_search, random_problem
from chanceline.select.api import METHODS, find_method

OWN_METHOD = """
import numpy as np
import chanceline
from chanceline.select import random_problem, separate
from chanceline.select.outcome import Candidate

number = 3

def run_correlation(problem, budget, seed):
    order = np.argsort(-np.abs(problem.columns.sum(axis=1)))
    for size in range(1, problem.n_features + 1):
        support = np.sort(order[:size])
        if separate(problem.X, problem.y, support).separates:
            yield Candidate(support, np.zeros(size), 0.0, size)
            return

def found(seed, method):
    return chanceline.search(*random_problem(16, 1.0, seed), method=method).support.tolist()
"""

USER = """
import numpy as np
from numpy.typing import NDArray

import chanceline
from chanceline.select import certify, count

X, y = np.eye(4), np.array([0, 1, 0, 1])
outcome: chanceline.SearchOutcome = chanceline.search(X, y, method="auto", seed=1)
size: int = outcome.n_selected
weights: NDArray[np.float64] = outcome.weights
record: dict[str, object] = outcome.to_dict()
proven: bool | None = certify(X, y, outcome.support).separable
supports: int = count(X, y, 2).count
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_method_of_a_user.py").write_text(OWN_METHOD)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("own_method_of_a_user")
    del sys.modules["own_method_of_a_user"]


def test_an_own_method_works_in_workers(own_module):
    name = "own_method_of_a_user:run_correlation"
    alone = [own_module.found(seed, name) for seed in range(3)]
    assert list(run_ordered(own_module.found, range(3), common=(name,), n_jobs=2)) == alone
    assert all(alone)


def test_an_own_method_that_finds_nothing_says_so(own_module):
    X, y = random_problem(4, 5.0, 0, "gaussian")
    outcome = chanceline.search(X, y, method="own_method_of_a_user:run_correlation")
    assert not outcome.separates
    assert outcome.n_selected == 0
    assert outcome.errors == 20
    assert outcome.summary().startswith("0 of 4 variables leave 20 errors among 20 samples")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("simplex", "choose one of auto"),
        (7, "choose one of auto"),
        ("nowhere_at_all:run", "could not be imported"),
        ("own_method_of_a_user:walk", "could not be imported"),
        (":walk", "could not be imported"),
        ("own_method_of_a_user:number", "no function"),
    ],
)
def test_a_method_that_is_not_there(own_module, name, reason):
    with pytest.raises(InputError, match=reason):
        chanceline.search(*random_problem(6, 1.0, 0), method=name)


def test_interruption(monkeypatch):
    """`search` and `iter_search` let Ctrl-C through; whoever wants the best so far takes it from the latter."""

    def interrupted(problem, budget, seed):
        yield from find_method("omp")(problem, budget, seed)
        raise KeyboardInterrupt

    monkeypatch.setitem(METHODS, "interrupted", interrupted)
    X, y = random_problem(16, 1.0, 0)
    steps = iter_search(X, y, method="interrupted")
    assert next(steps).separates
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    with pytest.raises(KeyboardInterrupt):
        chanceline.search(X, y, method="interrupted")


@pytest.mark.parametrize("method", ["l1", "reweighted-l1", "omp", "tabu"])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_and_columns_of_zeros(method, intercept):
    X = np.zeros((4, 3))
    outcome = chanceline.search(X, [1, 1, 1, 1], method=method, intercept=intercept)
    assert outcome.errors == (0 if intercept else 4)
    assert np.isfinite(outcome.weights).all()
    with pytest.raises(InputError, match="opposite labels"):
        chanceline.search(X, [1, 1, -1, 1], method=method, intercept=intercept)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_a_user_s_file_passes_the_strict_type_checker(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(tmp_path / "user.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
