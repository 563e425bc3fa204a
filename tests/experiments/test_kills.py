"""Thirty kills of parents and workers: every task is finished once and says what it would have said undisturbed."""

import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from chanceline.experiments.store import Store
from chanceline.memory import AssociativeMemory, random_patterns

SWEEP = """
name = "walks"
batch = 2
[[block]]
kind = "toy_kinds:walk"
fixed = {n = 10, pause = 0.02}
trials = 400
"""


def start(*arguments):
    command = [sys.executable, "-m", "chanceline", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def workers_of(process):
    """The processes that work, without multiprocessing's resource tracker and without the dead."""
    found = []
    try:
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child)
    except psutil.NoSuchProcess:
        return []
    return found


def disturb(begin, kills, rng):
    """Run until it ends by itself, killing parent or worker on the way; returns how many kills there were."""
    done = 0
    process = begin()
    while process.poll() is None:
        time.sleep(rng.uniform(0.2, 1.2))
        victims = workers_of(process)
        if done >= kills or not victims or process.poll() is not None:
            continue
        done += 1
        if rng.random() < 0.5:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            _, alive = psutil.wait_procs(victims, timeout=30)
            assert not alive
            process = begin()
        else:
            rng.choice(victims).kill()
    message = process.communicate()[1]
    assert process.returncode == 0, message
    return done


def table(path):
    with Store(path) as store:
        return [record.values()[:5] for record in store.records()]


def sweep_under_fire(tmp_path, trials, kills, seed):
    sweep = tmp_path / "walks.toml"
    sweep.write_text(SWEEP)
    common = ("sweep", "run", str(sweep), "--trials", str(trials), "--workers", "2", "--quiet")
    calm = start(*common, "--store", str(tmp_path / "calm.sqlite"))
    assert calm.wait() == 0, calm.communicate()[1]
    calm.stderr.close()
    done = disturb(lambda: start(*common, "--store", str(tmp_path / "fire.sqlite")), kills, random.Random(seed))
    assert table(tmp_path / "fire.sqlite") == table(tmp_path / "calm.sqlite")
    assert len(table(tmp_path / "calm.sqlite")) == trials
    return done


def memory_under_fire(tmp_path, neurons, kills, seed):
    """A worker dies at some of the steps of progress; the file is that of an undisturbed run."""
    patterns = random_patterns(neurons, 0.5, seed=seed)
    moments = list(range(2, neurons, neurons // (kills + 2)))[:kills]
    done = []

    def kill(count, _total):
        # Results that waited for their turn come in a burst, and the dead may not be replaced yet: then a little later.
        if len(done) < kills and count >= moments[len(done)] and (victims := workers_of(psutil.Process())):
            victims[count % len(victims)].kill()
            done.append(count)

    for name, progress in (("calm", None), ("fire", kill)):
        memory = AssociativeMemory(neurons, 0.3, seed=seed, budget=100)
        memory.store(patterns, workers=2, progress=progress)
        memory.save(tmp_path / f"{name}.npz")
    assert (tmp_path / "fire.npz").read_bytes() == (tmp_path / "calm.npz").read_bytes()
    return len(done)


def test_two_kills_cost_a_memory_nothing(tmp_path):
    assert memory_under_fire(tmp_path, neurons=20, kills=2, seed=4) == 2


def test_three_kills_cost_a_sweep_nothing(tmp_path):
    assert sweep_under_fire(tmp_path, trials=80, kills=3, seed=1) >= 1


@pytest.mark.slow
def test_twenty_kills_cost_a_sweep_nothing(tmp_path):
    assert sweep_under_fire(tmp_path, trials=400, kills=20, seed=2) >= 10


@pytest.mark.slow
def test_ten_kills_of_workers_cost_a_memory_nothing(tmp_path):
    assert memory_under_fire(tmp_path, neurons=60, kills=10, seed=3) == 10


@pytest.mark.slow
def test_a_killed_memory_leaves_the_file_before_it_whole(tmp_path):
    path = tmp_path / "memory.npz"
    common = ("memory", "--load", "0.5", "--workers", "2", "--quiet", "--save", str(path))
    first = start(*common, "--neurons", "20", "--budget", "50")
    assert first.wait() == 0
    first.stderr.close()
    before = path.read_bytes()
    for pause in (0.5, 2.0, 4.0):
        process = start(*common, "--neurons", "200", "--budget", "100000")
        time.sleep(pause)
        victims = workers_of(process)
        process.kill()
        process.communicate()
        _, alive = psutil.wait_procs(victims, timeout=30)
        assert not alive
        assert path.read_bytes() == before
        assert [entry.name for entry in tmp_path.iterdir()] == ["memory.npz"]
