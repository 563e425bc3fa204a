"""The page of a second cohort: bring a saved result and new samples, read, download."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from chanceline.app.cohort_view import (
    COHORT_FIELDS,
    CohortChoices,
    CohortFiles,
    CohortStep,
    CohortView,
)
from chanceline.app.desk import UploadedCohort
from chanceline.app.page_forms import name_at, texts_of_form
from chanceline.app.page_frame import (
    CHANGED_ELSEWHERE,
    MOST_FIELDS,
    MOST_FILES,
    PageFrame,
    texts_of,
)
from chanceline.app.runs import RunState
from chanceline.app.setting_fields import NEW_SAMPLES_FIELDS, file_fields
from chanceline.app.worker import RESULT_FILE
from chanceline.cohort.confirmation_text import confirmation_rows, verdict_meaning, verdict_words
from chanceline.cohort.predictions import predictions_csv
from chanceline.cohort.saved_rule import RuleChoice
from chanceline.errors import InputError

PREDICTIONS_FILE = "predicted.csv"
FIRST_PREDICTIONS_SHOWN = 10
COHORT_FIELD = "cohort-"  # names of fields begin so, and go on with the name of a setting
RULE_WORDS = {
    RuleChoice.RULE: "the rule to use",
    RuleChoice.FEW: "the rule on few features",
    RuleChoice.POINTS: "the scorecard in whole points",
    RuleChoice.SEPARATING: "the rule of the separating set",
}


class CohortPages(PageFrame):
    """The answers to requests about second cohorts."""

    def routes(self) -> list[Route]:
        """What is answered here."""
        return [
            Route("/cohorts", self.take_cohort, methods=["POST"]),
            Route("/cohorts/{cohort}", self.show_cohort),
            Route("/cohorts/{cohort}", self.choose_for_cohort, methods=["POST"]),
            Route(f"/cohorts/{{cohort}}/{PREDICTIONS_FILE}", self.send_predictions),
        ]

    async def take_cohort(self, request: Request) -> Response:
        """Keep the files that were brought, and go to their page."""
        async with request.form(max_files=MOST_FILES, max_fields=MOST_FIELDS) as form:
            files = await self.cohort_files(form)
        if files is None:
            return self.start_page(
                "choose the saved result and the file of new samples.",
                HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        cohort = await run_in_threadpool(self.desk.add_cohort, files)
        return self.go_to("cohorts", cohort.key)

    async def cohort_files(self, form: FormData) -> CohortFiles | None:
        """The files of a form, the result perhaps that of a run; None if one is missing."""
        result = await self.saved(form, "result")
        run = self.desk.runs.get(str(form.get("run", "")))
        if result is None and run is not None and run.state is RunState.FINISHED:
            result = run.folder / RESULT_FILE
        table = await self.saved(form, "table")
        if table is None or result is None or not result.is_file():
            return None
        return CohortFiles(result, table, labels=await self.saved(form, "labels"))

    async def show_cohort(self, request: Request) -> Response:
        """What the rule says of the new samples."""
        return self.cohort_page(self.cohort_of(request))

    def cohort_page(
        self, cohort: UploadedCohort, notice: str = "", status: int = HTTPStatus.OK
    ) -> HTMLResponse:
        """The page of a cohort, that is new samples to which a saved result is applied.

        `notice` is a sentence at the top of the page; empty for none.
        """
        view = cohort.view
        return self.render(
            "cohort.html",
            status,
            cohort=cohort,
            view=view,
            choices=cohort.choices,
            notice=notice,
            steps=CohortStep,
            rule_words=RULE_WORDS,
            file_fields=file_fields(cohort.files.table, cohort.files.labels),
            sample_fields=NEW_SAMPLES_FIELDS,
            predictions_file=PREDICTIONS_FILE,
            first_predictions=first_predictions(view),
            confirmed=confirmed_words(view),
        )

    async def choose_for_cohort(self, request: Request) -> Response:
        """Keep what was chosen, and show what it leads to."""
        cohort = self.cohort_of(request)
        async with request.form(max_files=0, max_fields=MOST_FIELDS) as form:
            sent = texts_of(form)
        if sent.get("version") != str(cohort.version):
            return self.cohort_page(cohort, CHANGED_ELSEWHERE, HTTPStatus.CONFLICT)
        try:
            choices = cohort_choices_of_form(sent, cohort.choices, cohort.view)
        except InputError as error:
            return self.cohort_page(cohort, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
        await run_in_threadpool(self.desk.choose_for_cohort, cohort, choices)
        return self.go_to("cohorts", cohort.key)

    async def send_predictions(self, request: Request) -> Response:
        """The predictions as the command line writes them."""
        predictions = self.cohort_of(request).view.predictions
        if predictions is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        headers = {"Content-Disposition": f'attachment; filename="{PREDICTIONS_FILE}"'}
        return Response(predictions_csv(predictions), media_type="text/csv", headers=headers)

    def cohort_of(self, request: Request) -> UploadedCohort:
        """The cohort that an address names."""
        cohort = self.desk.cohorts.get(request.path_params["cohort"])
        if cohort is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return cohort


def cohort_choices_of_form(
    form: Mapping[str, str], choices: CohortChoices, view: CohortView
) -> CohortChoices:
    """The user's choices for new samples after a form was sent.

    Parameters
    ----------
    form : field → its text, as the browser sent it.
    choices : the choices before the form was sent.
    view : what the page with the form showed, such as the names of the columns.
    """
    # The form may hold any text, so its rule is compared with those that the page offers. An empty
    # text stands for the default rule.
    rule = form.get("rule", "")
    if rule and rule not in list(RuleChoice):
        raise InputError("the page offers no such choice for rule.")

    # The field of the label holds the number of a column in the list that the page showed. If the
    # table could not be read, the page had no such field, and the choice stays as it was.
    label = choices.label
    if view.names:
        label = name_at(form, "label", view.names)

    texts = texts_of_form(form, COHORT_FIELD, COHORT_FIELDS)
    return CohortChoices(label=label, rule=rule, texts=texts)


def first_predictions(view: CohortView) -> list[list[object]]:
    """The first rows of the predictions, with the names of the columns above them."""
    if view.predictions is None:
        return []
    frame = view.predictions.to_frame()
    rows = frame.head(FIRST_PREDICTIONS_SHOWN).itertuples(index=False)
    return [list(frame.columns), *[list(row) for row in rows]]


class ConfirmedWords(NamedTuple):
    """What a confirmation says.

    Attributes
    ----------
    verdict, meaning : in two parts of a sentence.
    rows : name and words of every number.
    """

    verdict: str
    meaning: str
    rows: list[tuple[str, str]]


def confirmed_words(view: CohortView) -> ConfirmedWords | None:
    """The confirmation in words; None where no classes are known."""
    confirmation = view.confirmation
    if confirmation is None:
        return None
    return ConfirmedWords(
        verdict=verdict_words(confirmation),
        meaning=verdict_meaning(confirmation),
        rows=confirmation_rows(confirmation),
    )
