"""A kind of task for trying engines and stores: cheap, seeded, and as slow as asked."""

import time

import numpy as np


def walk(seed: int, *, n: int, step: float = 1.0, trial: int = 0, pause: float = 0.0) -> dict:
    rng = np.random.default_rng(seed)
    path = step * np.cumsum(rng.normal(size=n))
    # A matrix product, so that the number of BLAS threads could matter.
    square = rng.normal(size=(40, 40)) @ rng.normal(size=(40, 40))
    time.sleep(pause)
    return {"end": float(path[-1]), "top": float(path.max()), "trace": float(np.trace(square))}


def fail(seed: int, *, n: int, trial: int = 0) -> dict:
    if n == 3:
        raise ZeroDivisionError("three is not allowed")
    return {"n": n}


def curve(seed: int, *, n: int) -> dict:
    return {"levels": [float(k) / n for k in range(n)], "first": n}
