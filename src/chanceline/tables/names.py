"""Names of columns: made different, found again, and shown a few at a time."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from chanceline.errors import InputError
from chanceline.tables.doctor import Finding


def unique_names(names: Sequence[str]) -> tuple[list[str], list[Finding]]:
    """The names stripped, blank ones numbered, later ones of equal names marked, and a word about those."""
    plain = [name.strip() or f"Unnamed: {j}" for j, name in enumerate(names)]
    counts = Counter(plain)
    repeated = [name for name, count in counts.items() if count > 1]
    if not repeated:
        return plain, []
    taken, seen, unique = set(plain), Counter[str](), []
    for name in plain:
        seen[name] += 1
        new = name
        while seen[name] > 1 and (new := f"{name} ({seen[name]})") in taken:
            seen[name] += 1
        taken.add(new)
        unique.append(new)
    word = "name occurs" if len(repeated) == 1 else "names occur"
    message = f"{len(repeated)} {word} more than once ({few(repeated)}); the second is called {repeated[0] + ' (2)'!r} and so on."
    return unique, [Finding("warning", message)]


def find_name(name: str, names: Sequence[str]) -> str | None:
    """The name meant: as it stands, without regard to case, or by its number from 0 (also from the end)."""
    if name in names:
        return name
    alike = [one for one in names if one.lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    try:
        return names[int(name)]
    except (ValueError, IndexError, OverflowError):
        return None


def no_such_column(name: str, names: Sequence[str], role: str) -> InputError:
    """There is no such column, but perhaps one of a similar name."""
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"there are {few(names)}."
    return InputError(f"there is no {role} column {name!r}; {hint}")


def few(names: Sequence[Any], at_most: int = 4) -> str:
    """The first names in quotes, and how many more there are."""
    shown = ", ".join(repr(str(name)) for name in names[:at_most])
    return shown + (f" and {len(names) - at_most} more" if len(names) > at_most else "")


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
