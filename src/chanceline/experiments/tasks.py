"""A task says what to run; its canonical id names the result, and its seed follows from the id.

A *kind* is a function of a seed and plain keyword parameters that returns a plain dictionary. Tasks name it
by a short built-in name or as ``package.module:function``: any machine that can import it can run it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from chanceline.errors import InputError

Scalar = str | int | float | bool | None
Kind = Callable[..., Mapping[str, Any]]

# Built-in kind → where its function lives.
KINDS = {
    "smallest": "chanceline.experiments.kinds:smallest",
    "count": "chanceline.experiments.kinds:count",
    "share": "chanceline.experiments.kinds:share",
    "log-count": "chanceline.experiments.kinds:log_count",
}


def canonical(value: Any) -> str:
    """JSON with sorted keys, no spaces and only finite numbers: equal values, equal text."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{value!r} cannot be written as canonical JSON ({error}); use plain finite numbers and text") from error


def derive_seed(*parts: Any) -> int:
    """A seed below 2⁶³ that depends on the canonical JSON of the parts and on nothing else.

    >>> derive_seed("problem", 64, 1.0, "binary", 0)
    2088625874213354908
    """
    digest = hashlib.sha256(canonical(list(parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(frozen=True, eq=False)
class Task:
    """One unit of work: a kind and every parameter in force (defaults included: see `make_task`).

    Attributes
    ----------
    kind : str
        Built-in name or ``package.module:function``.
    parameters : dict of plain values
    id : str
        SHA-256 of the canonical JSON of kind and parameters, 32 hexadecimal digits.
    seed : int
        Derived from the id, so that neither order nor worker matters.
    """

    kind: str
    parameters: Mapping[str, Scalar]
    id: str = field(init=False)

    def __post_init__(self) -> None:
        for name, value in self.parameters.items():
            if not isinstance(value, str | int | float | bool | None):
                raise InputError(f"parameter {name} is {value!r}; it must be one number, text or true/false")
        text = canonical({"kind": self.kind, "parameters": dict(self.parameters)})
        object.__setattr__(self, "id", hashlib.sha256(text.encode()).hexdigest()[:32])

    @property
    def seed(self) -> int:
        return derive_seed("task", self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def run(self) -> dict[str, Any]:
        """Do the work here and now."""
        result = dict(find_kind(self.kind)(seed=self.seed, **self.parameters))
        canonical(result)
        return result


@cache
def find_kind(name: str) -> Kind:
    """The function behind a kind's name."""
    module_name, _, function_name = KINDS.get(name, name).partition(":")
    if not function_name:
        raise InputError(f"there is no kind of task {name!r}; known are {', '.join(KINDS)}, or package.module:function")
    try:
        function: Kind = getattr(import_module(module_name), function_name)
    except (Exception, SystemExit) as error:
        # The module is somebody else's, and so is what it raises when imported.
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"the kind of task {name!r} cannot be imported here ({reason})") from error
    if not callable(function):
        raise InputError(f"the kind of task {name!r} is not a function")
    return function


@cache
def _signature(name: str) -> tuple[inspect.Signature, Mapping[str, Any]]:
    function = find_kind(name)
    try:
        return inspect.signature(function), get_type_hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise InputError(f"the parameters of the kind of task {name!r} cannot be read ({error})") from error


def make_task(kind: str, **parameters: Any) -> Task:
    """A task with the kind's defaults written out and its numbers in the kind's own types.

    ``alpha=1`` and ``alpha=1.0`` are one task when the kind declares ``alpha: float``.
    """
    signature, hints = _signature(kind)
    try:
        bound = signature.bind(seed=0, **parameters)
    except TypeError as error:
        names = ", ".join(name for name in signature.parameters if name != "seed")
        raise InputError(f"a task of kind {kind!r} takes {names}: {error}") from error
    bound.apply_defaults()
    given = {name: value for name, value in bound.arguments.items() if name != "seed"}
    return Task(kind, {name: _coerce(kind, name, value, hints.get(name)) for name, value in given.items()})


def _coerce(kind: str, name: str, value: Any, hint: Any) -> Any:
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise InputError(f"parameter {name} of {kind!r} is {value}; it must be a finite number")
        return float(value) + 0.0  # −0.0 and 0.0 are one number
    if hint in (int, str, bool) and type(value) is not hint:
        raise InputError(f"parameter {name} of {kind!r} is {value!r}; it must be of type {hint.__name__}")
    if hint is float:
        raise InputError(f"parameter {name} of {kind!r} is {value!r}; it must be a number")
    return value
