"""Bad calls of the public functions, mutated from good ones by a seed: odd numbers, odd arrays, odd types."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import chanceline
from chanceline.memory import random_patterns
from chanceline.tables import load_data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6))
Y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
PATTERNS = RNG.choice([-1, 1], size=(3, 8))


def store(patterns: Any, **settings: Any) -> Any:
    """A memory that stores and recalls."""
    memory = chanceline.AssociativeMemory(**settings)
    report = memory.store(patterns)
    memory.recall(np.asarray(patterns))
    return report


Call = tuple[Callable[..., Any], dict[str, Any]]
GOOD: tuple[Call, ...] = (
    (chanceline.chance_bound, {"n_samples": 40, "n_features": 100, "n_selected": 3, "positives": 20, "errors": 0}),
    (chanceline.chance_bound, {"n_samples": 40, "n_features": 100, "n_selected": 3, "null": "coin", "intercept": False}),
    (chanceline.chance_size, {"n_samples": 40, "n_features": 100, "positives": 15, "errors": 0, "intercept": True}),
    (chanceline.largest_convincing, {"n_samples": 40, "n_features": 100, "positives": 20, "level": 0.05, "errors": 0}),
    (chanceline.samples_needed, {"n_features": 100, "n_selected": 3, "balance": 0.4, "level": 0.05, "errors": 0}),
    (chanceline.capacity, {"rho": 0.5, "ansatz": "rs"}),
    (chanceline.density, {"alpha": 1.0}),
    (chanceline.capacity_curve, {"rhos": [0.2, 0.5]}),
    (chanceline.solve, {"alpha": 1.2, "rho": 0.5, "ansatz": "rs"}),
    (chanceline.search, {"X": X, "y": Y, "method": "auto", "budget": 20, "seed": 0, "intercept": True, "target": None}),
    (chanceline.search, {"X": X, "y": Y, "method": "omp", "intercept": True}),
    (chanceline.search, {"X": X, "y": Y, "method": "l1", "intercept": True}),
    (chanceline.search, {"X": X, "y": Y, "method": "reweighted-l1", "intercept": True}),
    (chanceline.search, {"X": X, "y": Y, "method": "exact", "intercept": True}),
    (chanceline.search, {"X": X, "y": Y, "method": "amp", "intercept": True, "budget": 20}),
    (chanceline.search, {"X": X, "y": Y, "method": "biht", "intercept": True, "budget": 20, "size": 3}),
    (chanceline.front, {"X": X, "y": Y, "max_features": 3, "budget": 50, "seed": 0}),
    (chanceline.separation_test, {"X": X, "y": Y, "features": None, "permutations": 9, "budget": 20, "seed": 0, "level": 0.05}),
    (chanceline.separation_test, {"X": X, "y": Y, "features": [0, 1], "blocks": np.arange(20) % 2, "permutations": 9}),
    (chanceline.separation_test, {"X": X, "y": Y, "groups": np.arange(20), "permutations": 0, "errors": 1, "null": "fixed"}),
    (store, {"patterns": PATTERNS, "n_neurons": 8, "fan_in": 0.5, "wiring": "selected", "seed": 0, "budget": 20}),
    (random_patterns, {"n_neurons": 8, "load": 0.5, "seed": 0}),
    (load_data, {"path": "data.csv", "label": "class"}),
)
NUMBERS = (
    0, 1, -1, 2, 0.5, 40.5, -0.0, 1e308, -1e308, 1e-309, 5e-324, np.nan, np.inf, -np.inf, 0.9999999999999999, 2**63,
    -(2**70), 10**40, True, np.float32(0.3),
    np.int8(3), np.float64("nan"), 1 + 2j, np.complex128(1), Decimal("0.5"), Fraction(1, 2), np.datetime64("NaT"),
    np.timedelta64(3, "D"),
)  # fmt: skip
OTHERS = (
    None, "", "abc", "1", "\x1b[31m", b"1", [], {}, (), [1, 2], [[1]], {"a": 1}, set(), object(), int, len, np.array(3.0),
    np.array([]), datetime.date(2020, 1, 1), ..., slice(3), range(3), "exact", "coin", "rs", "full", "nowhere.csv", ".",
)  # fmt: skip


def arrays() -> list[Callable[[Random, Any], Any]]:
    """Ways to spoil an array (or to give it in another form)."""

    def put(value: Any) -> Callable[[Random, Any], Any]:
        def spoil(rng: Random, array: Any) -> Any:
            spoiled = np.array(array, dtype=object if isinstance(value, str | bytes | complex) or value is None else float)
            if spoiled.size > 0:
                spoiled.flat[rng.randrange(spoiled.size)] = value
            return spoiled

        return spoil

    return [
        *(put(value) for value in (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-309, 5e-324, None, "text", b"x", 1j)),
        lambda rng, a: np.asarray(a) * 1e305,
        lambda rng, a: np.asarray(a) * 1e-309,
        lambda rng, a: np.asarray(a) * 1e-200,
        lambda rng, a: np.asarray(a) + 1e15,
        lambda rng, a: np.asarray(a) * 0,
        lambda rng, a: np.asarray(a, dtype=complex),
        lambda rng, a: np.ma.masked_greater(a, 0.5),
        lambda rng, a: np.asarray(a).astype("datetime64[D]"),
        lambda rng, a: np.full(np.shape(a), "NaT", dtype="datetime64[s]"),
        lambda rng, a: np.asarray(a).astype(str),
        lambda rng, a: np.asarray(a) > 0,
        lambda rng, a: np.asarray(a).astype(np.float16),
        lambda rng, a: np.asarray(a).astype(np.int8),
        lambda rng, a: np.asarray(a).astype(">f8"),
        lambda rng, a: np.asarray(a).astype(np.longdouble),
        lambda rng, a: np.asfortranarray(a)[::-1],
        lambda rng, a: np.asarray(a)[:0],
        lambda rng, a: np.asarray(a)[:1],
        lambda rng, a: np.asarray(a)[:-1],
        lambda rng, a: np.asarray(a)[..., :0],
        lambda rng, a: np.asarray(a)[..., None],
        lambda rng, a: np.asarray(a).ravel(),
        lambda rng, a: np.asarray(a).tolist(),
        lambda rng, a: [*(list(row) for row in np.atleast_2d(a)[:-1]), [1.0]],
        lambda rng, a: sparse.csr_matrix(np.atleast_2d(a)),
        lambda rng, a: sparse.coo_array(np.atleast_2d(a)),
        lambda rng, a: pd.DataFrame(np.atleast_2d(a)).astype("Float64").mask(np.atleast_2d(a) > 1),
        lambda rng, a: pd.DataFrame(np.atleast_2d(a)).astype("category"),
        lambda rng, a: pd.Series(np.ravel(a)),
        lambda rng, a: np.rec.fromarrays(np.atleast_2d(a)),
        lambda rng, a: np.asarray(a, dtype=object),
        lambda rng, a: memoryview(np.ascontiguousarray(a, dtype=float)),
        lambda rng, a: np.repeat(a, 2, axis=-1),
        lambda rng, a: np.tile(np.atleast_2d(a)[:1], (len(np.atleast_1d(a)), 1)),
    ]


ARRAYS = arrays()


def mutate(rng: Random) -> Call:
    """One bad call."""
    function, good = rng.choice(GOOD)
    arguments = {name: copy.deepcopy(value) for name, value in good.items()}
    for _ in range(rng.choice((1, 1, 1, 2))):
        name = rng.choice(list(arguments))
        value = arguments[name]
        if isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in "if" and rng.random() < 0.85:
            arguments[name] = rng.choice(ARRAYS)(rng, value)
        else:
            arguments[name] = copy.copy(rng.choice(NUMBERS if rng.random() < 0.7 else OTHERS))
    return function, arguments
