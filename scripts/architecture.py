"""The package in figures: statements and files of every part, kernels, cycles; and what a commit had.

    python scripts/architecture.py [--before COMMIT]     this tree beside a commit of it (0.2.0 by default)

The figures are for a look; none of them is a limit. The layout test reads the tree with the same functions.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "chanceline"
ROOT = Path(__file__).resolve().parents[1]
LAST_RELEASE = "97f480f"
# Results show themselves as text, tables, figures and pages: the one import upwards, inside the methods that do it.
SHOWN_BY = {
    "chanceline.significance.result": {
        "chanceline.significance.text_output",
        "chanceline.significance.features_table",
        "chanceline.figures.significance",
        "chanceline.report.separation",
        "chanceline.cohort.confirmation",
        "chanceline.cohort.result_file",
        "chanceline.cohort.saved_result",
    },
    "chanceline.significance.set_result": {
        "chanceline.significance.set_text",
        "chanceline.figures.feature_sets",
        "chanceline.report.feature_sets",
    },
    "chanceline.cohort.confirmation": {"chanceline.cohort.confirmation_text"},
    "chanceline.cohort.outcome_confirmation": {"chanceline.cohort.outcome_confirmation_text"},
    "chanceline.significance.outcomes.result": {
        "chanceline.significance.outcomes.text",
        "chanceline.figures.outcomes",
        "chanceline.report.outcome",
        "chanceline.cohort.outcome_confirmation",
        "chanceline.cohort.result_file",
        "chanceline.cohort.saved_outcome",
    },
    "chanceline.theory.curve": {"chanceline.figures.theory"},
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One imported module; `inside` a function, or not."""

    module: str
    line: int
    inside: bool


def sources(tree: Path) -> dict[str, Path]:
    """Dotted name → file of every module of the package under `tree`/src."""
    root = tree / "src"
    named = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path, known: Mapping[str, Path]) -> list[Import]:
    """Everything a file imports, wherever the line stands; `from package import module` counts as the module."""
    found = []

    def walk(node: ast.AST, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            names: list[str] = []
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno}: imports are absolute here"
                inner = [f"{child.module}.{alias.name}" for alias in child.names]
                names = [name if name in known else str(child.module) for name in inner]
            found.extend(Import(name, child.lineno, inside) for name in dict.fromkeys(names))
            walk(child, inside or isinstance(child, Function | ast.Lambda))

    walk(parse(path), False)
    return found


def graph(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Module → modules of ours it imports at any place, types included; the package's face is left out, it is only a list."""
    names = set(known) - {PACKAGE}
    every = {
        name: {found.module for found in imports(known[name], known)} & names - {name}
        for name in names
    }
    return {name: others - SHOWN_BY.get(name, set()) for name, others in every.items()}


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other: the strongly connected components with more than one node."""
    reached = {node: _reach(node, edges) for node in edges}
    groups = {
        tuple(sorted({node} | {other for other in reached[node] if node in reached[other]}))
        for node in edges
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def _reach(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    open_nodes = [start]
    while open_nodes:
        for node in edges.get(open_nodes.pop(), set()) - seen:
            seen.add(node)
            open_nodes.append(node)
    return seen


def part(module: str) -> str:
    """The package, or module of the foundation, that a module belongs to: chanceline.select.exact → select."""
    return module.split(".")[1] if "." in module else module


def parts(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The graph of packages."""
    packages: dict[str, set[str]] = {part(name): set() for name in edges}
    for name, others in edges.items():
        packages[part(name)] |= {part(other) for other in others} - {part(name)}
    return packages


def statements(path: Path) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(parse(path)))


def sizes(known: Mapping[str, Path]) -> dict[str, tuple[int, int]]:
    """(statements, files) of every package; single modules of the foundation count as "top"."""
    counted: dict[str, tuple[int, int]] = {}
    for name, path in known.items():
        package = (
            part(name)
            if any(other.startswith(f"{PACKAGE}.{part(name)}.") for other in known)
            else "top"
        )
        before = counted.get(package, (0, 0))
        counted[package] = (before[0] + statements(path), before[1] + 1)
    return counted


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parse(path)) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def is_kernel(function: Function) -> bool:
    """Whether Numba compiles it."""
    return any(
        word in ast.unparse(one) for one in function.decorator_list for word in ("kernel", "njit")
    )


def figures(tree: Path) -> dict[str, int | list[str]]:
    """What there is to count besides statements."""
    known = sources(tree)
    edges = graph(known)
    every = [(name, function) for name, path in known.items() for function in functions(path)]
    lines = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in known.items()
    }
    kernels = [function for _, function in every if is_kernel(function)]
    return {
        "lines of source": sum(lines.values()),
        "lines of tests": sum(
            len(path.read_text(encoding="utf-8").splitlines())
            for path in (tree / "tests").rglob("*.py")
        ),
        "compiled kernels": len(kernels),
        "lines of kernels": sum(map(length, kernels)),
        "package cycles": [" ↔ ".join(group) for group in cycles(parts(edges))],
        "module cycles": [" ↔ ".join(group) for group in cycles(edges)],
    }


def show(now: Path, before: Path) -> None:
    old, new = sizes(sources(before)), sizes(sources(now))
    print(f"{'package':14}{'statements':>20}{'files':>16}")
    for name in sorted(old | new, key=lambda name: -old.get(name, (0, 0))[0]):
        (said, files), (says, has) = old.get(name, (0, 0)), new.get(name, (0, 0))
        print(f"{name:14}{f'{said:,} → {says:,}':>20}{f'{files} → {has}':>16}")
    totals = [tuple(map(sum, zip(*counted.values(), strict=True))) for counted in (old, new)]
    print(
        f"{'in all':14}{f'{totals[0][0]:,} → {totals[1][0]:,}':>20}{f'{totals[0][1]} → {totals[1][1]}':>16}"
    )
    then = figures(before)
    for what, value in figures(now).items():
        was = then[what]
        print(
            f"{what}: {was if isinstance(was, int) else len(was)} → {value if isinstance(value, int) else len(value)}"
        )
        for name in value if isinstance(value, list) else ():
            print(f"    {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--before", metavar="COMMIT", default=LAST_RELEASE, help="the commit to compare with"
    )
    archive = subprocess.run(
        ["git", "archive", parser.parse_args().before], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(fileobj=io.BytesIO(archive)) as packed,
    ):
        packed.extractall(folder, filter="data")
        show(ROOT, Path(folder))


if __name__ == "__main__":
    main()
