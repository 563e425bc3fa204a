"""A run in a process of its own: a request in, progress and one ending out, files in a folder.

The process takes one line of JSON on its standard input, a `RunRequest`, and writes lines of JSON
on its standard output: `{"done": 20, "total": 999}` while it works, and `{"sentence": …}` if the
input is wrong. It does what `chanceline test` does, by the same functions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from chanceline._io import write_text
from chanceline._results import plain
from chanceline.errors import ChancelineError
from chanceline.report.feature_sets import sets_csv, sets_methods_paragraph, write_sets_report
from chanceline.report.outcome import outcome_methods_paragraph, write_outcome_report
from chanceline.report.separation import features_csv, methods_paragraph, write_test_report
from chanceline.report.weights import workbook_can_be_written, write_weights
from chanceline.significance.config import TestSettings
from chanceline.significance.outcomes.result import OutcomeTest
from chanceline.significance.result import SeparationTest
from chanceline.significance.run import judge
from chanceline.significance.set_result import SetTests
from chanceline.significance.set_run import set_tests
from chanceline.tables.dataset import Dataset
from chanceline.tables.memory_of_table import make_read_only
from chanceline.tables.outcome_table import OutcomeNames, OutcomeTable, load_any_outcome
from chanceline.tables.settings import TableSettings

PAGE_FILE = "report.html"
FEATURES_FILE = "features.csv"
SETS_FILE = "sets.csv"
WEIGHTS_FILE = "weights.csv"
WORKBOOK_FILE = "weights.xlsx"
METHODS_FILE = "methods.txt"
RESULT_FILE = "result.json"
STDOUT_DESCRIPTOR = 1
STDERR_DESCRIPTOR = 2

Messenger = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class RunRequest:
    """What to test.

    Attributes
    ----------
    table : the file.
    outcome : the names of its columns, and what it is said to be.
    features : names of the features in question; None to search them.
    table_settings, test_settings : how to read and how to test.
    sets : the file of sets of features to test instead; None if there is none.
    """

    table: Path
    outcome: OutcomeNames
    features: tuple[str, ...] | None
    table_settings: TableSettings
    test_settings: TestSettings
    sets: Path | None = None

    def to_json(self) -> str:
        """The request as one line of JSON, in which paths are text."""
        # Two paths may be missing: those of a second file with labels, and of a file of sets.
        table_settings = asdict(self.table_settings)
        if self.table_settings.labels is not None:
            table_settings["labels"] = str(self.table_settings.labels)
        sets_file = None
        if self.sets is not None:
            sets_file = str(self.sets)

        record = {
            "table": str(self.table),
            "outcome": asdict(self.outcome),
            "features": self.features,
            "table_settings": table_settings,
            "test_settings": asdict(self.test_settings),
            "sets": sets_file,
        }
        return json.dumps(plain(record))

    @classmethod
    def from_json(cls, line: str) -> RunRequest:
        """The request from the line that `to_json` wrote."""
        record = json.loads(line)

        # JSON has lists in place of tuples, and text in place of paths. The classes of settings
        # accept both; the other values are converted here.
        features = record["features"]
        if features is not None:
            features = tuple(features)
        sets = record["sets"]
        if sets is not None:
            sets = Path(sets)
        return cls(
            table=Path(record["table"]),
            outcome=OutcomeNames(**record["outcome"]),
            features=features,
            table_settings=TableSettings(**record["table_settings"]),
            test_settings=TestSettings(**record["test_settings"]),
            sets=sets,
        )


def run_request(request: RunRequest, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Test the table of a request, and write the files that its page offers into `folder`.

    There are three kinds of tests, each with files of its own: of sets of features (a file of sets
    was uploaded), of features for two classes (the table is a `Dataset`), and of features for any
    other outcome, such as a number (the table is an `OutcomeTable`). `progress` is called with
    (shuffles or sets done, all of them).
    """
    table = load_any_outcome(request.table, request.outcome, request.table_settings)
    # A test copies an array that its caller could still change, and uses a read-only one as it is.
    make_read_only(table.X)

    if request.sets is not None:
        sets_result = set_tests(
            table, request.sets, settings=request.test_settings, progress=progress
        )
        write_files_of_sets(sets_result, folder, table)
        return

    # The result is an OutcomeTest if the table is an OutcomeTable, and a SeparationTest if it is a
    # Dataset. Type checkers do not know this, so the last branch asks for both.
    result = judge(table, request.features, settings=request.test_settings, progress=progress)
    if isinstance(result, OutcomeTest):
        write_files_of_outcome(result, folder)
    elif isinstance(table, Dataset):
        write_files_of_classes(result, folder, table)


def write_files_of_classes(result: SeparationTest, folder: Path, dataset: Dataset) -> None:
    """Write what the page offers of a test of two classes."""
    write_test_report(result, folder / PAGE_FILE, dataset)
    write_text(folder / FEATURES_FILE, features_csv(result.to_frame()))
    write_weights(result, folder / WEIGHTS_FILE)
    if workbook_can_be_written():
        write_weights(result, folder / WORKBOOK_FILE)
    result.save(folder / RESULT_FILE)
    write_text(folder / METHODS_FILE, f"{methods_paragraph(result)}\n")


def write_files_of_outcome(result: OutcomeTest, folder: Path) -> None:
    """Write what the page offers of a test of another outcome."""
    write_outcome_report(result, folder / PAGE_FILE)
    write_text(folder / FEATURES_FILE, features_csv(result.to_frame()))
    write_text(folder / METHODS_FILE, f"{outcome_methods_paragraph(result)}\n")


def write_files_of_sets(result: SetTests, folder: Path, table: Dataset | OutcomeTable) -> None:
    """Write what the page offers of tests of sets."""
    write_sets_report(result, folder / PAGE_FILE, table)
    write_text(folder / SETS_FILE, sets_csv(result))
    write_text(folder / METHODS_FILE, f"{sets_methods_paragraph(result)}\n")


def main(folder: Path) -> int:
    """Run the request given as a line of JSON on the standard input, and write files to `folder`.

    Progress and errors are sent to the parent process as messages. Returns the exit code: 0 if the
    request was done, 1 if it could not be.
    """
    send_message = messages_to_parent()
    request = RunRequest.from_json(sys.stdin.readline())

    def send_progress(done: int, total: int) -> None:
        send_message({"done": done, "total": total})

    try:
        run_request(request, folder, send_progress)
    except ChancelineError as error:
        send_message({"sentence": str(error)})
        return 1
    except MemoryError:
        send_message({"sentence": "there is not enough memory for this; ask for less"})
        return 1
    return 0


def messages_to_parent() -> Messenger:
    """A function that writes messages on the standard output, which nothing else writes to.

    What libraries print goes to the standard error instead.
    """
    messages = os.fdopen(os.dup(STDOUT_DESCRIPTOR), "w", encoding="utf-8")
    os.dup2(STDERR_DESCRIPTOR, STDOUT_DESCRIPTOR)

    def send_message(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=messages, flush=True)

    return send_message


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
