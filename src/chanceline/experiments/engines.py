"""Executors by name: processes on this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

from chanceline.errors import InputError

ENGINES = ("processes", "dask")


@contextmanager
def open_engine(name: str = "processes", *, workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor for `iter_run`, closed at the end.

    Parameters
    ----------
    name : {"processes", "dask"}
    workers : int, optional
        Processes on this machine; as many as there are cores by default.
    scheduler : str, optional
        Address of a running Dask scheduler, such as ``tcp://10.0.0.1:8786``.
    """
    if name == "processes":
        if scheduler is not None:
            raise InputError("--scheduler belongs to the dask engine; add --engine dask")
        if workers is not None and workers < 1:
            raise InputError(f"the number of workers is {workers}; it must be at least 1")
        pool = process_pool(workers)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _end_children()
            raise
        pool.shutdown()
    elif name == "dask":
        if scheduler is None:
            raise InputError("the dask engine needs the address of its scheduler; add --scheduler tcp://HOST:8786")
        with _dask_executor(scheduler) as executor:
            yield executor
    else:
        raise InputError(f"there is no engine {name!r}; known are {', '.join(ENGINES)}")


def process_pool(workers: int | None = None) -> ProcessPoolExecutor:
    """Fresh interpreters that leave Ctrl-C to the main process and end when it dies."""
    return ProcessPoolExecutor(
        max_workers=workers or os.cpu_count(),
        # Forking a process that has threads (progress, numba) may deadlock.
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_enter_worker,
    )


def _enter_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        # A pool's workers would otherwise outlive a parent that was killed.
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _end_children() -> None:
    for child in multiprocessing.active_children():
        child.terminate()


@contextmanager
def _dask_executor(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("the dask engine needs distributed: pip install 'chanceline[dask]'") from error
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler}; start one or mend it") from error
    with client:
        yield client.get_executor(pure=False)
