"""A result as a file: JSON with a version, written whole, and refused in one sentence if broken.

The file holds plain values only; nothing in it is run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from chanceline import __version__
from chanceline._io import write_text
from chanceline._results import plain
from chanceline.cohort.confirmation import SavedExpectation
from chanceline.cohort.file_record import FileRecord
from chanceline.cohort.file_rules import rule_from_record, rule_to_record
from chanceline.cohort.file_tables import inputs_from_record, inputs_to_record
from chanceline.cohort.outcome_file import (
    OUTCOME_FORMAT,
    OUTCOME_FORMAT_NAME,
    outcome_from_record,
    outcome_to_record,
)
from chanceline.cohort.saved_outcome import SavedOutcome, saved_outcome
from chanceline.cohort.saved_result import SavedResult, saved_result
from chanceline.errors import InputError
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_inputs import RuleInputs
from chanceline.tables.dataset import Finding, Severity

FORMAT_NAME = "chanceline result"
FORMAT_VERSION = 1
FORMAT = f"{FORMAT_NAME}, format {FORMAT_VERSION}"


def save_result(result: SeparationTest, path: str | Path) -> None:
    """Write the rules of a result, with all that new samples need, to a JSON file."""
    _write_record(result_to_record(saved_result(result)), result.inputs, path)


def save_outcome(result: OutcomeTest, path: str | Path) -> None:
    """Write the rule of another outcome, with all that new samples need, to a JSON file."""
    saved = saved_outcome(result)
    _write_record(outcome_to_record(saved), saved.inputs, path)


def _write_record(record: dict[str, Any], inputs: RuleInputs, path: str | Path) -> None:
    """Write plain values as JSON.

    Parameters
    ----------
    record : the values.
    inputs : whose features have to have different names.
    path : of the file.
    """
    _refuse_equal_names([column.name for column in inputs.recipe.columns])
    write_text(path, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _refuse_equal_names(names: Sequence[str]) -> None:
    """Stop if two features have one name, by which a file could not tell them apart."""
    repeated = [name for name, frequency in Counter(names).items() if frequency > 1]
    if repeated:
        raise InputError(f"two features are called {repeated[0]!r}; rename one to save the result.")


def result_to_record(saved: SavedResult) -> dict[str, Any]:
    """A saved result of two classes as plain values for JSON, with all digits."""
    negative, positive = saved.classes
    return {
        "format": FORMAT,
        "version": __version__,
        "verdict": saved.verdict,
        "pvalue": saved.pvalue,
        "story": list(saved.story),
        "negative": negative,
        "positive": positive,
        "expected": plain(saved.expected),
        "rules": [rule_to_record(rule) for rule in saved.rules],
        "inputs": inputs_to_record(saved.inputs),
        "findings": [plain(finding) for finding in saved.findings],
    }


def load_result(path: str | Path) -> SavedResult | SavedOutcome:
    """Read a result that `SeparationTest.save` or `OutcomeTest.save` wrote.

    Its rule then predicts new samples, or is confirmed by them::

        saved = load_result("result.json")
        saved.predict("new.csv").to_frame()
        print(saved.confirm("new.csv", label="outcome"))
    """
    file = Path(path)
    content = file.read_bytes()
    record = FileRecord(_parsed(content, file.name), file.name)

    # The result of an outcome other than two classes has a format of its own.
    written_format = record.text("format")
    if written_format == OUTCOME_FORMAT:
        outcome = outcome_from_record(record)
        _check_features(outcome.inputs, [outcome.rule.features], record)
        return outcome
    _check_format(written_format, file.name)
    return _result_from_record(record)


def _result_from_record(record: FileRecord) -> SavedResult:
    """Read the result of a test of two classes, as `result_to_record` wrote it.

    A record without rules, or with rules on features that it does not describe, is refused.
    """
    saved = SavedResult(
        verdict=record.text("verdict"),
        pvalue=record.number("pvalue"),
        story=record.texts("story"),
        classes=(record.text("negative"), record.text("positive")),
        rules=tuple(rule_from_record(rule) for rule in record.records("rules")),
        inputs=inputs_from_record(record.record("inputs")),
        expected=_expectation(record),
        findings=tuple(_finding(finding) for finding in record.records("findings")),
    )
    if not saved.rules:
        record.refuse("it has no rule")
    _check_features(saved.inputs, [rule.features for rule in saved.rules], record)
    return saved


def _parsed(content: bytes, file: str) -> Any:
    """Parse the content of a file as JSON; an error if it cannot be read.

    Parameters
    ----------
    content : the bytes of the file.
    file : the name of the file, for the error message.
    """

    def refuse(constant: str) -> NoReturn:
        """Refuse NaN and Infinity, which Python's parser takes although JSON has no such words."""
        raise ValueError(f"{constant} is no number")

    # Decoding and parsing raise a ValueError if they fail, or a RecursionError if objects are
    # nested too deeply.
    try:
        text = content.decode("utf-8")
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        first_line = str(error).splitlines()[0]
        reason = first_line.rstrip(".")
        raise InputError(
            f"{file} is no result of chanceline, or it is damaged ({reason}); write it again with "
            "save."
        ) from None


def _check_format(written: str, file: str) -> None:
    """Refuse files of other programs and of other versions of the format."""
    if written == FORMAT:
        return
    if written.startswith((FORMAT_NAME, OUTCOME_FORMAT_NAME)):
        raise InputError(
            f"{file} is a {written!r}, and chanceline {__version__} reads {FORMAT!r}; write it "
            "again with this version, or read it with the other one."
        )
    raise InputError(f"{file} is no result of chanceline; write one with save.")


def _expectation(record: FileRecord) -> SavedExpectation | None:
    """What cross-validation had said of the rule to use; None if it was not cross-validated.

    The area under the curve and its interval are None if no fold had both classes.
    """
    expected = record.optional_record("expected")
    if expected is None:
        return None
    return SavedExpectation(
        error=expected.number("error"),
        error_interval=expected.interval("error_interval"),
        area=expected.optional_number("area"),
        area_interval=expected.optional_interval("area_interval"),
    )


def _finding(record: FileRecord) -> Finding:
    return Finding(record.choice("severity", list(Severity)), record.text("message"))


def _check_features(
    inputs: RuleInputs, features_of_rules: Sequence[Sequence[str]], record: FileRecord
) -> None:
    """Every feature of every rule must be described."""
    recipe_names = {column.name for column in inputs.recipe.columns}
    described = recipe_names & set(inputs.means) & set(inputs.ranges)
    if inputs.recipe.transform == "rank":
        described &= set(inputs.ranked_values)
    for features in features_of_rules:
        for name in features:
            if name not in described:
                record.refuse(f"nothing is said about the feature {name!r}")
