"""One way to work in parallel: the same function for many items, results in the order of the items.

Spawned processes on this machine by default, or any `concurrent.futures.Executor`, so a Dask cluster too. What a call returns
must depend on its item alone (seeds belong to items); then nothing depends on the engine, the number of workers or who was
quickest. Every call has one BLAS thread, so that sums are made in one order whatever the number of cores.

On Ctrl-C, or when the generator is closed, nothing new starts, and processes started here are ended at once. Workers leave
Ctrl-C to the main process and end when it dies. What a dead worker had in hand is done again by another.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import connection
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from chanceline.errors import ChancelineError, InputError

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[int, int], None]

ENGINES = ("processes", "dask")
# Calls handed over for each worker: enough that none waits, few enough that stopping early wastes little.
AHEAD = 4
# Dead workers that one call may cost; a call that takes its worker with it every time must end too.
MOST_LOSSES = 5
COUNT_SECONDS = 5.0
GIVE_UP_SECONDS = 30.0


class WorkersLostError(ChancelineError):
    """Workers died again and again, or their cluster is gone; what was yielded before is whole."""


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
        When the same call lost its worker five times; whatever a call itself raises is raised here unchanged.
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


@contextmanager
def open_executor(engine: str = "processes", workers: int | None = None, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor for `run_ordered`, closed at the end; left by an exception, its processes end at once.

    Parameters
    ----------
    engine : {"processes", "dask"}
    workers : processes on this machine; as many as there are cores by default.
    scheduler : address of a running Dask scheduler, such as ``tcp://127.0.0.1:8786``.
    """
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; known are {', '.join(ENGINES)}")
    if workers is not None:
        check_workers(workers)
    if engine == "dask":
        if scheduler is None:
            raise InputError("the dask engine needs the address of its scheduler, such as tcp://127.0.0.1:8786")
        if workers is not None:
            raise InputError("the number of workers belongs to the processes engine; a Dask cluster brings its own")
        with _open_dask(scheduler) as cluster:
            yield cluster
        return
    if scheduler is not None:
        raise InputError("a scheduler belongs to the dask engine; choose that engine or leave the scheduler out")
    with LocalWorkers(workers or available_cores()) as local:
        yield local


@contextmanager
def open_workers(
    engine: str = "processes", workers: int | None = None, scheduler: str | None = None
) -> Iterator[Executor | None]:
    """`open_executor`, or None where one process is enough: this one. What commands give to `run_ordered`."""
    if engine == "processes" and scheduler is None and (available_cores() if workers is None else workers) == 1:
        yield None
        return
    with open_executor(engine, workers, scheduler) as executor:
        yield executor


def check_workers(workers: int) -> None:
    """Refuse fewer than one worker."""
    if workers < 1:
        raise InputError(f"the number of workers is {workers}; it must be at least 1")


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalWorkers(Executor):
    """Spawned processes that leave Ctrl-C to this one and end with it; after a worker's death, `renew` starts new ones.

    Leaving the ``with`` block by an exception, KeyboardInterrupt included, ends the processes at once.
    """

    def __init__(self, workers: int) -> None:
        check_workers(workers)
        self.workers = workers
        self._folder = tempfile.TemporaryDirectory(prefix="chanceline-")
        self._shared = 0
        self._start()

    def _start(self) -> None:
        # Forking a process that has threads (progress, numba) may deadlock.
        context = multiprocessing.get_context("spawn")
        # Workers hold the reading end: it tells them when this process closes the writing end, or is no more.
        self._stop_reading, self._stop_writing = context.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            self.workers, mp_context=context, initializer=_enter_worker, initargs=(self._stop_reading,)
        )

    def submit(self, function: Callable[..., Value], /, *args: Any, **kwargs: Any) -> Future[Value]:
        return self._pool.submit(function, *args, **kwargs)

    def share(self, common: Sequence[Any]) -> Any:
        """Something small that stands for `common` in every worker."""
        self._shared += 1
        path = Path(self._folder.name) / f"{self._shared}.pickle"
        path.write_bytes(_pack(common))
        return path

    def renew(self) -> None:
        """New processes in place of the old ones, whose calls are given up."""
        self._end()
        self._start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._forget_cancelled()
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        self._forget_cancelled()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._stop_writing.close()
        self._stop_reading.close()

    def _forget_cancelled(self) -> None:
        """Wait until the pool's thread has put cancelled calls away: if workers end before, it stumbles over them."""
        manager = getattr(self._pool, "_executor_manager_thread", None)
        if manager is None:
            return
        self._pool.shutdown(wait=False, cancel_futures=True)
        deadline = time.monotonic() + 2.0
        while manager.is_alive() and time.monotonic() < deadline:
            if not any(item.future.cancelled() for item in list(manager.pending_work_items.values())):
                return
            time.sleep(0.001)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)


