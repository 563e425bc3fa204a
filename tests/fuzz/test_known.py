"""Command lines and calls that ended in a traceback once, each with its sentence."""

from __future__ import annotations

from contextlib import chdir
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_cases import make_files
from test_commands import faults, run

import chanceline
from chanceline._results import plain
from chanceline.errors import InputError
from chanceline.select import METHODS


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    make_files(folder)
    for name in ("empty.npy", "empty.npz", "empty.csv", "empty.toml", "empty.sqlite"):
        (folder / name).touch()
    np.savez(folder / "good.npz", X=np.eye(2), y=np.array([1, -1]))
    np.save(folder / "good.npy", np.eye(2))
    for name in ("good.npy", "good.npz"):
        # An array whose header is cut short inside its brackets.
        whole = (folder / name).read_bytes()
        (folder / name.replace("good", "header")).write_bytes(whole.replace(b"(2, 2), }", b"(2, 2   \0", 1))
    (folder / "many.toml").write_text((folder / "sweep.toml").read_text().replace("trials = 2", "trials = 100000000000"))
    return folder


@pytest.mark.parametrize(("line", "culprit"), [
    ("solve -a 0.5 -r 0.9999999999999999", "rho"),
    ("capacity 5e-324", "rho"),
    ("curve --points 9223372036854775808", "points"),
    ("plan -N 200 -M 3 --balance=-inf", "balance"),
    ("plan -N 200 -P 40 --balance=-inf", "balance"),
    ("plan -N 200 -P 40 --balance=nan", "balance"),
    ("test data.csv --label class --level 5e-324", "level"),
    ("test data.csv --label class --permutations 9223372036854775808", "permutations"),
    ("search --random N=8,alpha=inf", "alpha"),
    ("search --random N=8,alpha=1e308", "patterns"),
    ("search data.npz --intercept --method exact --size 3", "size"),
    ("memory --load 1e308", "patterns"),
    ("memory --neurons 10 --budget 100000000000000000000", "budget"),
    ("memory --patterns patterns.npy --workers 9223372036854775808", "workers"),
    ("memory --patterns empty.npy", "empty.npy"),
    ("test empty.npz", "empty.npz"),
    ("test pipe --label class", "nobody writes"),
    ("memory --patterns pipe", "nobody writes"),
    ("memory --patterns header.npy", "header.npy"),
    ("test header.npz", "header.npz"),
    ("search /dev/full --label class", "a device"),
    ("test empty.csv --label a", "empty.csv"),
    ("sweep run empty.toml", "sweep empty"),
    ("sweep run many.toml", "many.toml|trials|tasks"),
    ("sweep status sweep.toml --store empty.sqlite", "empty.sqlite"),
    ("sweep status sweep.toml --store .", "not a file"),
    ("sweep export . --out x.csv", "not a file"),
])  # fmt: skip
def test_one_sentence(files, line, culprit, monkeypatch):
    monkeypatch.setattr("chanceline.files.PIPE_SECONDS", 0.2)
    with chdir(files):
        code, out, err = run(line.split())
    assert faults(line.split(), code, out, err) == []
    assert code == 2
    assert any(word in err for word in culprit.split("|")), err


X = np.random.default_rng(0).normal(size=(12, 4))
Y = np.where(np.arange(12) < 6, 1, -1)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: chanceline.search(X, Y, "omp", intercept=np.array([])), "intercept must be True or False"),
    (lambda: chanceline.chance_bound(40, 100, 3, null=np.array([])), "the null must be"),
    (lambda: chanceline.AssociativeMemory(3).store([[1, 1, -1], [1]]), "same number of entries"),
])  # fmt: skip
def test_one_sentence_from_python(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_odd_numbers_become_floats():
    half = Fraction(1, 2)
    assert repr(chanceline.largest_convincing(40, 100, positives=20, level=half))
    assert chanceline.samples_needed(100, 3, balance=half).to_dict() == chanceline.samples_needed(100, 3).to_dict()
    assert plain([np.longdouble("0.5"), np.array(np.longdouble("inf"))]) == [0.5, None]


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_zeros(method):
    X = np.random.default_rng(0).normal(size=(10, 5))
    X[3] = X[7] = 0.0
    y = np.where(np.arange(10) < 5, 1, -1)
    with pytest.raises(InputError, match=r"zero|equal"):
        chanceline.search(X, y, method, budget=20)
    X[7] = 1.0
    y[:] = 1
    found = chanceline.search(X, y, method, budget=20)
    assert not found.separates
    assert found.errors >= 1
