"""Public names that load on first use, so that importing a package costs nothing.

Former names load the same way, with a warning, for one more version.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Make a module's `__getattr__`, which Python calls for a name that the module does not hold.

    A package writes ``__getattr__ = lazy(__name__, {"search": "chanceline.select.api"})``; then
    `chanceline.search` imports `chanceline.select.api` and takes `search` from it.

    Parameters
    ----------
    package : name of the module whose `__getattr__` this is.
    homes : public name → the module that defines it.
    moved : former name → "chanceline.module:new_name", where the object is now.
    """
    former_names = moved or {}

    def load_name(name: str) -> Any:
        """Import the module that defines a public name, and return what the name stands for.

        A former name (a key of `former_names`) still works, with a DeprecationWarning.
        """
        if name in homes:
            return getattr(import_module(homes[name]), name)
        if name in former_names:
            module, _, new_name = former_names[name].partition(":")
            warnings.warn(
                f"{package}.{name} is now {module}.{new_name}; the old name will go in 0.5.",
                DeprecationWarning,
                stacklevel=2,  # the warning points at the line that uses the former name
            )
            return getattr(import_module(module), new_name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load_name
