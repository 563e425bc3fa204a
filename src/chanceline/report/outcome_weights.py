"""The weights of the rule of a number, several classes or survival as a CSV file.

One line for each feature, after one for the intercepts; one column for what is predicted. Of
several classes there is a column for each: e to the power of its sum, divided by the total of these
over all classes, is the probability of the class.

With blocks the first intercepts are those of the average block, and a line for every block follows,
which counts instead. With covariates there is a line for each of their terms, which says how it is
computed from the covariate.
"""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

from chanceline._io import check_target, write_text
from chanceline._results import harmless
from chanceline.errors import InputError
from chanceline.report.weights import CSV_SUFFIX
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.rule_weights import terms_in_words

INTERCEPT = "(intercept)"


def write_outcome_weights(result: OutcomeTest, path: str | Path) -> Path:
    """Write all weights of the rule.

    Parameters
    ----------
    result
        What the test gave.
    path
        The file to write, whose name ends in `.csv`.
    """
    target = check_outcome_weights_path(path)
    write_text(target, outcome_weights_csv(result))
    return target


def check_outcome_weights_path(path: str | Path) -> Path:
    """Return the path if weights can be written there, else refuse it."""
    target = Path(path)
    if target.suffix.lower() != CSV_SUFFIX:
        raise InputError(
            f"the weights of this outcome are written to a {CSV_SUFFIX} file, not {target.name!r}."
        )
    return check_target(target)


def outcome_weights_csv(result: OutcomeTest) -> str:
    """All weights of the rule as the text of a CSV file, with all digits.

    There is a column for each output of the rule (of several classes, one for each class). The rows
    are: the intercepts of the average block, those of every block if there are blocks, and the
    weights of every feature and every term of the covariates.
    """
    if result.rule is None:
        raise InputError("there is no rule; test with expected_error=True.")
    rule = result.rule
    outputs = rule.linear_outputs()

    # The names of the rows. The rule calls a block a stratum; it may be defined by several columns.
    terms = [*rule.features, *terms_in_words(rule.roles.term_encoder)]
    block_names: list[str] = []
    if rule.roles.stratum_columns:
        block_names += [rule.roles.in_words(stratum) for stratum in rule.sums.stratum_intercepts]

    # The numbers of the rows: those of the average block, of every block, and of every term.
    average_intercepts, *intercepts_of_blocks = outputs.intercepts.tolist()
    weights_of_terms = outputs.weights.tolist()

    # `harmless` keeps a spreadsheet from taking a name for a formula; `repr` gives all digits.
    content = StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(["term", *(harmless(name) for name in outputs.names)])
    writer.writerow([INTERCEPT, *(repr(value) for value in average_intercepts)])
    for block_name, intercepts in zip(block_names, intercepts_of_blocks, strict=True):
        writer.writerow([f"{INTERCEPT} {block_name}", *(repr(value) for value in intercepts)])
    for term, weights in zip(terms, weights_of_terms, strict=True):
        writer.writerow([harmless(term), *(repr(weight) for weight in weights)])
    return content.getvalue()
