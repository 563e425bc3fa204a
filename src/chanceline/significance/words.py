"""The three verdicts, in the words that people, pages and JSON see."""

from __future__ import annotations

STRUCTURE = "structure"
CHANCE = "chance allows this"
UNDECIDED = "cannot tell"
VERDICTS = (STRUCTURE, CHANCE, UNDECIDED)


def counted(number: int, thing: str) -> str:
    """`1 error`, `3 errors`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
