"""One process, two, a Dask cluster: the same bytes; interrupted: nothing stored."""

from dataclasses import replace

import pytest

from chanceline.memory import AssociativeMemory, load_curve, random_patterns, wiring
from chanceline.parallel import open_executor

N = 24


def stored_bytes(path, **where):
    memory = AssociativeMemory(N, fan_in=0.3, seed=4, budget=60)
    memory.store(random_patterns(N, 0.7, seed=4), **where)
    memory.save(path)
    loads = load_curve(N, [0.25], seed=2, budget=40, neurons=5, **where)
    return path.read_bytes(), [result.held.tolist() for result in loads]


def test_the_same_bytes_with_one_and_two_processes_and_on_a_cluster(tmp_path, dask_processes):
    address, _ = dask_processes
    one = stored_bytes(tmp_path / "one.npz")
    assert stored_bytes(tmp_path / "two.npz", workers=2) == one
    with open_executor("dask", scheduler=address) as cluster:
        assert stored_bytes(tmp_path / "dask.npz", executor=cluster) == one


def test_an_interrupted_search_stores_nothing(monkeypatch):
    """`search` gives its best so far after Ctrl-C; a neuron wired with that would look finished."""
    patterns = random_patterns(N, 0.5, seed=1)
    memory = AssociativeMemory(N, fan_in=0.3, seed=1, budget=40)
    before = memory.store(patterns)
    couplings = memory.couplings.toarray()
    search = wiring.search
    monkeypatch.setattr(wiring, "search", lambda *args, **options: replace(search(*args, **options), interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        memory.store(random_patterns(N, 0.5, seed=2))
    assert memory.report is before
    assert (memory.couplings.toarray() == couplings).all()
    with pytest.raises(KeyboardInterrupt):
        load_curve(N, [0.25], ["selected"], budget=40, neurons=2)
