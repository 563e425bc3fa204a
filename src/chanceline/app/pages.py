"""The pages and what they answer: bring a file, choose, watch, read and download."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
)
from starlette.routing import Mount, Route

from chanceline.app.access import BodyTooLarge, answer_to_large_body
from chanceline.app.cohort_pages import CohortPages
from chanceline.app.column_choice import ColumnChoice
from chanceline.app.desk import UploadedTable
from chanceline.app.outcome_choices import OutcomeQuestion
from chanceline.app.page_forms import (
    Action,
    action_of_form,
    choices_after_answer,
    choices_after_form,
)
from chanceline.app.page_frame import (
    CHANGED_ELSEWHERE,
    MOST_FIELDS,
    MOST_FILES,
    PAGES,
    TEMPLATES,
    PageFrame,
    texts_of,
)
from chanceline.app.runs import Run, RunState
from chanceline.app.setting_fields import (
    CELL_FIELDS,
    GAP_FIELDS,
    LABEL_FIELDS,
    SPLIT_FIELDS,
    TEST_FIELDS,
    UNIT_FIELDS,
    file_fields,
)
from chanceline.app.table_view import SETS_STEP, TEST_STEP, Refusal, TableFiles
from chanceline.app.worker import (
    FEATURES_FILE,
    METHODS_FILE,
    PAGE_FILE,
    RESULT_FILE,
    SETS_FILE,
    WEIGHTS_FILE,
    WORKBOOK_FILE,
)
from chanceline.errors import InputError
from chanceline.report.explorer import explorer_page
from chanceline.report.page import asset
from chanceline.tables.outcome_kind import OutcomeKind
from chanceline.tables.reading_steps import ReadingStep
from chanceline.tables.settings import TableSettings

# Settings that say something of columns; the page shows their help where columns are chosen.
COLUMN_HELP = ("groups", "pairs", "blocks", "adjust", "independent", "drop")
CHOICE_WORDS = {
    ColumnChoice.LABEL: "the label: a class or a number",
    ColumnChoice.TIME: "the time of survival",
    ColumnChoice.EVENT: "the event of survival",
    ColumnChoice.FEATURE: "a feature",
    ColumnChoice.GROUPS: "the subject: several rows each",
    ColumnChoice.STEMS_ARE_GROUPS: "the subject, in the first part of the names (P07 of P07_1)",
    ColumnChoice.STEMS_OF_STEMS_ARE_GROUPS: "the subject, in the first of three parts",
    ColumnChoice.PAIRS: "the pair: before and after, case and control",
    ColumnChoice.STEMS_ARE_PAIRS: "the pair, in the first part of the names (P1 of P1_T)",
    ColumnChoice.BLOCKS: "the site, batch or run",
    ColumnChoice.COVARIATE: "a covariate to adjust for",
    ColumnChoice.INDEPENDENT: "no subject: rows are independent",
    ColumnChoice.IDENTIFIER: "an identifier, left out",
    ColumnChoice.LEFT_OUT: "left out",
}


class Download(NamedTuple):
    """A file of a finished run: its name and what it is."""

    file: str
    words: str


DOWNLOADS = (
    Download(PAGE_FILE, "The page"),
    Download(FEATURES_FILE, "Table of features (CSV)"),
    Download(SETS_FILE, "Table of sets (CSV)"),
    Download(WEIGHTS_FILE, "Weights (CSV)"),
    Download(WORKBOOK_FILE, "Weights that compute (Excel)"),
    Download(METHODS_FILE, "Methods paragraph (text)"),
    Download(RESULT_FILE, "Rule for a second cohort (JSON)"),
)


@dataclass
class PageServer(PageFrame):
    """The answers to all requests that pass the gate.

    Attributes
    ----------
    quit : ends the server.
    """

    quit: Callable[[], None]

    def application(self) -> Starlette:
        """The web application. Every path begins with the token that the address contains."""
        routes = [
            Route("/", self.show_start),
            Route("/app.css", self.send_style),
            Route("/app.js", self.send_script),
            Route("/tables", self.take_table, methods=["POST"]),
            Route("/tables/{table}", self.show_table),
            Route("/tables/{table}", self.choose, methods=["POST"]),
            Route("/tables/{table}/columns", self.search_columns),
            Route("/runs/{run}", self.show_run),
            Route("/runs/{run}/progress", self.tell_progress),
            Route("/runs/{run}/cancel", self.cancel_run, methods=["POST"]),
            Route("/runs/{run}/page", self.send_page),
            # The page of a run's result links to the explorer by this file name, because the two
            # files lie in one folder when they are written by the command line.
            Route("/runs/{run}/chanceline-explorer.html", self.send_explorer),
            Route("/runs/{run}/files/{file}", self.send_file),
            Route("/quit", self.end_server, methods=["POST"]),
            *CohortPages(self.desk, self.access).routes(),
        ]
        return Starlette(
            routes=[Mount(self.access.prefix, routes=routes)],
            exception_handlers={
                BodyTooLarge: self.refuse_body,
                HTTPStatus.NOT_FOUND: self.show_missing,
                Exception: self.show_internal_error,
            },
        )

    # The first page

    async def show_start(self, request: Request) -> Response:
        """Where a file is dropped, with what was done before."""
        return self.start_page()

    async def take_table(self, request: Request) -> Response:
        """Keep the file that was brought, and go to its page."""
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form:
            table_path = await self.saved(form, "table")
            if table_path is None:
                return self.start_page("choose a file first.", HTTPStatus.UNPROCESSABLE_ENTITY)
            files = TableFiles(
                table=table_path,
                labels=await self.saved(form, "labels"),
                sets=await self.saved(form, "sets"),
            )
        table = await run_in_threadpool(self.desk.add_table, files)
        return self.go_to("tables", table.key)

    # The page of a table

    async def show_table(self, request: Request) -> Response:
        """The page on which everything about a table is chosen."""
        return self.table_page(self.table_of(request))

    def table_page(
        self, table: UploadedTable, notice: str = "", status: int = HTTPStatus.OK
    ) -> HTMLResponse:
        """The page of a table, where the user chooses how to read and test it.

        `notice` is a sentence at the top of the page; empty for none. The other values are what
        the template needs to draw the fields, each beside the step of reading that it belongs to.
        """
        return self.render(
            "table.html",
            status,
            table=table,
            view=table.view,
            choices=table.choices,
            notice=notice,
            choice_words=CHOICE_WORDS,
            questions=OutcomeQuestion,
            kinds=OutcomeKind,
            column_help=column_help(),
            refused_at=refused_at(table.view.refusal),
            file_fields=file_fields(table.files.table, table.files.labels),
            label_fields=LABEL_FIELDS,
            split_fields=SPLIT_FIELDS,
            cell_fields=[*CELL_FIELDS, *GAP_FIELDS, *UNIT_FIELDS],
            test_fields=TEST_FIELDS,
            cell_steps=(ReadingStep.CELLS, ReadingStep.GAPS, ReadingStep.UNITS),
            file_steps=(ReadingStep.FILE, ReadingStep.SECOND_FILE),
            test_step=TEST_STEP,
            sets_step=SETS_STEP,
            steps=ReadingStep,
        )

    async def search_columns(self, request: Request) -> Response:
        """The rows of columns whose names have a text in them, for the script of the page."""
        column_list = self.table_of(request).view.column_list
        if column_list is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        text = request.query_params.get("containing", "")
        response = self.render(
            "column_rows.html", columns=column_list.containing(text), choice_words=CHOICE_WORDS
        )
        response.headers["X-Columns"] = str(column_list.n_containing(text))
        return response

    async def choose(self, request: Request) -> Response:
        """Keep what was chosen; then show the table again, or start a run."""
        table = self.table_of(request)
        async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
            sent = texts_of(form)
        if sent.get("version") != str(table.version):
            return self.table_page(
                table,
                CHANGED_ELSEWHERE,
                HTTPStatus.CONFLICT,
            )
        try:
            choices = choices_after_form(sent, table.choices, table.view)
        except InputError as error:
            return self.table_page(table, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        action = action_of_form(sent)
        choices = choices_after_answer(choices, action, table.view.refusal)
        await run_in_threadpool(self.desk.choose, table, choices)
        if action is not Action.RUN:
            return self.go_to("tables", f"{table.key}{place_of_refusal(table.view.refusal)}")
        run = self.desk.start_run(table)
        if run is None:
            return self.table_page(table, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return self.go_to("runs", run.key)

    # The page of a run

    async def show_run(self, request: Request) -> Response:
        """How far a run is, or what it gave."""
        run = self.run_of(request)
        downloads = [item for item in DOWNLOADS if (run.folder / item.file).is_file()]
        return self.render(
            "run.html",
            run=run,
            states=RunState,
            downloads=downloads,
            methods=methods_of(run),
            n_before=self.n_runs_before(run),
            has_rule=(run.folder / RESULT_FILE).is_file(),
            limit_bytes=self.access.largest_body,
        )

    def n_runs_before(self, run: Run) -> int:
        """How many runs must end before this one begins."""
        n_before = 0
        for other in self.desk.runs.values():
            if other is run:
                break
            if not other.state.is_over:
                n_before += 1
        return n_before

    async def tell_progress(self, request: Request) -> Response:
        """How far a run is, for the script of its page."""
        return JSONResponse(self.run_of(request).progress())

    async def cancel_run(self, request: Request) -> Response:
        """End a run, and show that it was ended."""
        run = self.run_of(request)
        await run_in_threadpool(self.desk.cancel, run)
        return self.go_to("runs", run.key)

    async def send_page(self, request: Request) -> Response:
        """The verdict's page as it is, to be read here; it brings its own policy."""
        run = self.run_of(request)
        return FileResponse(existing_file(run, PAGE_FILE), media_type="text/html")

    async def send_explorer(self, request: Request) -> Response:
        """The explorer; the end of its address says which numbers it begins with."""
        return HTMLResponse(await run_in_threadpool(explorer_page))

    async def send_file(self, request: Request) -> Response:
        """One of the files of a run, to be saved."""
        run = self.run_of(request)
        name = request.path_params["file"]
        if name not in [item.file for item in DOWNLOADS]:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return FileResponse(existing_file(run, name), filename=name)

    # Everything else

    async def send_style(self, request: Request) -> Response:
        """The style of our pages."""
        return Response(style(), media_type="text/css")

    async def send_script(self, request: Request) -> Response:
        """The script of our pages."""
        return Response((TEMPLATES / "app.js").read_text("utf-8"), media_type="text/javascript")

    async def end_server(self, request: Request) -> Response:
        """End the server once this answer is sent."""
        response = self.render("ended.html")
        response.background = BackgroundTask(self.quit)
        return response

    async def refuse_body(self, request: Request, error: Exception) -> Response:
        """That more arrived than a request may bring."""
        return answer_to_large_body(self.access)

    async def show_internal_error(self, request: Request, error: Exception) -> Response:
        """That the fault is ours; the traceback stands in the terminal."""
        return self.start_page(
            f"internal error ({type(error).__name__}); please report the lines in the terminal.",
            HTTPStatus.INTERNAL_SERVER_ERROR,
        )

    async def show_missing(self, request: Request, error: Exception) -> Response:
        """That there is no such page."""
        return self.start_page("there is no such page; begin here.", HTTPStatus.NOT_FOUND)

    def table_of(self, request: Request) -> UploadedTable:
        """The table that an address names."""
        table = self.desk.tables.get(request.path_params["table"])
        if table is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return table

    def run_of(self, request: Request) -> Run:
        """The run that an address names."""
        run = self.desk.runs.get(request.path_params["run"])
        if run is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return run


