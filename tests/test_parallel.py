"""One way to work in parallel: in order, the same for every number of jobs, whole after a worker's death, ended by Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend

from chanceline import _cluster
from chanceline._cluster import WorkersLostError, cluster, results_on_cluster, send_to_worker
from chanceline._parallel import (
    _call_on_cluster,
    map_in_threads,
    number_of_threads,
    run_ordered,
)
from chanceline.errors import InputError

TOY = Path(__file__).parent / "experiments" / "toy"
# One job, two, and one for each core.
JOBS = [1, 2, -1]


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TOY), os.environ.get("PYTHONPATH", "")]))
    import toy_calls

    return toy_calls


@pytest.mark.parametrize("n_jobs", JOBS)
def test_order_values_and_progress_do_not_depend_on_the_jobs(toy, n_jobs):
    items, common = range(50), (7, 2.0)
    heard = []
    values = run_ordered(
        toy.draw, items, common=common, n_jobs=n_jobs, progress=lambda *told: heard.append(told)
    )
    assert list(values) == [toy.draw(item, *common) for item in items]
    assert heard == [(done, 50) for done in range(1, 51)]
    assert list(run_ordered(toy.draw, [], n_jobs=n_jobs)) == []


@pytest.mark.parametrize("n_jobs", JOBS)
def test_every_call_has_one_blas_thread(toy, n_jobs):
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=2):
        assert set(run_ordered(toy.blas_threads, range(4), n_jobs=n_jobs)) == {1}


def test_large_arrays_are_shared_as_memory_maps(toy):
    assert all(run_ordered(toy.is_memory_map, range(4), common=(np.zeros((600, 600)),), n_jobs=2))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_values_come_as_they_are_asked_for(toy, tmp_path, n_jobs):
    values = run_ordered(toy.note_pid, range(1000), common=(str(tmp_path), 0.01), n_jobs=n_jobs)
    assert next(values) == 0
    values.close()
    assert 1 <= len(list(tmp_path.iterdir())) < 50


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_comes_out_unchanged(toy, n_jobs):
    with pytest.raises(ZeroDivisionError, match="three"):
        list(run_ordered(toy.fail_at_three, range(9), n_jobs=n_jobs))


def test_a_killed_worker_costs_its_call_and_not_the_run(toy, tmp_path):
    values = run_ordered(toy.die_once, range(12), common=(str(tmp_path),), n_jobs=2)
    assert list(values) == [item * item for item in range(12)]
    assert sorted(mark.name for mark in tmp_path.iterdir()) == ["2", "5"]


def test_a_call_that_always_kills_its_worker_ends_in_a_sentence(toy):
    with pytest.raises(WorkersLostError, match="died again and again"):
        list(run_ordered(toy.die_always, range(6), n_jobs=2))


def test_ctrl_c_ends_the_run_and_its_workers_within_two_seconds(tmp_path, wait_for):
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(
        "import sys, toy_calls\n"
        "from chanceline._parallel import run_ordered\n"
        'if __name__ == "__main__":\n'
        "    list(run_ordered(toy_calls.note_pid, range(1000), common=(sys.argv[1], 60.0), n_jobs=2))\n"
    )
    process = subprocess.Popen(
        [sys.executable, script, marks], stderr=subprocess.PIPE, text=True, process_group=0
    )
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    workers = [psutil.Process(int(mark.name.partition("-")[2])) for mark in marks.iterdir()]
    # In a terminal it reaches the whole group.
    os.killpg(process.pid, signal.SIGINT)
    start = time.monotonic()
    _, message = process.communicate(timeout=30)
    assert time.monotonic() - start < 2
    assert process.returncode == -signal.SIGINT
    assert message.rstrip().endswith("KeyboardInterrupt")
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_a_cluster_gives_the_same_and_outlives_a_worker(dask_processes, toy, tmp_path):
    address, _ = dask_processes
    expected = [toy.draw(item, 7, 2.0) for item in range(30)]
    with cluster(address):
        assert list(run_ordered(toy.draw, range(30), common=(7, 2.0), n_jobs=-1)) == expected
        with pytest.raises(ZeroDivisionError):
            list(run_ordered(toy.fail_at_three, range(30), n_jobs=-1))
        marks = tmp_path / "marks"
        marks.mkdir()
        for value in run_ordered(toy.note_pid, range(20), common=(str(marks), 0.1), n_jobs=-1):
            if value == 3:
                os.kill(int(next(marks.iterdir()).name.partition("-")[2]), signal.SIGKILL)
        assert value == 19


@pytest.fixture
def no_second_try(monkeypatch):
    """For schedulers started later: a task that lost its worker is not tried again."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")


