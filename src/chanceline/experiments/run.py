"""Tasks → executor → store: a generator at the core, a convenience around it.

A result depends on its task alone, never on the engine, the number of workers or the order (see `chanceline.parallel`). An
interrupted task leaves no result: it stays open, and the next run does it again from its beginning.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from functools import cache
from importlib.metadata import version
from itertools import islice
from threading import Event

from chanceline import __version__
from chanceline.errors import ChancelineError
from chanceline.experiments.records import Record
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import Task, canonical
from chanceline.parallel import Calls, run_ordered


class TaskError(ChancelineError):
    """A task failed; what had finished is saved, and running again takes up from there."""


@cache
def made_with() -> str:
    """Versions of everything that takes part in the arithmetic."""
    python = ".".join(map(str, sys.version_info[:3]))
    parts = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    return ", ".join([f"chanceline {__version__}", f"python {python}", *parts])


def execute(tasks: Sequence[Task]) -> list[Record]:
    """Run tasks one after the other, where this is called; what a worker does."""
    records = []
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

    Notes
    -----
    KeyboardInterrupt (Ctrl-C without `stop`) ends the run at once: every record yielded so far is saved, the tasks in hand stay
    open. After a task has failed, those that were running are still finished and saved before its error is raised.
    """
    done = store.finished() if store is not None else set()
    missing = [task for task in dict.fromkeys(tasks) if task.id not in done]
    batches = [missing[start : start + batch] for start in range(0, len(missing), batch)]
    stop = stop or Event()
    if executor is None:
        results = run_ordered(execute, batches)
        while not stop.is_set() and (records := next(results, None)) is not None:
            yield from _save(records, store)
        return

    rest = iter(batches)
    failure: BaseException | None = None
    with Calls(executor, execute) as calls:
        while True:
            if not stop.is_set() and failure is None:
                for chunk in islice(rest, in_flight - len(calls)):
                    calls.start(chunk)
            else:
                calls.cancel()
            if not len(calls):
                break
            # Wake up now and then: a stop that comes from a signal does not end any call.
            for _, future in calls.finished(timeout=0.2):
                error = future.exception()
                if error is None:
                    yield from _save(future.result(), store)
                else:
                    failure = failure or error
    if failure is not None:
        raise failure


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
