"""Values of a JSON object from outside, each checked for its type when it is taken out."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NoReturn

from chanceline.errors import InputError, shown


class FileRecord:
    """A JSON object of a file; what is missing or of another type is told in one sentence."""

    def __init__(self, values: Any, file: str, place: str = "") -> None:
        """Take an object of a file.

        Parameters
        ----------
        values : what the file holds at this place.
        file : its name.
        place : where in the file, such as `rules[0].`; empty at the top.
        """
        self.file = file
        self.place = place
        if not isinstance(values, dict):
            self.refuse(f"{place.rstrip('.') or 'the file'} must be an object")
        self._values: dict[str, Any] = values

    def refuse(self, reason: str) -> NoReturn:
        """Stop, because the file is not what was written."""
        raise InputError(
            f"{self.file} is no result of chanceline, or it is damaged ({reason}); write it again "
            "with save."
        )

    def _value(self, key: str) -> Any:
        if key not in self._values:
            self.refuse(f"{self.place}{key} is missing")
        return self._values[key]

    def _refuse_value(self, key: str, wanted: str) -> NoReturn:
        self.refuse(f"{self.place}{key} must be {wanted}, not {shown(self._values[key])}")

    def text(self, key: str) -> str:
        """A text."""
        value = self._value(key)
        if not isinstance(value, str):
            self._refuse_value(key, "a text")
        return value

    def truth(self, key: str) -> bool:
        """A truth value."""
        value = self._value(key)
        if not isinstance(value, bool):
            self._refuse_value(key, "true or false")
        return value

    def choice(self, key: str, choices: Sequence[str]) -> str:
        """One of some texts."""
        value = self.text(key)
        if value not in choices:
            self._refuse_value(key, f"one of {', '.join(choices)}")
        return value

    def optional_choice(self, key: str, choices: Sequence[str]) -> str | None:
        """One of some texts, or nothing."""
        if self._value(key) is None:
            return None
        return self.choice(key, choices)

    def number(self, key: str) -> float:
        """A finite number."""
        value = self._value(key)
        if not _is_finite_number(value):
            self._refuse_value(key, "a number")
        return float(value)

    def optional_number(self, key: str) -> float | None:
        """A finite number, or nothing."""
        if self._value(key) is None:
            return None
        return self.number(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._refuse_value(key, "a list of texts")
        return tuple(value)

    def numbers(self, key: str, length: int | None = None) -> list[float]:
        """A list of finite numbers, of this length if one is given."""
        value = self._value(key)
        if not isinstance(value, list) or not all(_is_finite_number(item) for item in value):
            self._refuse_value(key, "a list of numbers")
        if length is not None and len(value) != length:
            self._refuse_value(key, f"a list of {length} numbers")
        return [float(item) for item in value]

    def interval(self, key: str) -> tuple[float, float]:
        """Two numbers."""
        low, high = self.numbers(key, length=2)
        return low, high

    def optional_interval(self, key: str) -> tuple[float, float] | None:
        """Two numbers, or nothing."""
        if self._value(key) is None:
            return None
        return self.interval(key)

    def record(self, key: str) -> FileRecord:
        """An object."""
        return FileRecord(self._value(key), self.file, f"{self.place}{key}.")

    def optional_record(self, key: str) -> FileRecord | None:
        """An object, or nothing."""
        if self._value(key) is None:
            return None
        return self.record(key)

    def records(self, key: str) -> list[FileRecord]:
        """A list of objects."""
        value = self._value(key)
        if not isinstance(value, list):
            self._refuse_value(key, "a list")
        return [
            FileRecord(item, self.file, f"{self.place}{key}[{position}].")
            for position, item in enumerate(value)
        ]

    def names(self) -> list[str]:
        """The names of all values."""
        return list(self._values)


def _is_finite_number(value: Any) -> bool:
    """Whether a value is a finite number; JSON's true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False
