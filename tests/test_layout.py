"""Imports go one way, and importing the package or asking for help loads no science package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import chanceline

ROOT = Path(chanceline.__file__).parent

# Part → the parts it may import from (besides itself, the foundation in COMMON). `theory` and `select` are two independent
# witnesses of one number and must not know each other.
ALLOWED = {
    "theory": {"data"},
    "chance": set(),
    "perceptron": set(),
    "select": {"perceptron"},
    "tables": {"chance", "perceptron"},
    "experiments": {"theory", "chance", "perceptron", "select", "data"},
    "significance": {"theory", "chance", "perceptron", "select", "tables"},
}
LEAVES = {
    "sklearn",
    "memory",
    "figures",
    "report",
    "reproduce",
    "cli",
    "__main__",
}
COMMON = {"errors", "files", "results", "parallel"}


def part_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "chanceline":
                names |= {f"chanceline.{alias.name}" for alias in node.names}
            names.add(node.module)
    return {name.split(".")[1] for name in names if name.startswith("chanceline.")}


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_go_one_way(part):
    for path in sorted((ROOT / part).rglob("*.py")):
        extra = imported_parts(path) - ALLOWED[part] - COMMON - {part, "__version__"}
        assert not extra, f"{path.relative_to(ROOT)} imports {sorted(extra)}"


def test_every_part_is_known():
    parts = {part_of(path) for path in ROOT.rglob("*.py")} - {"__init__"}
    assert parts <= set(ALLOWED) | LEAVES | COMMON


@pytest.mark.parametrize("code", ["import chanceline", "from chanceline.cli.main import build_app; build_app()"])
def test_science_packages_load_on_use(code):
    heavy = "{'numpy', 'scipy', 'numba', 'pandas', 'sklearn', 'matplotlib', 'distributed'}"
    check = f"{code}\nimport sys\nprint(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_every_public_name_resolves():
    for name in chanceline.__all__:
        assert getattr(chanceline, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = chanceline.nonsense
