"""Tasks → executor → store: a generator at the core, a convenience around it.

Any `concurrent.futures.Executor` does: processes, Dask, MPI. A result depends on its task alone, never on the
engine, the number of workers or the order.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from functools import cache
from itertools import islice
from threading import Event

from chanceline import __version__
from chanceline.errors import ChancelineError
from chanceline.experiments.store import Record, Store
from chanceline.experiments.tasks import Task, canonical


class TaskError(ChancelineError):
    """A task failed; what had finished is saved, and running again takes up from there."""


@cache
def made_with() -> str:
    """Versions of everything that takes part in the arithmetic."""
    from importlib.metadata import version

    python = ".".join(map(str, sys.version_info[:3]))
    parts = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    return ", ".join([f"chanceline {__version__}", f"python {python}", *parts])


def execute(tasks: Sequence[Task]) -> list[Record]:
    """Run tasks one after the other, where this is called; what a worker does."""
    from threadpoolctl import threadpool_limits

    records = []
    # One BLAS thread: sums are then made in one order whatever the number of cores.
    with threadpool_limits(limits=1):
        for task in tasks:
            start = time.thread_time()
            try:
                result = task.run()
            except Exception as error:
                raise TaskError(
                    f"task {task.id} ({task.kind}, {canonical(dict(task.parameters))}) failed: {type(error).__name__}: {error}"
                ) from error
            records.append(Record(task, result, made_with(), time.thread_time() - start))
    return records


def iter_run(
    tasks: Iterable[Task],
    *,
    executor: Executor | None = None,
    store: Store | None = None,
    batch: int = 1,
    in_flight: int = 64,
    stop: Event | None = None,
) -> Iterator[Record]:
    """Run the tasks that the store does not have yet; yield each record once it is saved.

    Parameters
    ----------
    tasks : iterable of Task
        Repetitions run once.
    executor : Executor, optional
        Where to run; in this process without one. It stays open.
    store : Store, optional
        Opened for writing. Finished tasks are skipped, new records saved as they come.
    batch : int
        Tasks handed over together: raise it when one takes milliseconds.
    in_flight : int
        Batches handed over at a time.
    stop : Event, optional
        Once set, nothing new starts; what is running is finished and saved.
    """
    done = store.finished() if store is not None else set()
    missing = iter([task for task in dict.fromkeys(tasks) if task.id not in done])
    batches = iter(lambda: list(islice(missing, batch)), [])
    stop = stop or Event()
    if executor is None:
        for chunk in batches:
            if stop.is_set():
                return
            yield from _save(execute(chunk), store)
        return

    running: set[Future[list[Record]]] = set()
    failure: BaseException | None = None
    try:
        while True:
            if not stop.is_set() and failure is None:
                room = in_flight - len(running)
                running.update(executor.submit(execute, chunk) for chunk in islice(batches, room))
            else:
                running = {future for future in running if not future.cancel()}
            if not running:
                break
            # Wake up now and then: a stop that comes from a signal does not finish any future.
            ready, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in ready:
                error = future.exception()
                if error is None:
                    yield from _save(future.result(), store)
                else:
                    failure = failure or error
    finally:
        for future in running:
            future.cancel()
    if failure is not None:
        raise failure if isinstance(failure, TaskError) else _lost(failure) from failure


def run(tasks: Iterable[Task], *, executor: Executor | None = None, store: Store | None = None, batch: int = 1) -> list[Record]:
    """Run the tasks (or take them from the store) and return their records, in the order of the tasks."""
    wanted = list(tasks)
    new = iter_run(wanted, executor=executor, store=store, batch=batch)
    records = {record.task.id: record for record in new}
    if store is not None:
        records |= {record.task.id: record for record in store.records()}
    return [records[task.id] for task in wanted]


def _save(records: list[Record], store: Store | None) -> list[Record]:
    ours = made_with().partition(",")[0]
    for record in records:
        theirs = record.made_with.partition(",")[0]
        if theirs != ours:
            raise TaskError(f"a worker runs {theirs} and this process {ours}; install one version everywhere")
    if store is not None:
        store.add(records)
    return records


def _lost(error: BaseException) -> TaskError:
    return TaskError(
        f"the engine lost its workers ({type(error).__name__}: {error}); finished tasks are saved, run again to go on"
    )
