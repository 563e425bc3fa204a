"""The page of `chanceline app`: from a file to a verdict, and what it refuses."""

from __future__ import annotations

import html
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from pages_client import HOSTILE, Pages, small_table
from starlette.testclient import TestClient

from chanceline.app.access import Access
from chanceline.app.desk import safe_file_name
from chanceline.app.runs import RunState
from chanceline.app.table_view import SETS_STEP
from chanceline.app.worker import RunRequest, run_request
from chanceline.cli.main import main
from chanceline.errors import InputError
from chanceline.tables import TableSettings, load_data
from chanceline.tables.outcome_kind import OutcomeKind, UnclearOutcomeError
from chanceline.tables.outcome_table import OutcomeNames, load_any_outcome
from chanceline.tables.reading_steps import ReadingStep


def test_from_a_file_to_the_numbers_of_the_command(pages, table, tmp_path, monkeypatch, capsys):
    assert "first rows" in pages.bring(table).text
    shown = pages.choose_label("outcome").text
    assert "40 samples (20 healthy, 20 ill), 20 features" in shown
    started = pages.choose("run", **{"test-permutations": "19"})
    key = list(pages.desk.runs)[-1]
    assert "Cancel" in started.text
    assert pages.wait(key)["state"] == RunState.FINISHED

    # The command that the page shows does the same, to the last letter of every file.
    run = pages.desk.runs[key]
    monkeypatch.chdir(tmp_path)
    files = ["--table", "features.csv", "--weights", "weights.csv", "--save", "result.json"]
    with pytest.raises(SystemExit) as stop:
        main([*shlex.split(run.command)[1:], *files, "--quiet", "-j", "1"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    for name in ("report.html", "features.csv", "weights.csv", "result.json"):
        assert pages.get("runs", key, "files", name).content == (tmp_path / name).read_bytes()
    assert pages.get("runs", key, "page").content == (tmp_path / "report.html").read_bytes()
    methods = pages.get("runs", key, "files", "methods.txt").text
    assert "(chanceline " in methods
    assert "{" not in methods
    assert "<" not in methods
    finished = pages.get("runs", key).text
    assert "chanceline test" in finished
    assert f"<blockquote>{escape(methods.strip())}</blockquote>" in finished
    assert "small table.csv" in printed


def test_every_column_can_be_something_else(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    changes = {
        pages.column("sample_id"): "feature",
        pages.column("gene1"): "adjust",
        pages.column("gene2"): "drop",
    }
    pages.choose(**changes)
    view = pages.view()
    assert view.table_settings.one_hot
    assert view.table_settings.adjust == ("gene1",)
    assert view.table_settings.drop == ("gene2",)
    uses = {column.name: column.use for column in view.columns}
    assert (uses["gene1"], uses["gene2"], uses["gene3"]) == ("covariate", "left out", "feature")
    # As found again.
    pages.choose(**{pages.column(name): "" for name in ("sample_id", "gene1", "gene2")})
    assert pages.desk.tables[pages.key()].choices.columns == {}


def test_an_identifier_as_a_feature_leaves_the_others_out(pages, tmp_path):
    path = small_table(tmp_path / "ids.csv")
    frame = pd.read_csv(path)
    frame["patient_id"] = range(500, 540)
    frame["run"] = range(1, 41)
    frame.to_csv(path, index=False)
    pages.bring(path)
    pages.choose_label("outcome")
    pages.choose(**{pages.column("run"): "feature"})
    settings = pages.view().table_settings
    assert settings.keep_identifiers
    assert settings.drop == ("patient_id",)
    loaded = load_data(path, "outcome", settings).feature_names
    assert "run" in loaded
    assert "patient_id" not in loaded


def test_numbers_too_long_to_be_read_are_refused_like_any_other(pages, table):
    pages.bring(table)
    too_long = "9" * (sys.get_int_max_str_digits() + 1)
    answer = pages.choose(label=too_long)
    assert answer.status_code == 422
    assert "the page offers no such choice for label" in answer.text
    answer = pages.get("", headers={"content-length": too_long})
    assert answer.status_code == 413


def test_a_column_that_is_not_there(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    answer = pages.choose(**{"column-99": "drop"})
    assert answer.status_code == 422
    assert "the page offers no such choice for column" in answer.text
    # What was said of columns that another way of reading has not is passed over.
    pages.choose(**{pages.column("gene1"): "groups"})
    pages.choose(**{"table-transpose": "on"})
    assert "gene1" not in pages.view().refusal.sentence


def test_two_columns_cannot_both_be_the_subject(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    shown = pages.choose(**{pages.column("gene1"): "groups", pages.column("gene2"): "groups"}).text
    assert "are all said to be groups; choose one" in shown
    # What was chosen before stays.
    pages.choose(**{pages.column("gene1"): "", pages.column("gene2"): ""})
    assert pages.view().label == "outcome"
    assert pages.view().refusal is None


def test_repeated_patients_are_asked_for(pages, tmp_path):
    path = small_table(tmp_path / "visits.csv")
    frame = pd.read_csv(path)
    frame["outcome"] = ["ill" if row // 4 % 2 else "healthy" for row in range(40)]
    frame["patient"] = [f"P{row // 4:02d}" for row in range(40)]
    frame.to_csv(path, index=False)
    pages.bring(path)
    shown = pages.choose_label("outcome").text
    sentence = load_data(path, "outcome").undeclared
    assert "patient" in sentence
    assert pages.view().refusal.sentence == sentence
    assert "Yes: patient is the subject" in shown
    # It does not run before that is settled.
    assert pages.choose("run").status_code == 422
    assert pages.desk.runs == {}
    pages.choose("declare")
    view = pages.view()
    assert view.table_settings.groups == "patient"
    assert view.refusal is None
    # The other answer.
    pages.choose(**{pages.column("patient"): ""})
    pages.choose("independent")
    assert pages.view().table_settings.independent == ("patient",)


def test_repeated_patients_are_asked_for_whatever_the_outcome(pages, tmp_path):
    path = small_table(tmp_path / "visits.csv")
    frame = pd.read_csv(path).drop(columns="outcome")
    frame["weight"] = [60.5 + 1.7 * (row // 4 % 5) for row in range(40)]
    frame["patient"] = [f"P{row // 4:02d}" for row in range(40)]
    frame.to_csv(path, index=False)
    pages.bring(path)
    pages.choose_label("weight")
    assert pages.view().refusal.column == "patient"
    table = load_any_outcome(path, OutcomeNames(label="weight"), TableSettings())
    assert pages.view().refusal.sentence == table.undeclared
    pages.choose("declare")
    assert pages.view().table_settings.groups == "patient"
    assert pages.view().refusal is None


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (lambda frame: frame.mask(frame == frame.iloc[3, 2]), {}),
        (lambda frame: frame.assign(gene1=["<0.5", *frame["gene1"][1:]]), {}),
        (lambda frame: frame.assign(outcome="ill"), {}),
        (lambda frame: frame, {"table-transform": "log"}),
    ],
)
def test_the_page_refuses_in_the_sentence_of_the_command(pages, table, change, fields):
    frame = change(pd.read_csv(table))
    frame.to_csv(table, index=False)
    pages.bring(table)
    pages.choose(**{pages.column("outcome"): "label"})
    pages.choose(**fields)
    settings = {name.removeprefix("table-"): value for name, value in fields.items()}
    with pytest.raises(InputError) as stop:
        load_data(table, "outcome", **settings)
    refusal = pages.view().refusal
    assert refusal.sentence == str(stop.value)
    assert refusal.step == stop.value.step


def test_a_number_that_is_none_is_said(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    shown = pages.choose(**{"test-permutations": "many"}).text
    assert "permutations must be a whole number, not &#39;many&#39;" in shown


def test_three_classes_at_once_two_of_them_and_one_against_the_rest(pages, table):
    frame = pd.read_csv(table)
    frame["kind"] = ["a", "b", "c", "b"] * 10
    frame.to_csv(table, index=False)
    pages.bring(table)
    shown = pages.choose_label("kind").text
    assert "none: all classes at once" in shown
    assert pages.view().kind is OutcomeKind.CLASSES
    pages.choose(positive=pages.place("positive", "a"))
    assert pages.view().table_settings.positive == "a"
    # The classes are listed by their sizes: b, a, c.
    shown = pages.choose(**{"class-0": None}).text
    assert pages.view().table_settings.classes == ("a", "c")
    assert "20 samples (10 c, 10 a)" in shown
    # Another label has other classes.
    pages.choose_label("outcome")
    assert pages.desk.tables[pages.key()].choices.outcome.positive == ""
    assert pages.view().table_settings.classes == ()


def test_classes_or_a_number_is_asked_where_the_command_asks(pages, table):
    frame = pd.read_csv(table)
    frame["grade"] = [1, 2, 3, 4] * 10
    frame.to_csv(table, index=False)
    pages.bring(table)
    shown = pages.choose_label("grade").text
    with pytest.raises(UnclearOutcomeError) as stop:
        load_any_outcome(table, OutcomeNames(label="grade"), TableSettings())
    assert pages.view().refusal.sentence == str(stop.value)
    assert "They are classes" in shown
    pages.choose("number")
    assert (pages.view().kind, pages.view().refusal) == (OutcomeKind.NUMBER, None)
    assert "is taken for a number" in pages.view().summary
    pages.choose(kind="classes")
    assert pages.view().kind is OutcomeKind.CLASSES
    # What was said holds for this column alone, and can be said together with another.
    pages.choose_label("outcome")
    assert pages.desk.tables[pages.key()].choices.outcome.asked_kind == ""
    pages.choose(label=pages.place("label", "grade"), kind="number")
    assert pages.view().kind is OutcomeKind.NUMBER


def test_survival_needs_two_columns(pages, table):
    frame = pd.read_csv(table)
    frame["months"] = np.arange(40) % 17 + 0.5
    frame["relapse"] = np.arange(40) % 3 == 0
    frame["relapse"] = frame["relapse"].astype(int)
    frame.to_csv(table, index=False)
    pages.bring(table)
    pages.choose(question="survival")
    assert "choose the column of the times" in pages.view().refusal.sentence
    pages.choose(time=pages.place("time", "months"))
    assert "survival needs a time and an event" in pages.view().refusal.sentence
    assert pages.view().refusal.step == ReadingStep.LABEL
    pages.choose(event=pages.place("event", "relapse"))
    assert pages.view().refusal is None
    assert "the time to 'relapse' (14 events" in pages.view().summary
    # In the list of columns as well.
    pages.choose(**{pages.column("relapse"): "drop"})
    assert pages.view().refusal.step == ReadingStep.LABEL
    pages.choose(**{pages.column("relapse"): "event"})
    assert pages.desk.tables[pages.key()].choices.columns == {}
    assert pages.view().refusal is None


def outcome_table(path, kind):
    """The small table with another outcome, which its first gene goes with; the fields to choose."""
    frame = pd.read_csv(small_table(path))[["sample_id", "gene0", "gene1", "gene2"]]
    gene = frame["gene0"]
    if kind == "number":
        frame["weight"] = (70 + 5 * gene).round(3)
        fields = {"label": "weight"}
    elif kind == "classes":
        frame["stage"] = pd.qcut(gene, 3, labels=["early", "middle", "late"])
        fields = {"label": "stage"}
    else:
        frame["months"] = np.exp(3 - gene).round(3)
        frame["relapse"] = (np.arange(40) % 4 > 0).astype(int)
        fields = {"question": "survival", "time": "months", "event": "relapse"}
    frame.to_csv(path, index=False)
    return fields


@pytest.mark.parametrize(
    "kind",
    ["number", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("classes", "survival"))],
)
def test_every_outcome_has_the_files_of_the_command(kind, pages, tmp_path, monkeypatch, command):
    path = tmp_path / "table.csv"
    fields = outcome_table(path, kind)
    pages.bring(path)
    columns = {
        name: pages.place(name, value) for name, value in fields.items() if name != "question"
    }
    pages.choose(**{**fields, **columns})
    assert pages.view().refusal is None
    run = in_this_process(pages, {"test-permutations": "19"})
    monkeypatch.chdir(tmp_path)
    code, out, _ = command(
        *shlex.split(run.command)[1:], "--table", "features.csv", "--quiet", "-j", "1"
    )
    assert code == 0
    assert pages.view().summary.partition("; ")[2].split(" is taken")[0] in out
    for name in ("report.html", "features.csv"):
        assert pages.get("runs", run.key, "files", name).content == (tmp_path / name).read_bytes()
    # The paragraph of methods is that of the page.
    methods = pages.get("runs", run.key, "files", "methods.txt").text
    page = html.unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    in_page = page.partition("<blockquote>")[2].partition("</blockquote>")[0].split()
    assert " ".join(in_page).replace("\u00a0", " ") == methods.strip()
    shown = pages.get("runs", run.key).text
    assert "Weights" not in shown


def test_sets_have_the_files_of_the_command(pages, table, tmp_path, monkeypatch, command):
    sets = tmp_path / "sets.gmt"
    sets.write_text("first\t\tgene0\tgene1\nlast\t\tgene18\tgene19\tgene77\n")
    pages.bring(table, sets=sets)
    assert "Every set of sets.gmt is tested" in pages.choose_label("outcome").text
    # What the command refuses, in its words.
    pages.choose(**{"test-errors": "2"})
    assert "leave out errors=2" in pages.view().refusal.sentence
    pages.choose(features="gene1", **{"test-errors": ""})
    assert "features does not go with sets" in pages.view().refusal.sentence
    pages.choose(features="")
    run = in_this_process(pages, {"test-permutations": "19"})
    monkeypatch.chdir(tmp_path)
    code, out, _ = command(
        *shlex.split(run.command)[1:], "--table", "sets.csv", "--quiet", "-j", "1"
    )
    assert code == 0
    assert "of 2 sets" in out
    for name in ("report.html", "sets.csv"):
        assert pages.get("runs", run.key, "files", name).content == (tmp_path / name).read_bytes()
    assert "each of 2 sets" in pages.get("runs", run.key, "files", "methods.txt").text


def test_a_file_of_sets_that_is_none(pages, table, tmp_path):
    sets = tmp_path / "sets.gmt"
    sets.write_text("alone\n")
    pages.bring(table, sets=sets)
    pages.choose_label("outcome")
    assert pages.view().refusal.step == SETS_STEP
    assert (
        "line 1 of sets.gmt names the set 'alone' but no features" in pages.view().refusal.sentence
    )


def in_this_process(pages, fields):
    """The run that the page would start, without the seconds that a process of its own takes."""
    pages.choose(**fields)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages.desk._queue, "add", lambda run: None)
        pages.choose("run")
    run = list(pages.desk.runs.values())[-1]
    run_request(RunRequest.from_json(run.request.to_json()), run.folder, lambda done, total: None)
    run.state = RunState.FINISHED
    return run


def test_the_list_of_columns_is_searched(pages, table):
    pages.bring(table)
    answer = pages.get("tables", pages.key(), "columns", params={"containing": "GENE1"})
    assert answer.headers["x-columns"] == "11"
    assert answer.text.count("<tr") == 11
    assert "gene19" in answer.text
    # Without a script the button looks.
    pages.choose(search="gene19")
    listed = [column.name for column in pages.view().columns]
    assert "gene19" in listed
    assert "gene2" not in listed


def test_what_was_chosen_survives_a_file_that_cannot_be_read(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    pages.choose(**{pages.column("gene1"): "drop", "table-sheet": "none such"})
    pages.choose(**{"table-decimal": "nonsense"})
    assert pages.view().names == []
    pages.choose(**{"table-decimal": ""})
    choices = pages.desk.tables[pages.key()].choices
    assert choices.outcome.label == "outcome"
    assert list(choices.columns) == ["gene1"]


def test_a_second_file_has_the_labels(pages, table, tmp_path):
    frame = pd.read_csv(table)
    labels = tmp_path / "clinic.csv"
    frame[["sample_id", "outcome"]].to_csv(labels, index=False)
    frame.drop(columns="outcome").to_csv(table, index=False)
    pages.bring(table, labels=labels)
    shown = pages.choose_label("outcome").text
    assert "40 samples (20 healthy, 20 ill), 20 features" in shown


def test_a_broken_file_is_one_sentence(pages, tmp_path):
    path = tmp_path / "broken.xlsx"
    path.write_bytes(b"PK\x03\x04 no workbook at all")
    shown = pages.bring(path).text
    assert "could not be read as a table" in shown or "broken.xlsx" in shown
    assert pages.view().refusal is not None


def test_a_run_that_the_system_refuses_does_not_hold_up_the_next(pages, table, monkeypatch):
    pages.bring(table)
    pages.choose_label("outcome")

    def refused(folder, errors):
        raise OSError(12, "Cannot allocate memory")

    with monkeypatch.context() as without_memory:
        without_memory.setattr("chanceline.app.runs.start_process", refused)
        run = pages.desk.start_run(pages.desk.tables[pages.key()])
        assert pages.wait(run.key)["state"] == RunState.FAILED
        assert "Cannot allocate memory" in pages.get("runs", run.key).text

    # Without its table the next run fails as well, but it has its turn.
    pages.desk.tables[pages.key()].files.table.unlink()
    run = pages.desk.start_run(pages.desk.tables[pages.key()])
    assert pages.wait(run.key)["state"] == RunState.FAILED
    assert "ended unexpectedly" in pages.get("runs", run.key).text


def test_a_run_that_fails_shows_its_sentence(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    # The file goes away before the run reads it.
    pages.desk.tables[pages.key()].files.table.unlink()
    desk_table = pages.desk.tables[pages.key()]
    run = pages.desk.start_run(desk_table)
    assert pages.wait(run.key)["state"] == RunState.FAILED
    shown = pages.get("runs", run.key).text
    assert "ended unexpectedly" in shown
    assert "FileNotFoundError" in shown


def test_one_run_at_a_time_and_each_can_be_cancelled(pages, table):
    pages.bring(table)
    pages.choose_label("outcome")
    slow = {"test-permutations": "100000"}
    pages.choose("run", **slow)
    pages.choose("run", **slow)
    first, second = pages.desk.runs.values()
    assert second.state is RunState.WAITING
    assert "after 1 other" in pages.get("runs", second.key).text
    assert "cancelled" in pages.post("runs", second.key, "cancel").text
    assert pages.wait(second.key)["state"] == RunState.CANCELLED
    pages.post("runs", first.key, "cancel")
    assert pages.wait(first.key)["state"] == RunState.CANCELLED
    if first.process is not None:
        assert first.process.wait(timeout=30) != 0
    # Nothing of it can be downloaded.
    assert pages.get("runs", first.key, "files", "report.html").status_code == 404


def test_two_tabs_do_not_overwrite_each_other(pages, table):
    pages.bring(table)
    old = pages.form()
    pages.choose_label("outcome")
    answer = pages.post("tables", pages.key(), data={**old, "action": "look"})
    assert answer.status_code == 409
    assert "changed on another page" in answer.text
    assert pages.desk.tables[pages.key()].choices.outcome.label == "outcome"


def test_a_hostile_name_is_text(pages, tmp_path):
    path = small_table(tmp_path / "hostile.csv", hostile=True)
    pages.bring(path)
    answer = pages.choose_label("outcome")
    assert "<img" not in answer.text
    assert "<script>" not in answer.text
    assert "&lt;img" in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    found = pages.get("tables", pages.key(), "columns", params={"containing": "img"})
    assert found.headers["x-columns"] == "1"
    assert "<img" not in found.text
    # It can be chosen like any other.
    pages.choose(**{pages.column(HOSTILE): "drop"})
    assert pages.view().table_settings.drop == (HOSTILE,)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"host": "evil.example:8000"},
        {"host": "127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_others_are_refused_and_nothing_happens(pages, table, headers):
    files = {"table": (table.name, table.read_bytes())}
    answer = pages.post("tables", files=files, headers=headers)
    assert answer.status_code == 403
    assert pages.get("", headers=headers).status_code == 403
    assert pages.desk.tables == {}


@pytest.mark.parametrize("path", ["/", "/wrong/", "/../", "/%2e%2e/etc/passwd"])
def test_without_the_token_there_is_nothing(pages, path):
    assert pages.client.get(path).status_code == 404
    assert pages.client.post(path).status_code == 404


def test_every_start_has_its_own_token():
    first, second = Access(8000, 1), Access(8000, 1)
    assert first.token != second.token
    assert len(first.token) >= 32


def test_a_file_that_is_too_large_is_refused_by_what_it_says_and_by_what_arrives(table):
    pages = Pages(largest_body=5000)
    try:
        assert pages.bring(table).status_code == 413

        def pieces():
            for _ in range(100):
                yield b"x" * 1000

        # In pieces, without a length.
        header = {"content-type": "multipart/form-data; boundary=b"}
        answer = pages.post("tables", content=pieces(), headers=header)
        assert answer.status_code == 413
        assert "larger than 0 MB" in answer.text
        assert pages.desk.tables == {}
    finally:
        pages.desk.close()


def test_other_requests_that_make_no_sense(pages, table):
    assert pages.post("tables", data={}).status_code == 422
    assert pages.get("tables", "nothing").status_code == 404
    assert pages.get("runs", "nothing").status_code == 404
    pages.bring(table)
    assert pages.choose(label="999").status_code == 422
    assert pages.choose(**{"column-0": "nonsense"}).status_code == 422


def test_names_of_files():
    assert safe_file_name("../../etc/passwd") == "passwd"
    assert safe_file_name("C:\\data\\my table.csv") == "my table.csv"
    assert safe_file_name("..") == "table"
    assert safe_file_name("a\x00b.csv") == "a_b.csv"
    assert safe_file_name("x" * 300 + ".csv").endswith("x.csv")


def test_the_button_ends_the_server(pages):
    assert "Ended" in pages.post("quit").text
    assert pages.ended == [True]


def test_an_error_of_ours_is_said_as_such(pages, monkeypatch, table):
    def fail(*arguments):
        raise KeyError("nothing")

    monkeypatch.setattr(pages.desk, "add_table", fail)
    with pytest.raises(KeyError):  # for the terminal
        pages.bring(table)
    pages.client = TestClient(
        pages.client.app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False
    )
    answer = pages.bring(table)
    assert answer.status_code == 500
    assert "internal error (KeyError)" in answer.text


def test_the_command_refuses_in_one_sentence(command, monkeypatch):
    code, _, err = command("app", "--port", "70000")
    assert (code, err.count("\n")) == (2, 1)
    assert "the port must be between 0 and 65,535" in err
    monkeypatch.delitem(sys.modules, "chanceline.app.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = command("app")
    assert code == 2
    assert "without uvicorn; install chanceline[app]" in err
