"""One job, many, a cluster, batches, any order, killed and resumed: the same table."""

import random
import signal
import sqlite3
import subprocess
import sys

import psutil
import pytest

from chanceline._cluster import cluster
from chanceline.experiments.run import TaskError, iter_run, run
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import make_task


def results(records):
    return {record.task.id: dict(record.result) for record in records}


def table(path):
    return [record.values()[:5] for record in Store(path).records()]


def test_jobs_batches_and_order_do_not_matter(walks, tmp_path):
    tasks = walks(40)
    shuffled = random.Random(1).sample(tasks, len(tasks))
    expected = results(run(tasks))
    assert len(expected) == 40
    assert results(run(shuffled, n_jobs=2, batch=7)) == expected
    with Store(tmp_path / "s.sqlite", write=True) as store:
        assert results(iter_run(shuffled, n_jobs=2, store=store)) == expected
        assert results(store.records()) == expected


@pytest.mark.slow
def test_one_job_two_jobs_a_killed_worker_and_a_cluster_make_the_same_table(
    dask_processes, tmp_path
):
    address, (_, first, _) = dask_processes
    tasks = [
        make_task("smallest", n=n, alpha=1.0, method="omp", trial=k)
        for n in (12, 16)
        for k in range(6)
    ]
    tasks += [
        make_task("log-count", n=8, rho=0.25, alpha=1.0, sweeps=20, trial=k) for k in range(4)
    ]
    tasks += [make_task("toy_kinds:walk", n=10, pause=0.05, trial=k) for k in range(20)]

    def make(name, n_jobs, kill=None):
        with Store(tmp_path / f"{name}.sqlite", write=True) as store:
            for count, _ in enumerate(iter_run(tasks, n_jobs=n_jobs, store=store), 1):
                if count == 8 and kill is not None:
                    kill()
            store.export(tmp_path / f"{name}.csv")
        return (tmp_path / f"{name}.csv").read_bytes()

    one = make("one", 1)
    assert one.count(b"\n") == 1 + len(tasks)
    assert make("two", 2) == one
    assert make("killed", 2, kill=lambda: workers_of(psutil.Process())[-1].kill()) == one
    with cluster(address):
        assert make("dask", -1, kill=first.kill) == one
    assert first.wait() != 0


def test_finished_tasks_do_not_run_again_and_repetitions_run_once(walks, tmp_path):
    with Store(tmp_path / "s.sqlite", write=True) as store:
        assert len(list(iter_run([*walks(5), *walks(5)], store=store))) == 5
        assert [r.task.parameters["trial"] for r in iter_run(walks(8), store=store)] == [5, 6, 7]
        assert list(iter_run(walks(8), store=store)) == []
        assert [r.task for r in run(reversed(walks(8)), store=store)] == walks(8)[::-1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_task_is_named_and_the_others_are_kept(tmp_path, n_jobs):
    tasks = [make_task("toy_kinds:fail", n=n) for n in range(6)]
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with pytest.raises(
            TaskError, match=r'"n":3,"trial":0\}\) failed: ZeroDivisionError: three'
        ):
            run(tasks, store=store, n_jobs=n_jobs)
        assert {task.id for task in tasks[:3]} <= store.finished()
        assert tasks[3].id not in store.finished()


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
    command = [
        sys.executable,
        "-m",
        "chanceline",
        "sweep",
        "run",
        sweep,
        "--store",
        store,
        *options,
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def workers_of(process):
    """The processes that work, without the trackers of resources and without the dead."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if "popen_loky" in " ".join(child.cmdline())]


@pytest.mark.slow
def test_sigkill_loses_at_most_what_is_in_flight(tmp_path, wait_for):
    sweep, store, whole = (
        tmp_path / "walks.toml",
        tmp_path / "killed.sqlite",
        tmp_path / "whole.sqlite",
    )
    sweep.write_text(SWEEP)
    for rows in (4, 25):
        process = start(sweep, store, "-j", "2", "--quiet")
        wait_for(lambda rows=rows: count_rows(store) >= rows)
        # Its workers have its pipes and live on until they have been idle for a while.
        workers = workers_of(process)
        for one in (process, *workers):
            one.kill()
        process.communicate()
        assert rows <= count_rows(store) < 60
    process = start(sweep, store, "-j", "1", "--quiet")
    assert (process.communicate()[1], process.returncode) == ("", 0)
    process = start(sweep, whole, "-j", "2", "--quiet")
    assert (process.communicate()[1], process.returncode) == ("", 0)
    assert table(store) == table(whole)
    assert len(table(whole)) == 60


def test_first_interrupt_saves_and_stops(tmp_path, wait_for):
    sweep, store = tmp_path / "walks.toml", tmp_path / "s.sqlite"
    sweep.write_text(SWEEP)
    process = start(sweep, store, "-j", "2", "--quiet")
    wait_for(lambda: count_rows(store) >= 4)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again" in message
    assert 4 <= count_rows(store) < 60
