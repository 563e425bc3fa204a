"""The page in a real browser: from a file to the downloads, by the keyboard, with names that attack and pages that meddle."""

from __future__ import annotations

import html
import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
from driven_browser import DrivenPage, driven_page
from pages_client import small_table
from served import served

# The values that a select has for the option that begins with these words.
OPTION = "[...document.querySelector({selector!r}).options].find((o) => o.text.startsWith({words!r})).value"


def select(page: DrivenPage, selector: str, words: str) -> None:
    """Choose the option that begins with these words."""
    option = OPTION.format(selector=selector, words=words)
    page.value(f"document.querySelector({selector!r}).value = {option}")


def bring(page: DrivenPage, address: str, path: Path) -> None:
    """Bring a file, and wait for its page."""
    page.go(address)
    page.bring("#table", path)
    page.value("document.querySelector('#bring button.main').click()")
    page.wait_for("document.readyState === 'complete' && document.querySelector('#choose')")


def look_again(page: DrivenPage) -> None:
    """Press the button, and wait for the next page."""
    version = page.value("document.querySelector('[name=version]').value")
    page.value("document.querySelector('#choose .run button[value=look]').click()")
    next_version = f"document.querySelector('[name=version]')?.value === '{int(version) + 1}'"
    page.wait_for(f"document.readyState === 'complete' && {next_version}")


def tab_to(page: DrivenPage, selector: str) -> None:
    """Press the tabulator until the element has the focus."""
    for _ in range(200):
        page.press("Tab", 9)
        if page.value(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def read_verdict(page: DrivenPage) -> dict:
    """The result inside the verdict's page, once it is there."""
    page.wait_for("document.querySelector('iframe')?.contentDocument?.querySelector('#result')")
    inner = "document.querySelector('iframe').contentDocument.querySelector('#result').textContent"
    return json.loads(page.value(inner))


@pytest.mark.slow
def test_by_the_keyboard_with_a_hostile_name_and_a_foreign_page(tmp_path):
    path = small_table(tmp_path / "hostile.csv", hostile=True)
    with served(tmp_path) as server, driven_page() as page:
        # A file that is too large is refused before it is sent.
        page.go(server.address)
        page.bring("#table", path)
        page.value("document.querySelector('#bring').dataset.limit = '10'")
        page.value("document.querySelector('#bring button.main').click()")
        page.wait_for("!document.querySelector('#too-large').hidden")
        bring(page, server.address, path)
        tab_to(page, "#label")
        page.press("o", 79, "o")  # as in "outcome"
        tab_to(page, "details:has(#test-permutations) > summary")
        page.press("Enter", 13, "\r")
        tab_to(page, "#test-permutations")
        for digit in "19":
            page.press(digit, ord(digit), digit)
        tab_to(page, "button.main")
        page.press("Enter", 13, "\r")
        result = read_verdict(page)
        assert result["n_samples"] == 40
        assert "owned" not in page.value("document.title")
        assert page.value("document.querySelector('iframe').contentDocument.title") != "owned"
        link = "document.querySelector('.downloads a[href$=\"report.html\"]').href"
        saved = page.value(f"fetch({link}).then((answer) => answer.text())")
        assert f'"log10_pvalue": {result["log10_pvalue"]}' in html.unescape(saved)

        # Nothing is loaded from elsewhere, and nothing is wider than a phone.
        entries = "performance.getEntriesByType('resource').map((entry) => entry.name)"
        assert all(name.startswith(server.address) for name in page.value(entries))
        page.screenshot(tmp_path / "phone.png", 390, 800)
        assert page.value("document.documentElement.scrollWidth") <= 390

        # A page of another origin can neither read nor bring anything.
        page.go("about:blank")
        foreign = (
            f"(async () => {{ const body = new FormData(); body.append('table', new File(['a,b'], 'a.csv'));"
            f"await fetch('{server.address}tables', {{method: 'POST', mode: 'no-cors', body}}).catch(() => {{}});"
            f"try {{ await fetch('{server.address}'); return 'read' }} catch {{ return 'refused' }} }})()"
        )
        assert page.value(foreign) == "refused"
        page.go(server.address)
        assert page.value("document.querySelectorAll('a[href*=\"/tables/\"]').length") == 1

        # Ctrl-C in the terminal ends a run as well, and removes the files.
        page.value("document.querySelector('a[href*=\"/tables/\"]').click()")
        page.wait_for("document.querySelector('#test-permutations')")
        page.value("document.querySelector('#test-permutations').value = '1000000'")
        page.value("document.querySelector('button.main').click()")
        page.wait_for("document.querySelector('#progress')")
        workers = psutil.Process(server.process.pid).children(recursive=True)
        assert server.interrupt() == 0
        assert list(server.files.iterdir()) == []
        assert psutil.wait_procs(workers, timeout=30)[1] == []


TABLES = ("golub38", "colon_alon", "sonar", "wdbc")
PATIENTS = "patients"  # a table with several rows of each


def repeated_patients(path: Path) -> Path:
    """Four rows of each of ten patients, whose label is the same in all of them."""
    frame = pd.read_csv(small_table(path))
    frame["outcome"] = ["ill" if row // 4 % 2 else "healthy" for row in range(40)]
    frame["patient"] = [f"P{row // 4:02d}" for row in range(40)]
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, PATIENTS])
def test_the_numbers_are_those_of_the_command(name, real_data, tmp_path, monkeypatch, command):
    if name == PATIENTS:
        label, path = "outcome", repeated_patients(tmp_path / "patients.csv")
    else:
        label, original = "label", real_data(name)
        path = tmp_path / original.name
        path.write_bytes(original.read_bytes())
    with served(tmp_path) as server, driven_page() as page:
        bring(page, server.address, path)
        select(page, "#label", label)
        look_again(page)
        if name == PATIENTS:
            page.value("document.querySelector('button[value=declare]').click()")
            page.wait_for(
                "document.querySelector('button.main') && !document.querySelector('#refusal')"
            )
        page.value("document.querySelector('#test-permutations').value = '99'")
        page.value("document.querySelector('button.main').click()")
        result = read_verdict(page)
        words = shlex.split(page.value("document.querySelector('#command').textContent"))
        files = {}
        for link in page.value("[...document.querySelectorAll('.downloads a')].map((a) => a.href)"):
            text = page.value(f"fetch({link!r}).then((answer) => answer.text())")
            files[link.rpartition("/")[2]] = text

    monkeypatch.chdir(tmp_path)
    written = ["--table", "features.csv", "--weights", "weights.csv"]
    code, out, _ = command(*words[1:], *written, "--json", "--quiet")
    assert code == 0
    assert result["log10_pvalue"] == json.loads(out)["log10_pvalue"]
    for file in ("report.html", "features.csv", "weights.csv"):
        assert files[file] == (tmp_path / file).read_text(encoding="utf-8")