def existing_file(run: Run, name: str) -> Path:
    """A file of a run that is finished; no such page otherwise."""
    path = run.folder / name
    if run.state is not RunState.FINISHED or not path.is_file():
        raise HTTPException(HTTPStatus.NOT_FOUND)
    return path


def methods_of(run: Run) -> str:
    """The paragraph of methods; empty while there is none."""
    path = run.folder / METHODS_FILE
    if run.state is not RunState.FINISHED:
        return ""
    return path.read_text(encoding="utf-8").strip()


def column_help() -> Sequence[tuple[str, str]]:
    """What can be said about columns, in the words of the command line: setting and help."""
    helps = {item.name: item.metadata["help"] for item in fields(TableSettings)}
    return [(name, helps[name]) for name in COLUMN_HELP]


def refused_at(refusal: Refusal | None) -> str:
    """The step at which the table was refused; empty if it was not."""
    if refusal is None:
        return ""
    return refusal.step


def place_of_refusal(refusal: Refusal | None) -> str:
    """The end of an address that shows what is wrong at once; empty if nothing is."""
    if refusal is None:
        return ""
    return "#refusal"


def style() -> str:
    """The style of the reports and that of this page."""
    own_style = (TEMPLATES / "app.css").read_text(encoding="utf-8")
    parts = [PAGES.globals["palette"], asset("theme.css"), asset("report.css"), own_style]
    return "\n".join(str(part) for part in parts)
