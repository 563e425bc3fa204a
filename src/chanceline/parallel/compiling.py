"""Kernels that compile, here or in a worker, are told to whoever watches Numba's events in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

EVENT = "numba:compile"


@contextmanager
def compile_watch(tell: Callable[[], object]) -> Iterator[None]:
    """Call `tell` once, when the first kernel compiles in this process or one of its workers; the cache does not count."""
    from numba.core import event

    with event.install_listener(EVENT, _listener(tell)):
        yield


class LateWatch:
    """The same in a process that has not imported Numba yet, until it ends."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = tell
        self._installed = False

    def install(self) -> None:
        """Begin to watch, if what was imported since has brought Numba with it."""
        if not self._installed and "numba" in sys.modules:
            from numba.core import event

            event.register(EVENT, _listener(self._tell))
            self._installed = True


def announce_compiling() -> None:
    """Say that a worker compiles. Who listens has imported Numba."""
    if "numba" in sys.modules:
        from numba.core import event

        with event.trigger_event(EVENT):
            pass


def _listener(tell: Callable[[], object]) -> Any:
    from numba.core import event

    class Listener(event.Listener):
        told = False

        def on_start(self, _: event.Event) -> None:
            if not self.told:
                self.told = True
                tell()

        def on_end(self, _: event.Event) -> None:
            pass

    return Listener()
