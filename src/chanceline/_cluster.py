"""Work on a Dask cluster: what calls share is sent once, and whatever dies ends in a sentence.

Tasks go out as workers have room for them. How many workers there are is asked again and again,
so that a cluster may grow. A worker that dies costs what it was doing: Dask does it again.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from chanceline.errors import ChancelineError, InputError

CONNECT_SECONDS = 10  # to wait for a scheduler that does not answer
LOOK_SECONDS = 1.0  # from one look at scheduler and workers to the next, while results are awaited
MAX_SECONDS_WITHOUT_WORKERS = 60.0  # workers may be starting, or starting again
TASKS_PER_THREAD = 2  # one that runs, and one that is there when it is done


class WorkersLostError(ChancelineError):
    """Workers died again and again, or all of them; what was yielded before is whole."""


class LostDataError(Exception):
    """What the calls share was on a worker that died: it has to be sent again."""


@contextmanager
def cluster(scheduler: str | None) -> Iterator[None]:
    """Within the block work is done on the Dask cluster at this address; None changes nothing."""
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
    with _silent_logs():
        try:
            client = Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {scheduler} ({error}); start one or correct the "
                "address"
            ) from error
        try:
            with parallel_config("dask", client=client):
                yield
        finally:
            # If the scheduler is gone, closing fails; that does not matter any more.
            with suppress(OSError, TimeoutError):
                client.close(timeout=LOOK_SECONDS)


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Within the block Dask logs nothing; what a user must know is said in errors of our own.

    Otherwise every lost connection would print a traceback.
    """
    # Each of Dask's modules has a logger with a level of its own.
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in names]
    levels_before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels_before, strict=True):
            logger.setLevel(level)


def active_client() -> Any | None:
    """The client of the Dask cluster that `joblib.parallel_config` names; None without one."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return getattr(backend, "client", None)


class SharedArguments:
    """The arguments that all calls share, sent to a worker as one thing.

    Its size is that of the arrays in it, by which Dask decides where to work.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def __sizeof__(self) -> int:
        buffers: list[pickle.PickleBuffer] = []
        rest = pickle.dumps(self.values, protocol=5, buffer_callback=buffers.append)
        return len(rest) + sum(buffer.raw().nbytes for buffer in buffers)


def results_on_cluster(
    client: Any,
    function: Callable[..., Any],
    items: Iterable[Any],
    common: Sequence[Any],
    *,
    ordered: bool,
) -> Generator[Any, None, None]:
    """Yield function(item, *common) for all items, in their order or as they come.

    Parameters
    ----------
    client : Dask's.
    function : one that workers can import.
    items : taken as workers become free.
    common : arguments that all calls share; they are sent once.
    ordered : whether results come in the order of the items.

    Raises
    ------
    WorkersLostError
        When a call killed every worker that tried it, when no worker is left, or when the scheduler
        is gone.
    LostDataError
        When what calls share died with a worker, so that the rest must be started anew.
    """
    tasks = _ClusterTasks(client, function, common)
    remaining = iter(items)
    try:
        while True:
            tasks.submit_some(remaining)
            if not tasks.pending:
                return
            # Wait for a result, but not for long: then more workers may have room for more items.
            future = tasks.first_done(ordered=ordered)
            if future is not None:
                tasks.pending.remove(future)
                yield _result_of(future)
    finally:
        tasks.cancel()


class _ClusterTasks:
    """The tasks that are on the cluster and not yet collected, in the order of their items."""

    def __init__(self, client: Any, function: Callable[..., Any], common: Sequence[Any]) -> None:
        self.client = client
        self.function = function
        self.pending: list[Any] = []
        self._seen_workers = monotonic()
        self._wait_for_worker()
        with _lost_scheduler_is_told(client):
            (self._shared,) = client.scatter([SharedArguments(common)], hash=False)

    def submit_some(self, items: Iterator[Any]) -> None:
        """Give workers the next items, as many as there is room for now."""
        room = TASKS_PER_THREAD * max(1, self._count_threads()) - len(self.pending)
        with _lost_scheduler_is_told(self.client):
            for _, item in zip(range(room), items, strict=False):
                future = self.client.submit(
                    call_with_shared, self.function, item, self._shared, pure=False
                )
                self.pending.append(future)

    def first_done(self, *, ordered: bool) -> Any | None:
        """A task that is done: the first of all if `ordered`, else any; None if there is none yet.

        It waits for one, but not for long: meanwhile there may be more workers.
        """
        from distributed import wait

        awaited = self.pending[:1] if ordered else self.pending
        # A task that needed what died with a worker is cancelled; its result will say so.
        with suppress(TimeoutError, CancelledError), _lost_scheduler_is_told(self.client):
            wait(awaited, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
        return next((future for future in awaited if future.done()), None)

    def cancel(self) -> None:
        """End what is not collected."""
        if self.client.status == "running":
            with suppress(OSError, TimeoutError):
                self.client.cancel(self.pending)

    def _count_threads(self) -> int:
        """How many tasks the workers can do at the same time.

        Raises WorkersLostError if there have been no workers for too long.
        """
        with _lost_scheduler_is_told(self.client):
            n_threads = sum(self.client.nthreads().values())
        if n_threads > 0:
            self._seen_workers = monotonic()
        elif monotonic() - self._seen_workers > MAX_SECONDS_WITHOUT_WORKERS:
            raise WorkersLostError(
                f"the Dask cluster has had no worker for {MAX_SECONDS_WITHOUT_WORKERS:.0f} seconds;"
                " start workers. What was finished is whole."
            )
        return n_threads

    def _wait_for_worker(self) -> None:
        """Return when there is a worker."""
        while self._count_threads() == 0:
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=LOOK_SECONDS)


@contextmanager
def _lost_scheduler_is_told(client: Any) -> Iterator[None]:
    """Within the block a scheduler that is gone becomes one sentence; a timeout stays one."""
    _refuse_lost_scheduler(client)
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise WorkersLostError(_lost_scheduler_sentence(client)) from error


def _refuse_lost_scheduler(client: Any) -> None:
    """Raise WorkersLostError if the scheduler is gone.

    One that comes back does not help: it knows nothing of the tasks.
    """
    if client.status != "running":
        raise WorkersLostError(_lost_scheduler_sentence(client))


def _lost_scheduler_sentence(client: Any) -> str:
    address = getattr(client.scheduler, "address", "the address given")
    return f"the Dask scheduler at {address} is gone. What was finished is whole."


def _result_of(future: Any) -> Any:
    """What a task returned; whatever it raised is raised here."""
    try:
        return future.result()
    except CancelledError as error:
        _refuse_lost_scheduler(future.client)
        raise LostDataError(str(error)) from error
    except Exception as error:
        _refuse_lost_scheduler(future.client)
        # The class is known by its name only, as Dask need not be installed.
        if type(error).__name__ != "KilledWorker":
            raise
        raise WorkersLostError(
            "a call killed every worker of the Dask cluster that tried it: too little memory? "
            "What was finished is whole."
        ) from error


def call_with_shared(function: Callable[..., Any], item: Any, shared: SharedArguments) -> Any:
    """What a worker of the cluster does."""
    return function(item, *shared.values)
