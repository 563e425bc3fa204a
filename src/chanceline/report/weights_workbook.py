"""The weights of every rule as an Excel workbook whose formulas classify a sample.

Every rule has a sheet. Its column `sample` takes the values of a new sample; it may be copied to
the right for further ones. Above them stand the class and the score, computed from the weights
beside them. A value that is not there gives #N/A, never a class.

| row | sample |
|---|---|
| predicted class | formula |
| score | formula |
| features | values, typed in |
| covariates, and the block | values, typed in |
| terms of covariates | formulas |
| bias | formula |
| biases of blocks | |
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, NamedTuple

from chanceline._results import visible
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_weights import (
    TermKind,
    WeightedRule,
    WeightRow,
    block_name,
    weight_rows,
    weighted_rules,
)
from chanceline.significance.spreadsheet import block_bias_formula, quoted_text, term_formulas
from chanceline.tables.dataset import Severity

HEADER = ("term", "kind", "weight", "meaning", "sample")
TERM_COLUMN, KIND_COLUMN, WEIGHT_COLUMN, MEANING_COLUMN, SAMPLE_COLUMN = "ABCDE"
COLUMN_WIDTHS = {"A": 30, "B": 18, "C": 24, "D": 44, "E": 16}
CLASS_ROW = 2
SCORE_ROW = 3
FIRST_FEATURE_ROW = 4
COMPUTED = "computed"
TYPED_IN = "type its value"


class RowRange(NamedTuple):
    """Rows of a sheet, the last one included; empty where it comes before the first."""

    first: int
    last: int

    def cells(self, column: str, *, absolute: bool) -> str:
        """`E4:E9`, or `$C$4:$C$9`, which stays the same where a formula is copied."""
        if absolute:
            return f"${column}${self.first}:${column}${self.last}"
        return f"{column}{self.first}:{column}{self.last}"

    @property
    def n_rows(self) -> int:
        return self.last - self.first + 1


class RuleLayout(NamedTuple):
    """Which rows of a rule's sheet hold what.

    Attributes
    ----------
    features : the features.
    covariates : the covariates' values, as they are typed in.
    block_row : the row of the block's name, as it is typed in; None without blocks.
    terms : what is computed of covariates.
    bias_row : the row of the bias.
    block_biases : the biases of blocks.
    """

    features: RowRange
    covariates: RowRange
    block_row: int | None
    terms: RowRange
    bias_row: int
    block_biases: RowRange


def workbook_bytes(result: SeparationTest) -> bytes:
    """The content of an .xlsx file with the weights of all rules.

    The first sheet says how to use the file. Every other sheet has one rule, and formulas that
    classify samples, whose values the user of the workbook types in.
    """
    from openpyxl import Workbook

    book = Workbook()
    notes = book.active
    notes.title = "read me"
    for row, line in enumerate(notes_for_reader(result), start=1):
        write_text_cell(notes, row, "A", line)
    for rule in weighted_rules(result):
        sheet = book.create_sheet(rule.role)
        write_rule_sheet(sheet, rule, result.class_names)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


def notes_for_reader(result: SeparationTest) -> list[str]:
    """The lines of the first sheet: the result of the test, and how to use the workbook."""
    lines = [
        result.plain_sentence,
        f"The positive class is {result.positive_class}: a score above 0 means it.",
        "Every other sheet is a rule. Type the values of a sample into its column "
        f"“{HEADER[-1]}”; copy that column to the right for further samples.",
        "#N/A means that a value is not there, or is none that the rule knows.",
    ]
    preparations = result.checks(Severity.PREPARED)
    if preparations:
        lines.append("Values must be prepared as those of the table were:")
        lines += preparations
    return lines


def layout_of(rule: WeightedRule) -> RuleLayout:
    """Assign the rows of a rule's sheet to its parts, one below the other.

    The parts are: values of features, values of covariates, the name of the block (only if there
    are blocks), the terms computed from covariates, the bias, and the biases of blocks. Parts may
    have no rows.
    """
    # What the user of the workbook types in.
    features = _rows_below(FIRST_FEATURE_ROW - 1, len(rule.features))
    covariates = _rows_below(features.last, len(rule.encoder.covariates))
    block_row = None
    last_typed_in = covariates.last
    if rule.block_biases:
        block_row = covariates.last + 1
        last_typed_in = block_row

    # What the sheet computes or holds.
    terms = _rows_below(last_typed_in, len(rule.covariate_weights))
    bias_row = terms.last + 1
    return RuleLayout(
        features=features,
        covariates=covariates,
        block_row=block_row,
        terms=terms,
        bias_row=bias_row,
        block_biases=_rows_below(bias_row, len(rule.block_biases)),
    )


def _rows_below(row: int, n_rows: int) -> RowRange:
    """So many rows, the first of them below the given one."""
    return RowRange(row + 1, row + n_rows)


def write_rule_sheet(sheet: Any, rule: WeightedRule, classes: tuple[str, str]) -> None:
    """Fill the sheet of one rule.

    Parameters
    ----------
    sheet : an empty sheet of openpyxl.
    rule : the rule, with its weights in the units of the table.
    classes : the names of the negative and of the positive class.
    """
    layout = layout_of(rule)

    # The heading, with the part above and left of the first value kept in view.
    for column, heading in zip(COLUMN_WIDTHS, HEADER, strict=True):
        write_text_cell(sheet, 1, column, heading)
        sheet.column_dimensions[column].width = COLUMN_WIDTHS[column]
    sheet.freeze_panes = f"{TERM_COLUMN}{FIRST_FEATURE_ROW}"

    write_results(sheet, layout, classes)
    write_weights_of_rule(sheet, rule, layout)
    write_inputs(sheet, rule, layout)
    write_term_formulas(sheet, rule, layout)
    write_bias_formula(sheet, layout)


def write_results(sheet: Any, layout: RuleLayout, classes: tuple[str, str]) -> None:
    """The predicted class and the score, on top."""
    negative, positive = (quoted_text(visible(name)) for name in classes)
    write_text_cell(sheet, CLASS_ROW, TERM_COLUMN, "predicted class")
    write_text_cell(sheet, CLASS_ROW, KIND_COLUMN, COMPUTED)
    score_cell = f"{SAMPLE_COLUMN}{SCORE_ROW}"
    write_formula(sheet, CLASS_ROW, f"IF({score_cell}>0,{positive},{negative})")
    write_text_cell(sheet, SCORE_ROW, TERM_COLUMN, "score")
    write_text_cell(sheet, SCORE_ROW, KIND_COLUMN, COMPUTED)
    write_formula(sheet, SCORE_ROW, score_formula(layout))


def score_formula(layout: RuleLayout) -> str:
    """The formula of a spreadsheet for the score of a sample, without its leading `=`.

    The score is the bias, plus the values of features and of terms of covariates times their
    weights. It is #N/A if a feature's cell does not hold a number, which SUMPRODUCT would take
    for 0. `layout` says in which rows of the sheet these values and weights stand.
    """
    total = f"{SAMPLE_COLUMN}{layout.bias_row}"
    for rows in (layout.features, layout.terms):
        if rows.n_rows > 0:
            # If the column of the sample is copied to the right, the weights must stay the same
            # cells (absolute), but the values must be those of the new column (relative).
            weights = rows.cells(WEIGHT_COLUMN, absolute=True)
            values = rows.cells(SAMPLE_COLUMN, absolute=False)
            total += f"+SUMPRODUCT({weights},{values})"
    if layout.features.n_rows == 0:
        return total
    feature_values = layout.features.cells(SAMPLE_COLUMN, absolute=False)
    return f"IF(COUNT({feature_values})={layout.features.n_rows},{total},NA())"


def write_weights_of_rule(sheet: Any, rule: WeightedRule, layout: RuleLayout) -> None:
    """Write every weight with its name, kind and meaning into the sheet of a rule.

    `layout` says in which rows the weights of each kind stand.
    """
    first_row_of_kind = {
        TermKind.FEATURE: layout.features.first,
        TermKind.COVARIATE: layout.terms.first,
        TermKind.BIAS: layout.bias_row,
        TermKind.BLOCK_BIAS: layout.block_biases.first,
    }
    for kind, first_row in first_row_of_kind.items():
        weights_of_kind = [weight for weight in weight_rows(rule) if weight.kind is kind]
        for row, weight in enumerate(weights_of_kind, start=first_row):
            write_weight_row(sheet, row, weight)


def write_weight_row(sheet: Any, row: int, weight_row: WeightRow) -> None:
    """Name, kind, weight and meaning of one weight."""
    write_text_cell(sheet, row, TERM_COLUMN, weight_row.term)
    write_text_cell(sheet, row, KIND_COLUMN, weight_row.kind)
    sheet[f"{WEIGHT_COLUMN}{row}"] = weight_row.weight
    write_text_cell(sheet, row, MEANING_COLUMN, weight_row.meaning)


def write_inputs(sheet: Any, rule: WeightedRule, layout: RuleLayout) -> None:
    """Write the names of the covariates and of the block beside the cells for their values.

    The user of the workbook types the values of a sample into these cells. `layout` says which rows
    they have.
    """
    for row, name in enumerate(rule.encoder.names, start=layout.covariates.first):
        write_text_cell(sheet, row, TERM_COLUMN, name)
        write_text_cell(sheet, row, KIND_COLUMN, TermKind.COVARIATE)
        write_text_cell(sheet, row, MEANING_COLUMN, TYPED_IN)
    if layout.block_row is not None:
        write_text_cell(sheet, layout.block_row, TERM_COLUMN, block_name(rule))
        write_text_cell(sheet, layout.block_row, KIND_COLUMN, "block")
        write_text_cell(sheet, layout.block_row, MEANING_COLUMN, "type its name, or leave it empty")


def write_term_formulas(sheet: Any, rule: WeightedRule, layout: RuleLayout) -> None:
    """The terms of covariates, computed from the values that are typed in."""
    formulas: list[str] = []
    for offset, covariate in enumerate(rule.encoder.covariates):
        cell = f"{SAMPLE_COLUMN}{layout.covariates.first + offset}"
        formulas += term_formulas(covariate, cell)
    for offset, formula in enumerate(formulas):
        write_formula(sheet, layout.terms.first + offset, formula)


def write_bias_formula(sheet: Any, layout: RuleLayout) -> None:
    """Write the formula for the bias of a sample.

    The formula stands in the column of the sample, in the row of the bias. If the rule has blocks,
    it looks up the bias of the block whose name is typed in; else it is the bias of the rule.
    `layout` says in which rows these stand.
    """
    # Dollar signs keep the cell the same when the formula is copied to the right.
    bias_cell = f"${WEIGHT_COLUMN}${layout.bias_row}"
    formula = bias_cell
    if layout.block_row is not None:
        formula = block_bias_formula(
            block=f"{SAMPLE_COLUMN}{layout.block_row}",
            average=bias_cell,
            names=layout.block_biases.cells(TERM_COLUMN, absolute=True),
            biases=layout.block_biases.cells(WEIGHT_COLUMN, absolute=True),
        )
    write_formula(sheet, layout.bias_row, formula)


def write_formula(sheet: Any, row: int, formula: str) -> None:
    """A formula of ours in the column of the sample, given without its leading `=`."""
    sheet[f"{SAMPLE_COLUMN}{row}"] = f"={formula}"


def write_text_cell(sheet: Any, row: int, column: str, text: str) -> None:
    """A text that stays one: a spreadsheet neither computes it nor does so when it is edited."""
    cell = sheet[f"{column}{row}"]
    cell.value = visible(text)
    cell.data_type = "s"
    cell.quotePrefix = True  # what Excel keeps of an apostrophe before a text
