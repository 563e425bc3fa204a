"""Processes on this machine: one thread here for each of them, which gives it calls and waits for its answers.

A worker that dies costs the call it had in hand and nothing else: its thread starts another for the next call. Workers leave
Ctrl-C to this process, and end when it ends, however it ends. What all calls share goes to a worker once, through its pipe; so
there is nothing on the disk that a kill could leave behind.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from itertools import count
from multiprocessing import connection, resource_tracker
from typing import Any, TypeVar
from weakref import WeakSet

from chanceline._validation import whole_number
from chanceline.parallel.compiling import LateWatch, announce_compiling

Value = TypeVar("Value")

# What a worker sends before its answer when it compiles; no answer is as short.
COMPILING = b"c"
MOST_WORKERS = 4096
_NUMBERS = count()


class WorkerDiedError(BrokenExecutor):
    """The process that had this call in hand ended before it answered."""


class LocalWorkers(Executor):
    """Spawned processes that leave Ctrl-C to this one and end with it; whoever dies is replaced.

    A call whose worker dies ends with `WorkerDiedError`; a cancelled call is never begun. Leaving the ``with`` block by an
    exception, KeyboardInterrupt included, ends the processes at once.
    """

    def __init__(self, workers: int) -> None:
        check_workers(workers)
        self.workers = workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="chanceline")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._ended = False
        # A worker belongs to its thread: when that ends, the pipe closes, and so the process ends.
        self._workers: WeakSet[_Worker] = WeakSet()

    def submit(self, function: Callable[..., Value], /, *args: Any, **kwargs: Any) -> Future[Value]:
        return self._threads.submit(self._delegate, function, args, kwargs)

    def share(self, common: Sequence[Any]) -> Parcel:
        """An argument that is `common` in every worker, and reaches each of them once."""
        return Parcel(common)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        workers = list(self._workers)
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if wait:
            for worker in workers:
                worker.end()

    def end(self) -> None:
        """End the processes at once, whatever they have in hand."""
        with self._lock:
            self._ended = True
            workers = list(self._workers)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.process.kill()
        self._threads.shutdown(wait=True)
        for worker in workers:
            worker.end()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.shutdown()
        else:
            self.end()

    def _delegate(self, function: Callable[..., Value], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
        """What a thread does with a call: give it to its worker."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            self._own.worker = worker = self._start()
        try:
            for parcel in args:
                if isinstance(parcel, Parcel) and worker.holds != parcel.number:
                    worker.call(_keep, (parcel.number, parcel.content), {})
                    worker.holds = parcel.number
            value: Value = worker.call(function, args, kwargs)
        except WorkerDiedError:
            self._own.worker = None
            worker.process.kill()
            worker.end()
            raise
        return value

    def _start(self) -> _Worker:
        with self._lock:
            if self._ended:
                raise WorkerDiedError("the workers were ended")
            worker = _Worker()
            self._workers.add(worker)
            return worker


class Parcel:
    """What all calls share; pickled, it is its number, under which every worker keeps the content."""

    def __init__(self, common: Sequence[Any]) -> None:
        self.number = next(_NUMBERS)
        self.content = pickle.dumps(tuple(common), protocol=pickle.HIGHEST_PROTOCOL)

    def __reduce__(self) -> tuple[Callable[[int], Any], tuple[int]]:
        return _kept, (self.number,)


class _Worker:
    """One process, and the pipe to it."""

    def __init__(self) -> None:
        # Forking a process that has threads (progress, numba) may deadlock.
        context = multiprocessing.get_context("spawn")
        self.holds: int | None = None
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,))
        _start_deaf(self.process)
        theirs.close()

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of a call, or its exception."""
        question = pickle.dumps((function, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        try:
            self._pipe.send_bytes(question)
            while (answer := self._pipe.recv_bytes()) == COMPILING:
                announce_compiling()
        except (EOFError, OSError) as error:
            raise WorkerDiedError("a worker process ended before its call did") from error
        good, value = pickle.loads(answer)
        if good:
            return value
        raise value

    def end(self) -> None:
        """Close the pipe, at which a worker without a call ends, and wait for that."""
        self._pipe.close()
        self.process.join()


def check_workers(workers: int) -> None:
    """Refuse fewer than one worker, and more than any machine has cores."""
    whole_number(workers, "the number of workers", at_least=1, at_most=MOST_WORKERS)


def _start_deaf(process: Any) -> None:
    """Start a process that Ctrl-C does not reach, not even before it has read its first line."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        process.start()
        return
    # The tracker's own start would change the mask.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_KEPT: dict[int, tuple[Any, ...]] = {}


def _keep(number: int, content: bytes) -> None:
    _KEPT.clear()
    _KEPT[number] = tuple(pickle.loads(content))


def _kept(number: int) -> tuple[Any, ...]:
    return _KEPT[number]


def _work(pipe: connection.Connection) -> None:
    """The life of a worker: answer until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_parent()
    watch = LateWatch(lambda: pipe.send_bytes(COMPILING))
    while True:
        try:
            question = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_answer(question, watch))


def _answer(question: bytes, watch: LateWatch) -> bytes:
    """The outcome of a call: (True, its value) or (False, its exception)."""
    try:
        function, args, kwargs = pickle.loads(question)
        watch.install()
        return pickle.dumps((True, function(*args, **kwargs)), protocol=pickle.HIGHEST_PROTOCOL)
    except BaseException as error:
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    # A traceback cannot be sent; its text can.
    error.add_note("in a worker process:\n" + "".join(traceback.format_exception(error)))
    try:
        content = pickle.dumps((False, error))
        pickle.loads(content)
    except Exception:
        # Not every exception can be made again from its arguments.
        return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
    return content


def _end_with_parent() -> None:
    """End this process when its parent is no more, which would leave it waiting, or working for nobody."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if sys.platform == "linux":
        _end_by_signal(parent.sentinel)
    threading.Thread(target=_wait_and_end, args=(parent.sentinel,), daemon=True).start()


def _end_by_signal(sentinel: int) -> None:
    """Let the system end this process when the pipe's other end closes: a compiled loop lets no thread act for minutes."""
    import fcntl

    # Opened anew, because the owner of a signal belongs to what was opened.
    own = os.open(f"/proc/self/fd/{sentinel}", os.O_RDONLY | os.O_NONBLOCK)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(own, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(own, fcntl.F_SETFL, fcntl.fcntl(own, fcntl.F_GETFL) | os.O_ASYNC)


def _wait_and_end(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
