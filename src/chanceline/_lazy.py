"""Names that load on first use, so that importing a package costs nothing; former names do too, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """A module's `__getattr__`: ``__getattr__ = lazy(__name__, {"name": "chanceline.its.module"})``.

    Parameters
    ----------
    homes : name → the module that defines it.
    moved : former name → its new home, "chanceline.module:name"; it works for one more version, with a warning.
    """
    former = moved or {}

    def get(name: str) -> Any:
        module, _, new = (homes.get(name) or former.get(name, "")).partition(":")
        if not module:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in former:
            warnings.warn(
                f"{package}.{name} is now {module}.{new or name}; the old name will go in 0.4.",
                DeprecationWarning,
                2,
            )
        return getattr(import_module(module), new or name)

    return get
