"""Computes a sheet as a spreadsheet does, for the functions that our workbooks use."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

TOKEN = re.compile(
    r'"(?:[^"]|"")*"|\$?[A-Z]+\$?\d+:\$?[A-Z]+\$?\d+|\$?[A-Z]+\$?\d+(?!\()|[A-Z]+(?=\()'
    r"|\d+\.?\d*(?:E[+-]?\d+)?|[-+*/^<>=,()&]"
)


class NotAvailable(Exception):
    """What a spreadsheet shows as #N/A."""


def raise_not_available() -> None:
    raise NotAvailable


def exact(left: Any, right: Any) -> Any:
    """Texts compared with their capitals, one by one where one side is a range."""
    if isinstance(left, list):
        return np.array([float(text(item) == text(right)) for item in left])
    return text(left) == text(right)


def text(value: Any) -> str:
    """A cell as text: empty cells are empty, whole numbers have no point."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def sumproduct(*ranges: Any) -> float:
    """Empty cells count as 0."""
    factors = [np.array([0.0 if item is None else float(item) for item in one]) for one in ranges]
    return float(np.prod(factors, axis=0).sum())


FUNCTIONS = {
    "SUMPRODUCT": sumproduct,
    "COUNT": lambda items: sum(isinstance(item, int | float) for item in items),
    "EXACT": exact,
    "OR": lambda *values: any(values),
    "TRIM": lambda value: " ".join(text(value).split()),
    "ISNUMBER": lambda value: isinstance(value, int | float),
    "MAX": max,
    "MIN": min,
    "NA": raise_not_available,
    "CHAR": chr,
}


class Sheet:
    """The values of a sheet, some of them typed in here: `Sheet(cells)["E2"]`."""

    def __init__(self, sheet: Any, typed: dict[str, Any]) -> None:
        self.cells = {cell.coordinate: cell.value for row in sheet.rows for cell in row}
        self.is_formula = {
            cell.coordinate: cell.data_type == "f" for row in sheet.rows for cell in row
        }
        for name, value in typed.items():
            self.cells[name] = value
            self.is_formula[name] = False

    def __getitem__(self, name: str) -> Any:
        value = self.cells.get(name)
        if not self.is_formula.get(name, False):
            return value
        assert TOKEN.sub("", value[1:]) == "", f"not understood: {value}"
        tokens = TOKEN.findall(value[1:])
        result = self.comparison(tokens)()
        assert tokens == [], value
        return result

    def comparison(self, tokens: list[str]) -> Any:
        left = self.joined(tokens)
        if tokens[:1] and tokens[0] in "<>=":
            sign = tokens.pop(0)
            right = self.joined(tokens)
            compare = {
                "<": lambda a, b: a < b,
                ">": lambda a, b: a > b,
                "=": lambda a, b: a == b,
            }
            return lambda: compare[sign](left(), right())
        return left

    def joined(self, tokens: list[str]) -> Any:
        parts = [self.sum(tokens)]
        while tokens[:1] == ["&"]:
            tokens.pop(0)
            parts.append(self.sum(tokens))
        if len(parts) == 1:
            return parts[0]
        return lambda: "".join(text(part()) for part in parts)

    def sum(self, tokens: list[str]) -> Any:
        total = self.product(tokens)
        while tokens[:1] and tokens[0] in "+-":
            total = self.added(total, tokens.pop(0), self.product(tokens))
        return total

    @staticmethod
    def added(left: Any, sign: str, right: Any) -> Any:
        if sign == "+":
            return lambda: left() + right()
        return lambda: left() - right()

    def product(self, tokens: list[str]) -> Any:
        left = self.power(tokens)
        while tokens[:1] and tokens[0] in "*/":
            left = self.multiplied(left, tokens.pop(0), self.power(tokens))
        return left

    @staticmethod
    def multiplied(left: Any, sign: str, right: Any) -> Any:
        if sign == "*":
            return lambda: left() * right()
        return lambda: left() / right()

    def power(self, tokens: list[str]) -> Any:
        base = self.atom(tokens)
        if tokens[:1] == ["^"]:
            tokens.pop(0)
            exponent = self.atom(tokens)
            return lambda: base() ** exponent()
        return base

    def atom(self, tokens: list[str]) -> Any:
        token = tokens.pop(0)
        if token == "-":
            inner = self.atom(tokens)
            return lambda: -inner()
        if token == "(":
            inner = self.comparison(tokens)
            assert tokens.pop(0) == ")"
            return inner
        if token.startswith('"'):
            return lambda: token[1:-1].replace('""', '"')
        if token[0].isdigit():
            return lambda: float(token)
        if tokens[:1] == ["("] and ":" not in token and token.isalpha():
            return self.call(token, tokens)
        address = token.replace("$", "")
        if ":" in address:
            return lambda: self.range(address)
        return lambda: self[address]

    def range(self, address: str) -> list[Any]:
        first, last = (re.fullmatch(r"([A-Z]+)(\d+)", end) for end in address.split(":"))
        assert first is not None
        assert last is not None
        assert first[1] == last[1]
        return [self[f"{first[1]}{row}"] for row in range(int(first[2]), int(last[2]) + 1)]

    def call(self, name: str, tokens: list[str]) -> Any:
        assert tokens.pop(0) == "("
        arguments = []
        while tokens[0] != ")":
            arguments.append(self.comparison(tokens))
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        if name == "IF":
            condition, yes, no = arguments
            return lambda: yes() if condition() else no()
        return lambda: FUNCTIONS[name](*(argument() for argument in arguments))
