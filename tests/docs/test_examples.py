"""Everything that the README and the docs show in a terminal or as Python is run, and prints what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("examples", ROOT / "scripts" / "examples.py")
assert SPEC is not None
assert SPEC.loader is not None
examples = importlib.util.module_from_spec(SPEC)
sys.modules["examples"] = examples
SPEC.loader.exec_module(examples)

PAGES = [
    page for page in examples.pages() if list(examples.steps(page.read_text(encoding="utf-8")))
]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


def check(page: Path) -> None:
    for step, output in examples.run_page(page.read_text(encoding="utf-8")):
        if step.expected is not None:
            shown = f"{name(page)}: {step.code}\n--- printed\n{output}--- shown\n{step.expected}"
            assert examples.matches(step.expected, output), shown


LONG = {"algorithmist.md", "search.md"}  # pages with searches of ten seconds


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in LONG], ids=name)
def test_examples(page):
    check(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.name in LONG], ids=name)
def test_long_examples(page):
    check(page)


def test_there_are_examples_to_run():
    assert {"README.md", "docs/analyst.md"} <= {name(page) for page in PAGES}


def test_the_checker_sees_a_wrong_output():
    console = (
        "```console\n$ chanceline bound -P 20 -N 10 -M 1 --positives 10\nsomething else\n```\n"
    )
    text = f"{console}\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    verdicts = [examples.matches(step.expected, output) for step, output in examples.run_page(text)]
    assert verdicts == [False, False]
    right = text.replace("\n3\n", "\n2\n").replace(
        "something else", "p ≤ ... for 1 of 10 features..."
    )
    assert all(examples.matches(step.expected, output) for step, output in examples.run_page(right))


def test_blocks_that_are_not_run_say_why():
    text = "<!-- not run: needs a cluster -->\n```console\n$ chanceline nonsense\n```\n"
    assert list(examples.run_page(text)) == []
