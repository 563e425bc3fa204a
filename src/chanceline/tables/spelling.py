"""How numbers, dates and names are written, and what spellings of one thing have in common."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})([ T].*)?"
)
WITHOUT_WIDTH = re.compile("[\u200b\u2060\ufeff]")  # letters that no program shows
WHOLE_NUMBER = re.compile(r"([+-]?\d+)(?:\.0*)?")


def is_number(text: str) -> bool:
    """Whether the text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    # In Python 309_1 is 3091; in a table it is the first sample of subject 309.
    return "_" not in text


def is_date(text: str) -> bool:
    """Whether the text is a day in figures, perhaps with a time: `2021-03-04`, `4.3.21 10:15`."""
    return DATE.fullmatch(text) is not None


def tidy_text(text: str) -> str:
    """The text without spaces of any kind around it, and with one plain space wherever there are
    some in it.
    """
    return " ".join(WITHOUT_WIDTH.sub("", text).split())


def plain_text(value: Any) -> str:
    """One spelling for a class or a sample: `1`, `1.0` and ` 1 ` are the same; every digit of a
    long number counts.
    """
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    text = tidy_text(str(value))
    whole = WHOLE_NUMBER.fullmatch(text)
    if whole is None:
        return text
    return str(int(whole[1]))


def folded_name(value: Any) -> str:
    """A name in small letters and with tidy spaces, the same for `Ill`, `ill ` and `ILL`."""
    return " ".join(plain_text(value).casefold().split())
