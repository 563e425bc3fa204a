"""Where work is done: processes of this machine, a Dask cluster, or here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from chanceline.errors import InputError
from chanceline.parallel.dask import open_dask
from chanceline.parallel.processes import LocalWorkers, check_workers

ENGINES = ("processes", "dask")


@contextmanager
def open_executor(engine: str = "processes", workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor for `run_ordered`, closed at the end; left by an exception, its processes end at once.

    Parameters
    ----------
    engine : {"processes", "dask"}
    workers : processes on this machine; as many as there are cores by default.
    scheduler : address of a running Dask scheduler, such as ``tcp://127.0.0.1:8786``.
    """
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; known are {', '.join(ENGINES)}")
    if workers is not None:
        check_workers(workers)
    if engine == "dask":
        if scheduler is None:
            raise InputError("the dask engine needs the address of its scheduler, such as tcp://127.0.0.1:8786")
        if workers is not None:
            raise InputError("the number of workers belongs to the processes engine; a Dask cluster brings its own")
        with open_dask(scheduler) as cluster:
            yield cluster
        return
    if scheduler is not None:
        raise InputError("a scheduler belongs to the dask engine; choose that engine or leave the scheduler out")
    with LocalWorkers(workers or available_cores()) as local:
        yield local


@contextmanager
def open_workers(
    engine: str = "processes", workers: int | None = None, scheduler: str | None = None
) -> Iterator[Executor | None]:
    """`open_executor`, or None where one process is enough: this one. What commands give to `run_ordered`."""
    if engine == "processes" and scheduler is None and (available_cores() if workers is None else workers) == 1:
        yield None
        return
    with open_executor(engine, workers, scheduler) as executor:
        yield executor


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
