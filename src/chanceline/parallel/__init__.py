"""The one way to work in parallel: ordered, seeded, interruptible, in processes of this machine or in any executor."""

from chanceline.parallel.executors import ENGINES, available_cores, open_executor, open_workers
from chanceline.parallel.losses import WorkersLostError
from chanceline.parallel.ordered import Calls, Progress, run_ordered
from chanceline.parallel.processes import LocalWorkers

__all__ = [
    "ENGINES",
    "Calls",
    "LocalWorkers",
    "Progress",
    "WorkersLostError",
    "available_cores",
    "open_executor",
    "open_workers",
    "run_ordered",
]
