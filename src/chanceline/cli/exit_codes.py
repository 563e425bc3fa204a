"""How a command ends: exit codes, and the signals that stop it in an orderly way.

| exit code | meaning |
|---|---|
| 0 | success; a reader of the output that has seen enough (`| head`) is no error |
| 1 | a computation did not settle, workers were lost, or an internal error (with its traceback) |
| 2 | bad input: a wrong option or value, or a file that is missing or not allowed |
| 3 | the machine could not: a full disk, too little memory |
| 129, 130, 143 | stopped by SIGHUP, Ctrl-C or SIGTERM |
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import NoReturn


class ExitCode(IntEnum):
    """How a command ended; a signal's code is 128 more than its number."""

    SUCCESS = 0
    FAILED = 1
    BAD_INPUT = 2
    MACHINE = 3


# Signals that stop a command in an orderly way; not every system has all of them.
STOPPING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@dataclass
class SignalRecord:
    """The signal that has stopped the work; Ctrl-C's until there is one."""

    number: int = signal.SIGINT


# The library knows KeyboardInterrupt alone, and may give what it has instead of raising it.
LAST_SIGNAL = SignalRecord()


def exit_code_of_signal(number: int) -> int:
    """The code that a shell reports for a process that this signal ended."""
    return 128 + number


def interrupted_code() -> int:
    """The exit code of a command whose work a signal cut short, and which told what it had."""
    return exit_code_of_signal(LAST_SIGNAL.number)


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Within the block Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt(signal number).

    As an exception ends the work, files are cleaned up and worker processes end. A second signal
    ends the program at once. When the block ends, the handlers are as before.
    """
    # Python allows signal handlers in the main thread only, and delivers signals there.
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    # A signal that is ignored, such as a hang-up under nohup, stays ignored.
    handlers = {number: signal.getsignal(number) for number in STOPPING_SIGNALS}
    handlers_before = {
        number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN
    }

    def interrupt(number: int, _: object) -> NoReturn:
        """Handle the first signal; the next one has the default effect, which ends the program."""
        LAST_SIGNAL.number = number  # for the exit code
        for other_number in handlers_before:
            signal.signal(other_number, signal.SIG_DFL)
        raise KeyboardInterrupt(number)

    for number in handlers_before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
