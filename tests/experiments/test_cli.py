"""chanceline sweep: run, status, export, merge, plot."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

SWEEP = """
name = "walks"
description = "for the tests"
[[block]]
kind = "toy_kinds:walk"
grid = {n = [5, 6]}
trials = 4
"""


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "walks.toml"
    path.write_text(SWEEP)
    return str(path)


def test_run_status_export_merge(sweep, command, tmp_path):
    code, out, err = command("sweep", "run", sweep, "-j", "1", "--trials", "3", "--json")
    assert code == 0
    assert json.loads(out) == {
        "sweep": "walks",
        "store": "walks.sqlite",
        "tasks": 6,
        "new": 6,
        "left": 0,
    }
    assert "for the tests" in err

    code, out, err = command("sweep", "run", sweep, "-j", "1", "--quiet")
    assert (code, out, err) == (0, "", "")
    code, out, err = command("sweep", "run", sweep)
    assert (code, out) == (0, "")
    assert err == "walks is complete: 8 tasks, 0 of them new, in walks.sqlite\n"

    code, out, _ = command("sweep", "status", sweep, "--json")
    status = json.loads(out)
    assert (code, status["finished"], status["left"]) == (0, 8, 0)
    assert command("sweep", "status", sweep)[1].startswith("walks: 8 of 8 tasks in walks.sqlite")

    code, out, _ = command("sweep", "export", "walks.sqlite", "--out", "walks.csv", "--json")
    assert json.loads(out)["rows"] == 8
    assert list(pd.read_csv("walks.csv")["n"]) == [5] * 4 + [6] * 4

    code, out, _ = command("sweep", "merge", "all.sqlite", "walks.sqlite", "--json")
    assert json.loads(out) == {"store": "all.sqlite", "new": 8, "results": 8}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "nothing"), "there is no sweep 'nothing'"),
        pytest.param(
            ("run", "{sweep}", "--scheduler", "tcp://127.0.0.1:1"),
            "tcp://127.0.0.1:1",
            marks=pytest.mark.slow,  # it waits ten seconds for an answer
        ),
        (("status", "{sweep}"), "there is no store"),
        (("export", "walks.toml", "--out", "x.csv"), "no chanceline store"),
        (("plot", "walks", "--out", "x.png"), "no figure of 'walks'"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(sweep, command, arguments, sentence):
    code, out, err = command("sweep", *(argument.format(sweep=sweep) for argument in arguments))
    assert (code, out) == (2, "")
    assert sentence in err.splitlines()[-1]
    assert "Traceback" not in err


def test_verify_says_what_fits_and_refuses_what_does_not(sweep, command):
    command("sweep", "run", sweep, "-j", "1", "--trials", "1", "--quiet")
    assert command("sweep", "verify", "walks.sqlite") == (
        0,
        "walks.sqlite: 2 results, every id and checksum fits\n",
        "",
    )
    assert (
        json.loads(command("sweep", "verify", "walks.sqlite", "--json")[1])["stores"][0][
            "checksums"
        ]
        is True
    )
    connection = sqlite3.connect("walks.sqlite")
    connection.execute("UPDATE results SET result = replace(result, '1', '2')")
    connection.commit()
    connection.close()
    for words in (
        ("verify", "walks.sqlite"),
        ("export", "walks.sqlite", "--out", "x.csv"),
        ("status", sweep),
    ):
        code, out, err = command("sweep", *words)
        assert (code, out) == (2, "")
        assert "walks.sqlite is damaged (in the row of task" in err
    code, _, err = command("sweep", "merge", "new.sqlite", "walks.sqlite")
    assert code == 2
    assert not Path("new.sqlite").exists()


def test_failing_task_is_exit_code_1(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[[block]]\nkind = 'toy_kinds:fail'\ngrid = {n = [1, 3]}")
    code, _, err = command("sweep", "run", "bad.toml", "-j", "1", "--quiet")
    assert code == 1
    assert "three is not allowed" in err
