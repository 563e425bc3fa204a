"""Reads rules as a person reads them: the printed sentence and scorecard, term by term."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

SENTENCE = re.compile(r"predict (?P<name>.+?) if (?P<sum>.+?) (?P<sign>[<>]) (?P<limit>\S+)")
CARD_TERM = re.compile(r"(−?\d+) points? for every (\S+) of (.+?)(?=, −?\d+ point|; )")
CARD_END = re.compile(r"; (?P<name>.+) above (?P<limit>\S+) points \((?P<errors>\d+) error")


def number(text: str) -> float:
    """A number with a typographic minus."""
    return float(text.replace("−", "-"))


def apply_sentence(sentence: str, values: Mapping[str, np.ndarray]) -> tuple[str, np.ndarray]:
    """The class that the sentence is about, and which rows it calls so."""
    rows = len(next(iter(values.values())))
    if sentence.endswith(" always"):
        name = sentence.removeprefix("predict ").removesuffix(" always")
        return name, np.ones(rows, dtype=bool)
    found = SENTENCE.fullmatch(sentence)
    assert found is not None, sentence
    total = np.zeros(rows)
    for term in re.split(r" (?=[+−] )", found["sum"]):
        sign = -1.0 if term.startswith("−") else 1.0
        weight, _, name = term.lstrip("+− ").rpartition("·")
        total = total + sign * number(weight or "1") * values[name]
    limit = number(found["limit"])
    return found["name"], total > limit if found["sign"] == ">" else total < limit


def apply_card(text: str, values: Mapping[str, np.ndarray]) -> tuple[str, np.ndarray, int]:
    """The class above the scorecard's threshold, which rows have so many points, and the errors that it states."""
    end = CARD_END.search(text)
    assert end is not None, text
    total = sum(number(points) * values[name] / number(step) for points, step, name in CARD_TERM.findall(text))
    return end["name"], total > number(end["limit"]), int(end["errors"])
