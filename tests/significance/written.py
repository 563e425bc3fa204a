"""Reads rules as people and spreadsheets read them: the printed sentence and scorecard, and the formula."""

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
    total = sum(
        number(points) * values[name] / number(step)
        for points, step, name in CARD_TERM.findall(text)
    )
    return end["name"], total > number(end["limit"]), int(end["errors"])


class NotThere(Exception):
    """What a spreadsheet shows as #N/A."""


class Formula:
    """A small reader of spreadsheet formulas: numbers, texts, + - * & < >, and the functions that our formulas call.

    Every part becomes a function of the row, so that IF and IFERROR look only at what they need.
    """

    TOKEN = re.compile(r'"(?:[^"]|"")*"|\$1:\$1|[A-Z]+(?=\()|\d+\.?\d*(?:E[+-]?\d+)?|[-+*<>,()&]')

    def __init__(self, text: str, header: list[str | float], columns: list[np.ndarray]) -> None:
        assert text.startswith("=")
        assert self.TOKEN.sub("", text[1:]) == "", f"not understood: {text}"
        self.tokens = self.TOKEN.findall(text[1:])
        self.header = header
        self.columns = columns
        self.value = self.comparison()
        assert self.tokens == [], f"more than one formula: {text}"

    def comparison(self):
        left = self.joined()
        if self.tokens[:1] in (["<"], [">"]):
            is_less = self.tokens.pop(0) == "<"
            right = self.joined()
            return lambda row: left(row) < right(row) if is_less else left(row) > right(row)
        return left

    def joined(self):
        parts = [self.sum()]
        while self.tokens[:1] == ["&"]:
            self.tokens.pop(0)
            parts.append(self.sum())
        return parts[0] if len(parts) == 1 else lambda row: "".join(part(row) for part in parts)

    def sum(self):
        total = self.product()
        while self.tokens[:1] in (["+"], ["-"]):
            sign = 1.0 if self.tokens.pop(0) == "+" else -1.0
            total = self._added(total, sign, self.product())
        return total

    @staticmethod
    def _added(total, sign, term):
        return lambda row: total(row) + sign * term(row)

    def product(self):
        first = self.factor()
        if self.tokens[:1] == ["*"]:
            self.tokens.pop(0)
            second = self.product()
            return lambda row: first(row) * second(row)
        return first

    def factor(self):
        token = self.tokens.pop(0)
        if token == "-":
            inner = self.factor()
            return lambda row: -inner(row)
        if token.startswith('"'):
            return lambda row: token[1:-1].replace('""', '"')
        if token == "$1:$1":
            return lambda row: self.header
        if token[0].isdigit():
            return lambda row: float(token)
        return self.call(token)

    def call(self, name: str):
        assert self.tokens.pop(0) == "("
        arguments = []
        while self.tokens[0] != ")":
            arguments.append(self.comparison())
            if self.tokens[0] == ",":
                self.tokens.pop(0)
        self.tokens.pop(0)
        return lambda row: getattr(self, f"do_{name}")(row, *arguments)

    def do_IF(self, row, truth, yes, no):
        return yes(row) if truth(row) else no(row)

    def do_IFERROR(self, row, value, otherwise):
        try:
            return value(row)
        except NotThere:
            return otherwise(row)

    def do_ROW(self, row):
        return row

    def do_ADDRESS(self, row, at, column):
        return at(row), column(row)

    def do_INDIRECT(self, row, place):
        at, column = place(row)
        return float(self.columns[column][at])

    def do_CHAR(self, row, number):
        return chr(int(number(row)))

    do_UNICHAR = do_CHAR

    def do_MATCH(self, row, wanted, cells, kind):
        """Texts in any case and with wildcards, numbers only where the cell is one."""
        assert kind(row) == 0
        wanted = wanted(row)
        for place, cell in enumerate(cells(row)):
            if isinstance(wanted, str) and isinstance(cell, str):
                if re.fullmatch(self.pattern(wanted), cell, re.IGNORECASE | re.DOTALL):
                    return place
            elif not isinstance(wanted, str) and wanted == cell:
                return place
        raise NotThere(wanted)

    @staticmethod
    def pattern(text: str) -> str:
        wild = {"*": ".*", "?": "."}
        pieces = re.findall(r"~[~*?]|[*?]|[^~*?]+|~", text)
        return "".join(
            wild.get(piece) or re.escape(re.sub(r"^~(?=.)", "", piece)) for piece in pieces
        )


def apply_formula(text: str, values: Mapping[str, np.ndarray]) -> list[str]:
    """What the formula shows beside every row of a sheet with these columns, their names in row 1."""
    formula = Formula(text, [as_cell(name) for name in values], list(values.values()))
    rows = len(next(iter(values.values())))
    return [formula.value(row) for row in range(rows)]


def as_cell(name: str) -> str | float:
    """A header cell as a spreadsheet reads it from a file: a number where it looks like one."""
    try:
        return float(name)
    except ValueError:
        return name
