"""Tasks → workers → store: a generator at the core, a convenience around it.

A result depends on its task alone, never on the number of jobs, the machine or the order. An interrupted task leaves no result:
it stays open, and the next run does it again from its beginning.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import version
from itertools import takewhile
from typing import Any

from chanceline import __version__, _parallel
from chanceline.errors import ChancelineError
from chanceline.experiments.store import Record, Store
from chanceline.experiments.tasks import Task, canonical


class TaskError(ChancelineError):
    """A task failed; what had finished is saved, and running again takes up from there."""


@cache
def made_with() -> str:
    """Versions of everything that takes part in the arithmetic."""
    parts = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    return ", ".join([f"chanceline {__version__}", f"python {platform.python_version()}", *parts])


def execute(tasks: Sequence[Task]) -> tuple[list[Record], TaskError | None]:
    """Run tasks one after the other, where this is called, up to the first that fails; what a worker does."""
    records: list[Record] = []
    for task in tasks:
        start = time.thread_time()
        try:
            result = task.run()
        except Exception as error:
            what = f"task {task.id} ({task.kind}, {canonical(dict(task.parameters))})"
            return records, TaskError(f"{what} failed: {type(error).__name__}: {error}")
        records.append(Record(task, result, made_with(), time.thread_time() - start))
    return records, None


def iter_run(
    tasks: Iterable[Task],
    *,
    n_jobs: int | None = 1,
    store: Store | None = None,
    batch: int = 1,
) -> Iterator[Record]:
    """Run the tasks that the store does not have yet; yield each record once it is saved.

    Parameters
    ----------
    tasks : iterable of Task
        Repetitions run once.
    n_jobs : int, optional
        As in joblib: -1 for all cores, or all workers of the cluster that `joblib.parallel_config` names.
    store : Store, optional
        Opened for writing. Finished tasks are skipped, new records saved as they come.
    batch : int
        Tasks handed over together: raise it when one takes milliseconds.

    Notes
    -----
    KeyboardInterrupt ends the run at once: every record yielded so far is saved, the tasks in hand stay
    open. After a task has failed, those that were running are still finished and saved before its error is raised. A worker
    that is killed costs its tasks; they are done again.
    """
    done = store.finished() if store is not None else set()
    missing = {task.id: task for task in tasks if task.id not in done}
    ours = made_with().partition(",")[0]
    failures: list[TaskError] = []

    def begin() -> Any:
        todo = list(missing.values())
        batches = (todo[start : start + batch] for start in range(0, len(todo), batch))
        # Taken when a worker becomes free: after a failure nothing new starts.
        return _parallel.start(
            execute, takewhile(lambda _: not failures, batches), (), n_jobs, ordered=False
        )

    with closing(_parallel.resumed(begin)) as finished:
        for records, failure in finished:
            if failure is not None:
                failures.append(failure)
            if others := {record.made_with.partition(",")[0] for record in records} - {ours}:
                raise TaskError(
                    f"a worker runs {others.pop()} and this process {ours}; install one version everywhere"
                )
            if store is not None:
                store.add(records)
            for record in records:
                del missing[record.task.id]
                yield record
    if failures:
        raise failures[0]


def run(
    tasks: Iterable[Task], *, n_jobs: int | None = 1, store: Store | None = None, batch: int = 1
) -> list[Record]:
    """Run the tasks (or take them from the store) and return their records, in the order of the tasks."""
    wanted = list(tasks)
    records = {
        record.task.id: record
        for record in iter_run(wanted, n_jobs=n_jobs, store=store, batch=batch)
    }
    if store is not None:
        records |= {record.task.id: record for record in store.records()}
    return [records[task.id] for task in wanted]
