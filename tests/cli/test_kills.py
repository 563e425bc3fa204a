"""Kills of `chanceline test`: a dead worker changes nothing, and a command that is asked to end says what it has."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

SHUFFLES = 60
# The command itself, with a progress that kills when five shuffles are done: no clock decides whether it still works then.
DEADLY = """
import json, os, sys
from contextlib import contextmanager
import psutil
from chanceline.cli import table
from chanceline.cli.main import main

def workers():
    return sorted(child.pid for child in psutil.Process().children() if "popen_loky" in " ".join(child.cmdline()))

def kill(done, total):
    if done == 5:
        pids = workers()
        print(json.dumps(pids), file=sys.stderr, flush=True)
        try:
            os.kill(pids[0] if sys.argv[1] == "worker" else os.getpid(), int(sys.argv[2]))
        finally:
            if sys.argv[1] == "twice":
                os.kill(os.getpid(), int(sys.argv[2]))

@contextmanager
def deadly(what, *, quiet):
    yield kill

if __name__ == "__main__":
    table.progress_bar = deadly
    # Workers outlive a command that ends at once, with its pipes.
    main(["test", *sys.argv[3:], "-j", "1" if sys.argv[1] == "twice" else "2"])
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """One variable tells the classes apart and no shuffle does as well, so that all shuffles are drawn."""
    folder = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 60)), rng.permutation(np.arange(40) % 2)
    X[:, 0] = np.where(y == 1, 1, -1) * np.abs(X[:, 0])
    rows = [
        ",".join([*(f"{value:.6f}" for value in x), "ab"[label]])
        for x, label in zip(X, y, strict=True)
    ]
    path = folder / "table.csv"
    path.write_text("\n".join([",".join([*(f"f{j}" for j in range(60)), "class"]), *rows, ""]))
    (folder / "deadly.py").write_text(DEADLY)
    return path


def run(table, *command):
    # A search on every shuffle.
    work = [
        "--search",
        "auto",
        "--permutations",
        SHUFFLES,
        "--budget",
        200,
        "--always-permute",
        "--no-expected-error",
    ]
    arguments = [*command, table.name, "--label", "class", "--json", *work]
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=table.parent,
    )


@pytest.fixture(scope="module")
def undisturbed(table):
    ended = run(table, "-m", "chanceline", "test", "--quiet", "-j", 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    answer = json.loads(ended.stdout)
    assert answer["permutation"]["done"] == SHUFFLES
    return answer


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(table, undisturbed):
    ended = run(table, "deadly.py", "worker", int(signal.SIGKILL))
    assert ended.returncode == 0, ended.stderr
    assert len(json.loads(ended.stderr.splitlines()[0])) == 2
    assert json.loads(ended.stdout) == undisturbed


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_a_command_asked_to_end_says_what_the_shuffles_so_far_are_worth(table, undisturbed, number):
    ended = run(table, "deadly.py", "command", int(number))
    assert ended.returncode == 128 + number
    reading = json.loads(ended.stdout)["permutation"]
    assert (reading["done"], reading["interrupted"]) == (5, True)
    assert reading["null_sizes"] == undisturbed["permutation"]["null_sizes"][:5]
    workers = [
        psutil.Process(pid)
        for pid in json.loads(ended.stderr.splitlines()[0])
        if psutil.pid_exists(pid)
    ]
    assert psutil.wait_procs(workers, timeout=30)[1] == []


def test_the_second_signal_ends_at_once(table):
    ended = run(table, "deadly.py", "twice", int(signal.SIGTERM))
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, "")
