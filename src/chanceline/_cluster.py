"""Work on a Dask cluster: what calls share is sent once, and whatever dies ends in a sentence.

Tasks go out as workers have room for them. How many workers there are is asked again and again,
so that a cluster may grow. A worker that dies costs what it was doing: Dask does it again.
"""

from __future__ import annotations

import logging
import pickle
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import islice, takewhile
from time import monotonic, sleep
from typing import Any

from chanceline.errors import ChancelineError, InputError

CONNECT_SECONDS = 10  # to wait for a scheduler that does not answer
LOOK_SECONDS = 1.0  # from one look at scheduler and workers to the next, while results are awaited
MAX_SECONDS_WITHOUT_WORKERS = 60.0  # workers may be starting, or starting again
MOST_COLLECTED = 16  # results that are collected together
SEND_TRIES = 10  # of a value; a worker that died may stand in the way until the scheduler knows
SEND_AGAIN_SECONDS = 0.2  # from one try to the next
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


def results_on_cluster(  # noqa: PLR0913
    client: Any,
    function: Callable[..., Any],
    items: Iterable[Any],
    common: Sequence[Any],
    *,
    ordered: bool,
    all_at_once: bool = False,
) -> Generator[Any, None, None]:
    """Yield function(item, *common) for all items, in their order or as they come.

    Parameters
    ----------
    client : Dask's.
    function : one that workers can import.
    items : taken as workers become free.
    common : arguments that all calls share; they are sent once.
    ordered : whether results come in the order of the items.
    all_at_once : whether all items are taken at the start. Those that need what lies on a worker go
        there, and no other worker waits for them.

    Raises
    ------
    WorkersLostError
        When a call killed every worker that tried it, when no worker is left, or when the scheduler
        is gone.
    LostDataError
        When what calls share died with a worker, so that the rest must be started anew.
    """
    tasks = _ClusterTasks(client, function, common)
    not_submitted = iter(items)
    try:
        # All items, or as many as workers have room for.
        tasks.submit_some(not_submitted, at_most=None if all_at_once else tasks.room)
        while tasks.pending:
            # This does not wait for long: meanwhile more workers may have room for more items.
            done = tasks.take_done(ordered=ordered)
            if done:
                yield from _results_of(client, done)
            else:
                tasks.require_workers()
            if not all_at_once:
                tasks.submit_some(not_submitted, at_most=tasks.room)
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
        self._shared = send_to_worker(client, SharedArguments(common))

    @property
    def room(self) -> int:
        """How many items there is room for now."""
        n_waiting = TASKS_PER_THREAD * max(1, self._count_threads())
        return max(0, n_waiting - len(self.pending))

    def submit_some(self, items: Iterator[Any], at_most: int | None) -> None:
        """Give workers the next items; None for all there are."""
        with lost_scheduler_is_told(self.client):
            for item in islice(items, at_most):
                future = self.client.submit(
                    call_with_shared, self.function, item, self._shared, pure=False
                )
                self.pending.append(future)

    def take_done(self, *, ordered: bool) -> list[Any]:
        """Take tasks that are done off the pending ones; empty if none is done after a short wait.

        If `ordered`, they are only those before the first that is not done.
        """
        from distributed import wait

        awaited = self.pending[:1] if ordered else self.pending
        # A task that needed what died with a worker is cancelled; its result will say so.
        is_waiting = not any(future.done() for future in awaited)
        with suppress(TimeoutError, CancelledError), lost_scheduler_is_told(self.client):
            if is_waiting:
                wait(awaited, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
        if ordered:
            done = list(takewhile(lambda future: future.done(), self.pending))
        else:
            done = [future for future in self.pending if future.done()]
        done = done[:MOST_COLLECTED]
        for future in done:
            self.pending.remove(future)
        return done

    def require_workers(self) -> None:
        """Raise WorkersLostError if there have been no workers for too long."""
        self._count_threads()

    def cancel(self) -> None:
        """End what is not collected."""
        if self.client.status == "running":
            with suppress(OSError, TimeoutError):
                self.client.cancel(self.pending)

    def _count_threads(self) -> int:
        """How many tasks the workers can do at the same time.

        Raises WorkersLostError if there have been no workers for too long.
        """
        with lost_scheduler_is_told(self.client):
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
def lost_scheduler_is_told(client: Any) -> Iterator[None]:
    """Within the block a scheduler that is gone becomes one sentence; a timeout stays one."""
    _refuse_lost_scheduler(client)
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise WorkersLostError(_lost_scheduler_sentence(client)) from error


def send_to_worker(client: Any, value: Any) -> Any:
    """The future of a value that is sent from here to some worker.

    If the scheduler sends it on to a worker that has just died, it closes the connection as if it
    were gone itself. So it is tried again, until the scheduler knows of the death.
    """
    n_tries = 0
    while True:
        n_tries += 1
        with lost_scheduler_is_told(client):
            try:
                (future,) = client.scatter([value], hash=False)
            except OSError as error:
                if isinstance(error, TimeoutError) or n_tries == SEND_TRIES:
                    raise
            else:
                return future
        sleep(SEND_AGAIN_SECONDS)


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


def default_client() -> Any | None:
    """The client of Dask that a user made last, by which a `dask.array` is computed; None without
    one.
    """
    # A client can be there only where this was imported.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client: Any = distributed.default_client()
    except ValueError:
        return None
    return client


def run_on_every_worker(client: Any, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What function(*arguments) returns on each of the workers that there are now."""
    with lost_scheduler_is_told(client):
        results: dict[str, Any] = client.run(function, *arguments)
    return list(results.values())


def memory_of_this_worker() -> int | None:
    """The bytes that the worker of Dask may use in which this is called; None where it may use all,
    or in another process.
    """
    # A worker has imported it.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        worker = distributed.get_worker()
    except ValueError:
        return None
    limit: int | None = worker.memory_manager.memory_limit
    return limit


def _results_of(client: Any, futures: Sequence[Any]) -> Iterator[Any]:
    """Yield what tasks that are done returned, in their order."""
    # If nothing went wrong all are collected at once, which takes about as long as one.
    results: list[Any] | None = None
    if all(future.status == "finished" for future in futures):
        with suppress(CancelledError, OSError):
            results = client.gather(list(futures))
    if results is not None:
        yield from results
        return

    # A task failed, or a result was lost on the way: one by one, so that the error is that task's.
    for future in futures:
        yield _result_of(future)


def call_with_shared(function: Callable[..., Any], item: Any, shared: SharedArguments) -> Any:
    """What a worker of the cluster does."""
    return function(item, *shared.values)
