"""Little pictures drawn by formulas, to store and to recall from noisy copies."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.errors import InputError
from chanceline.memory.measurement import add_noise, random_patterns
from chanceline.memory.network import AssociativeMemory
from chanceline.memory.storage import StorageReport
from chanceline.parallel import Progress

Picture = NDArray[np.int8]


def draw_pictures(size: int = 16) -> dict[str, Picture]:
    """Ten drawings of size × size pixels, +1 for ink and −1 for paper."""
    if size < 8:
        raise InputError(f"The pictures need at least 8 pixels a side to look different, but size is {size}.")
    y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]  # y upwards
    radius = np.hypot(x, y)
    cloud = np.hypot(x / 0.95, (y + 0.3) / 0.4) < 1
    drawings = {
        "heart": (x**2 * 1.3 + (1.25 * (y + 0.1) - 0.8 * np.sqrt(np.abs(x))) ** 2) < 0.75,
        "ring": np.abs(radius - 0.7) < 0.2,
        "house": ((np.abs(x) < 0.65) & (y < 0.15) & (y > -0.9)) | ((np.abs(x) + y < 0.95) & (y >= 0.15)),
        "cross": (np.abs(x) < 0.2) | (np.abs(y) < 0.2),
        "smile": (radius < 0.95)
        & ~((np.hypot(np.abs(x) - 0.35, y - 0.3) < 0.17) | ((np.abs(radius - 0.55) < 0.12) & (y < -0.15))),
        "cloud": cloud | (np.hypot(x + 0.3, y - 0.05) < 0.45) | (np.hypot(x - 0.35, y) < 0.35),
        "arrow": ((np.abs(y) < 0.22) & (x < 0.2)) | ((np.abs(y) < 0.9 - x) & (x >= 0.1)),
        "wave": np.abs(y - 0.55 * np.sin(np.pi * x)) < 0.3,
        "moon": (radius < 0.95) & (np.hypot(x - 0.45, y - 0.1) > 0.7),
        "stripes": np.sin(5 * (x + y)) > 0,
    }
    return {name: np.where(drawing, 1, -1).astype(np.int8) for name, drawing in drawings.items()}


@dataclass(frozen=True, eq=False, repr=False)
class PictureRecall(Result):
    """Pictures, noisy probes and what was recalled, each (pictures, size, size), and how the memory was made."""

    names: tuple[str, ...]
    pictures: Picture
    probes: Picture
    recalled: Picture
    noise: float
    n_random: int
    report: StorageReport
    kind = "Monte Carlo"

    def summary(self) -> str:
        whole = int((self.overlaps == 1).sum())
        return f"{whole} of {len(self.names)} pictures recalled exactly from probes with {self.noise:.0%} flipped pixels"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "picture": list(self.names),
            "noise": self.noise,
            "random_patterns": self.n_random,
            "overlap": self.overlaps,
            "storage": self.report.to_dict(),
        }

    @property
    def overlaps(self) -> NDArray[np.float64]:
        return (self.pictures * self.recalled).mean(axis=(1, 2))


def recall_pictures(
    size: int = 16,
    noise: float = 0.15,
    fan_in: float = 0.25,
    n_random: int = 10,
    seed: int = 0,
    *,
    budget: int = 1000,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> PictureRecall:
    """Store the pictures among `n_random` patterns of coin tosses, and recall them from probes with flipped pixels."""
    drawings = draw_pictures(size)
    pictures = np.array(list(drawings.values()))
    patterns = pictures.reshape(len(pictures), -1)
    stored = np.vstack([patterns, random_patterns(size * size, n_patterns=n_random, seed=seed)]) if n_random else patterns
    memory = AssociativeMemory(size * size, fan_in, seed=seed, budget=budget)
    report = memory.store(stored, workers=workers, executor=executor, progress=progress)
    probes = add_noise(patterns, noise, np.random.default_rng(seed))
    recalled = memory.recall(probes)
    return PictureRecall(
        names=tuple(drawings),
        pictures=pictures,
        probes=probes.reshape(pictures.shape),
        recalled=recalled.reshape(pictures.shape),
        noise=noise,
        n_random=n_random,
        report=report,
    )
