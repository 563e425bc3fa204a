"""The same function for many items, results in the order of the items.

Spawned processes on this machine by default, or any `concurrent.futures.Executor`, so a Dask cluster too. What a call returns
must depend on its item alone (seeds belong to items); then nothing depends on the engine, the number of workers or who was
quickest. Every call has one BLAS thread.

On Ctrl-C, or when the generator is closed, nothing new starts, and processes started here are ended at once. What a dead worker
had in hand is done again by another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from chanceline.parallel.blas import ONE_THREAD
from chanceline.parallel.dask import DaskWorkers, is_dasks
from chanceline.parallel.executors import available_cores
from chanceline.parallel.losses import WorkersLostError, obituary
from chanceline.parallel.processes import LocalWorkers, WorkerDiedError, check_workers

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[int, int], None]

# Calls handed over for each worker: enough that none waits, few enough that stopping early wastes little.
AHEAD = 4
# Dead workers that one call may cost; a call that takes its worker with it every time must end too.
MOST_LOSSES = 5


def run_ordered(
    function: Callable[..., Value],
    items: Collection[Item],
    *,
    common: Sequence[Any] = (),
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Iterator[Value]:
    """Yield function(item, *common) for every item, in their order and as soon as it is there.

    Parameters
    ----------
    function : known by its name in a module, so that other processes can import it.
    items : a sequence, range or the like.
    common : arguments that all calls share; a worker receives them once.
    workers : processes on this machine; with 1 the work is done here. A script that asks for several needs the usual
        ``if __name__ == "__main__":``.
    executor : where to work instead, see `open_executor`; it stays open.
    progress : called with (results yielded, items).

    Raises
    ------
    WorkersLostError
        When the same call lost its worker six times; whatever a call itself raises is raised here unchanged.
        KeyboardInterrupt is never swallowed.
    """
    check_workers(workers)
    if executor is not None:
        values = _values(function, items, common, executor)
    elif workers == 1 or len(items) < 2:
        values = (_call(function, item, common) for item in items)
    else:
        values = _in_own_processes(function, items, common, min(workers, len(items)))
    return _told(values, len(items), progress)


def _in_own_processes(
    function: Callable[..., Value], items: Iterable[Item], common: Sequence[Any], workers: int
) -> Iterator[Value]:
    with LocalWorkers(workers) as executor:
        yield from _values(function, items, common, executor)


def _told(values: Iterator[Value], total: int, progress: Progress | None) -> Iterator[Value]:
    for done, value in enumerate(values, 1):
        if progress is not None:
            progress(done, total)
        yield value


def _values(function: Callable[..., Value], items: Iterable[Item], common: Sequence[Any], executor: Executor) -> Iterator[Value]:
    """The values in order, some calls ahead of the one that is waited for."""
    rest = iter(items)
    ready: dict[int, Future[Value]] = {}
    place = 0
    with Calls(executor, function, common) as calls:
        while True:
            for item in islice(rest, AHEAD * calls.workers - len(calls) - len(ready)):
                calls.start(item)
            if place in ready:
                yield ready.pop(place).result()
                place += 1
            elif len(calls):
                ready.update(calls.finished())
            else:
                return


@dataclass
class _Call:
    number: int
    item: Any
    losses: int = 0


class Calls:
    """Calls of one function under way in an executor, numbered from 0 in the order of their start.

    A call whose worker died is handed over again. Leaving the ``with`` block cancels what has not begun.
    """

    def __init__(self, executor: Executor, function: Callable[..., Any], common: Sequence[Any] = ()) -> None:
        self._executor = DaskWorkers(executor) if is_dasks(executor) else executor
        self._function = function
        self._common: Any = tuple(common)
        if isinstance(self._executor, LocalWorkers | DaskWorkers):
            self._common = self._executor.share(self._common)
        self._started = 0
        self._pending: dict[Future[Any], _Call] = {}

    def __enter__(self) -> Calls:
        # BLAS obeys the first thread that limits it: for threads of this process it has to be this one.
        if isinstance(self._executor, ThreadPoolExecutor):
            ONE_THREAD.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        if isinstance(self._executor, ThreadPoolExecutor):
            wait(self._pending)
            ONE_THREAD.__exit__()

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def workers(self) -> int:
        """How many calls the executor works on at a time; for a strange one, a guess."""
        counts = (getattr(self._executor, name, None) for name in ("workers", "_max_workers"))
        return next((count for count in counts if isinstance(count, int)), available_cores())

    def start(self, item: Any) -> None:
        """Hand a call over."""
        self._hand_over(_Call(self._started, item))
        self._started += 1

    def cancel(self) -> None:
        """Forget the calls that have not begun."""
        self._pending = {future: call for future, call in self._pending.items() if not future.cancel()}

    def finished(self, timeout: float | None = None) -> list[tuple[int, Future[Any]]]:
        """Wait for a call to end, or for the timeout; the calls that have, by number."""
        done, _ = wait(self._pending, timeout, FIRST_COMPLETED)
        ended = {future: self._pending.pop(future).number for future in done if not _is_lost(future)}
        # What has ended comes first, so that it can be kept whatever becomes of the rest.
        if not ended:
            for future in done:
                self._repeat(future, self._pending.pop(future))
        return sorted(((number, future) for future, number in ended.items()), key=lambda pair: pair[0])

    def _hand_over(self, call: _Call) -> None:
        try:
            future = self._executor.submit(_call, self._function, call.item, self._common)
        except (BrokenExecutor, BrokenPipeError) as error:
            raise WorkersLostError(obituary(error)) from error
        self._pending[future] = call

    def _repeat(self, future: Future[Any], call: _Call) -> None:
        """Hand a call over again if another worker may end it."""
        error = None if future.cancelled() else future.exception()
        call.losses += 1
        if not isinstance(error, WorkerDiedError) or call.losses > MOST_LOSSES:
            raise WorkersLostError(obituary(error)) from error
        self._hand_over(call)


def _is_lost(future: Future[Any]) -> bool:
    """Did a call end because its worker, or the whole cluster, died?"""
    if future.cancelled():
        return True
    error = future.exception()
    return isinstance(error, BrokenExecutor) or is_dasks(error)


def _call(function: Callable[..., Value], item: Any, common: Sequence[Any]) -> Value:
    """What a worker does: one call with one BLAS thread."""
    with ONE_THREAD:
        return function(item, *common)
