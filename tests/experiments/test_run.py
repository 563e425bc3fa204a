"""One worker, many, batches, any order, killed and resumed: the same table."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import nullcontext
from threading import Event

import psutil
import pytest

from chanceline.experiments.engines import open_engine
from chanceline.experiments.run import TaskError, iter_run, run
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import make_task


def results(records):
    return {record.task.id: dict(record.result) for record in records}


def table(path):
    with Store(path) as store:
        return [(r.task.id, dict(r.task.parameters), r.result, r.made_with) for r in store.records()]


def test_engines_batches_and_order_do_not_matter(walks, tmp_path):
    tasks = walks(40)
    shuffled = random.Random(1).sample(tasks, len(tasks))
    expected = results(run(tasks))
    assert len(expected) == 40
    with open_engine("processes", workers=1) as one:
        assert results(run(shuffled, executor=one, batch=7)) == expected
    with open_engine("processes", workers=3) as three, Store(tmp_path / "s.sqlite", write=True) as store:
        assert results(iter_run(shuffled, executor=three, store=store, in_flight=5)) == expected
        assert results(store.records()) == expected


def test_finished_tasks_do_not_run_again_and_repetitions_run_once(walks, tmp_path):
    with Store(tmp_path / "s.sqlite", write=True) as store:
        assert len(list(iter_run([*walks(5), *walks(5)], store=store))) == 5
        assert [r.task.parameters["trial"] for r in iter_run(walks(8), store=store)] == [5, 6, 7]
        assert list(iter_run(walks(8), store=store)) == []
        assert [r.task for r in run(reversed(walks(8)), store=store)] == walks(8)[::-1]


def test_stop_finishes_what_runs_and_starts_nothing_new(walks, tmp_path):
    stop = Event()
    with open_engine("processes", workers=2) as pool, Store(tmp_path / "s.sqlite", write=True) as store:
        seen = []
        for record in iter_run(walks(200, pause=0.02), executor=pool, store=store, in_flight=20, stop=stop):
            seen.append(record.task)
            if len(seen) == 5:
                stop.set()
        assert 5 <= len(seen) < 40
        assert {task.id for task in seen} == store.finished()


@pytest.mark.parametrize("inline", [True, False])
def test_a_failing_task_is_named_and_the_others_are_kept(tmp_path, inline):
    tasks = [make_task("toy_kinds:fail", n=n) for n in range(6)]
    engine = nullcontext() if inline else open_engine(workers=1)
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with engine as pool, pytest.raises(TaskError, match=r'"n":3,"trial":0\}\) failed: ZeroDivisionError: three'):
            run(tasks, store=store, executor=pool)
        assert tasks[0].id in store.finished()
        assert tasks[3].id not in store.finished()


def test_a_killed_worker_is_said_and_the_run_resumes(walks, tmp_path):
    tasks = walks(30, pause=0.02)
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with open_engine(workers=2) as pool:
            records = iter_run(tasks, executor=pool, store=store)
            for _ in range(4):
                next(records)
            os.kill(next(iter(pool._processes)), signal.SIGKILL)
            with pytest.raises(TaskError, match="run again"):
                list(records)
        assert 4 <= len(store) < 30
        assert results(run(tasks, store=store)) == results(run(tasks))


SWEEP = """
name = "walks"
[[block]]
kind = "toy_kinds:walk"
fixed = {n = 10, pause = 0.03}
trials = 60
"""


def count_rows(path):
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute("SELECT count(*) FROM results").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0


def start(sweep, store, *options):
    command = [sys.executable, "-m", "chanceline", "sweep", "run", sweep, "--store", store, *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.01)


def children(process):
    return psutil.Process(process.pid).children(recursive=True)


def test_sigkill_loses_at_most_what_is_in_flight(tmp_path):
    sweep, store, whole = tmp_path / "walks.toml", tmp_path / "killed.sqlite", tmp_path / "whole.sqlite"
    sweep.write_text(SWEEP)
    for rows in (4, 25):
        process = start(sweep, store, "--workers", "2", "--quiet")
        wait_for(lambda rows=rows: count_rows(store) >= rows)
        workers = children(process)
        process.kill()
        process.communicate()
        assert rows <= count_rows(store) < 60
        wait_for(lambda workers=workers: not any(worker.is_running() for worker in workers))
    process = start(sweep, store, "--workers", "1", "--quiet")
    assert (process.communicate()[1], process.returncode) == ("", 0)
    process = start(sweep, whole, "--workers", "2", "--quiet")
    assert (process.communicate()[1], process.returncode) == ("", 0)
    assert table(store) == table(whole)
    assert len(table(whole)) == 60


def test_first_interrupt_saves_and_stops(tmp_path):
    sweep, store = tmp_path / "walks.toml", tmp_path / "s.sqlite"
    sweep.write_text(SWEEP)
    process = start(sweep, store, "--workers", "2", "--quiet")
    wait_for(lambda: count_rows(store) >= 4)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "finishing what is running" in message
    assert "run the same command again" in message
    assert 4 <= count_rows(store) < 60


def test_second_interrupt_stops_at_once(tmp_path):
    sweep, store = tmp_path / "slow.toml", tmp_path / "s.sqlite"
    sweep.write_text(SWEEP.replace("0.03", "600.0"))
    process = start(sweep, store, "--workers", "2", "--quiet")
    wait_for(lambda: len(children(process)) >= 3)  # two workers and the resource tracker
    time.sleep(1.0)
    workers = children(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped at once" in message
    wait_for(lambda: not any(worker.is_running() for worker in workers))
