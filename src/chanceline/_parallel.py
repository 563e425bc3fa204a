"""The one way to work in parallel: joblib, results in the order of the items.

What a call returns must depend on its item alone (seeds belong to items); then results are the same
for every number of jobs. `joblib.parallel_config` chooses the engine: processes of this machine by
default, or a Dask cluster (`_cluster`). Arrays that calls share reach the workers once, as memory
maps.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from chanceline import __version__
from chanceline._cluster import (
    LostDataError,
    WorkersLostError,
    active_client,
    results_on_cluster,
    run_on_every_worker,
)
from chanceline.errors import InputError

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[int, int], None]

# A module goes to a worker by its name, so that the worker's own is asked.
THIS_PACKAGE = sys.modules["chanceline"]
MAX_LOSSES_IN_A_ROW = 5  # a call that takes its worker with it every time must end too
MAX_JOBS = 10_000  # more processes than any machine starts
# What is raised when a worker died, and the rest has to be started anew; known by name, as joblib
# does not export all of them.
LOST_WORKER_ERRORS = {"TerminatedWorkerError", "BrokenProcessPool", LostDataError.__name__}
# Seconds from one look to the next whether the parent of a worker still lives.
PARENT_LOOK_SECONDS = 2.0


def run_ordered(
    function: Callable[..., Value],
    items: Iterable[Item],
    *,
    common: Sequence[Any] = (),
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> Iterator[Value]:
    """Yield function(item, *common) for every item, in the order of the items.

    Each result is yielded as soon as it and all results before it are known. If a worker process
    dies, workers are started again on the items that have no result yet.

    Parameters
    ----------
    function : a function at the top level of a module, so that workers can import it.
    common : arguments that all calls share.
    n_jobs : as in joblib: -1 for all cores or all workers of the cluster, None for what
        `joblib.parallel_config` says (1 without it). With 1 this process makes all calls.
    progress : called with (number of results so far, number of items) after every result.

    Raises
    ------
    WorkersLostError
        When the same call lost its worker six times, or when a cluster lost its scheduler or all
        its workers. Errors that a call raises are raised here, KeyboardInterrupt at once.
    """
    all_items = list(items)

    def start_from(n_results: int) -> Any:
        """Start workers on all items but the first `n_results`, whose results were yielded.

        It is called with 0 first, and again whenever a worker was lost.
        """
        return start_calls(function, all_items[n_results:], common, n_jobs)

    with closing(results_despite_lost_workers(start_from)) as values:
        for n_done, value in enumerate(values, 1):
            if progress is not None:
                progress(n_done, len(all_items))
            yield value


def results_despite_lost_workers(start_from: Callable[[int], Any]) -> Generator[Any, None, None]:
    """Yield the results of parallel calls; when a worker is lost, start the remaining calls again.

    The loss number MAX_LOSSES_IN_A_ROW + 1 without any result in between raises WorkersLostError.

    Parameters
    ----------
    start_from : start_from(n_results) starts the calls and returns a generator of their results.
        It is called with 0 first, and after every loss with the number of results that were yielded
        before it. It must then leave out the calls that gave these results.
    """
    n_results = 0
    losses_in_a_row = 0
    while True:
        try:
            # The generator is closed when this block is left, which ends its workers.
            with closed_without_warning(start_from(n_results)) as values:
                for value in values:
                    losses_in_a_row = 0
                    n_results += 1
                    yield value
            return  # all results have been yielded
        except Exception as error:
            # After the loss of a worker the loop starts the remaining calls. Errors of the calls
            # themselves are raised.
            # Errors are known by their names, because joblib does not export all their classes.
            if type(error).__name__ not in LOST_WORKER_ERRORS:
                raise
            losses_in_a_row += 1
            if losses_in_a_row > MAX_LOSSES_IN_A_ROW:
                reason = str(error).partition("\n")[0]
                raise WorkersLostError(
                    f"the workers died again and again ({reason}): too little memory? "
                    "What was finished is whole."
                ) from error


def start_calls(
    function: Callable[..., Any],
    items: Iterable[Any],
    common: Sequence[Any],
    n_jobs: int | None,
    *,
    ordered: bool = True,
) -> Any:
    """Start function(item, *common) for all items, and return a generator of the results.

    The calls are made in this process, in worker processes, or on a Dask cluster. The results come
    in the order of the items if `ordered`, else as the calls are done. Items are taken as workers
    become free. Closing the generator ends the workers.
    """
    n_jobs = check_jobs(n_jobs)
    # Every call is told the id of this process: worker processes watch it and end when it is gone.
    this_process = os.getpid()
    client = active_client()  # of a Dask cluster; None if none is in use

    # One job although a cluster is in use: this process makes the calls one by one. (Joblib would
    # send even a single job to the cluster.)
    if client is not None and n_jobs == 1:
        return (_call(function, item, this_process, *common) for item in items)

    # Several jobs on the Dask cluster. Its workers outlive this process, and need not watch it.
    if client is not None:
        common_on_cluster = (function, __version__, *common)
        return results_on_cluster(
            client, _call_on_cluster, items, common_on_cluster, ordered=ordered
        )

    # No cluster: joblib uses worker processes of this machine or, with one job, this process.
    from joblib import Parallel, delayed

    return_as = "generator_unordered"
    if ordered:
        return_as = "generator"
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as=return_as, pre_dispatch="2*n_jobs")
    except ValueError as error:
        # The engine that `joblib.parallel_config` names cannot give results as they come.
        raise InputError(f"{error}; use joblib's engine 'loky' or 'dask'.") from error
    return parallel(delayed(_call)(function, item, this_process, *common) for item in items)


def map_on_cluster(
    client: Any,
    function: Callable[..., Value],
    items_after: Callable[[int], Iterable[Any]],
    common: Sequence[Any],
) -> Generator[Value, None, None]:
    """Yield function(item, *common) for all items, in their order, computed on a Dask cluster.

    An item may be or hold tuples and lists with futures of Dask. The function gets the values of
    these futures, and Dask calls it on the worker that has the values, if possible.

    Parameters
    ----------
    client : Dask's client of the cluster.
    function : a function that workers can import.
    items_after : items_after(n) gives all items but the first n. It is called with 0 at the start,
        and after every loss of a worker with the number of results yielded so far. Values of
        futures may be lost with a worker: the function `items_after` can then compute them anew.
    common : arguments that all calls share.
    """

    def start_from(n_results: int) -> Any:
        """Submit all items but the first `n_results`, whose results were yielded.

        It is called with 0 first, and again whenever a worker was lost.
        """
        return results_on_cluster(
            client,
            _call_on_cluster,
            items_after(n_results),
            (function, __version__, *common),
            ordered=True,
            all_at_once=True,  # so that Dask can place every item near the values of its futures
        )

    with closing(results_despite_lost_workers(start_from)) as values:
        yield from values


def refuse_other_versions(client: Any) -> None:
    """Stop if a worker of the cluster has another version of this package than this process."""
    try:
        versions = run_on_every_worker(client, attrgetter("__version__"), THIS_PACKAGE)
    except Exception as error:
        # Dask raises a plain Exception with the worker's message. If the worker cannot import this
        # package or one that it needs, the message is that of a ModuleNotFoundError.
        if "No module named" not in str(error):
            raise
        raise InputError(
            f"a worker of the cluster lacks a package ({error}); install chanceline {__version__} "
            "and what it needs everywhere."
        ) from error
    for version in versions:
        if version != __version__:
            raise _version_error(version, __version__)


def _version_error(version_of_worker: str, version_there: str) -> InputError:
    return InputError(
        f"a worker of the cluster runs chanceline {version_of_worker} and this process "
        f"{version_there}; install one version everywhere."
    )


def map_in_threads(
    function: Callable[[Item], Value], items: Iterable[Item], n_threads: int
) -> Iterator[Value]:
    """Yield function(item) for every item, in their order, computed in threads of this process.

    This is for functions that spend their time in NumPy, which releases Python's global lock. When
    the generator is closed, as by Ctrl-C, running calls are finished and no further ones started.
    """
    if n_threads == 1:
        with one_thread():
            yield from map(function, items)
        return

    # The calls submitted whose results have not been yielded yet, in the order of the items.
    pending: deque[Future[Value]] = deque()
    with one_thread(), ThreadPoolExecutor(n_threads) as threads:
        try:
            for item in items:
                pending.append(threads.submit(function, item))
                # Every thread has one call to work on and one that waits; beyond that, items are
                # not taken before the oldest result is yielded, so that few results are in memory.
                if len(pending) > 2 * n_threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)  # calls that wait are dropped; running ones end


def number_of_threads(n_jobs: int | None) -> int:
    """The threads that stand for so many jobs, no more than this machine has processors.

    One beside a cluster, which has the work, and which may be lost.
    """
    from joblib import effective_n_jobs

    if active_client() is not None:
        return 1
    n_processors = os.cpu_count() or 1
    return min(effective_n_jobs(check_jobs(n_jobs)), n_processors)


@contextmanager
def closed_without_warning(values: Any) -> Iterator[Any]:
    """Close joblib's generator after the block, whether or not it came to its end.

    joblib warns of tasks that were not finished; here that is meant.
    """
    try:
        yield values
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*tasks", UserWarning)
            values.close()


def check_jobs(n_jobs: int | None) -> int | None:
    """Return `n_jobs` as it is; raise InputError if joblib cannot use it.

    None leaves the number to `joblib.parallel_config`. As in joblib, -1 means all cores, -2 all but
    one, and so on.
    """
    if n_jobs is None:
        return None
    is_integer = isinstance(n_jobs, int) and not isinstance(n_jobs, bool)  # True is an int
    if not is_integer or n_jobs == 0 or abs(n_jobs) > MAX_JOBS:
        raise InputError(
            f"n_jobs must be a whole number from 1 to {MAX_JOBS:,}, or -1 for all cores, "
            f"not {n_jobs!r}."
        )
    return n_jobs


def _call(function: Callable[..., Value], item: Any, parent: int, *common: Any) -> Value:
    """What a worker does: function(item, *common) with one BLAS thread.

    One thread adds in one order, so that sums are the same everywhere. `parent` is the process
    that started the work: with one job it calls this itself, and keeps its handling of Ctrl-C,
    which is the parent's to handle.
    """
    in_worker = os.getpid() != parent
    if in_worker and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _leave_missing_folder()
        _end_with_parent(parent)
    with one_thread():
        return function(item, *common)


def _call_on_cluster(
    item: Any, function: Callable[..., Value], version_there: str, *common: Any
) -> Value:
    """What a worker of a cluster does; `version_there` is that of the process that asks for it."""
    if version_there != __version__:
        raise _version_error(__version__, version_there)
    with one_thread():
        return function(item, *common)


@lru_cache(maxsize=1)
def _end_with_parent(parent: int) -> None:
    """Make this worker process end when the process with the id `parent` is gone.

    A parent that is killed cannot tell its workers to end: they would go on and keep the table in
    shared memory. But the system then gives them another parent, which a thread here notices.
    Every task calls this function; because of the cache only the first call in a worker has an
    effect.
    """
    # Workers that are not direct children of `parent` cannot notice its end in this way.
    if os.getppid() != parent:
        return

    def watch_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_LOOK_SECONDS)
        os._exit(1)  # sys.exit would end this thread only

    threading.Thread(target=watch_parent, name="watch parent", daemon=True).start()


def _leave_missing_folder() -> None:
    """Go to the temporary folder if the current one is gone.

    A worker may outlive the folder it was started in, where nothing can be compiled any more.
    """
    try:
        os.getcwd()
    except FileNotFoundError:
        os.chdir(tempfile.gettempdir())


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread within the block or, as a decorator, within the function.

    For small matrices, to which more threads bring nothing.
    """
    n_modules = len(sys.modules)
    with _thread_pools(n_modules).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> Any:
    """threadpoolctl's controller of the libraries loaded.

    Finding the libraries takes longer than a short call. So the controller is kept until there are
    more modules (`n_modules`), which may have brought another library.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
