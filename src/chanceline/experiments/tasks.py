"""A task says what to run; its canonical id names the result, and its seed follows from the id.

A *kind* is a function of a seed and plain keyword parameters that returns a plain dictionary. Tasks
name it by a short built-in name or as ``package.module:function``: any machine that can import it
can run it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from chanceline.errors import InputError, real_number

Kind = Callable[..., Mapping[str, Any]]

# Built-in kind → where its function lives.
BUILTIN_KINDS = {
    "smallest": "chanceline.experiments.kinds:smallest_support",
    "count": "chanceline.experiments.kinds:exact_count",
    "share": "chanceline.experiments.kinds:separable_share",
    "log-count": "chanceline.experiments.kinds:log_count",
    # Ids of stored results have these names from when the kinds were in a module of their own.
    "chanceline.experiments.classes:smallest": "chanceline.experiments.kinds:smallest_classes",
    "chanceline.experiments.classes:fewest_errors": "chanceline.experiments.kinds:errors_classes",
    "chanceline.experiments.classes:count": "chanceline.experiments.kinds:count_classes",
}
ID_DIGITS = 32  # hexadecimal digits of a digest that are kept
SEED_DIGITS = 16  # of these, the digits that make a seed: 64 bits


def canonical(value: Any) -> str:
    """JSON with sorted keys, no spaces and only finite numbers: equal values, equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def digest(value: Any) -> str:
    """The beginning of the SHA-256 of a value's canonical JSON, 32 hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:ID_DIGITS]


def derive_seed(*parts: Any) -> int:
    """A seed below 2⁶³ that depends on the canonical JSON of the parts and on nothing else.

    >>> derive_seed("problem", 64, 1.0, "binary", 0)
    2088625874213354908
    """
    bits = int(digest(parts)[:SEED_DIGITS], 16)
    return bits >> 1  # what a signed integer of 64 bits can hold


@dataclass(frozen=True)
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

    kind: str = field(compare=False)
    parameters: Mapping[str, Any] = field(compare=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        task_id = digest({"kind": self.kind, "parameters": dict(self.parameters)})
        object.__setattr__(self, "id", task_id)  # the way to set a field of a frozen dataclass

    @property
    def seed(self) -> int:
        return derive_seed("task", self.id)

    def run(self) -> dict[str, Any]:
        """Do the work here and now; a result that canonical JSON cannot hold is refused."""
        function = find_kind(self.kind)
        result = dict(function(seed=self.seed, **self.parameters))
        canonical(result)
        return result


@cache
def find_kind(name: str) -> Kind:
    """The function that does tasks of this kind.

    `name` is that of a built-in kind, or package.module:function. The latter imports the module.
    """
    address = BUILTIN_KINDS.get(name, name)
    module_name, _, function_name = address.partition(":")
    if not function_name:
        raise InputError(
            f"there is no kind of task {name!r}; known are {', '.join(BUILTIN_KINDS)}, "
            "or package.module:function"
        )
    try:
        function: Kind = getattr(import_module(module_name), function_name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"the kind of task {name!r} cannot be imported here ({error})") from error
    return function


@cache
def _signature(kind: str) -> inspect.Signature:
    """The signature of a kind's function, with types for annotations."""
    return inspect.signature(find_kind(kind), eval_str=True)


def make_task(kind: str, **parameters: Any) -> Task:
    """Make a task: parameters not given get the defaults of the kind, numbers get its types.

    So equal work has one task: ``alpha=1`` and ``alpha=1.0`` are the same if the function of the
    kind declares ``alpha: float``.
    """
    # Add the defaults of parameters that are not given. The function also takes a seed, which is
    # derived from the finished task later; a 0 stands in for it here.
    signature = _signature(kind)
    try:
        bound = signature.bind(seed=0, **parameters)
    except TypeError as error:
        names = ", ".join(name for name in signature.parameters if name != "seed")
        raise InputError(f"a task of kind {kind!r} takes {names}: {error}") from error
    bound.apply_defaults()

    # Convert the values to the types that the function declares.
    converted = {}
    for name, value in bound.arguments.items():
        if name != "seed":
            declared = signature.parameters[name].annotation
            converted[name] = _in_type(value, declared, f"parameter {name} of {kind!r}")
    return Task(kind, converted)


def _in_type(value: Any, declared: Any, name: str) -> Any:
    """A parameter's value in the type that its kind declares; `name` is what a refusal calls it.

    Whole numbers become floats where a float is declared. Nothing else is converted.
    """
    if declared is float:
        return real_number(value, name) + 0.0  # −0.0 and 0.0 are one number
    if declared in (int, str, bool) and type(value) is not declared:
        raise InputError(f"{name} is {value!r}; it must be of type {declared.__name__}")
    return value
