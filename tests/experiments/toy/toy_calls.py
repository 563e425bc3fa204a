"""Functions for trying the workers: importable here and in every process started from here."""

import os
import signal
import time
from pathlib import Path

import numpy as np


def draw(item: int, seed: int, scale: float) -> tuple[int, float]:
    rng = np.random.default_rng([seed, item])
    # Later items are quicker, so that they finish out of order.
    time.sleep(0.002 * (item % 3))
    return item, scale * float(rng.normal())


def blas_threads(item: int) -> int:
    from threadpoolctl import threadpool_info

    return max(entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas")


def fail_at_three(item: int) -> int:
    if item == 3:
        raise ZeroDivisionError("three is not allowed")
    return item


def die_once(item: int, folder: str) -> int:
    """Items 2 and 5 take their worker with them the first time."""
    mark = Path(folder) / str(item)
    if item in (2, 5) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def die_always(item: int) -> int:
    if item == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def note_pid(item: int, folder: str, pause: float) -> int:
    (Path(folder) / f"{item}-{os.getpid()}").touch()
    time.sleep(pause)
    return item


def hold(item: int, folder: str) -> int:
    """Note the process, then keep the interpreter's lock for ever, as a compiled loop does."""
    import ctypes

    (Path(folder) / f"{item}-{os.getpid()}").touch()
    ctypes.PyDLL(None).pause()
    return item


class Parcel:
    """Tells in a file each time it is unpacked."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__ = state
        mark = Path(self.folder) / f"unpacked-{os.getpid()}"
        mark.write_text(mark.read_text() + "x" if mark.exists() else "x")


def with_parcel(item: int, parcel: Parcel) -> int:
    return item + len(parcel.folder) * 0


def slow_pid() -> int:
    time.sleep(0.1)
    return os.getpid()


class PickyError(Exception):
    """Cannot be made again from its message."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


def raise_picky() -> None:
    raise PickyError("one", "two")


def compile_something(item: int) -> int:
    import numba

    return int(numba.njit(lambda x: x + 1)(item))
