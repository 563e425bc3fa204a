"""A case of the fuzz may not hang, eat the machine's memory or warn."""

from __future__ import annotations

import resource
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

CPU_SECONDS = 30
WALL_SECONDS = 200  # for what waits without computing; a busy machine must not look like a hang
BYTES = 3 << 30


# Of old packages (`make floors`, with -W default) they are not ours to mend.
on_warnings: Literal["error", "default"] = "error"


class Hang(BaseException):
    """The case took too long."""


@contextmanager
def limits() -> Iterator[None]:
    """At most 30 seconds of computing and 3 GB more than now; warnings are errors."""

    def stop(*_: object) -> None:
        raise Hang

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    handlers = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(on_warnings)
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        for number, handler in handlers.items():
            signal.signal(number, handler)
