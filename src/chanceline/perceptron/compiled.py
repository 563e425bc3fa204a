"""How kernels are compiled: once, and kept for the next process where there is a place to keep them.

Every kernel of the package gets its decorator from here. `numba` refuses to decorate where nothing can be written, neither
beside the sources nor in the user's cache: then each process compiles for itself.
"""

from __future__ import annotations

from typing import Any

import numba


def _probe() -> None:
    """Never called."""


def can_cache() -> bool:
    """Whether compiled code can be kept: in NUMBA_CACHE_DIR, beside the sources, or in the user's cache."""
    try:
        numba.njit(cache=True)(_probe)
    except RuntimeError:
        return False
    return True


CACHE = can_cache()


def kernel(**options: Any) -> Any:
    """The decorator of a compiled function: `numba.njit` with a cache where there can be one."""
    return numba.njit(cache=CACHE, **options)


def inner_kernel(**options: Any) -> Any:
    """The same for functions that only kernels call: half of their compile time would be the way in from Python."""
    return kernel(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)


def inlined_kernel() -> Any:
    """The same for a function with a single caller, which takes it in: a function that is called is optimised twice."""
    return kernel(inline="always")
