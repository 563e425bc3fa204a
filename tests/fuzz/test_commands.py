"""Every command with bad command lines and damaged files: no traceback, no hang, documented exit codes, one sentence."""

from __future__ import annotations

import io
import json
import shutil
import traceback
import webbrowser
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from command_cases import APP, GOOD, fresh_copy, make_files, mutate, parameters_of
from limits import Hang, limits

from chanceline.cli.main import main

QUICK = 12  # batches in every run
LONG = 500
BATCH = 20  # cases in a batch


@pytest.fixture(scope="session")
def good_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    make_files(folder)
    with chdir(folder):
        assert run(["sweep", "run", "sweep.toml", "--store", "store.sqlite", "--workers", "1", "--quiet"])[0] == 0
    return folder


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """No browser opens, `reproduce` draws nothing, and nobody waits long for a scheduler or a pipe."""
    monkeypatch.setattr("chanceline.parallel.dask.CONNECT_SECONDS", 0.5)
    monkeypatch.setattr("chanceline.files.PIPE_SECONDS", 0.2)
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    monkeypatch.setattr("chanceline.reproduce.stages.run_all", lambda folder: None)


def run(words: list[str]) -> tuple[object, str, str]:
    """Exit code, or what went wrong, and what was printed."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err), limits():
            main(words)
    except SystemExit as stop:
        return stop.code, out.getvalue(), err.getvalue()
    except (Hang, Exception):
        return traceback.format_exc(), out.getvalue(), err.getvalue()
    raise AssertionError("main always exits")


def faults(words: list[str], code: object, out: str, err: str) -> list[str]:
    """What is wrong with this end of a command; nothing, if all is well."""
    if code not in (0, 1, 2):
        return [str(code)]
    found = []
    sentences = [line for line in err.splitlines() if line.startswith("chanceline: ")]
    if len(sentences) != (code != 0) and "Usage:" not in out + err:
        found.append(f"exit code {code} with {len(sentences)} sentences on stderr: {err}")
    if "Traceback" in err:
        found.append(err)
    if code == 0 and asks_for_json(words) and "--help" not in words and "-h" not in words:
        try:
            json.loads(out)
        except ValueError as error:
            found.append(f"stdout is not JSON ({error}): {out[:200]}")
    if set(out + err) & set("\x1b\u202e\udcff"):
        found.append(f"hidden characters in the output: {(out + err)!r}")
    return found


def asks_for_json(words: list[str]) -> bool:
    """Whether --json is there, and not as the value of the option before it."""
    take_values = {name for one in parameters_of(words) if not getattr(one, "is_flag", False) for name in one.opts}
    return any(word == "--json" and before not in take_values for before, word in pairwise(["", *words]))


def check_case(number: object, good: Path, folder: Path) -> list[str]:
    fresh_copy(good, folder)
    try:
        with chdir(folder):
            words = mutate(Random(f"case {number}"), folder)
            found = faults(words, *run(words))
            left = [path.name for path in folder.rglob(".chanceline-*")]
    finally:
        shutil.rmtree(folder)
    return [f"case {number}: {words}\n{fault}" for fault in [*found, *(f"left behind: {name}" for name in left)]]


def check_batch(batch: int, good: Path, tmp_path: Path) -> None:
    found = [fault for place in range(BATCH) for fault in check_case(batch * BATCH + place, good, tmp_path / str(place))]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("line", GOOD)
def test_the_good_ones_are_good(line, good_files, tmp_path):
    fresh_copy(good_files, tmp_path / "case")
    with chdir(tmp_path / "case"):
        words = line.split()
        code, out, err = run(words)
        assert (code, faults(words, code, out, err)) == (0, [])


def test_every_command_is_there():
    named = {word for line in GOOD for word in line.split()[:2]}
    groups = [APP, *(command for command in APP.commands.values() if hasattr(command, "commands"))]
    assert {name for group in groups for name in group.commands} - named == set()


@pytest.mark.parametrize("batch", range(QUICK))
def test_bad_command_lines(batch, good_files, tmp_path):
    check_batch(batch, good_files, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(QUICK, LONG))
def test_ten_thousand_bad_command_lines(batch, good_files, tmp_path):
    check_batch(batch, good_files, tmp_path)
