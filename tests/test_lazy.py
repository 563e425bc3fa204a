"""Names that load on first use: type checkers see the same ones; former names warn."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import chanceline
from chanceline._lazy import lazy

SOURCE = Path(chanceline.__file__).parent
PACKAGES = ["chanceline", *(f"chanceline.{name}" for name in ("report", "select", "significance", "tables"))]  # fmt: skip


def homes_for_type_checkers(package: str) -> dict[str, str]:
    """Name → its module, from the imports under `if TYPE_CHECKING` in the package's file."""
    path = SOURCE.joinpath(*package.split(".")[1:], "__init__.py")
    blocks = [
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {alias.name: node.module for block in blocks for node in block.body for alias in node.names}  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_the_names_that_load(package):
    module = importlib.import_module(package)
    assert homes_for_type_checkers(package) == module._HOMES
    assert set(module._HOMES) <= set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_a_former_name_works_and_says_where_it_is_now():
    load = lazy("chanceline.old", {}, {"house": "chanceline.figures.style:figure_style"})
    with pytest.warns(DeprecationWarning, match=r"old\.house is now .*figure_style.* in 0\.5"):
        former = load("house")
    assert former is importlib.import_module("chanceline.figures.style").figure_style
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        load("nonsense")


def test_asking_for_a_name_loads_its_module_alone():
    code = "import sys, chanceline; chanceline.InputError; print('numpy' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # fmt: skip
    assert output.stdout == "False\n"
