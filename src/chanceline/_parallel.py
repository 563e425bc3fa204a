"""The one way to work in parallel: joblib, results in the order of the items and the same for every number of jobs.

What a call returns must depend on its item alone (seeds belong to items). `joblib.parallel_config` chooses the engine: processes
of this machine by default, a Dask or Ray cluster as well. Arrays that calls share reach the workers once, as memory maps.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, TypeVar

from chanceline.errors import ChancelineError, InputError

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[int, int], None]

# A call that takes its worker with it every time must end too.
MOST_LOSSES = 5
MOST_JOBS = 10_000  # more processes than any machine starts
LOSSES = {
    "TerminatedWorkerError",
    "BrokenProcessPool",
    "KilledWorker",
}  # what joblib and Dask raise when a worker died
CONNECT_SECONDS = 10


class WorkersLostError(ChancelineError):
    """Workers died again and again; what was yielded before is whole."""


def run_ordered(
    function: Callable[..., Value],
    items: Iterable[Item],
    *,
    common: Sequence[Any] = (),
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> Iterator[Value]:
    """Yield function(item, *common) for every item, in their order and as soon as it is there.

    Parameters
    ----------
    function : known by its name in a module.
    common : arguments that all calls share.
    n_jobs : as in joblib: -1 for all cores, None for what `joblib.parallel_config` says (1 without it).
    progress : called with (results yielded, items).

    Raises
    ------
    WorkersLostError
        When the same call lost its worker six times. Whatever a call raises is raised here, KeyboardInterrupt at once.
    """
    todo = list(items)
    done = 0
    with closing(resumed(lambda: start(function, todo[done:], common, n_jobs))) as values:
        for done, value in enumerate(values, 1):
            if progress is not None:
                progress(done, len(todo))
            yield value


def resumed(begin: Callable[[], Any]) -> Generator[Any, None, None]:
    """What joblib's generator yields; when a worker is lost, `begin` makes another one for what is missing."""
    losses = 0
    while True:
        try:
            with ended_early(begin()) as values:
                for value in values:
                    losses = 0
                    yield value
            return
        except Exception as error:
            losses += 1
            if type(error).__name__ not in LOSSES:
                raise
            if losses > MOST_LOSSES:
                reason = str(error).partition("\n")[0]
                raise WorkersLostError(
                    f"the workers died again and again ({reason}): too little memory? What was finished is whole."
                ) from error


def start(
    function: Callable[..., Any],
    items: Iterable[Any],
    common: Sequence[Any],
    n_jobs: int | None,
    *,
    ordered: bool = True,
) -> Any:
    """joblib's generator of function(item, *common); items are taken as workers become free. Closing it ends the workers."""
    from joblib import Parallel, delayed

    how = "generator" if ordered else "generator_unordered"
    parallel = Parallel(n_jobs=check_jobs(n_jobs), return_as=how, pre_dispatch="2*n_jobs")
    return parallel(delayed(_call)(function, item, os.getpid(), *common) for item in items)


@contextmanager
def ended_early(values: Any) -> Iterator[Any]:
    """Close joblib's generator after the block; ending before the last result is meant, so that joblib need not warn."""
    try:
        yield values
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*tasks", UserWarning)
            values.close()


def check_jobs(n_jobs: int | None) -> int | None:
    """Refuse what joblib cannot use."""
    if n_jobs is None:
        return None
    is_whole = isinstance(n_jobs, int) and not isinstance(n_jobs, bool)
    if not is_whole or n_jobs == 0 or abs(n_jobs) > MOST_JOBS:
        raise InputError(
            f"n_jobs must be a whole number from 1 to {MOST_JOBS:,}, or -1 for all cores, not {n_jobs!r}."
        )
    return n_jobs


def n_jobs_from(n_jobs: int | None, workers: int | None) -> int | None:
    """The number of jobs where `workers`, its name until 0.2, may be given instead."""
    if workers is None:
        return n_jobs
    warnings.warn("workers= is now n_jobs=; it will go in 0.4.", DeprecationWarning, stacklevel=3)
    return workers


@contextmanager
def cluster(scheduler: str | None) -> Iterator[None]:
    """Within the block the work is done by the Dask cluster at this address; with None nothing changes."""
    if scheduler is None:
        yield
        return
    from joblib import parallel_config

    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "a Dask cluster needs distributed: pip install 'chanceline[dask]'"
        ) from error
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({error}); start one or correct the address"
        ) from error
    with client, parallel_config("dask", client=client):
        yield


def _call(function: Callable[..., Value], item: Any, parent: int, *common: Any) -> Value:
    """What a worker does: one call with one BLAS thread, so that sums are made in one order; Ctrl-C is the parent's to handle."""
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _leave_missing_folder()
    with one_thread():
        return function(item, *common)


def _leave_missing_folder() -> None:
    """A worker may outlive the folder it was started in, where nothing can be compiled any more."""
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir(tempfile.gettempdir())


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread within the block or, as a decorator, within the function: its matrices are small."""
    with _thread_pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(_: int) -> Any:
    """Those of the libraries loaded. Finding them takes longer than a short call: again only when there are more modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
