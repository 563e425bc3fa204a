"""Every page that a command writes carries a policy: no script but its own, nothing from outside."""

from __future__ import annotations

import re

import pytest

from chanceline.cli.main import build_app, main
from chanceline.experiments.run import run as run_tasks
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import make_task

PAGES = {
    "explore": "explore --no-open --out page.html",
    "solve": "solve -a 1.2 -r 0.5 --report page.html",
    "capacity": "capacity 0.5 --report page.html",
    "density": "density 1.0 --report page.html",
    "test": "test table.csv --label class --permutations 0 --search omp --quiet --report page.html",
    "a store": "report small.sqlite --out page.html",
    "a folder": "report folder --out page.html",
}


def run(line: str) -> object:
    with pytest.raises(SystemExit) as end:
        main(line.split())
    return end.value.code


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{x},{x * x % 7},{'ab'[x > 9]}" for x in range(20)]
    (tmp_path / "table.csv").write_text("\n".join(["x,z,class", *rows, ""]))
    with Store(tmp_path / "small.sqlite", write=True) as store:
        run_tasks([make_task("smallest", n=8, alpha=0.5, method="omp")], store=store)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "numbers.csv").write_text("quantity,value,error,source,paper\nx,1,,y,\n")
    (tmp_path / "folder" / "provenance.json").write_text(
        '{"figures": [], "mode": "quick", "packages": {"chanceline": "0"}}'
    )
    return tmp_path


@pytest.mark.parametrize("name", PAGES)
def test_a_policy_in_every_page(files, name):
    assert run(PAGES[name]) == 0
    head = (files / "page.html").read_text(encoding="utf-8").partition("<title>")[0]
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', head)
    assert policy is not None
    rules = dict(rule.strip().partition(" ")[::2] for rule in policy[1].split(";") if rule.strip())
    assert rules["default-src"] == "'none'"
    assert not any(
        "unsafe" in value or "http" in value or "*" in value
        for name, value in rules.items()
        if "style" not in name
    )


def test_no_page_is_forgotten():
    commands = {
        command.name or command.callback.__name__: command
        for command in build_app().registered_commands
    }
    writers = {
        name
        for name, command in commands.items()
        if "report" in (command.callback.__annotations__ | {name: 0})
    }
    assert writers - {"report"} <= set(PAGES)
