"""What every result can do: say of what kind its numbers are, become plain values, and show itself in one line."""

from __future__ import annotations

import html
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any


class Result(ABC):
    """Base of all results.

    Attributes
    ----------
    kind : what the numbers are: "exact", "rigorous", "certified", "Monte Carlo", "asymptotic" and the like.
    """

    kind: str

    @abstractmethod
    def summary(self) -> str:
        """One line without line breaks; `repr` shows it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, `kind` among them."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def plain(value: Any) -> Any:
    """Turn NumPy scalars and arrays, tuples and non-finite numbers into what JSON can hold (NaN and ±∞ → null)."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        listed = value.tolist()
        # A long double stays what it is.
        return plain(float(value) if type(listed) is type(value) else listed)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def visible(text: str, keep: str = "") -> str:
    """Text from outside with everything unseen written out.

    That is control characters (so ANSI sequences), marks that turn the direction of writing, zero-width characters, line
    breaks, and bytes that were no UTF-8.

    Parameters
    ----------
    text : a name from a file, or the name of a file.
    keep : characters to leave as they are, such as a line break.
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(
        character if character in keep or unicodedata.category(character) not in hidden else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
