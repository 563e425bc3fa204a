"""A rule as a formula that people paste into a spreadsheet, from the side of the positive class.

A sample exactly on the threshold is not predicted to be positive, as in the rule's sentence and by `predict`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from chanceline.prediction.rule import PredictionRule
from chanceline.significance.design import Floats
from chanceline.significance.sentences import shortest_inequality
from chanceline.tables.formats import is_number

SPREADSHEET_DIGITS = 15  # what spreadsheets keep of a number
LONGEST_FORMULA = 8192  # characters that Excel takes
LONGEST_TEXT = 255  # characters of a text inside a formula


def spreadsheet_formula(rule: PredictionRule, X: Floats, names: Sequence[str], classes: tuple[str, str]) -> str:
    """The rule as a formula that Excel and LibreOffice take as it is, in a sheet with the features' names in row 1 and a sample
    in every row below::

        =IF(0.52*INDIRECT(ADDRESS(ROW(),MATCH("g1",$1:$1,0)))-…>0.0945,"ill","well")

    Every column is found by its name; a name that row 1 does not have gives #N/A, never another column. An empty cell counts
    as 0. The formula is empty where none says the same as the rule: with blocks or covariates, where spreadsheets cannot hold
    it (too long, more than 15 digits), and where they cannot tell a feature from another (names that differ in capitals only).

    Parameters
    ----------
    X : samples × all features, which the formula classifies as the rule does.
    names : of all features.
    classes : the negative and the positive one.
    """
    used = [names[j] for j in rule.support]
    if len(rule.covariate_weights) or rule.block_biases or _cannot_be_named(used, names, classes):
        return ""
    negative, positive = (_quoted(name) for name in classes)
    if not np.any(rule.weights):
        return f"={positive if rule.bias > 0 else negative}"

    written = shortest_inequality(rule, X[:, rule.support].astype(float))
    if written.digits > SPREADSHEET_DIGITS:
        return ""
    total = ""
    for weight, name in zip(written.weights, used, strict=True):
        if float(weight) == 0:
            continue
        factor = {"1": "", "-1": "-"}.get(weight, f"{weight.upper()}*")
        plus = "+" if total and not factor.startswith("-") else ""
        total += f"{plus}{factor}{_cell(name)}"
    formula = f"=IF({total}{written.sign}{written.threshold.upper()},{positive},{negative})"
    return formula if len(formula) <= LONGEST_FORMULA else ""


def _cannot_be_named(used: Sequence[str], names: Sequence[str], classes: tuple[str, str]) -> bool:
    """Whether a name is too long for a formula, or two features have the same but for capitals, which spreadsheets overlook."""
    frequency = Counter(name.casefold() for name in names)
    is_ambiguous = any(frequency[name.casefold()] > 1 for name in used)
    return is_ambiguous or max(len(name) for name in (*used, *classes)) > LONGEST_TEXT


def _cell(name: str) -> str:
    """The cell of this row below a name in row 1."""
    # MATCH reads * and ? as wildcards unless ~ stands before them.
    wanted = re.sub(r"([~*?])", r"~\1", name)
    column = f"MATCH({_quoted(wanted)},$1:$1,0)"
    if is_number(name) and np.isfinite(float(name)):
        # A spreadsheet has read this name as a number.
        column = f"IFERROR({column},MATCH({float(name):.15G},$1:$1,0))"
    return f"INDIRECT(ADDRESS(ROW(),{column}))"


def _quoted(text: str) -> str:
    """A text inside a formula. Quotes are doubled, so that nothing in a name can end the text; and what is unseen (a line break
    would end the formula where it is pasted) is written by its number.
    """
    parts = []
    for letter in text.replace('"', '""'):
        if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
            function = "CHAR" if ord(letter) < 128 else "UNICHAR"
            parts.append(f'"&{function}({ord(letter)})&"')
        else:
            parts.append(letter)
    return f'"{"".join(parts)}"'