@pytest.mark.slow
def test_a_call_that_kills_its_worker_on_a_cluster_ends_in_a_sentence(
    no_second_try, dask_processes, toy
):
    address, _ = dask_processes
    with cluster(address), pytest.raises(WorkersLostError, match="killed every worker"):
        list(run_ordered(toy.die_always, range(6), n_jobs=-1))


@pytest.mark.slow
def test_a_scheduler_that_dies_ends_in_a_sentence_and_what_came_is_whole(
    dask_processes, toy, tmp_path, capfd
):
    address, (scheduler, *_) = dask_processes
    marks = tmp_path / "marks"
    marks.mkdir()
    values = []

    def kill_scheduler(done, total):
        values.append(done - 1)
        if done == 4:
            scheduler.kill()

    with cluster(address):
        coming = run_ordered(
            toy.note_pid,
            range(500),
            common=(str(marks), 0.05),
            n_jobs=-1,
            progress=kill_scheduler,
        )
        with pytest.raises(WorkersLostError, match=r"scheduler at .* is gone"):
            list(coming)
    assert values == list(range(len(values)))
    assert len(values) >= 4
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.slow
def test_a_cluster_gets_the_table_once_and_may_grow(dask_processes, dask_command, toy, tmp_path):
    """One worker at the start, which does all the work; then another one, which is used too."""
    address, (_, first, _) = dask_processes
    first.kill()
    first.wait()
    common = (toy.Table(), str(tmp_path), 0.02)
    pids = set()
    with cluster(address):
        for done, (pid, n_unpacked) in enumerate(
            run_ordered(toy.times_unpacked, range(3000), common=common, n_jobs=-1), 1
        ):
            pids.add(pid)
            assert n_unpacked == 1
            if done == 5:
                assert len(pids) == 1
                folder = str(tmp_path / "third")
                third = dask_command(
                    "worker", address, "--nthreads", "1", "--no-nanny", "--local-directory", folder
                )
            if len(pids) == 2:
                break
    third.kill()
    third.wait()
    assert len(pids) == 2
    assert os.getpid() not in pids


class ClientOfDyingWorker:
    """A Dask client whose scheduler closes the connection of the first `n_closed` values that it is sent."""

    def __init__(self, n_closed, status_after="running", error=OSError):
        self.status = "running"
        self.scheduler = None
        self.n_sent = 0
        self._n_closed, self._status_after, self._error = n_closed, status_after, error

    def nthreads(self):
        return {"tcp://the.other.worker": 1}

    def scatter(self, values, hash):
        self.n_sent += 1
        if self.n_sent <= self._n_closed:
            self.status = self._status_after
            raise self._error("Stream is closed")
        return [f"future of {value}" for value in values]

    def cancel(self, futures):
        assert futures == []


def test_a_worker_that_dies_while_it_is_sent_something_is_no_lost_scheduler(monkeypatch):
    client = ClientOfDyingWorker(n_closed=3)
    assert list(results_on_cluster(client, abs, [], (), ordered=True)) == []
    assert client.n_sent == 4

    # One that never gets through ends, and one that is gone is told at once.
    monkeypatch.setattr(_cluster, "SEND_AGAIN_SECONDS", 0.0)
    client = ClientOfDyingWorker(n_closed=1_000)
    with pytest.raises(WorkersLostError, match="is gone"):
        send_to_worker(client, 5)
    assert client.n_sent == _cluster.SEND_TRIES
    client = ClientOfDyingWorker(n_closed=1_000, status_after="connecting")
    with pytest.raises(WorkersLostError, match="is gone"):
        send_to_worker(client, 5)
    assert client.n_sent == 1
    client = ClientOfDyingWorker(n_closed=1_000, error=TimeoutError)
    with pytest.raises(TimeoutError):
        send_to_worker(client, 5)
    assert client.n_sent == 1


