"""The layout: packages know only the packages below them, no cycles, imports at the top, no flags in the library."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chanceline

TREE = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("architecture", TREE / "scripts" / "architecture.py")
assert SPEC is not None
assert SPEC.loader is not None
architecture = importlib.util.module_from_spec(SPEC)
sys.modules["architecture"] = architecture
SPEC.loader.exec_module(architecture)

MODULES = architecture.sources(TREE)
GRAPH = architecture.graph(MODULES)

# Package → the packages it may import from. `theory` and `select` are two independent ways to one number: they must not know
# each other.
FOUNDATION = {
    "errors": set(), "_arrays": set(), "_lazy": set(), "_io": set(), "_results": set(), "_cluster": {"errors"},
    "_parallel": {"errors", "_cluster"},
}  # fmt: skip
PACKAGES = {
    "columns": set(),
    "kernels": set(),
    "perceptron": {"kernels", "columns"},
    "select": {"kernels", "perceptron"},
    "prediction": {"columns", "perceptron", "select"},
    "theory": set(),
    "chance": set(),
    "tables": {"chance", "columns", "perceptron"},
    "significance": {"theory", "chance", "columns", "perceptron", "select", "prediction", "tables"},
    "cohort": {"chance", "prediction", "tables", "significance"},
    "experiments": {"theory", "chance", "kernels", "perceptron", "select"},
    "memory": {"perceptron", "select"},
    "figures": {"theory", "select", "tables", "significance", "experiments", "memory"},
    "report": {"theory", "chance", "columns", "tables", "significance", "experiments", "figures"},
    "app": {"columns", "tables", "significance", "cohort", "report"},
    "reproduce": {"theory", "experiments", "memory", "figures"},
    "sklearn": {"perceptron", "select", "prediction"},
    "cli": {
        "columns", "theory", "chance", "perceptron", "select", "prediction", "tables", "significance", "cohort", "experiments", "memory",
        "figures", "report", "reproduce", "app",
    },
    "__main__": {"cli"},
}  # fmt: skip
ALLOWED = {**FOUNDATION, **{name: others | set(FOUNDATION) for name, others in PACKAGES.items()}}


def library() -> list[str]:
    """The modules outside the command line, without the package's face, whose names load on use."""
    return [name for name in GRAPH if architecture.part(name) not in {"cli", "__main__"}]


def test_every_package_is_constrained():
    assert {architecture.part(name) for name in GRAPH} <= set(ALLOWED)
    assert architecture.cycles(ALLOWED) == []


@pytest.mark.parametrize("package", sorted({architecture.part(name) for name in GRAPH}))
def test_imports_go_down(package):
    for name, others in GRAPH.items():
        if architecture.part(name) == package:
            extra = {architecture.part(other) for other in others} - ALLOWED[package] - {package}
            assert not extra, f"{name} imports from {sorted(extra)}"


def test_no_package_and_no_module_waits_for_itself():
    assert architecture.cycles(architecture.parts(GRAPH)) == []
    assert architecture.cycles(GRAPH) == []


def test_our_own_modules_are_imported_at_the_top():
    for name in library():
        inside = [
            found
            for found in architecture.imports(MODULES[name], MODULES)
            if found.inside and found.module in MODULES
        ]
        inside = [
            found for found in inside if found.module not in architecture.SHOWN_BY.get(name, set())
        ]
        lines = [
            f"{MODULES[name].relative_to(TREE)}:{found.line} {found.module}" for found in inside
        ]
        assert not inside, lines


def test_the_library_does_not_speak_of_flags():
    flag = re.compile(r"(?<![\w-])(?<!var\()--[a-z]")
    for name in library():
        constants = [
            node
            for node in ast.walk(architecture.parse(MODULES[name]))
            if isinstance(node, ast.Constant)
        ]
        found = [
            node.lineno
            for node in constants
            if isinstance(node.value, str)
            for _ in flag.finditer(node.value)
        ]
        assert not found, f"{name} names flags in lines {found}; the command line does that"


def test_the_reader_of_the_tree_sees_a_cycle_wherever_it_hides(tmp_path):
    files = {
        "__init__": "from chanceline.a import one",
        "a/__init__": "",
        "a/one": "def f():\n    from chanceline.b import two\n",
        "b/__init__": "",
        "b/two": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import chanceline.a.one\n",
    }
    for name, text in files.items():
        path = tmp_path / "src" / "chanceline" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    edges = architecture.graph(architecture.sources(tmp_path))
    assert architecture.cycles(edges) == [["chanceline.a.one", "chanceline.b.two"]]
    assert architecture.cycles(architecture.parts(edges)) == [["a", "b"]]


@pytest.mark.parametrize(
    "code", ["import chanceline", "from chanceline.cli.main import build_app; build_app()"]
)
def test_science_packages_load_on_use(code):
    heavy = "{'numpy', 'scipy', 'numba', 'pandas', 'sklearn', 'matplotlib', 'distributed'}"
    check = f"{code}\nimport sys\nprint(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout
    assert output.strip() == "[]"


def test_every_public_name_resolves():
    for name in chanceline.__all__:
        assert getattr(chanceline, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = chanceline.nonsense
