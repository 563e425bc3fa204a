"""Names that moved: they keep working for one version, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def moved(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` for old names: ``__getattr__ = moved(__name__, {"old": "chanceline.new.module:new"})``."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, new = homes[name].partition(":")
        warnings.warn(f"{package}.{name} is now {module}.{new or name}; the old name will go in 0.4.", DeprecationWarning, 2)
        return getattr(import_module(module), new or name)

    return get
