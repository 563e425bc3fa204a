"""All that one server keeps: tables, what was chosen for them, runs, and a temporary folder."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chanceline.app.choices import Choices
from chanceline.app.cohort_view import CohortChoices, CohortFiles, CohortView, look_at_cohort
from chanceline.app.runs import Run, RunQueue
from chanceline.app.table_view import TableFiles, TableView, feature_names, look_at
from chanceline.app.worker import RunRequest

LONGEST_FILE_NAME = 60  # letters, of up to four bytes each; systems allow 255 bytes
# What a file's name may not hold on one system or another.
NOT_IN_FILE_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*]')


class CommandWriters(NamedTuple):
    """Make the command lines that do the same as the page.

    Attributes
    ----------
    of_run : of a test.
    of_cohort : of predictions of new samples and, where their classes are known, of what these say
        about the rule.
    """

    of_run: Callable[[RunRequest], str]
    of_cohort: Callable[[CohortFiles, CohortChoices, CohortView], Sequence[str]]


@dataclass
class UploadedTable:
    """A table that was brought, and what was chosen for it.

    Attributes
    ----------
    files : in the temporary folder.
    choices : of the user, by default none.
    view : what they lead to.
    version : how often it was looked at, so that an old page can be told from the present one.
    key : of the table, in its address.
    """

    files: TableFiles
    choices: Choices
    view: TableView
    version: int = 0
    key: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def name(self) -> str:
        """What the user calls the table: the name of its file."""
        return self.files.table.name


@dataclass
class UploadedCohort:
    """A saved result and new samples that were brought together.

    Attributes
    ----------
    files : in the temporary folder.
    choices : of the user, by default none.
    view : what they lead to.
    commands : the command lines that do the same.
    version : how often it was looked at.
    key : of the cohort, in its address.
    """

    files: CohortFiles
    choices: CohortChoices
    view: CohortView
    commands: Sequence[str]
    version: int = 0
    key: str = field(default_factory=lambda: secrets.token_hex(8))


class Desk:
    """Tables, cohorts and runs, until `close`.

    Attributes
    ----------
    folder : the temporary folder.
    n_jobs : processes that a run may use.
    tables, cohorts, runs : by their keys.
    """

    def __init__(self, n_jobs: int, write_commands: CommandWriters) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="chanceline-app-"))
        self.n_jobs = n_jobs
        self.tables: dict[str, UploadedTable] = {}
        self.cohorts: dict[str, UploadedCohort] = {}
        self.runs: dict[str, Run] = {}
        self._write_commands = write_commands
        self._queue = RunQueue()

    def save_file(self, name: str, content: BinaryIO) -> Path:
        """Write what was brought to a folder of its own, under its own name; its path."""
        path = Path(tempfile.mkdtemp(dir=self.folder)) / safe_file_name(name)
        with path.open("wb") as file:
            shutil.copyfileobj(content, file)
        return path

    def add_table(self, files: TableFiles) -> UploadedTable:
        """Look at a table for the first time, and keep it."""
        choices = Choices()
        view = look_at(files, choices, self.n_jobs)
        table = UploadedTable(files, choices, view)
        self.tables[table.key] = table
        return table

    def choose(self, table: UploadedTable, choices: Choices) -> None:
        """Keep new choices for a table, and look at it again."""
        table.choices = choices
        table.view = look_at(table.files, choices, self.n_jobs)
        table.version += 1

    def start_run(self, table: UploadedTable) -> Run | None:
        """Put a test of the table, with the user's choices, into the queue of runs.

        Returns the run; None if the table cannot be tested with these choices.
        """
        view = table.view
        if view.refusal is not None or view.table_settings is None or view.test_settings is None:
            return None
        request = RunRequest(
            table=table.files.table,
            outcome=table.choices.outcome.names(),
            features=feature_names(table.choices),
            table_settings=view.table_settings,
            test_settings=view.test_settings,
            sets=table.files.sets,
        )
        folder = Path(tempfile.mkdtemp(dir=self.folder))  # for the files that the run writes
        command = self._write_commands.of_run(request)  # the command line that does the same
        run = Run(request, folder, command=command, table_key=table.key)
        self.runs[run.key] = run
        self._queue.add(run)
        return run

    def add_cohort(self, files: CohortFiles) -> UploadedCohort:
        """Apply a saved result to new samples for the first time, and keep both."""
        choices = CohortChoices()
        view = look_at_cohort(files, choices)
        commands = self._write_commands.of_cohort(files, choices, view)
        cohort = UploadedCohort(files, choices, view, commands)
        self.cohorts[cohort.key] = cohort
        return cohort

    def choose_for_cohort(self, cohort: UploadedCohort, choices: CohortChoices) -> None:
        """Keep new choices for a cohort, and look at it again."""
        cohort.choices = choices
        cohort.view = look_at_cohort(cohort.files, choices)
        cohort.commands = self._write_commands.of_cohort(cohort.files, choices, cohort.view)
        cohort.version += 1

    def cancel(self, run: Run) -> None:
        """End a run."""
        self._queue.cancel(run)

    def close(self) -> None:
        """End all runs, and remove every file."""
        self._queue.close(list(self.runs.values()))
        shutil.rmtree(self.folder, ignore_errors=True)


def safe_file_name(name: str) -> str:
    """The last part of a file's name, without letters that a system refuses."""
    last_part = re.split(r"[/\\]", name)[-1]
    allowed = NOT_IN_FILE_NAMES.sub("_", last_part).strip()
    if allowed.strip(".") == "":
        return "table"
    # The ending says what the file is, so that a long name loses its beginning.
    return allowed[-LONGEST_FILE_NAME:]
