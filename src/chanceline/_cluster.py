"""Work on a Dask cluster: arguments that calls share are sent once, and losses become plain errors.

Tasks are submitted as workers have room for them. The number of workers is asked again and again,
so that a cluster may grow. When a worker dies, Dask repeats the tasks that it was doing.
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
    """Within the block, joblib works on the Dask cluster whose scheduler has this address.

    With None the block runs as it would without this context manager.
    """
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
            # If the scheduler is gone, closing fails, but then there is nothing left to close.
            with suppress(OSError, TimeoutError):
                client.close(timeout=LOOK_SECONDS)


@contextmanager
def _silent_logs() -> Iterator[None]:
    """Context manager that silences Dask's loggers, and restores their levels afterwards.

    Dask would log a traceback for every lost connection. This module raises errors of its own for
    those that a user must know of.
    """
    # Each of Dask's modules has a logger with a level of its own, so all of them must be set.
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
    """Yield function(item, *common) for all items, in their order or as the calls are done.

    Parameters
    ----------
    client : Dask's client of the cluster.
    function : a function that workers can import.
    items : are taken from the iterable as workers become free, unless `all_at_once`.
    common : arguments that all calls share; they are sent once.
    ordered : whether results come in the order of the items.
    all_at_once : whether all items are submitted at the start. Dask can then give each item to the
        worker that already holds the data it needs, while the other workers do other items.

    Raises
    ------
    WorkersLostError
        When a call killed every worker that tried it, when no worker is left, or when the scheduler
        is gone.
    LostDataError
        When `common`, or other data that a call needs, was lost with a worker that died. The caller
        must then start anew with the items that have no result yet.
    """
    tasks = _ClusterTasks(client, function, common)
    not_submitted = iter(items)
    try:
        if all_at_once:
            tasks.submit_some(not_submitted, at_most=None)
        else:
            tasks.submit_some(not_submitted, at_most=tasks.room)
        while tasks.pending:
            # `take_done` returns after a short wait even if no task is done: workers may have
            # joined meanwhile, which can be given further items.
            done_tasks = tasks.take_done(ordered=ordered)
            if done_tasks:
                yield from _results_of(client, done_tasks)
            else:
                tasks.require_workers()
            if not all_at_once:
                tasks.submit_some(not_submitted, at_most=tasks.room)
    finally:
        # Tasks are still pending here if the caller stopped early or an error was raised.
        tasks.cancel()


class _ClusterTasks:
    """The tasks submitted to the cluster whose results are not collected yet, in items' order."""

    def __init__(self, client: Any, function: Callable[..., Any], common: Sequence[Any]) -> None:
        self.client = client
        self.function = function
        self.pending: list[Any] = []
        self._last_time_with_workers = monotonic()
        self._wait_for_worker()
        self._shared = send_to_worker(client, SharedArguments(common))

    @property
    def room(self) -> int:
        """How many further items should be submitted now."""
        most_pending = TASKS_PER_THREAD * max(1, self._count_threads_or_raise())
        return max(0, most_pending - len(self.pending))

    def submit_some(self, items: Iterator[Any], at_most: int | None) -> None:
        """Submit the next `at_most` items to the cluster; all that are left if it is None."""
        with lost_scheduler_is_told(self.client):
            for item in islice(items, at_most):
                future = self.client.submit(
                    call_with_shared, self.function, item, self._shared, pure=False
                )
                self.pending.append(future)

    def take_done(self, *, ordered: bool) -> list[Any]:
        """Remove tasks that are done from `self.pending`, and return their futures.

        If no task is done yet, this waits for at most LOOK_SECONDS, and may return an empty list.
        If `ordered`, it takes only the tasks before the first one that is not done. A task that
        failed or was cancelled counts as done; its error is raised only when the caller asks the
        future for the result (`_result_of`).
        """
        # In order, nothing can be taken before the first task is done; otherwise any task will do.
        if ordered:
            self._wait_for_any_of(self.pending[:1])
        else:
            self._wait_for_any_of(self.pending)

        if ordered:
            done_tasks = list(takewhile(lambda future: future.done(), self.pending))
        else:
            done_tasks = [future for future in self.pending if future.done()]

        # Take no more than MOST_COLLECTED at once.
        taken_tasks = done_tasks[:MOST_COLLECTED]
        for future in taken_tasks:
            self.pending.remove(future)
        return taken_tasks

    def _wait_for_any_of(self, tasks: Sequence[Any]) -> None:
        """Return when one of these tasks is done, or after LOOK_SECONDS.

        Raises WorkersLostError if the scheduler is gone, but no error of a task.
        """
        from distributed import wait

        one_is_done = any(future.done() for future in tasks)
        with lost_scheduler_is_told(self.client):
            if one_is_done:
                return
            # `wait` raises CancelledError if Dask cancelled one of the tasks, as it does when the
            # arguments of a task were lost with a worker.
            with suppress(TimeoutError, CancelledError):
                wait(tasks, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")

    def require_workers(self) -> None:
        """Raise WorkersLostError if there have been no workers for too long."""
        self._count_threads_or_raise()

    def cancel(self) -> None:
        """Cancel all pending tasks."""
        if self.client.status == "running":
            with suppress(OSError, TimeoutError):
                self.client.cancel(self.pending)

    def _count_threads_or_raise(self) -> int:
        """Count the threads of all workers, each of which does one task at a time.

        The count is 0 while there are no workers. If there have been none for
        MAX_SECONDS_WITHOUT_WORKERS, this raises WorkersLostError. For this purpose each call with
        workers notes its time in `_last_time_with_workers`.
        """
        with lost_scheduler_is_told(self.client):
            threads_of_workers = self.client.nthreads()
        n_threads = sum(threads_of_workers.values())
        if n_threads > 0:
            self._last_time_with_workers = monotonic()
        elif monotonic() - self._last_time_with_workers > MAX_SECONDS_WITHOUT_WORKERS:
            raise WorkersLostError(
                f"the Dask cluster has had no worker for {MAX_SECONDS_WITHOUT_WORKERS:.0f} seconds;"
                " start workers. What was finished is whole."
            )
        return n_threads

    def _wait_for_worker(self) -> None:
        """Return when there is a worker."""
        while self._count_threads_or_raise() == 0:
            with suppress(TimeoutError):
                self.client.wait_for_workers(1, timeout=LOOK_SECONDS)


@contextmanager
def lost_scheduler_is_told(client: Any) -> Iterator[None]:
    """Context manager that turns the loss of the scheduler into a `WorkersLostError`.

    A TimeoutError passes unchanged: it is an OSError, too, but does not mean such a loss.
    """
    _refuse_lost_scheduler(client)
    try:
        yield
    except TimeoutError:
        raise
    except OSError as error:
        raise WorkersLostError(_lost_scheduler_sentence(client)) from error


def send_to_worker(client: Any, value: Any) -> Any:
    """Send a value to some worker of the cluster, and return the future that stands for it there.

    If the scheduler passes the value on to a worker that has just died, sending fails with the same
    error as if the scheduler itself were gone, an OSError. So sending is tried up to SEND_TRIES
    times, to give the scheduler time to notice that the worker is dead. If the last try fails, too,
    or if the client knows that the scheduler is gone, this raises WorkersLostError.
    """
    n_tries = 0
    while True:
        n_tries += 1
        is_last_try = n_tries == SEND_TRIES
        # The context manager turns every OSError that is raised within it, except a TimeoutError,
        # into a WorkersLostError. Only the OSError of the last try may reach it.
        with lost_scheduler_is_told(client):
            try:
                (future,) = client.scatter([value], hash=False)
            except TimeoutError:  # an OSError, too, but no sign of a dead worker
                raise
            except OSError:
                if is_last_try:
                    raise
            else:
                return future
        sleep(SEND_AGAIN_SECONDS)


def _refuse_lost_scheduler(client: Any) -> None:
    """Raise WorkersLostError if the scheduler is gone.

    A scheduler that was restarted does not help: it does not know the tasks.
    """
    if client.status != "running":
        raise WorkersLostError(_lost_scheduler_sentence(client))


def _lost_scheduler_sentence(client: Any) -> str:
    address = getattr(client.scheduler, "address", "the address given")
    return f"the Dask scheduler at {address} is gone. What was finished is whole."


def _result_of(future: Any) -> Any:
    """Return what a task returned; if it raised an error, raise the same error.

    Failures of the cluster get errors of this package: WorkersLostError if the scheduler is gone or
    the task killed every worker that tried it, LostDataError if its arguments died with a worker.
    """
    try:
        return future.result()
    except CancelledError as error:
        _refuse_lost_scheduler(future.client)
        # The scheduler is there, and tasks are cancelled for no other reason than lost arguments.
        raise LostDataError(str(error)) from error
    except Exception as error:
        _refuse_lost_scheduler(future.client)
        # Dask's class is compared by name: Dask is an optional dependency and not imported here.
        if type(error).__name__ != "KilledWorker":
            raise
        raise WorkersLostError(
            "a call killed every worker of the Dask cluster that tried it: too little memory? "
            "What was finished is whole."
        ) from error


def default_client() -> Any | None:
    """The Dask client that the user made last (it computes `dask.array`s); None without one."""
    # If nobody has imported `distributed` yet, there is no client, and importing it takes long.
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
    """The memory limit in bytes of the Dask worker that calls this.

    None if the worker has no limit, or if the calling process is no Dask worker.
    """
    # A Dask worker has always imported `distributed`.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        worker = distributed.get_worker()
    except ValueError:  # this process is no worker
        return None
    limit: int | None = worker.memory_manager.memory_limit
    return limit


def _results_of(client: Any, futures: Sequence[Any]) -> Iterator[Any]:
    """Yield the results of tasks that are done, in the order of their futures.

    Raises what `_result_of` raises, after the results before the failed task.
    """
    # If every task succeeded, collect all results in one request, which takes about as long as one.
    results: list[Any] | None = None
    if all(future.status == "finished" for future in futures):
        with suppress(CancelledError, OSError):
            results = client.gather(list(futures))
    if results is not None:
        yield from results
        return

    # A task failed, or a result was lost on the way. Collecting the results one by one yields
    # those before the failure, and then raises the error of the task that failed.
    for future in futures:
        yield _result_of(future)


def call_with_shared(function: Callable[..., Any], item: Any, shared: SharedArguments) -> Any:
    """What a worker of the cluster does."""
    return function(item, *shared.values)
