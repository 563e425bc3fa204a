"""How kernels are compiled: every kernel of the package gets its decorator from here.

A kernel is compiled once, at its first call, and kept for the next process where there is a place
to keep it. `numba` refuses to decorate where nothing can be written, neither beside the sources nor
in the user's cache: then each process compiles for itself.

Four decorators, by who calls the function:

- `kernel`: called from Python, and from other kernels;
- `inner_kernel`: called from kernels only;
- `leaf_kernel`: called from kernels only, small, and copied into each of them;
- `inlined_kernel`: has a single caller, which takes it in.
"""

from __future__ import annotations

from typing import Any, cast

import numba
import numpy as np


def can_cache() -> bool:
    """Whether compiled code can be kept: where the user says, beside the sources, or at home."""
    try:
        numba.njit(cache=True)(lambda: None)
    except RuntimeError:
        return False
    return True


CACHE = can_cache()

# Sums may be reassociated, so that they vectorise; the order is fixed when the kernel is compiled,
# so results repeat. Infinities and NaN keep their meaning.
REASSOCIATE = {"reassoc", "contract", "nsz", "arcp"}


# Half of a kernel's compile time is the way in from Python and from C.
NOT_FROM_PYTHON: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# A kernel that is copied into its callers and raises nothing: dividing by zero gives infinity, as
# in NumPy. A call that could raise keeps the compiler from removing the counts of references to the
# arrays around it, and these counts take as long as the arithmetic. Arrays that are named at the
# beginning of a kernel, before any branch, need no counts either.
LEAF: dict[str, Any] = {"forceinline": True, "error_model": "numpy"}


def kernel(**options: Any) -> Any:
    """Decorate a function that Python calls: `numba.njit` with a cache where there can be one."""
    return cast(Any, numba.njit(cache=CACHE, **options))


def inner_kernel(**options: Any) -> Any:
    """Decorate a function that only kernels call."""
    return numba.njit(cache=CACHE, **NOT_FROM_PYTHON, **options)


def leaf_kernel(**options: Any) -> Any:
    """Decorate a small function that only kernels call, and that is copied into each of them."""
    return numba.njit(cache=CACHE, **NOT_FROM_PYTHON, **LEAF, **options)


def inlined_kernel() -> Any:
    """Decorate a function with a single caller: one that is called is optimised twice."""
    return numba.njit(cache=CACHE, inline="always")


def counter(value: int) -> int:
    """A number that kernels take for any integer.

    Numba gives a plain constant a type of its own, and would compile every function that gets it
    once more.
    """
    return cast(int, np.int64(value))


def flag(value: bool) -> bool:
    """A truth value that kernels take for any other, as `counter` is for integers."""
    return cast(bool, np.bool_(value))


ZERO = counter(0)
NONE = counter(-1)  # no column, no place
YES = flag(True)
NO = flag(False)
