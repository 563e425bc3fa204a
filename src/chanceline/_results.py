"""What every result can do: say of what kind its numbers are, become plain values, and show itself in one line."""

from __future__ import annotations

import html
import math
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar


class Result(ABC):
    """Base of all results, which are dataclasses.

    Attributes
    ----------
    kind : what the numbers are: "exact", "rigorous", "certified", "Monte Carlo", "asymptotic" and the like.
    """

    kind: str
    # Properties that belong into `to_dict`, and fields that do not.
    _derived: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def summary(self) -> str:
        """One line without line breaks; `repr` shows it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the fields, what is derived from them, and `kind`."""
        names = [field.name for field in fields(self) if field.name not in self._hidden]  # type: ignore[arg-type]
        return {
            name: plain(getattr(self, name))
            for name in dict.fromkeys([*names, *self._derived, "kind"])
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def plain(value: Any) -> Any:
    """Turn results, dataclasses, enums, NumPy scalars and arrays, tuples and NaN or ±∞ (null) into what JSON can hold."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def visible(text: str, keep: str = "") -> str:
    """Text from outside with everything unseen (control characters, marks of direction, line breaks) written out.

    Parameters
    ----------
    text : a name from a file, or the name of a file.
    keep : characters to leave as they are, such as a line break.
    """
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(
        letter
        if letter in keep or unicodedata.category(letter) not in hidden
        else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names, and a sign that there are more."""
    return ", ".join(names[:most]) + ", …" * (len(names) > most)
