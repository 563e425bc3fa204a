"""One worker, many, batches, any order, killed and resumed: the same table."""

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

from chanceline.experiments.run import TaskError, iter_run, run
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import make_task
from chanceline.parallel import open_executor


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
    with open_executor("processes", workers=1) as one:
        assert results(run(shuffled, executor=one, batch=7)) == expected
    with open_executor("processes", workers=3) as three, Store(tmp_path / "s.sqlite", write=True) as store:
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
    with open_executor("processes", workers=2) as pool, Store(tmp_path / "s.sqlite", write=True) as store:
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
    engine = nullcontext() if inline else open_executor(workers=1)
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with engine as pool, pytest.raises(TaskError, match=r'"n":3,"trial":0\}\) failed: ZeroDivisionError: three'):
            run(tasks, store=store, executor=pool)
        assert tasks[0].id in store.finished()
        assert tasks[3].id not in store.finished()


def test_a_killed_worker_costs_nothing(walks, tmp_path):
    tasks = walks(40, pause=0.02)
    with Store(tmp_path / "s.sqlite", write=True) as store, open_executor(workers=2) as pool:
        records = iter_run(tasks, executor=pool, store=store)
        for count, _ in enumerate(records, 1):
            if count in (4, 15, 30):
                victim = psutil.Process().children()[-1]
                victim.kill()
        assert results(store.records()) == results(run(tasks))
        assert len(store) == 40


def test_an_interrupted_search_leaves_its_task_open(tmp_path, monkeypatch):
    """`search` gives its best so far after Ctrl-C; that is not the task's result."""
    from dataclasses import replace

    from chanceline.experiments import kinds

    tasks = [make_task("smallest", n=12, alpha=0.5, method="omp", trial=trial) for trial in range(3)]
    whole = kinds.search
    calls = []

    def interrupted_in_the_second(*arguments, **options):
        calls.append(options)
        outcome = whole(*arguments, **options)
        return replace(outcome, interrupted=len(calls) == 2)

    monkeypatch.setattr(kinds, "search", interrupted_in_the_second)
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with pytest.raises(KeyboardInterrupt):
            run(tasks, store=store)
        assert store.finished() == {tasks[0].id}
        assert results(run(tasks, store=store)) == results(run(tasks))
        assert len(calls) == 4 + 3


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
