"""Helpers of the page's tests: a small table, a client that talks to the pages, and what a form would send."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
from starlette.testclient import TestClient

from chanceline.app.access import Access
from chanceline.app.desk import CommandWriters, Desk
from chanceline.app.server import guarded_pages
from chanceline.cli.command_text import command_of_request, commands_of_cohort

HOSTILE = "\"><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def small_table(path: Path, *, hostile: bool = False, seed: int = 7) -> Path:
    """40 samples and 20 features, the first of which tells the classes apart but for a few samples."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 20))
    is_ill = np.arange(40) % 2 == 1
    X[:, 0] += 1.6 * is_ill
    table = pd.DataFrame(X.round(4), columns=[f"gene{j}" for j in range(20)])
    table.insert(0, "sample_id", [f"S{row:02d}" for row in range(40)])
    table["outcome"] = np.where(is_ill, "ill", "healthy")
    if hostile:
        table = table.rename(columns={"gene0": HOSTILE})
    table.to_csv(path, index=False)
    return path


class FormReader(HTMLParser):
    """What a browser would send for the form with this id, nothing changed."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form, self.inside, self.select = form, False, ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "form":
            self.inside = values.get("id") == self.form
        if not self.inside:
            return
        if tag == "input" and "name" in values:
            is_box = values.get("type") in ("checkbox", "radio")
            if not is_box or "checked" in values:
                self.fields[values["name"]] = values.get("value", "on" if is_box else "")
        elif tag == "select":
            self.select = values["name"]
        elif tag == "option" and ("selected" in values or self.select not in self.fields):
            self.fields[self.select] = values["value"]

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False


class Pages:
    """A client of the pages, with the address that the user has."""

    def __init__(self, largest_body: int = 1_000_000) -> None:
        self.desk = Desk(1, CommandWriters(command_of_request, commands_of_cohort))
        self.access = Access(port=8000, largest_body=largest_body)
        self.ended: list[bool] = []
        application = guarded_pages(self.desk, self.access, lambda: self.ended.append(True))
        self.client = TestClient(application, base_url="http://127.0.0.1:8000")

    def address(self, *parts: str) -> str:
        return "/".join([self.access.prefix, *parts])

    def get(self, *parts: str, **options):
        return self.client.get(self.address(*parts), **options)

    def post(self, *parts: str, **options):
        return self.client.post(self.address(*parts), **options)

    def bring(self, path: Path, **further: Path):
        """The page of a table after its file was dropped, perhaps with labels and sets."""
        files = {
            name: (file.name, file.read_bytes())
            for name, file in {"table": path, **further}.items()
        }
        return self.post("tables", files=files)

    def key(self) -> str:
        """The table brought last."""
        return list(self.desk.tables)[-1]

    def form(self) -> dict[str, str]:
        """The form of that table, as it is shown."""
        reader = FormReader("choose")
        reader.feed(self.get("tables", self.key()).text)
        return reader.fields

    def place(self, field: str, words: str) -> str:
        """The value of the option with these words at its beginning."""
        page = self.get("tables", self.key()).text
        select = re.search(rf'<select [^>]*name="{field}".*?</select>', page, re.DOTALL)
        assert select, field
        options = re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)', select[0])
        return next(value for value, shown in options if shown.startswith(words))

    def column(self, name: str) -> str:
        """The field of a column's choice."""
        return f"column-{self.view().names.index(name)}"

    def view(self):
        """What is known about the table brought last."""
        return self.desk.tables[self.key()].view

    def choose(self, action: str = "look", **changes: str | None):
        """Send the form with some fields changed."""
        # A box that is not ticked is not sent.
        fields = {**self.form(), **changes, "action": action}
        fields = {name: value for name, value in fields.items() if value is not None}
        return self.post("tables", self.key(), data=fields)

    def choose_label(self, name: str):
        return self.choose(label=self.place("label", name))

    def wait(self, key: str) -> dict[str, object]:
        """The end of a run; its own process computes, so that there is nothing else to do."""
        for _ in range(3000):
            told = self.get("runs", key, "progress").json()
            if told["over"]:
                return told
            time.sleep(0.1)
        raise AssertionError("the run did not end")
