"""`chanceline search` from the outside."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from chanceline.cli.main import main
from chanceline.select import random_problem

KEYS = {"method", "n_samples", "n_features", "n_selected", "support", "features", "weights"}
KEYS |= {"margin", "errors", "separates", "iterations", "seed"}


def run(capsys, *arguments, command="search"):
    code = 0
    try:
        main([command, *map(str, arguments)])
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def write_csv(path, X, y, names=None, label="outcome"):
    names = names or [f"g{j}" for j in range(len(X[0]))]
    lines = [",".join([*names, label])]
    lines += [",".join(map(str, [*row, value])) for row, value in zip(X, y, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_json_from_a_file(capsys, tmp_path):
    X, y = random_problem(12, 1.0, 3, "gaussian")
    path = write_csv(tmp_path / "data.csv", X, np.where(y > 0, "ill", "well"))
    code, out, _ = run(capsys, path, "--label", "outcome", "--intercept", "--json", "--budget", 200)
    record = json.loads(out)
    assert code == 0
    assert set(record) >= KEYS
    assert record["separates"]
    assert record["features"] == [f"g{j}" for j in record["support"]]
    fitted = X[:, record["support"]] @ record["weights"] + record["bias"]
    assert len({bool(value) for value in (fitted > 0) == (y > 0)}) == 1


def test_random_problem_is_the_librarys(capsys):
    import chanceline

    code, out, err = run(
        capsys, "--random", "N=32,alpha=1,seed=4,inputs=sphere", "--method", "omp", "--json"
    )
    assert code == 0
    expected = chanceline.search(*random_problem(32, 1.0, 4, "sphere"), method="omp")
    assert json.loads(out)["support"] == expected.support.tolist()
    assert "variables" in err


def test_text_output_names_the_variables(capsys):
    code, out, err = run(capsys, "--random", "N=16,alpha=1", "--method", "exact", "-q")
    assert code == 0
    assert "proven minimum" in out
    assert err == ""


def test_the_rule_is_printed_and_written(capsys, tmp_path):
    X, y = random_problem(12, 1.0, 3, "gaussian")
    path, rule = (
        write_csv(tmp_path / "data.csv", X, np.where(y > 0, "ill", "well")),
        tmp_path / "rule.csv",
    )
    code, out, err = run(
        capsys, path, "--label", "outcome", "--intercept", "--budget", 200, "-q", "--out", rule
    )
    assert (code, err) == (0, f"rule written to {rule}\n")
    written = pd.read_csv(rule, index_col="feature")["weight"]
    scores = (
        X @ written.reindex([f"g{j}" for j in range(12)]).fillna(0).to_numpy()
        + written["(intercept)"]
    )
    assert np.array_equal(scores > 0, y > 0)  # "ill", the rarer class, is positive
    assert all(name in out for name in written.index[:-1])
    assert re.search(r"^  predict ill if ", out, re.MULTILINE)
    assert run(capsys, path, "--label", "outcome", "--out", tmp_path / "no" / "rule.csv")[0] == 2


def test_a_long_rule_is_cut_and_the_proven_bound_is_named(capsys):
    code, out, _ = run(capsys, "--random", "N=120,alpha=2", "--method", "omp", "-q")
    assert code == 0
    assert len(out.splitlines()) <= 14
    assert max(map(len, out.splitlines())) <= 100
    assert "… (--out FILE has all)" in out
    code, out, _ = run(
        capsys, "--random", "N=30,alpha=1", "--method", "exact", "--budget", 20, "-q"
    )
    assert "; at least 5 are needed (proven)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--random", "N=8"], "alpha"),
        (
            ["--random", "N=8,alpha=1", "--budget", "many"],
            "'--budget': .*'many'.*; see 'chanceline search --help'",
        ),
        (["--random", "M=8,alpha=1"], "M=8"),
        (["--random", "N=8,alpha=x"], "alpha"),
        (["--random", "N=8,alpha=1,inputs=ternary"], "ternary"),
        (["--random", "N=8,alpha=1", "--method", "magic"], "magic"),
        (["--random", "N=8,alpha=1", "--budget", "-1"], "budget"),
        ([], "--random"),
    ],
)
def test_bad_requests(capsys, arguments, message):
    code, out, err = run(capsys, *arguments, "-q")
    assert code == 2
    assert re.search(message, err)
    assert out == ""


@pytest.mark.parametrize(
    ("X", "y", "label", "message"),
    [
        ([[1.0, 2.5], [3.5, 4.0]], [1, 1], "outcome", "one class"),
        ([[1.0, ""], [3.5, 4.0]], [0, 1], "outcome", "g1"),
        ([[1.5, 2.5], [1.5, 2.5], [0.5, 0.1]], [0, 1, 1], "outcome", "equal"),
        ([[1.0, 2.5], [3.5, 4.0]], [0, 1], "result", "result"),
        ([["a", "b"], ["c", "d"]], [0, 1], "outcome", "no numeric feature"),
    ],
)
def test_bad_data(capsys, tmp_path, X, y, label, message):
    path = write_csv(tmp_path / "bad.csv", X, y)
    code, out, err = run(capsys, path, "--label", label, "-q")
    assert code == 2
    assert message in err
    assert out == ""


@pytest.fixture
def noisy(tmp_path):
    """Two of ten features decide, but for four flipped labels; one gap."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 10))
    y = np.where(X[:, 2] + X[:, 6] > 0, "ill", "well")
    y[:4] = np.where(y[:4] == "ill", "well", "ill")
    cells = X.astype(str)
    cells[7, 9] = ""
    return X, y, write_csv(tmp_path / "noisy.csv", cells, y)


