"""Kills of `chanceline test`: a dead worker changes nothing, a dead parent leaves nothing behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

MANY = 15


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Noise, so that every shuffle is drawn."""
    folder = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 60)), rng.permutation(np.arange(40) % 2)
    rows = [",".join([*(f"{value:.6f}" for value in x), "ab"[label]]) for x, label in zip(X, y, strict=True)]
    path = folder / "noise.csv"
    path.write_text("\n".join([",".join([*(f"f{j}" for j in range(60)), "class"]), *rows, ""]))
    return path


def start(table, *options):
    # A search on every shuffle: some seconds of work for the workers.
    command = [sys.executable, "-m", "chanceline", "test", str(table), "--label", "class", "--json", "--quiet"]
    work = ["--search", "auto", "--permutations", "99", "--budget", "200", "--always-permute", "--no-expected-error"]
    return subprocess.Popen([*command, *work, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=table.parent)


def workers_of(process):
    """The worker processes, once two of them compute."""
    parent = psutil.Process(process.pid)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = [child for child in parent.children() if child.is_running() and "spawn_main" in " ".join(child.cmdline())]
        if len(found) >= 2 and all(sum(child.cpu_times()[:2]) > 1.5 for child in found):
            return found
        time.sleep(0.05)
    raise AssertionError("the workers did not start to compute in time")


def result(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, b"")
    return json.loads(out)


@pytest.fixture(scope="module")
def undisturbed(table):
    return result(start(table, "--workers", "1"))


def kill_a_worker(table, undisturbed):
    process = start(table, "--workers", "2")
    workers_of(process)[0].kill()
    assert result(process) == undisturbed


def kill_the_parent(table, number):
    before = sorted(table.parent.iterdir())
    process = start(table, "--workers", "2")
    children = workers_of(process)
    process.send_signal(number)
    process.communicate(timeout=60)
    # After SIGTERM `test` still says what the shuffles so far are worth, as after Ctrl-C.
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + signal.SIGINT)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert sorted(table.parent.iterdir()) == before


def test_a_killed_worker_changes_nothing(table, undisturbed):
    kill_a_worker(table, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_parent_leaves_nothing(table, number):
    kill_the_parent(table, number)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(MANY))
def test_many_killed_workers(table, undisturbed, repetition):
    kill_a_worker(table, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(MANY))
def test_many_killed_parents(table, repetition):
    kill_the_parent(table, signal.SIGKILL)
