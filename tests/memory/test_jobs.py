"""One job, two, a killed worker, a Dask cluster: the same bytes; interrupted: nothing stored."""

import psutil
import pytest

from chanceline._cluster import cluster
from chanceline.memory import AssociativeMemory, learning, load_curve, random_patterns

N = 24


def kill_a_worker(done, _):
    if done == 4:
        workers = [
            child
            for child in psutil.Process().children(recursive=True)
            if "loky" in " ".join(child.cmdline())
        ]
        workers[-1].kill()


def stored_bytes(path, n_jobs, progress=None):
    memory = AssociativeMemory(N, fan_in=0.3, seed=4, budget=60)
    memory.store(random_patterns(N, 0.7, seed=4), n_jobs=n_jobs, progress=progress)
    memory.save(path)
    loads = load_curve(N, [0.25], seed=2, budget=40, neurons=5, n_jobs=n_jobs)
    return path.read_bytes(), [result.held.tolist() for result in loads]


def test_one_job_two_jobs_a_killed_worker_and_a_cluster_make_the_same_memory(
    tmp_path, dask_processes
):
    address, _ = dask_processes
    one = stored_bytes(tmp_path / "one.npz", 1)
    assert stored_bytes(tmp_path / "two.npz", 2) == one
    assert stored_bytes(tmp_path / "killed.npz", 2, kill_a_worker) == one
    with cluster(address):
        assert stored_bytes(tmp_path / "dask.npz", -1) == one


def test_interrupted_learning_stores_nothing(monkeypatch):
    memory = AssociativeMemory(N, fan_in=0.3, seed=1, budget=40)
    before = memory.store(random_patterns(N, 0.5, seed=1))
    couplings = memory.couplings.toarray()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "search", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.store(random_patterns(N, 0.5, seed=2))
    assert memory.report is before
    assert (memory.couplings.toarray() == couplings).all()
