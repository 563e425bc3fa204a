"""The house in figures: what a tree of the package holds and how its modules know each other.

    python scripts/house.py [TREE]     prints lines, imports inside functions, cycles, long and wide functions

The layout test reads the tree with the same functions.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "chanceline"
LONG = 70
WIDE = 10
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One imported module; `inside` a function, or only for the `types`."""

    module: str
    line: int
    inside: bool
    types: bool


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

    def walk(node: ast.AST, inside: bool, types: bool) -> None:
        for child in ast.iter_child_nodes(node):
            names: list[str] = []
            if isinstance(child, ast.Import):
                names = [alias.name for alias in child.names]
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"{path}:{child.lineno}: imports are absolute here"
                inner = [f"{child.module}.{alias.name}" for alias in child.names]
                names = [name if name in known else str(child.module) for name in inner]
            found.extend(Import(name, child.lineno, inside, types) for name in dict.fromkeys(names))
            guarded = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            walk(child, inside or isinstance(child, Function | ast.Lambda), types or guarded)

    walk(parse(path), False, False)
    return found


def graph(known: Mapping[str, Path]) -> dict[str, set[str]]:
    """Module → modules of ours it imports at any place, types included; the package's face is left out, it is only a list."""
    names = set(known) - {PACKAGE}
    return {name: {found.module for found in imports(known[name], known)} & names - {name} for name in names}


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other: the strongly connected components with more than one node."""
    reached = {node: _reach(node, edges) for node in edges}
    groups = {tuple(sorted({node} | {other for other in reached[node] if node in reached[other]})) for node in edges}
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
    """The room a module belongs to: chanceline.select.methods.omp → select."""
    return module.split(".")[1]


def parts(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The graph of rooms."""
    rooms: dict[str, set[str]] = {part(name): set() for name in edges}
    for name, others in edges.items():
        rooms[part(name)] |= {part(other) for other in others} - {part(name)}
    return rooms


def functions(path: Path) -> Iterator[Function]:
    return (node for node in ast.walk(parse(path)) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines from `def` to the end, docstring included."""
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def width(function: Function) -> int:
    """Number of parameters, `self` included."""
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)


def figures(tree: Path) -> dict[str, int | list[str]]:
    """The figures of one tree."""
    known = sources(tree)
    edges = graph(known)
    inside = [name for name, path in known.items() for found in imports(path, known) if found.inside and found.module in known]
    every = [(name, function) for name, path in known.items() for function in functions(path)]
    outside_cli = [name for name in inside if not name.startswith(f"{PACKAGE}.cli.")]
    return {
        "modules": len(known),
        "lines of source": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in known.values()),
        "imports of our own inside functions": len(inside),
        "of these outside the command line": len(outside_cli),
        "package cycles": [" ↔ ".join(group) for group in cycles(parts(edges))],
        "module cycles": [" ↔ ".join(group) for group in cycles(edges)],
        f"functions over {LONG} lines": _names(every, length, LONG),
        f"functions with over {WIDE} parameters": _names(every, width, WIDE),
    }


def _names(every: list[tuple[str, Function]], measure: object, limit: int) -> list[str]:
    assert callable(measure)
    large = [(measure(function), f"{name}.{function.name}") for name, function in every if measure(function) > limit]
    return [f"{name} ({size})" for size, name in sorted(large, reverse=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    for what, value in figures(parser.parse_args().tree).items():
        print(f"{what}: {value if isinstance(value, int) else len(value)}")
        for name in value if isinstance(value, list) else ():
            print(f"    {name}")


if __name__ == "__main__":
    main()
