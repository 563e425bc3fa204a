"""Former names of attributes, which work for one more version."""

from __future__ import annotations

import warnings
from typing import Any


def former_name(old: str, new: str) -> Any:
    """A property that gives the attribute or method `new` and warns that it was asked for `old`."""

    def get(result: Any) -> Any:
        owner = type(result).__name__
        warnings.warn(
            f"{owner}.{old} is now {owner}.{new}; the old name will go in 0.5.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(result, new)

    return property(get)
