"""Every package that the code imports is declared, everything declared is used, and each has its line in the docs."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import chanceline

TREE = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = packages_distributions()
# Used by name, not by import: pandas writes Parquet through the first, joblib runs on the second, Starlette reads forms with the third.
BY_NAME = {"pyarrow", "dask", "python-multipart"}


def names(requirements: list[str]) -> set[str]:
    return {
        re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0].lower() for requirement in requirements
    }


def imported(*folders: str) -> set[str]:
    """The distributions of everything that the files of these folders import, at any place."""
    modules: set[str] = set()
    local = {path.stem for folder in folders for path in (TREE / folder).rglob("*.py")} - set(
        DISTRIBUTIONS
    )
    for folder in folders:
        for path in (TREE / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    modules.add(node.module.partition(".")[0])
    outside = modules - set(sys.stdlib_module_names) - {"chanceline"} - local
    return {name.lower() for module in outside for name in DISTRIBUTIONS.get(module, [module])}


def test_what_the_package_imports_is_declared():
    declared = names(PROJECT["dependencies"])
    optional = set().union(
        *(
            names(PROJECT["optional-dependencies"][extra])
            for extra in ("app", "dask", "parquet", "excel", "zarr", "anndata")
        )
    )
    used = imported("src")
    assert used - declared - optional == set()
    assert (declared | optional) - used - BY_NAME == set(), "declared, but nothing imports it"


def test_what_the_tests_import_is_declared():
    known = set().union(
        *(names(requirements) for requirements in PROJECT["optional-dependencies"].values())
    )
    assert imported("tests", "scripts") - names(PROJECT["dependencies"]) - known == set()


def test_every_dependency_has_its_reason():
    page = (TREE / "docs" / "dependencies.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| ([\w-]+) \| ([\d.]+) \|", page, re.MULTILINE))
    floors = dict(
        re.match(r"([\w-]+)>=([\d.]+)$", requirement).groups()
        for requirement in PROJECT["dependencies"]
    )
    assert told == floors
    for extra in ("app", "dask", "parquet", "bench", "docs"):
        for name in names(PROJECT["optional-dependencies"][extra]):
            assert f"`{name}`" in page, name


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert f"version: {chanceline.__version__}\n" in (TREE / "CITATION.cff").read_text(
        encoding="utf-8"
    )


def test_the_conda_recipe_has_the_same_version_and_requirements():
    recipe = (TREE / "recipe" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{chanceline.__version__}"\n' in recipe
    assert f"- python {PROJECT['requires-python']}\n" in recipe
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    required = {line.strip(" -").replace(" ", "") for line in run.splitlines() if line.strip()}
    # Matplotlib without its windows.
    wanted = {name.replace("matplotlib", "matplotlib-base") for name in PROJECT["dependencies"]}
    assert required - {f"python{PROJECT['requires-python']}"} == wanted


def test_the_paper_cites_what_its_bibliography_has():
    paper = (TREE / "paper" / "paper.md").read_text(encoding="utf-8")
    bibliography = (TREE / "paper" / "paper.bib").read_text(encoding="utf-8")
    cited = set(re.findall(r"@([a-z]+\d{4})", paper))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))
