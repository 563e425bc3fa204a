"""Runs: one at a time, the others wait; each is a process that can be ended."""

from __future__ import annotations

import json
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from chanceline.app.worker import RunRequest

SECONDS_TO_END = 5.0  # for a process that was asked to end, before it is killed
ERRORS_FILE = "errors.txt"  # in a run's folder: what its process wrote on its standard error


class RunState(StrEnum):
    """Where a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self in (RunState.FINISHED, RunState.FAILED, RunState.CANCELLED)


@dataclass
class Run:
    """One test of one table.

    Attributes
    ----------
    request : what to test.
    folder : where its files are.
    command : the command line that does the same.
    table_key : which table of the page it is of.
    key : of the run, in its address.
    state, done, total : how far it is; `total` is 0 until the shuffles begin.
    sentence : why it failed.
    traceback : what its process wrote where it failed without a sentence.
    """

    request: RunRequest
    folder: Path
    command: str
    table_key: str
    key: str = field(default_factory=lambda: secrets.token_hex(8))
    state: RunState = RunState.WAITING
    done: int = 0
    total: int = 0
    sentence: str = ""
    traceback: str = ""
    process: subprocess.Popen[str] | None = None

    @property
    def unit(self) -> str:
        """What its progress counts."""
        if self.request.sets is not None:
            return "sets of features"
        return "shuffled labellings"

    def progress(self) -> dict[str, Any]:
        """What the page asks for again and again."""
        return {"state": self.state, "over": self.state.is_over, **self.counts()}

    def counts(self) -> dict[str, int]:
        """How many shuffles are done, of how many."""
        return {"done": self.done, "total": self.total}


class RunQueue:
    """Works through runs in their order, in a thread of its own."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[Run | None] = queue.Queue()
        # Guards the states of runs and their processes: the page cancels while the thread works.
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._perform_runs_in_turn, name="runs", daemon=True)
        self._thread.start()

    def add(self, run: Run) -> None:
        """Let a run wait for its turn."""
        self._waiting.put(run)

    def cancel(self, run: Run) -> None:
        """End a run that waits or works; nothing happens to one that is over."""
        with self._lock:
            if run.state.is_over:
                return
            run.state = RunState.CANCELLED
            process = run.process
        if process is not None:
            end_process(process)

    def close(self, runs: list[Run]) -> None:
        """End all runs and the thread."""
        self._closed = True
        for run in runs:
            self.cancel(run)
        self._waiting.put(None)
        self._thread.join(timeout=2 * SECONDS_TO_END)

    def _perform_runs_in_turn(self) -> None:
        """Perform one run after the other, until `close`; this is what the queue's thread does."""
        while not self._closed:
            run = self._waiting.get()
            if run is None:  # `close` puts None there to wake this thread
                continue
            try:
                self._perform_run(run)
            except OSError as error:
                # The system refused a file or the process, for example because the disk is full.
                # Only this run has failed; the loop goes on with those that wait.
                with self._lock:
                    run.state = RunState.FAILED
                    run.sentence = f"the run could not be carried out ({error})."

    def _perform_run(self, run: Run) -> None:
        """Start the process of a run, follow it to its end, and set the state of the run.

        `cancel` may change the state in another thread meanwhile, so the lock guards every look at
        the state together with the change that follows.
        """
        errors_path = run.folder / ERRORS_FILE
        with errors_path.open("w", encoding="utf-8") as errors:
            with self._lock:
                if run.state is not RunState.WAITING:
                    return  # it was cancelled while it waited
                run.state = RunState.RUNNING
                run.process = start_process(run.folder, errors)
            exit_code = follow_process(run, run.process)

        with self._lock:
            if run.state is not RunState.RUNNING:
                return  # it was cancelled while it worked
            if exit_code == 0:
                run.state = RunState.FINISHED
                return
            run.state = RunState.FAILED
            if not run.sentence:
                # The process sent no message why: show what it wrote to its standard error.
                run.sentence = f"the run ended unexpectedly (exit code {exit_code})."
                run.traceback = errors_path.read_text(encoding="utf-8", errors="replace")


def start_process(folder: Path, errors: Any) -> subprocess.Popen[str]:
    """Start a process that does a run; it reads its request from the standard input.

    The process writes the result's files into `folder`, messages about its progress to the standard
    output, and its standard error to the open file `errors`.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "chanceline.app.worker", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        # With a session of its own, the process can be ended together with all its workers, and
        # Ctrl-C in the terminal reaches this process only.
        start_new_session=True,
    )


def follow_process(run: Run, process: subprocess.Popen[str]) -> int:
    """Send the process of a run its request, and note its messages in `run` until it ends.

    Returns the exit code of the process.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout as messages:
        # The pipe is broken if the run was cancelled before the process could read.
        with suppress(BrokenPipeError), process.stdin as request_pipe:
            request_pipe.write(f"{run.request.to_json()}\n")
        # Every line is a message in JSON. The loop ends when the process closes its output.
        for line in messages:
            note_message(run, json.loads(line))
    return process.wait()


def note_message(run: Run, message: dict[str, Any]) -> None:
    """Note what the process of a run tells: its progress, or why it stops."""
    run.done = message.get("done", run.done)
    run.total = message.get("total", run.total)
    run.sentence = message.get("sentence", run.sentence)


def end_process(process: subprocess.Popen[str]) -> None:
    """End a process with all that it started, at last without asking."""
    send_signal(process, signal.SIGTERM)
    try:
        process.wait(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()


def send_signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Send a signal to a process and its workers, where the system has groups of processes."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):  # it may have just ended
            os.killpg(process.pid, number)  # it leads its session, so that both have one number
    else:
        process.terminate()
