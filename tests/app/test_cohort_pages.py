"""The page of a second cohort: predictions and a confirmation, as the commands give them."""

from __future__ import annotations

import shlex
import shutil

import pandas as pd
import pytest
from pages_client import FormReader, small_table

from chanceline.app.runs import RunState


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved result, and new samples with another seed."""
    from chanceline import separation_test

    folder = tmp_path_factory.mktemp("saved")
    tested = pd.read_csv(small_table(folder / "tested.csv"))
    new = pd.read_csv(small_table(folder / "new.csv", seed=8))
    few = tested[["gene0", "gene1", "gene2", "outcome"]]
    result = separation_test(few, label="outcome", permutations=19)
    result.save(folder / "result.json")
    return folder, new


def bring(pages, folder, name="new.csv", **fields):
    """The page of a cohort after its files were brought."""
    files = {"table": (name, (folder / name).read_bytes())}
    if "run" not in fields:
        files["result"] = ("result.json", (folder / "result.json").read_bytes())
    return pages.post("cohorts", files=files, data=fields)


def cohort(pages):
    """The cohort brought last."""
    return list(pages.desk.cohorts.values())[-1]


def choose(pages, **changes):
    """Send its form with some fields changed."""
    reader = FormReader("choose")
    reader.feed(pages.get("cohorts", cohort(pages).key).text)
    return pages.post("cohorts", cohort(pages).key, data={**reader.fields, **changes})


def test_predictions_and_confirmation_are_those_of_the_commands(pages, saved, monkeypatch, command):
    folder, _ = saved
    shown = bring(pages, folder).text
    predict, confirm = (shlex.split(line) for line in cohort(pages).commands)
    monkeypatch.chdir(folder)
    assert command(*predict[1:])[0] == 0
    answer = pages.get("cohorts", cohort(pages).key, "predicted.csv")
    assert answer.content == (folder / "predicted.csv").read_bytes()
    code, out, _ = command(*confirm[1:])
    assert code == 0
    confirmation = cohort(pages).view.confirmation
    assert out.startswith(str(confirmation))
    assert confirmation.confirmed
    assert "CONFIRMED, p" in shown
    assert f"{confirmation.wrong} of 40 samples wrong" in shown


def test_without_a_column_of_classes_it_predicts_alone(pages, saved, tmp_path):
    folder, new = saved
    new.drop(columns="outcome").to_csv(folder / "unknown.csv", index=False)
    shown = bring(pages, folder, "unknown.csv").text
    assert cohort(pages).view.confirmation is None
    assert len(cohort(pages).commands) == 1
    assert "Predictions" in shown
    # The user may also not want to know.
    bring(pages, folder)
    choose(pages, label="")
    assert cohort(pages).view.confirmation is None


def test_what_the_commands_refuse_the_page_refuses_in_their_words(
    pages, saved, monkeypatch, command
):
    folder, new = saved
    new.rename(columns={"gene0": "other"}).to_csv(folder / "renamed.csv", index=False)
    monkeypatch.chdir(folder)
    bring(pages, folder, "renamed.csv")
    refusal = cohort(pages).view.refusal
    code, _, err = command("predict", "result.json", "renamed.csv")
    assert (code, refusal.step) == (2, "predict")
    assert refusal.sentence in err
    assert "gene0" in refusal.sentence
    # A label with other classes, and a file that is no result.
    new.assign(outcome="ill").to_csv(folder / "ill.csv", index=False)
    bring(pages, folder, "ill.csv")
    assert cohort(pages).view.refusal.step == "confirm"
    assert cohort(pages).view.predictions is not None
    (folder / "result.json").rename(folder / "kept.json")
    (folder / "result.json").write_text("{}")
    shown = bring(pages, folder).text
    (folder / "kept.json").rename(folder / "result.json")
    assert cohort(pages).view.refusal.step == "result"
    assert "result.json" in shown
    assert pages.post("cohorts", data={}).status_code == 422
    assert pages.get("cohorts", "nothing").status_code == 404


def test_the_rule_of_a_run_and_its_settings(pages, saved):
    folder, new = saved
    pages.bring(folder / "tested.csv")
    pages.choose_label("outcome")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages.desk._queue, "add", lambda run: None)
        run = pages.desk.start_run(pages.desk.tables[pages.key()])
    shutil.copy(folder / "result.json", run.folder / "result.json")
    (run.folder / "methods.txt").write_text("We asked.")
    run.state = RunState.FINISHED
    assert "Apply the rule" in pages.get("runs", run.key).text
    new.to_csv(folder / "semicolon.csv", index=False, sep=";", decimal=",")
    bring(pages, folder, "semicolon.csv", run=run.key)
    assert cohort(pages).view.confirmation is not None
    choose(pages, **{"cohort-decimal": ".", "cohort-groups": "sample_id"})
    assert cohort(pages).view.refusal is not None
    old_version = {"version": "0", "rule": "", "label": ""}
    assert pages.post("cohorts", cohort(pages).key, data=old_version).status_code == 409
    assert choose(pages, rule="nonsense").status_code == 422
