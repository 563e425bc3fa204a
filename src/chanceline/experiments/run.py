"""Tasks → workers → store: a generator at the core, a convenience around it.

A result depends on its task alone, never on the number of jobs, the machine or the order. An
interrupted task leaves no result: it stays open, and the next run does it again from its beginning.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from chanceline import __version__, _parallel
from chanceline.errors import ChancelineError
from chanceline.experiments.store import Record, Store
from chanceline.experiments.tasks import Task, canonical

# The packages that take part in the arithmetic.
ARITHMETIC_PACKAGES = ("numpy", "scipy", "numba")


class TaskError(ChancelineError):
    """A task failed; what had finished is saved, and running again takes up from there."""


class BatchResult(NamedTuple):
    """What a worker made of a batch: records of what it finished, and the error that stopped it."""

    records: list[Record]
    failure: TaskError | None


@cache
def made_with() -> str:
    """Versions of everything that takes part in the arithmetic, this package first."""
    parts = [f"chanceline {__version__}", f"python {platform.python_version()}"]
    parts += [f"{name} {version(name)}" for name in ARITHMETIC_PACKAGES]
    return ", ".join(parts)


def execute(tasks: Sequence[Task]) -> BatchResult:
    """Run tasks one after the other in a worker, up to the first that fails.

    Returns the records of the tasks that were done, and the error of the one that failed, or None.
    An error is returned, not raised, so that the records before it are not lost.
    """
    records: list[Record] = []
    for task in tasks:
        start = time.thread_time()  # processor time, so that waiting does not count
        try:
            result = task.run()
        except Exception as error:
            failure = TaskError(
                f"task {task.id} ({task.kind}, {canonical(dict(task.parameters))}) failed: "
                f"{type(error).__name__}: {error}"
            )
            return BatchResult(records, failure)
        seconds = time.thread_time() - start
        records.append(Record(task=task, result=result, made_with=made_with(), seconds=seconds))
    return BatchResult(records, None)


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
        A task that occurs several times runs once.
    n_jobs : int, optional
        As in joblib: -1 for all cores, or all workers of the cluster that `joblib.parallel_config`
        names.
    store : Store, optional
        Opened for writing. Finished tasks are skipped, new records saved as they come.
    batch : int
        Tasks that a worker gets at a time: raise it when one takes milliseconds.

    Notes
    -----
    KeyboardInterrupt ends the run at once: every record yielded so far is saved, and the tasks that
    were running have to be run again. After a task has failed, those that were running are still
    finished and saved before its error is raised. If a worker is killed, other workers repeat its
    tasks.
    """
    finished: set[str] = set()
    if store is not None:
        finished = store.finished()

    open_tasks = _OpenTasks(task for task in tasks if task.id not in finished)

    def start_open_tasks(_n_batches_done: int) -> Any:
        """Start workers on batches of the tasks that are still open.

        The number of batches done is not needed: the batches come in any order, and `open_tasks`
        knows which tasks are still open.
        """
        batches = open_tasks.batches(batch)
        return _parallel.start_calls(execute, batches, common=(), n_jobs=n_jobs, ordered=False)

    # `results_despite_lost_workers` calls `start_open_tasks`, and again after the loss of a worker.
    # Every result is a `BatchResult`: the records of a batch, and the error that stopped it.
    results = _parallel.results_despite_lost_workers(start_open_tasks)
    with closing(results) as batch_results:
        for records, failure in batch_results:
            if failure is not None:
                # Workers get no further batches. The loop goes on with the batches they have, and
                # the error is raised after it.
                open_tasks.stop(failure)

            # Save the records before they are yielded: the caller may stop after any of them.
            _refuse_other_versions(records)
            if store is not None:
                store.add(records)
            for record in records:
                open_tasks.close(record.task)
                yield record
    if open_tasks.failure is not None:
        raise open_tasks.failure


class _OpenTasks:
    """The tasks of a run that are not saved yet, and the error of the first that failed, if any.

    It changes while workers are handed batches: tasks are closed one by one, and after a failure no
    further batch is handed out.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._task_of_id = {task.id: task for task in tasks}
        self.failure: TaskError | None = None

    def batches(self, size: int) -> Iterator[Sequence[Task]]:
        """All tasks open at the start, `size` together; a batch is made when a worker is free."""
        tasks = list(self._task_of_id.values())
        for start in range(0, len(tasks), size):
            if self.failure is not None:
                return
            yield tasks[start : start + size]

    def close(self, task: Task) -> None:
        """Take out a task whose record is saved."""
        del self._task_of_id[task.id]

    def stop(self, failure: TaskError) -> None:
        """Hand out no further batch; the first failure is kept."""
        if self.failure is None:
            self.failure = failure


def _refuse_other_versions(records: Iterable[Record]) -> None:
    """Refuse records that were made by another version of this package than the one here."""
    here = _package_version(made_with())
    for record in records:
        there = _package_version(record.made_with)
        if there != here:
            raise TaskError(
                f"a worker runs {there} and this process {here}; install one version everywhere"
            )


def _package_version(versions: str) -> str:
    """This package's part of what `made_with` says, such as "chanceline 0.4.0"."""
    return versions.partition(",")[0]


def run(
    tasks: Iterable[Task], *, n_jobs: int | None = 1, store: Store | None = None, batch: int = 1
) -> list[Record]:
    """Run the tasks, or take them from the store; returns their records in the same order."""
    wanted = list(tasks)
    records = {}
    for record in iter_run(wanted, n_jobs=n_jobs, store=store, batch=batch):
        records[record.task.id] = record
    if store is not None:
        for record in store.records():
            records[record.task.id] = record
    return [records[task.id] for task in wanted]