def test_search_with_errors(capsys, noisy):
    X, y, path = noisy
    options = [
        "--label",
        "outcome",
        "--intercept",
        "--errors",
        4,
        "--missing",
        "columns",
        "--budget",
        500,
    ]
    code, out, err = run(capsys, path, *options, "--json")
    record = json.loads(out)
    assert code == 0
    assert record["features"] == ["g2", "g6"]
    assert record["errors"] <= record["allowed"] == 4
    wrong = (X[:, record["support"]] @ record["weights"] + record["bias"] > 0) != (y == "well")
    assert wrong.sum() == record["errors"]
    assert "errors" in err


def test_search_takes_the_option_it_advises(capsys, noisy):
    path = noisy[-1]
    code, _, err = run(capsys, path, "--label", "outcome", "-q")
    assert code == 2
    assert "--missing" in err
    code, _, _ = run(
        capsys, path, "--label", "outcome", "-q", "--missing", "median", "--method", "omp"
    )
    assert code == 0


def test_front_from_a_file(capsys, noisy, tmp_path):
    X, y, path = noisy
    figure = tmp_path / "front.svg"
    options = ["--label", "outcome", "--missing", "columns", "--max-features", 3, "--budget", 300]
    code, out, err = run(capsys, path, *options, "--json", "--figure", figure, command="front")
    record = json.loads(out)
    assert code == 0
    assert [point["k"] for point in record["front"]] == [0, 1, 2, 3]
    assert record["front"][2]["features"] == ["g2", "g6"]
    for point in record["front"]:
        wrong = (X[:, point["support"]] @ point["weights"] + point["bias"] > 0) != (y == "well")
        assert wrong.sum() == point["errors"]
    assert figure.read_text().startswith("<?xml")
    assert "figure written" in err
    code, out, _ = run(capsys, path, *options, "-q", command="front")
    assert out.splitlines()[1].split()[:3] == ["k", "errors", "features"]
    assert "g2, g6" in out


def test_front_needs_a_file_and_a_picture_format(capsys, noisy):
    assert run(capsys, command="front")[0] == 2
    code, _, err = run(capsys, noisy[-1], "--figure", "front.txt", command="front")
    assert code == 2
    assert ".svg" in err
