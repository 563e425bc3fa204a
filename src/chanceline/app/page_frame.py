"""What all pages have in common: their addresses, their frame, and files that a form brings."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse

from chanceline.app.access import Access
from chanceline.app.desk import Desk
from chanceline.report.page import ENVIRONMENT, TEMPLATES as REPORT_TEMPLATES

TEMPLATES = Path(__file__).parent / "templates"
MOST_FIELDS = 2000  # of a form
MOST_FILES = 3  # of a form: a table, its labels, and sets of features or a result
# Whatever a name from a file might smuggle in, the browser runs our own script alone and loads
# nothing; a form goes nowhere else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
CHANGED_ELSEWHERE = "This was changed on another page; here is how it is now. Choose again."

# Our templates, and those of the reports.
PAGES = ENVIRONMENT.overlay(loader=FileSystemLoader([TEMPLATES, REPORT_TEMPLATES]))


@dataclass
class PageFrame:
    """Makes pages and addresses.

    Attributes
    ----------
    desk : tables, cohorts and runs.
    access : the address and the limit of uploads.
    """

    desk: Desk
    access: Access

    def path(self, *parts: str) -> str:
        """The path of a page, with the token."""
        return "/".join([self.access.prefix, *parts])

    def go_to(self, *parts: str) -> RedirectResponse:
        """Send the browser to a page, so that loading it again sends no form."""
        return RedirectResponse(self.path(*parts), status_code=HTTPStatus.SEE_OTHER)

    def render(self, template: str, status: int = HTTPStatus.OK, **values: Any) -> HTMLResponse:
        """One of our pages."""
        html = PAGES.get_template(template).render(
            path=self.path, limit_megabytes=self.access.largest_megabytes, **values
        )
        headers = {"Content-Security-Policy": POLICY}
        return HTMLResponse(html, status_code=status, headers=headers)

    def start_page(self, sentence: str = "", status: int = HTTPStatus.OK) -> HTMLResponse:
        """The first page, which lists the uploaded tables and cohorts, and the runs of tests.

        These come from `self.desk`, which keeps them; `self.access` says how large a file may be.

        Parameters
        ----------
        sentence : why a file was refused, to be shown on the page; empty if none was.
        status : the status of the HTTP response.
        """
        return self.render(
            "start.html",
            status,
            sentence=sentence,
            limit_bytes=self.access.largest_body,
            tables=list(self.desk.tables.values()),
            cohorts=list(self.desk.cohorts.values()),
            runs=list(self.desk.runs.values()),
        )

    async def saved(self, form: FormData, field: str) -> Path | None:
        """Write a file that was brought to the temporary folder; None if none was."""
        file = uploaded(form, field)
        if file is None:
            return None
        return await run_in_threadpool(self.desk.save_file, file.filename or "", file.file)


def uploaded(form: FormData, name: str) -> UploadFile | None:
    """A file of a form; None if the field was left empty."""
    value = form.get(name)
    if isinstance(value, UploadFile) and value.filename:
        return value
    return None


def texts_of(form: FormData) -> dict[str, str]:
    """The fields of a form that hold text."""
    return {name: value for name, value in form.items() if isinstance(value, str)}