GASTRIC = "gastric_nmr"
SURVIVAL = "survival"


def survival_table(path: Path) -> Path:
    """The small table with times that its first gene goes with."""
    frame = pd.read_csv(small_table(path)).drop(columns="outcome")
    frame["months"] = np.exp(3 - frame["gene0"]).round(2)
    frame["relapse"] = (np.arange(40) % 4 > 0).astype(int)
    frame.to_csv(path, index=False)
    return path


def click(page: DrivenPage, selector: str) -> None:
    page.value(f"document.querySelector({selector!r}).click()")


def choose_gastric(page: DrivenPage) -> None:
    """Three classes at once, without the rows of quality controls."""
    select(page, "#label", "Class")
    look_again(page)
    boxes = "[...document.querySelectorAll('fieldset.field label')]"
    page.value(f"{boxes}.find((label) => label.innerText.includes('QC')).click()")
    select(page, "#table-missing", "median")
    look_again(page)


def choose_survival(page: DrivenPage) -> None:
    """A time and an event; the fields for one column are gone."""
    click(page, "input[value=survival]")
    assert page.value("document.querySelector('#label').offsetParent === null")
    select(page, "#time", "months")
    select(page, "#event", "relapse")
    look_again(page)


@pytest.mark.slow
@pytest.mark.parametrize("name", [GASTRIC, SURVIVAL])
def test_other_outcomes_are_those_of_the_command(name, real_data, tmp_path, monkeypatch, command):
    if name == GASTRIC:
        original = real_data("golub38").parent / "gastric_nmr.xlsx"
        path = tmp_path / original.name
        path.write_bytes(original.read_bytes())
    else:
        path = survival_table(tmp_path / "clinic.csv")
    choose = {GASTRIC: choose_gastric, SURVIVAL: choose_survival}[name]
    with served(tmp_path) as server, driven_page() as page:
        bring(page, server.address, path)
        choose(page)
        page.value("document.querySelector('#test-permutations').value = '99'")
        page.screenshot(tmp_path / "phone.png", 390, 800)
        assert page.value("document.documentElement.scrollWidth") <= 390
        click(page, "button.main")
        result = read_verdict(page)
        words = shlex.split(page.value("document.querySelector('#command').textContent"))
        links = page.value("[...document.querySelectorAll('.downloads a')].map((a) => a.href)")
        files = {}
        for link in links:
            text = page.value(f"fetch({link!r}).then((answer) => answer.text())")
            files[link.rpartition("/")[2]] = text
    monkeypatch.chdir(tmp_path)
    code, out, _ = command(*words[1:], "--table", "features.csv", "--json", "--quiet")
    assert code == 0
    assert result["pvalue"] == json.loads(out)["pvalue"]
    for file in ("report.html", "features.csv"):
        assert files[file] == (tmp_path / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_wide_table_is_searched_and_what_was_chosen_stays(tmp_path):
    frame = pd.read_csv(small_table(tmp_path / "wide.csv"))
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 3000)).round(3)).add_prefix("g")
    pd.concat([wide, frame], axis=1).to_csv(tmp_path / "wide.csv", index=False)
    shown = "[...document.querySelectorAll('#columns tr')].filter((row) => row.offsetParent)"
    with served(tmp_path) as server, driven_page() as page:
        bring(page, server.address, tmp_path / "wide.csv")
        tab_to(page, "#search")
        for key in "g2718":
            page.press(key, ord(key.upper()), key)
        page.wait_for("document.querySelector('#found').textContent.startsWith('1 column')")
        page.screenshot(tmp_path / "phone.png", 390, 800)
        assert page.value(f"{shown}.map((row) => row.cells[0].innerText)") == ["g2718"]
        page.value(f"{shown}[0].querySelector('select').value = 'adjust'")
        for _ in range(5):
            page.press("Backspace", 8)
        page.wait_for(f"{shown}.length > 100")
        select(page, "#label", "outcome")
        look_again(page)
        rows = page.value(f"{shown}.map((row) => row.innerText.split('\\n').slice(0, 3))")
        assert any("g2718" in row[0] and "covariate" in " ".join(row) for row in rows)


