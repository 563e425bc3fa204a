"""A real scheduler and two workers on loopback, one of which dies on the way."""

import pytest

from chanceline.experiments.run import iter_run, run
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import load_sweep
from chanceline.parallel import WorkersLostError, open_executor


def results(records):
    return {record.task.id: dict(record.result) for record in records}


def test_two_workers_one_killed_same_table(dask_processes, walks, tmp_path):
    address, (_, first, _) = dask_processes
    tasks = walks(60, pause=0.05)
    with (
        open_executor("dask", scheduler=address) as executor,
        Store(tmp_path / "s.sqlite", write=True) as store,
    ):
        executor._client.wait_for_workers(2, timeout=60)
        seen = []
        for record in iter_run(tasks, executor=executor, store=store, batch=2, in_flight=10):
            seen.append(record)
            if len(seen) == 12:
                first.kill()
        assert first.wait() != 0
        assert len(seen) == 60
        assert results(store.records()) == results(run(tasks))


SMALL = """
[[block]]
kind = "smallest"
trials = 3
grid = {n = [12, 16], alpha = [0.5, 1.0]}
fixed = {method = "omp"}
[[block]]
kind = "log-count"
trials = 2
grid = {n = [8]}
fixed = {rho = 0.25, alpha = 1.0, sweeps = 20}
"""


def test_the_same_table_byte_for_byte_wherever_it_is_made(dask_processes, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    sweep = load_sweep(tmp_path / "small.toml")
    address, _ = dask_processes
    tables = []
    for name, options in {
        "one": {"workers": 1},
        "two": {"workers": 2},
        "dask": {"engine": "dask", "scheduler": address},
    }.items():
        with open_executor(**options) as executor, Store(tmp_path / f"{name}.sqlite", write=True) as store:
            run(sweep.tasks, executor=executor, store=store)
            store.export(tmp_path / f"{name}.csv")
        tables.append((tmp_path / f"{name}.csv").read_bytes())
    assert tables[0].count(b"\n") == 1 + 12 + 2
    assert tables[1] == tables[0]
    assert tables[2] == tables[0]


def test_the_scheduler_dies_and_what_was_finished_is_kept(dask_processes, walks, tmp_path):
    address, (scheduler, _, _) = dask_processes
    tasks = walks(60, pause=0.05)
    with Store(tmp_path / "s.sqlite", write=True) as store:
        with open_executor("dask", scheduler=address) as executor:
            records = iter_run(tasks, executor=executor, store=store, in_flight=10)
            seen = [next(records).task.id for _ in range(8)]
            scheduler.kill()
            with pytest.raises(WorkersLostError, match="workers are lost"):
                seen.extend(record.task.id for record in records)
        assert 8 <= len(seen) < 60
        assert store.finished() == set(seen)
        assert results(run(tasks, store=store)) == results(run(tasks))
