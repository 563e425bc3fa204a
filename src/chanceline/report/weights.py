"""The weights of every rule of a result as a file: CSV, or a workbook that computes.

Names come from outside. Where a spreadsheet would take one for a formula, CSV has an apostrophe
before it, and the workbook says that the cell is text.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from chanceline._io import check_target, write_bytes, write_text
from chanceline._results import harmless
from chanceline.errors import InputError
from chanceline.report.weights_workbook import workbook_bytes
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_weights import weight_rows, weighted_rules

CSV_HEADER = ("rule", "kind", "term", "weight", "meaning")
CSV_SUFFIX = ".csv"
WORKBOOK_SUFFIX = ".xlsx"


def write_weights(result: SeparationTest, path: str | Path) -> Path:
    """Write all weights of the rule to use, of that on few features, and of what separates.

    Parameters
    ----------
    result
        What the test gave.
    path
        The file to write. It ends in `.csv`: one row for each weight; or in `.xlsx`: one sheet for
        each rule, with formulas that classify a sample whose values are typed in.
    """
    target = check_weights_path(path)
    if target.suffix.lower() == CSV_SUFFIX:
        write_text(target, weights_csv(result))
    else:
        write_bytes(target, workbook_bytes(result))
    return target


def check_weights_path(path: str | Path) -> Path:
    """Return the path if weights can be written there, else raise an error.

    The name must end in .csv, or in .xlsx if openpyxl is installed. This is called before a long
    computation, so that it does not end with weights that cannot be saved.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (CSV_SUFFIX, WORKBOOK_SUFFIX):
        raise InputError(
            f"the weights' name must end in {CSV_SUFFIX} or {WORKBOOK_SUFFIX}, not {target.name!r}."
        )
    if suffix == WORKBOOK_SUFFIX and not workbook_can_be_written():
        raise InputError(
            f"{target.name} cannot be written without openpyxl; install chanceline[excel] or name "
            f"a {CSV_SUFFIX} file."
        )
    return check_target(target)


def workbook_can_be_written() -> bool:
    """Whether the package that writes workbooks is installed."""
    return find_spec("openpyxl") is not None


def weights_csv(result: SeparationTest) -> str:
    """All weights as CSV, with all digits."""
    content = StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for rule in weighted_rules(result):
        for row in weight_rows(rule):
            term = harmless(row.term)
            writer.writerow((rule.role, row.kind, term, repr(row.weight), harmless(row.meaning)))
    return content.getvalue()