class DaskWorkers(Executor):
    """The workers of a Dask cluster; Dask itself does again what a dead worker had in hand."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._client = executor._client
        self._counted = (-math.inf, 1)

    @property
    def workers(self) -> int:
        """Threads of the cluster, which may grow: asked for now and then."""
        now = time.monotonic()
        if now - self._counted[0] > COUNT_SECONDS:
            with _dask_alive():
                self._counted = now, sum(self._client.nthreads().values()) or 1
        return self._counted[1]

    def submit(self, function: Callable[..., Value], /, *args: Any, **kwargs: Any) -> Future[Value]:
        with _dask_alive():
            future: Future[Value] = self._executor.submit(function, *args, **kwargs)
        return future

    def share(self, common: Sequence[Any]) -> Any:
        """A task that gives `common`: unlike scattered data, it can be made again when all workers that had it are gone."""
        import dask

        # Dask warns of more than 10 MB in a task; here they go to every worker once.
        with _dask_alive(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(_unpack, _pack(common), pure=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait)


@contextmanager
def _open_dask(scheduler: str) -> Iterator[Executor]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("the dask engine needs distributed: pip install 'chanceline[dask]'") from error
    try:
        client = Client(scheduler, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler}; start one or mend the address") from error
    except (RuntimeError, TypeError) as error:
        # Settings that do not fit: TLS without certificates, or certificates without TLS.
        raise InputError(f"Dask refuses to connect to {scheduler}: {' '.join(str(error).split())}") from error
    with client:
        yield DaskWorkers(client.get_executor(pure=False))


@contextmanager
def _dask_alive() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not (_is_dasks(error) or isinstance(error, OSError)):
            raise
        raise WorkersLostError(_obituary(error)) from error


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


def _values(
    function: Callable[..., Value], items: Iterable[Item], common: Sequence[Any], executor: Executor
) -> Iterator[Value]:
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
        self._executor = DaskWorkers(executor) if _is_dasks(executor) else executor
        self._function = function
        self._common: Any = tuple(common)
        if isinstance(self._executor, LocalWorkers | DaskWorkers):
            self._common = self._executor.share(common)
        self._started = 0
        self._pending: dict[Future[Any], _Call] = {}

    def __enter__(self) -> Calls:
        # BLAS obeys the first thread that limits it: for threads of this process it has to be this one.
        if isinstance(self._executor, ThreadPoolExecutor):
            _ONE_THREAD.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
        if isinstance(self._executor, ThreadPoolExecutor):
            wait(self._pending)
            _ONE_THREAD.__exit__()

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
        ended = [(self._pending.pop(future).number, future) for future in done if not _is_lost(future)]
        # What has ended comes first, so that it can be kept whatever becomes of the rest.
        if done and not ended:
            self._repeat()
        return sorted(ended, key=lambda pair: pair[0])

    def _is_gone(self, future: Future[Any]) -> bool:
        return _is_lost(future) if future.done() else isinstance(self._executor, LocalWorkers)

    def _hand_over(self, call: _Call) -> None:
        try:
            future = self._executor.submit(_call, self._function, call.item, self._common)
        except (BrokenExecutor, BrokenPipeError) as error:
            # The pool broke since the last look.
            if not isinstance(self._executor, LocalWorkers):
                raise WorkersLostError(_obituary(error)) from error
            self._repeat()
            return self._hand_over(call)
        self._pending[future] = call

    def _repeat(self) -> None:
        """All that a broken pool had, running or waiting, is lost with one worker: start it again, in the old order."""
        if isinstance(self._executor, LocalWorkers):
            self._executor.renew()
            # The old pool gives up its calls one after the other; a few may still end well. One that it has forgotten is lost.
            for future in wait(self._pending, GIVE_UP_SECONDS).not_done:
                future.cancel()
        in_order = sorted(self._pending.items(), key=lambda pair: pair[1].number)
        lost = [(future, call) for future, call in in_order if self._is_gone(future)]
        for future, _ in lost:
            del self._pending[future]
        # The first ones were running; the others waited, and had no part in it.
        for _, call in lost[: self.workers] if isinstance(self._executor, LocalWorkers) else []:
            call.losses += 1
        for future, call in lost:
            if not isinstance(self._executor, LocalWorkers) or call.losses > MOST_LOSSES:
                error = future.exception() if future.done() and not future.cancelled() else None
                raise WorkersLostError(_obituary(error)) from error
            self._hand_over(call)


def _is_dasks(thing: object) -> bool:
    return type(thing).__module__.partition(".")[0] == "distributed"


def _is_lost(future: Future[Any]) -> bool:
    """Did a call end because its worker, or the whole cluster, died?"""
    if future.cancelled():
        return True
    error = future.exception()
    return isinstance(error, BrokenExecutor) or _is_dasks(error)


def _obituary(error: BaseException | None) -> str:
    cause = "" if error is None else f" ({type(error).__name__}: {str(error).partition(chr(10))[0]})"
    return (
        f"the workers are lost{cause}: too little memory, an unreachable cluster, or a script that starts processes without "
        'if __name__ == "__main__"; what was finished is whole, mend the cause and run again'
    )


def _call(function: Callable[..., Value], item: Any, common: Any) -> Value:
    """What a worker does: one call with one BLAS thread."""
    shared = _load(common) if isinstance(common, Path) else common
    with _ONE_THREAD:
        return function(item, *shared)


@lru_cache(maxsize=1)
def _load(path: Path) -> tuple[Any, ...]:
    return _unpack(path.read_bytes())


def _pack(common: Sequence[Any]) -> bytes:
    return pickle.dumps(tuple(common), protocol=pickle.HIGHEST_PROTOCOL)


def _unpack(content: bytes) -> tuple[Any, ...]:
    return tuple(pickle.loads(content))


def _enter_worker(stop: connection.Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        _end_by_signal(stop.fileno())
    threading.Thread(target=_end_with_parent, args=(stop,), daemon=True).start()


def _end_by_signal(stop: int) -> None:
    """Let the system end this process when the pipe's other end closes: a compiled loop lets no thread act for minutes."""
    import fcntl

    # Opened anew, because the owner of a signal belongs to what was opened, and all workers were handed the same.
    own = os.open(f"/proc/self/fd/{stop}", os.O_RDONLY | os.O_NONBLOCK)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(own, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(own, fcntl.F_SETFL, fcntl.fcntl(own, fcntl.F_GETFL) | os.O_ASYNC)


def _end_with_parent(stop: connection.Connection) -> None:
    """A pool's workers would otherwise outlive a parent that was killed; here as soon as a thread may act."""
    parent = multiprocessing.parent_process()
    connection.wait([stop] if parent is None else [stop, parent.sentinel])
    os._exit(1)


class _OneThread:
    """While anyone is inside, BLAS has one thread; safe for several threads, unlike `threadpool_limits` by itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._modules = 0
        self._controller: Any = None
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            # Looking for libraries takes a millisecond, and new ones come with new modules.
            if self._modules != len(sys.modules):
                self._controller, self._modules = ThreadpoolController(), len(sys.modules)
            if self._inside == 0:
                self._limits = self._controller.limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


_ONE_THREAD = _OneThread()