@pytest.mark.slow
def test_a_second_cohort_with_a_closed_page_in_between(tmp_path, monkeypatch, command):
    tested = small_table(tmp_path / "tested.csv")
    new = small_table(tmp_path / "new.csv", seed=8)
    with served(tmp_path) as server:
        with driven_page() as page:
            bring(page, server.address, tested)
            select(page, "#label", "outcome")
            page.value("document.querySelector('#test-permutations').value = '19'")
            click(page, "button.main")
            page.wait_for("location.href.includes('/runs/')")
            address = page.value("location.href")
        # The browser is closed; the run goes on, and another one shows it.
        with driven_page() as page:
            page.go(address)
            page.wait_for("document.querySelector('iframe')")
            link = "document.querySelector('.downloads a[href$=\"result.json\"]').href"
            saved = page.value(f"fetch({link}).then((answer) => answer.text())")
            page.bring("#new-table", new)
            click(page, "form[action$=cohorts] button")
            page.wait_for("document.querySelector('#command')")
            page.screenshot(tmp_path / "phone.png", 390, 800)
            assert page.value("document.documentElement.scrollWidth") <= 390
            commands = page.value("document.querySelector('#command').textContent").splitlines()
            file = "document.querySelector('a.file').href"
            predicted = page.value(f"fetch({file}).then((answer) => answer.text())")
            numbers = page.value("document.querySelector('.numbers').innerText")
    monkeypatch.chdir(tmp_path)
    Path("result.json").write_text(saved, encoding="utf-8")
    assert command(*shlex.split(commands[0])[1:])[0] == 0
    assert Path("predicted.csv").read_text(encoding="utf-8") == predicted
    code, out, _ = command(*shlex.split(commands[1])[1:], "--json")
    assert code == 0
    assert f"{json.loads(out)['wrong']} of 40 samples wrong" in numbers
