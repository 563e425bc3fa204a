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
from chanceline.report.separation import features_csv, methods_paragraph, write_test_report
from chanceline.report.weights import workbook_can_be_written, write_weights
from chanceline.significance.config import TestSettings
from chanceline.significance.run import judge
from chanceline.tables.load import load_data
from chanceline.tables.memory_of_table import make_read_only
from chanceline.tables.settings import TableSettings

PAGE_FILE = "report.html"
FEATURES_FILE = "features.csv"
WEIGHTS_FILE = "weights.csv"
WORKBOOK_FILE = "weights.xlsx"
METHODS_FILE = "methods.txt"
RESULT_FILE = "result.json"
STDOUT_DESCRIPTOR = 1
STDERR_DESCRIPTOR = 2

Tell = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class RunRequest:
    """What to test.

    Attributes
    ----------
    table : the file.
    label : the name of the label's column; None if the table needs none.
    features : names of the features in question; None to search them.
    table_settings, test_settings : how to read and how to test.
    """

    table: Path
    label: str | None
    features: tuple[str, ...] | None
    table_settings: TableSettings
    test_settings: TestSettings

    def to_json(self) -> str:
        """The request as one line of text."""
        table_settings = asdict(self.table_settings)
        second_file = self.table_settings.labels
        if second_file is not None:
            table_settings["labels"] = str(second_file)
        record = {
            "table": str(self.table),
            "label": self.label,
            "features": self.features,
            "table_settings": table_settings,
            "test_settings": asdict(self.test_settings),
        }
        return json.dumps(plain(record))

    @classmethod
    def from_json(cls, line: str) -> RunRequest:
        """The request that `to_json` wrote."""
        record = json.loads(line)
        features = record["features"]
        if features is not None:
            features = tuple(features)
        return cls(
            table=Path(record["table"]),
            label=record["label"],
            features=features,
            table_settings=TableSettings(**record["table_settings"]),
            test_settings=TestSettings(**record["test_settings"]),
        )


def run_request(request: RunRequest, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Test the table, and write all that the page offers into the folder."""
    dataset = load_data(request.table, request.label, request.table_settings)
    # Nobody else has the array: what is computed from it needs no copy.
    make_read_only(dataset.X)
    result = judge(dataset, request.features, settings=request.test_settings, progress=progress)

    write_test_report(result, folder / PAGE_FILE, dataset)
    write_text(folder / FEATURES_FILE, features_csv(result.to_frame()))
    write_weights(result, folder / WEIGHTS_FILE)
    if workbook_can_be_written():
        write_weights(result, folder / WORKBOOK_FILE)
    result.save(folder / RESULT_FILE)
    write_text(folder / METHODS_FILE, f"{methods_paragraph(result)}\n")


def main(folder: Path) -> int:
    """Run the request that stands on the standard input; the exit code, 0 if it was done."""
    tell = messages_to_parent()
    request = RunRequest.from_json(sys.stdin.readline())

    def tell_progress(done: int, total: int) -> None:
        tell({"done": done, "total": total})

    try:
        run_request(request, folder, tell_progress)
    except ChancelineError as error:
        tell({"sentence": str(error)})
        return 1
    except MemoryError:
        tell({"sentence": "there is not enough memory for this; ask for less"})
        return 1
    return 0


def messages_to_parent() -> Tell:
    """A function that writes messages on the standard output, which nothing else writes to.

    What libraries print goes to the standard error instead.
    """
    messages = os.fdopen(os.dup(STDOUT_DESCRIPTOR), "w", encoding="utf-8")
    os.dup2(STDERR_DESCRIPTOR, STDOUT_DESCRIPTOR)

    def tell(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=messages, flush=True)

    return tell


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
