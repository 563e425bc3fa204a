"""The one way to work in parallel: joblib, results in the order of the items.

What a call returns must depend on its item alone (seeds belong to items); then results are the same
for every number of jobs. `joblib.parallel_config` chooses the engine: processes of this machine by
default, a Dask or Ray cluster as well. Arrays that calls share reach the workers once, as memory
maps.
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

MAX_LOSSES_IN_A_ROW = 5  # a call that takes its worker with it every time must end too
MAX_JOBS = 10_000  # more processes than any machine starts
CONNECT_SECONDS = 10  # to wait for a Dask scheduler
# What joblib and Dask raise when a worker died; known by name, as Dask need not be installed.
LOST_WORKER_ERRORS = {"TerminatedWorkerError", "BrokenProcessPool", "KilledWorker"}


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
    function : one that workers can import, from the top level of a module.
    common : arguments that all calls share.
    n_jobs : as in joblib: -1 for all cores, None for what `joblib.parallel_config` says (1 without
        it).
    progress : called with (results yielded, items).

    Raises
    ------
    WorkersLostError
        When the same call lost its worker six times. Whatever a call raises is raised here,
        KeyboardInterrupt at once.
    """
    all_items = list(items)
    n_done = 0

    def start_rest() -> Any:
        """Start workers on the items without a result; called again when a worker was lost."""
        return start(function, all_items[n_done:], common, n_jobs)

    with closing(resumed(start_rest)) as values:
        for value in values:
            # Results come in the order of the items, and each is counted as soon as it is there:
            # a restart begins with the item after the last one counted.
            n_done += 1
            if progress is not None:
                progress(n_done, len(all_items))
            yield value


def resumed(begin: Callable[[], Any]) -> Generator[Any, None, None]:
    """Yield what joblib's generator yields, and start another one when a worker is lost.

    `begin` makes a generator for the items whose results have not been yielded yet.
    """
    losses_in_a_row = 0
    while True:
        try:
            with ended_early(begin()) as values:
                for value in values:
                    losses_in_a_row = 0
                    yield value
            return
        except Exception as error:
            if type(error).__name__ not in LOST_WORKER_ERRORS:
                raise
            losses_in_a_row += 1
            if losses_in_a_row > MAX_LOSSES_IN_A_ROW:
                reason = str(error).partition("\n")[0]
                raise WorkersLostError(
                    f"the workers died again and again ({reason}): too little memory? "
                    "What was finished is whole."
                ) from error


def start(
    function: Callable[..., Any],
    items: Iterable[Any],
    common: Sequence[Any],
    n_jobs: int | None,
    *,
    ordered: bool = True,
) -> Any:
    """joblib's generator of function(item, *common), in the order of the items or as they come.

    Items are taken as workers become free. Closing the generator ends the workers.
    """
    from joblib import Parallel, delayed

    return_as = "generator" if ordered else "generator_unordered"
    parallel = Parallel(n_jobs=check_jobs(n_jobs), return_as=return_as, pre_dispatch="2*n_jobs")
    parent = os.getpid()
    return parallel(delayed(_call)(function, item, parent, *common) for item in items)


@contextmanager
def ended_early(values: Any) -> Iterator[Any]:
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
    """Return the number of jobs; refuse what joblib cannot use."""
    if n_jobs is None:
        return None
    is_integer = isinstance(n_jobs, int) and not isinstance(n_jobs, bool)
    if not is_integer or n_jobs == 0 or abs(n_jobs) > MAX_JOBS:
        raise InputError(
            f"n_jobs must be a whole number from 1 to {MAX_JOBS:,}, or -1 for all cores, "
            f"not {n_jobs!r}."
        )
    return n_jobs


@contextmanager
def cluster(scheduler: str | None) -> Iterator[None]:
    """Within the block the Dask cluster at this address works; with None nothing changes."""
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
    """What a worker does: function(item, *common) with one BLAS thread.

    One thread adds in one order, so that sums are the same everywhere. `parent` is the process
    that started the work: with one job it calls this itself, and keeps its handling of Ctrl-C,
    which is the parent's to handle.
    """
    in_worker = os.getpid() != parent
    if in_worker and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _leave_missing_folder()
    with one_thread():
        return function(item, *common)


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