def test_another_version_on_a_worker_is_refused():
    with pytest.raises(InputError, match=r"runs chanceline .* and this process 0.0.1"):
        _call_on_cluster(3, abs, "0.0.1")


def test_workers_end_when_their_parent_is_killed(tmp_path, wait_for):
    script, marks = tmp_path / "script.py", tmp_path / "marks"
    marks.mkdir()
    script.write_text(
        "import sys, toy_calls\n"
        "from chanceline._parallel import run_ordered\n"
        'if __name__ == "__main__":\n'
        "    list(run_ordered(toy_calls.note_pid, range(9), common=(sys.argv[1], 600.0), n_jobs=2))\n"
    )
    process = subprocess.Popen([sys.executable, script, marks])
    wait_for(lambda: len(list(marks.iterdir())) == 2)
    workers = [psutil.Process(int(mark.name.partition("-")[2])) for mark in marks.iterdir()]
    process.kill()
    process.wait()
    wait_for(lambda: not any(worker.is_running() for worker in workers))


class CollectingBackend(ThreadingBackend):
    """An engine that gives results all at once, as Ray's does."""

    supports_return_generator = False


def test_an_engine_that_cannot_give_results_as_they_come_is_refused(toy):
    register_parallel_backend("collecting", CollectingBackend)
    with (
        parallel_config("collecting", n_jobs=2),
        pytest.raises(InputError, match="use joblib's engine 'loky' or 'dask'"),
    ):
        list(run_ordered(toy.draw, range(3), common=(7, 2.0), n_jobs=None))


def test_mistakes_are_one_sentence(toy):
    with pytest.raises(InputError, match="n_jobs"):
        list(run_ordered(toy.draw, range(3), n_jobs=0))


def folder_of_worker(_):
    time.sleep(0.3)
    return os.getpid(), os.getcwd()


def test_workers_outlive_the_folder_they_were_started_in(tmp_path, monkeypatch):
    """Nothing compiles in a folder that is gone: numba asks where it is."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    before = dict(run_ordered(folder_of_worker, range(4), n_jobs=2))
    monkeypatch.chdir(tmp_path)
    folder.rmdir()
    after = dict(run_ordered(folder_of_worker, range(4), n_jobs=2))
    assert set(before) & set(after), "the same workers are used again"
    assert all(Path(where).is_dir() for where in after.values())


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_give_results_in_order_with_one_blas_thread_each(n_threads):
    from threadpoolctl import threadpool_info

    def square(number):
        time.sleep(0.01 * (number % 3))
        pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        return number**2, set(pools)

    results = list(map_in_threads(square, range(20), n_threads))
    assert [value for value, _ in results] == [number**2 for number in range(20)]
    assert set().union(*(pools for _, pools in results)) == {1}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_that_are_not_asked_for_more_begin_nothing_more(n_threads):
    begun = []

    def note(number):
        begun.append(number)
        if number == 4:
            raise ZeroDivisionError
        return number

    values = map_in_threads(note, range(1000), n_threads)
    assert [next(values), next(values)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        list(values)
    assert len(begun) < 30
    early = map_in_threads(note, range(5, 1000), n_threads)
    assert next(early) == 5
    early.close()
    assert len(begun) < 60


def test_jobs_as_threads():
    assert number_of_threads(1) == 1
    assert number_of_threads(None) == 1
    assert 1 <= number_of_threads(-1) <= (os.cpu_count() or 1)
    assert number_of_threads(10_000) == (os.cpu_count() or 1)
    with pytest.raises(InputError, match="n_jobs"):
        number_of_threads(0)
