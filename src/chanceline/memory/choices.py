"""What is chosen by name: inputs of a neuron, order of updates, couplings to cut."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from chanceline.errors import InputError


class Wiring(StrEnum):
    """Which inputs a neuron keeps."""

    SELECTED = "selected"  # searched for the patterns at hand
    RANDOM = "random"  # drawn by lot
    HEBBIAN = "hebbian-selected"  # those with the largest Hebbian coupling |Σ_μ ξ_iμ ξ_jμ|


class UpdateOrder(StrEnum):
    """In which order the neurons of a network take their new states."""

    PARALLEL = "parallel"  # all at once
    SEQUENTIAL = "sequential"  # one after the other, in a new random order each step


class CutOrder(StrEnum):
    """Which couplings of a neuron are cut first."""

    RANDOM = "random"
    WEAKEST = "weakest"


Choice = TypeVar("Choice", Wiring, UpdateOrder, CutOrder)


def choice_from(name: str, choices: type[Choice], noun: str) -> Choice:
    """The member of `choices` with this name; an unknown name is refused with a list of the known.

    `noun` is what the refusal calls such a choice, as in "There is no 'magic' wiring".
    """
    try:
        return choices(name)
    except ValueError:
        known = ", ".join(choices)
        raise InputError(f"There is no {name!r} {noun}; choose one of {known}.") from None
