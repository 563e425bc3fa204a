"""chanceline sweep: run, status, export, merge, plot."""

import json
import sqlite3
from pathlib import Path

import pandas as pd
import pytest

from chanceline.cli.main import main

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


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def test_run_status_export_merge(sweep, capsys, tmp_path):
    code, out, err = call(capsys, "run", sweep, "-j", "1", "--trials", "3", "--json")
    assert code == 0
    assert json.loads(out) == {"sweep": "walks", "store": "walks.sqlite", "tasks": 6, "new": 6, "left": 0}
    assert "for the tests" in err

    code, out, err = call(capsys, "run", sweep, "-j", "1", "--quiet")
    assert (code, out, err) == (0, "", "")
    code, out, err = call(capsys, "run", sweep)
    assert (code, out) == (0, "")
    assert err == "walks is complete: 8 tasks, 0 of them new, in walks.sqlite\n"

    code, out, _ = call(capsys, "status", sweep, "--json")
    status = json.loads(out)
    assert (code, status["finished"], status["left"]) == (0, 8, 0)
    assert call(capsys, "status", sweep)[1].startswith("walks: 8 of 8 tasks in walks.sqlite")

    code, out, _ = call(capsys, "export", "walks.sqlite", "--out", "walks.csv", "--json")
    assert json.loads(out)["rows"] == 8
    assert list(pd.read_csv("walks.csv")["n"]) == [5] * 4 + [6] * 4

    code, out, _ = call(capsys, "merge", "all.sqlite", "walks.sqlite", "--json")
    assert json.loads(out) == {"store": "all.sqlite", "new": 8, "results": 8}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "nothing"), "there is no sweep 'nothing'"),
        (("run", "{sweep}", "--scheduler", "tcp://127.0.0.1:1"), "tcp://127.0.0.1:1"),
        (("status", "{sweep}"), "there is no store"),
        (("export", "walks.toml", "--out", "x.csv"), "no chanceline store"),
        (("merge", "all.sqlite", "walks.toml"), "no chanceline store"),
        (("plot", "walks", "--out", "x.png"), "no figure of 'walks'"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(sweep, capsys, arguments, sentence):
    code, out, err = call(capsys, *(argument.format(sweep=sweep) for argument in arguments))
    assert (code, out) == (2, "")
    assert sentence in err.splitlines()[-1]
    assert "Traceback" not in err


def test_verify_says_what_fits_and_refuses_what_does_not(sweep, capsys):
    call(capsys, "run", sweep, "-j", "1", "--trials", "1", "--quiet")
    assert call(capsys, "verify", "walks.sqlite") == (0, "walks.sqlite: 2 results, every id and checksum fits\n", "")
    assert json.loads(call(capsys, "verify", "walks.sqlite", "--json")[1])["stores"][0]["checksums"] is True
    connection = sqlite3.connect("walks.sqlite")
    connection.execute("UPDATE results SET result = replace(result, '1', '2')")
    connection.commit()
    connection.close()
    for command in (("verify", "walks.sqlite"), ("export", "walks.sqlite", "--out", "x.csv"), ("status", sweep)):
        code, out, err = call(capsys, *command)
        assert (code, out) == (2, "")
        assert "walks.sqlite is damaged (in the row of task" in err
    code, _, err = call(capsys, "merge", "new.sqlite", "walks.sqlite")
    assert code == 2
    assert not Path("new.sqlite").exists()


def test_failing_task_is_exit_code_1(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[[block]]\nkind = 'toy_kinds:fail'\ngrid = {n = [1, 3]}")
    code, _, err = call(capsys, "run", "bad.toml", "-j", "1", "--quiet")
    assert code == 1
    assert "three is not allowed" in err
