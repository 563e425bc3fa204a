"""The docs: every equation has its code and test, tutorials run, links lead somewhere, the site builds without warnings."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TABLE = (DOCS / "theory-to-code.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    lines = [
        line
        for line in TABLE.splitlines()
        if line.startswith("| ") and not line.startswith("| paper")
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_equation_and_figure_has_a_row():
    equations: set[int] = set()
    for paper, *_ in rows():
        for first, last in re.findall(r"\((\d+)\)(?:–\((\d+)\))?", paper):
            equations |= set(range(int(first), int(last or first) + 1))
    assert equations == set(range(1, 34))
    named = " ".join(row[0] for row in rows())
    for figure in ("Fig. 1", "Fig. 2 (a)–(d)", "Fig. 3", "Algorithm 1"):
        assert figure in named


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:theory|search|experiments|reproduce)\.[\w.]+)`", TABLE)))
)
def test_named_code_exists(name):
    parts = f"chanceline.{name}".split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        assert callable(found)
        return
    pytest.fail(f"nothing of {name} can be imported")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/.]+::\w+)`", TABLE))))
def test_named_tests_exist(name):
    path, function = name.split("::")
    assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_benchmark_table_is_shown_somewhere():
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for table in (DOCS / "tables").glob("*.md"):
        assert f'--8<-- "docs/tables/{table.name}"' in shown, table.name


# Their searches take longer than all other tutorials together.
LONG_TUTORIALS = ("algorithmist.py", "analyst.py", "leakage.py")


def tutorials():
    """Every script, the long ones marked."""
    for path in sorted((DOCS / "tutorials").glob("*.py")):
        marks = [pytest.mark.slow] if path.name in LONG_TUTORIALS else []
        yield pytest.param(path, marks=marks, id=path.name)


@pytest.mark.parametrize("script", list(tutorials()))
def test_tutorials_run(script, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda page: page.name
)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_page_is_in_the_navigation():
    listed = set(
        re.findall(
            r":\s+([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
        )
    )
    shown = {
        str(page.relative_to(DOCS)) for page in PAGES if page.parts[len(DOCS.parts)] != "tables"
    }
    assert listed == shown


def test_the_paper_cites_what_its_bibliography_has():
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    bibliography = (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8")
    entries = re.findall(r"^@\w+\{(\w+),$", bibliography, re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", paper)) == set(entries)


PACKAGES = [
    "chanceline",
    *(
        f"chanceline.{path.parent.name}"
        for path in sorted((ROOT / "src" / "chanceline").glob("*/__init__.py"))
    ),
]


LISTED = {
    name.rpartition(".")[2]: name
    for page in (DOCS / "api").glob("*.md")
    for name in re.findall(
        r"^::: (chanceline\.[\w.]+)$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_its_place_in_the_api(package):
    missing = (
        set(getattr(importlib.import_module(package), "__all__", ()))
        - {"__version__"}
        - set(LISTED)
    )
    assert not missing


def test_the_api_lists_names_and_no_modules():
    assert len(LISTED) > 80
    for name, path in LISTED.items():
        found = getattr(importlib.import_module(path.rpartition(".")[0]), name)
        assert not inspect.ismodule(found), path
        assert inspect.getdoc(found), path


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("latex2mathml", reason="the docs extra is not installed")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "-f",
            ROOT / "mkdocs.yml",
            "--site-dir",
            folder,
        ],
        cwd=folder.parent,  # from anywhere
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_site_needs_no_network(site):
    assert "<math" in (site / "theory.html").read_text(encoding="utf-8")
    assert (site / "explorer-page.html").stat().st_size > 30_000
    for page in site.rglob("*.html"):
        outside = re.findall(
            r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?://[^\"]+)",
            page.read_text(encoding="utf-8"),
        )
        assert outside == [], page.name


def test_mathematics_is_typeset(site):
    """No index, power or sum stands there as it is typed."""
    raw = re.compile(r"\\\(|\$\$|[α-ωΑ-Ω]_\w|\b[A-Za-z]_[A-Za-zα-ω{]|_\{|[\w)ℝ]\^")
    for page in site.glob("*.html"):
        article = re.search(r"<article.*?</article>", page.read_text(encoding="utf-8"), re.DOTALL)
        if article is None or page.name == "changelog.html":
            continue
        words = re.sub(r"<(math|pre|code)\b.*?</\1>|<[^>]+>", " ", article[0], flags=re.DOTALL)
        assert raw.findall(words) == [], page.name
