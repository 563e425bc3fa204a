"""Rules as formulas of a spreadsheet, from the side of the positive class.

`spreadsheet_formula` is one that people paste beside their own table; `term_formulas` and
`block_bias_formula` are parts of a workbook with all weights of a rule. A sample exactly on the
threshold is not predicted to be positive, as in the rule's sentence and by `predict`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from chanceline.columns.table import AnyTable
from chanceline.prediction.covariates import Category, Covariate, QuadraticNumber
from chanceline.prediction.rule import PredictionRule
from chanceline.significance.rounding import names_with_weights, shortest_inequality
from chanceline.tables.spelling import is_number

SPREADSHEET_DIGITS = 15  # what spreadsheets keep of a number
MAX_FORMULA_LENGTH = 8192  # characters that Excel takes
MAX_TEXT_LENGTH = 255  # characters of a text inside a formula
# Unicode categories that nobody sees: control, format, surrogate, line and paragraph separators.
INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def spreadsheet_formula(
    rule: PredictionRule,
    X: AnyTable,
    names: Sequence[str],
    classes: tuple[str, str],
) -> str:
    """The rule as a formula that Excel and LibreOffice take as it is.

    The sheet has the features' names in row 1 and a sample in every row below::

        =IF(0.52*INDIRECT(ADDRESS(ROW(),MATCH("g1",$1:$1,0)))-…>0.0945,"ill","well")

    Every column is found by its name; a name that row 1 does not have gives #N/A, never another
    column. An empty cell counts as 0. The result is an empty text if no formula says the same as
    the rule: with blocks or covariates, if it is too long or needs more than 15 digits, or if
    spreadsheets cannot tell two features apart (names that differ in capitals only).

    Parameters
    ----------
    rule : the rule for new samples.
    X : (samples, all features). Weights have as many digits as the formula needs to classify these
        samples as the rule does.
    names : names of all features of the table.
    classes : the names of the negative and the positive class, in this order.
    """
    names_in_rule = [names[column] for column in rule.support]
    needs_more_than_features = len(rule.covariate_weights) > 0 or len(rule.block_biases) > 0
    if needs_more_than_features or _cannot_be_named(names_in_rule, names, classes):
        return ""
    negative, positive = (quoted_text(name) for name in classes)
    if not np.any(rule.weights):
        # The rule predicts the same class for every sample.
        constant = positive if rule.bias > 0 else negative
        return f"={constant}"

    # The rule as an inequality of rounded numbers: total > threshold, or total < threshold.
    inequality = shortest_inequality(rule, X[:, rule.support].astype(float))
    if inequality.digits > SPREADSHEET_DIGITS:
        return ""
    total = _sum_of_cells(names_with_weights(inequality, names_in_rule))
    threshold = inequality.threshold.upper()  # 1E-05, where the exponent is written 1e-05
    condition = f"{total}{inequality.sign}{threshold}"
    formula = f"=IF({condition},{positive},{negative})"
    if len(formula) > MAX_FORMULA_LENGTH:
        return ""
    return formula


def _sum_of_cells(weighted_names: Sequence[tuple[str, str]]) -> str:
    """`0.52*` and the cell of the first name, `-0.31*` and the cell of the second, …"""
    total = ""
    for name, weight in weighted_names:
        # 1 and −1 are not written; an exponent is, in capitals: 1E-05.
        factor = {"1": "", "-1": "-"}.get(weight, f"{weight.upper()}*")
        if total and not factor.startswith("-"):
            total += "+"
        total += f"{factor}{_cell(name)}"
    return total


def _cannot_be_named(
    names_in_rule: Sequence[str], names: Sequence[str], classes: tuple[str, str]
) -> bool:
    """Whether a name is too long for a formula, or a spreadsheet would take it for another.

    Spreadsheets overlook capitals.
    """
    frequency = Counter(name.casefold() for name in names)
    is_ambiguous = any(frequency[name.casefold()] > 1 for name in names_in_rule)
    longest = max(len(name) for name in (*names_in_rule, *classes))
    return is_ambiguous or longest > MAX_TEXT_LENGTH


def _cell(name: str) -> str:
    """The cell of this row below a name in row 1."""
    # MATCH reads * and ? as wildcards unless ~ stands before them.
    pattern = re.sub(r"([~*?])", r"~\1", name)
    column = f"MATCH({quoted_text(pattern)},$1:$1,0)"
    if is_number(name) and np.isfinite(float(name)):
        # A spreadsheet has read this name as a number.
        column = f"IFERROR({column},MATCH({float(name):.15G},$1:$1,0))"
    return f"INDIRECT(ADDRESS(ROW(),{column}))"


def quoted_text(text: str) -> str:
    """Write a text as a string of a spreadsheet formula, in quotes and with escapes.

    Nothing in a name can end the string or the formula: quotes are doubled, and invisible
    characters such as line breaks are written by their code, `"a"&CHAR(10)&"b"`. A long text is
    joined from several strings by `&`, because the length of a string is limited.
    """
    parts = []
    for position, letter in enumerate(text):
        if position > 0 and position % MAX_TEXT_LENGTH == 0:
            # End this string, and join the next one to it.
            parts.append('"&"')
        if letter == '"':
            parts.append('""')
        elif unicodedata.category(letter) in INVISIBLE:
            # End the string, join the character, and begin the next string.
            function = "CHAR" if letter.isascii() else "UNICHAR"
            parts.append(f'"&{function}({ord(letter)})&"')
        else:
            parts.append(letter)
    return f'"{"".join(parts)}"'


def term_formulas(covariate: Covariate, cell: str) -> list[str]:
    """Spreadsheet formulas for the terms of a covariate, without the leading `=`.

    Terms are the columns of numbers that a covariate becomes: indicators of levels for a category,
    a standardized number and its square, or the number itself. A formula gives #N/A for an empty
    cell, and for a value that the rule does not know.

    Parameters
    ----------
    covariate : the covariate, as the rule encodes it.
    cell : a reference to the cell with the covariate's value, such as `B2`.
    """
    if isinstance(covariate, Category):
        # `&""` turns a number that is typed into text, as it was when the rule was made.
        typed = f'TRIM({cell}&"")'
        matches = [f"EXACT({typed},{quoted_text(level)})" for level in covariate.levels]
        is_known = f"OR({','.join(matches)})"
        # The first level has no indicator: all others are 0 then.
        return [f"IF({match},1,IF({is_known},0,NA()))" for match in matches[1:]]
    if isinstance(covariate, QuadraticNumber):
        # The standardized number, clipped to ±reach, and its square.
        standardized = f"({cell}-{_decimal(covariate.mean)})/{_decimal(covariate.spread)}"
        reach = _decimal(covariate.reach)
        clipped = f"MAX(-{reach},MIN({reach},{standardized}))"
        return [
            f"IF(ISNUMBER({cell}),{clipped},NA())",
            f"IF(ISNUMBER({cell}),({clipped})^2,NA())",
        ]
    return [f"IF(ISNUMBER({cell}),{cell},NA())"]


def block_bias_formula(*, block: str, average: str, names: str, biases: str) -> str:
    """The bias of a block from the cell with its name; of the average block if that is empty.

    A block that the rule does not know gives #N/A.

    Parameters
    ----------
    block, average : cells of the block's name and of the average bias.
    names, biases : ranges of all names and all biases.
    """
    is_same = f'--EXACT({names},{block}&"")'
    known_bias = f"SUMPRODUCT({is_same},{biases})"
    return f'IF({block}&""="",{average},IF(SUMPRODUCT({is_same})=0,NA(),{known_bias}))'


def _decimal(number: float) -> str:
    """A number inside a formula, with all digits that a spreadsheet keeps."""
    return f"({number:.{SPREADSHEET_DIGITS}G})"
