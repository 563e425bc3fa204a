"""What every result can do, and text that is safe to show.

A result says of what kind its numbers are, becomes plain values, and shows itself in one line.
"""

from __future__ import annotations

import html
import math
import unicodedata
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar

# Unicode's categories of what cannot be seen: control and format characters (marks of direction
# among them), halves of surrogate pairs, separators of lines and of paragraphs.
UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Letters with which a cell begins that a spreadsheet takes for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


class Result(ABC):
    """Base of all results, which are dataclasses.

    Attributes
    ----------
    kind : what the numbers are: "exact", "rigorous", "certified", "Monte Carlo", "asymptotic" and
        the like.
    """

    kind: str
    # Properties that belong into `to_dict`, and fields that do not.
    _derived: ClassVar[tuple[str, ...]] = ()
    _hidden: ClassVar[tuple[str, ...]] = ()
    # Former name → name, for one version: an attribute with a warning, and a key of `to_dict`.
    _former: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def summary(self) -> str:
        """One line without line breaks; `repr` shows it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the fields, the properties derived from them, and `kind`.

        `_hidden` names the fields to leave out, `_derived` the properties to include. A value that
        had another name in the previous version (`_former`: former name → name) is also included
        under that one.
        """
        all_fields = fields(self)  # type: ignore[arg-type]
        names = [field.name for field in all_fields if field.name not in self._hidden]
        names.extend(self._derived)
        names.append("kind")
        record = {name: plain(getattr(self, name)) for name in names}

        for former_name, name in self._former.items():
            if name in record:
                record[former_name] = record[name]
        return record

    def __getattr__(self, name: str) -> Any:
        """The value of an attribute by its former name, with a DeprecationWarning.

        Python calls this only for attributes that the object lacks. `_former` maps former names to
        present ones.
        """
        class_name = type(self).__name__
        if name not in self._former:
            raise AttributeError(f"{class_name!r} object has no attribute {name!r}")
        new_name = self._former[name]
        warnings.warn(
            f"{class_name}.{name} is now {class_name}.{new_name}; the old name will go in 0.5.",
            DeprecationWarning,
            stacklevel=2,  # the warning points at the line that uses the former name
        )
        return getattr(self, new_name)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.summary()}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def plain(value: Any) -> Any:  # noqa: PLR0911 (one return for each kind of value)
    """Return a value as plain data, which JSON can hold: dict, list, text, number, bool or None.

    Results, dataclasses and mappings become dicts; arrays and tuples become lists; enums and NumPy
    scalars become their values; NaN and ±∞ become None.
    """
    # The first test that holds decides. Results are dataclasses, but choose their keys themselves;
    # enums are often text or numbers, too, but only their values are plain.
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy's arrays and scalars
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def visible(text: str, keep: str = "") -> str:
    """Text with everything that cannot be seen written out, as in ``\\x1b`` or ``\\u202e``.

    Parameters
    ----------
    text : words from outside, such as a name from a file or the name of a file.
    keep : characters to leave as they are, such as a line break.
    """
    letters = set(text) - set(keep)
    unseen = [letter for letter in letters if unicodedata.category(letter) in UNSEEN_CATEGORIES]
    escapes = {ord(letter): letter.encode("unicode_escape").decode("ascii") for letter in unseen}
    return text.translate(escapes)


def harmless(text: str) -> str:
    """A text for a cell of CSV that no spreadsheet takes for a formula.

    Names come from outside; where one begins like a formula, an apostrophe stands before it.
    """
    if text.startswith(FORMULA_STARTS):
        return f"'{text}"
    return text


def listed(names: Sequence[str], most: int = 4) -> str:
    """The first names (at most `most`), separated by commas, and a sign that there are more."""
    text = ", ".join(names[:most])
    if len(names) > most:
        text += ", …"
    return text
