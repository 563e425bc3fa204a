"""A real scheduler and two workers on loopback, one of which dies on the way."""

import json
import subprocess
import sys
import time

import pytest

from chanceline.errors import InputError
from chanceline.experiments.engines import open_engine
from chanceline.experiments.run import iter_run, run
from chanceline.experiments.store import Store

pytest.importorskip("distributed")


def start(*arguments):
    # One thread a worker, and no nanny: a killed worker stays dead.
    return subprocess.Popen([sys.executable, "-m", "dask", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.05)


@pytest.fixture
def cluster(tmp_path):
    """Address of the scheduler and its two worker processes."""
    file = tmp_path / "scheduler.json"
    common = ("--scheduler-file", str(file))
    scheduler = start("scheduler", *common, "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    processes = [scheduler]
    try:
        wait_for(lambda: file.exists() and file.read_text().strip().endswith("}"))
        worker = ("worker", *common, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
        processes += [start(*worker, "--name", name, "--local-directory", str(tmp_path / name)) for name in ("first", "second")]
        yield json.loads(file.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def results(records):
    return {record.task.id: dict(record.result) for record in records}


def test_two_workers_one_killed_same_table(cluster, walks, tmp_path):
    address, workers = cluster
    tasks = walks(60, pause=0.05)
    with (
        open_engine("dask", scheduler=address) as executor,
        Store(tmp_path / "s.sqlite", write=True) as store,
    ):
        executor._client.wait_for_workers(2, timeout=60)
        seen = []
        for record in iter_run(tasks, executor=executor, store=store, batch=2, in_flight=10):
            seen.append(record)
            if len(seen) == 12:
                workers[0].kill()
        assert workers[0].wait() != 0
        assert len(seen) == 60
        assert results(store.records()) == results(run(tasks))


def test_nobody_at_the_address():
    with pytest.raises(InputError, match="add --scheduler"), open_engine("dask"):
        pass
    with (
        pytest.raises(InputError, match="no Dask scheduler answers"),
        open_engine("dask", scheduler="nonsense"),
    ):
        pass
    with pytest.raises(InputError, match="no engine 'mpi'"), open_engine("mpi"):
        pass
