"""Kills of `chanceline test`: a dead worker changes nothing, a dead parent leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

SHUFFLES = 60
MOMENTS = range(1, SHUFFLES - 14, 3)

# The command itself, with a progress that kills when so many shuffles are done: no clock decides whether it still works then.
DEADLY = """
import json, os, sys
from contextlib import contextmanager
import psutil
from chanceline.cli import test
from chanceline.cli.main import main

VICTIM, NUMBER, MOMENT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def workers():
    return sorted(child.pid for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline()))

def kill(done, total):
    if done == MOMENT:
        pids = workers()
        print(json.dumps(pids), file=sys.stderr, flush=True)
        os.kill(pids[done % len(pids)] if VICTIM == "worker" else os.getpid(), NUMBER)
    elif done == total:
        print(json.dumps(workers()), file=sys.stderr, flush=True)

@contextmanager
def deadly(what, *, quiet):
    yield kill

if __name__ == "__main__":
    test.progress_bar = deadly
    main(["test", *sys.argv[4:], "--workers", "2"])
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """One variable tells the classes apart and no shuffle does as well, so that all shuffles are drawn."""
    folder = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 60)), rng.permutation(np.arange(40) % 2)
    X[:, 0] = np.where(y == 1, 1, -1) * np.abs(X[:, 0])
    rows = [",".join([*(f"{value:.6f}" for value in x), "ab"[label]]) for x, label in zip(X, y, strict=True)]
    path = folder / "table.csv"
    path.write_text("\n".join([",".join([*(f"f{j}" for j in range(60)), "class"]), *rows, ""]))
    (folder / "deadly.py").write_text(DEADLY)
    return path


def run(table, *command):
    # A search on every shuffle.
    work = ["--search", "auto", "--permutations", SHUFFLES, "--budget", 200, "--always-permute", "--no-expected-error"]
    arguments = [*command, table.name, "--label", "class", "--json", *work]
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300, cwd=table.parent)


@pytest.fixture(scope="module")
def undisturbed(table):
    ended = run(table, "-m", "chanceline", "test", "--quiet", "--workers", 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    answer = json.loads(ended.stdout)
    assert answer["permutation"]["done"] == SHUFFLES
    return answer


def kill_a_worker(table, undisturbed, moment):
    ended = run(table, "deadly.py", "worker", int(signal.SIGKILL), moment)
    assert ended.returncode == 0, ended.stderr
    first, last = map(json.loads, ended.stderr.splitlines())
    assert len(first) == len(last) == 2
    # The other went on, with a new one beside it.
    assert len(set(first) & set(last)) == 1
    assert json.loads(ended.stdout) == undisturbed


def kill_the_parent(table, number, moment):
    before = sorted(table.parent.iterdir())
    ended = run(table, "deadly.py", "parent", int(number), moment)
    # After SIGKILL multiprocessing's tracker adds that it cleans up.
    workers = json.loads(ended.stderr.splitlines()[0])
    assert len(workers) == 2
    # The pipes close only when the workers have ended too; they may still have to be collected.
    alive = [psutil.Process(pid) for pid in workers if psutil.pid_exists(pid)]
    assert psutil.wait_procs(alive, timeout=30)[1] == []
    assert sorted(table.parent.iterdir()) == before
    return ended


def test_a_killed_worker_changes_nothing(table, undisturbed):
    kill_a_worker(table, undisturbed, moment=5)


def test_a_killed_parent_leaves_nothing(table):
    ended = kill_the_parent(table, signal.SIGKILL, moment=5)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "")


def test_a_parent_asked_to_end_says_what_the_shuffles_so_far_are_worth(table, undisturbed):
    ended = kill_the_parent(table, signal.SIGTERM, moment=5)
    assert ended.returncode == 128 + signal.SIGINT
    reading = json.loads(ended.stdout)["permutation"]
    assert (reading["done"], reading["interrupted"]) == (5, True)
    assert reading["null_sizes"] == undisturbed["permutation"]["null_sizes"][:5]


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_many_killed_workers(table, undisturbed, moment):
    kill_a_worker(table, undisturbed, moment)


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_many_killed_parents(table, moment):
    ended = kill_the_parent(table, signal.SIGKILL, moment)
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "")
