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


def is_memory_map(item: int, table: np.ndarray) -> bool:
    return isinstance(table, np.memmap) and not table.flags.writeable


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


class Table:
    """A thing to share that counts how often this process has unpacked it."""

    n_unpacked = 0

    def __init__(self) -> None:
        self.values = np.zeros(1000)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        Table.n_unpacked += 1


def times_unpacked(item: int, table: Table, folder: str, pause: float) -> tuple[int, int]:
    note_pid(item, folder, pause)
    return os.getpid(), Table.n_unpacked
