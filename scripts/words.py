"""Words of README and of the documentation's pages, against their limits; tables are not counted.

python scripts/words.py
"""

from __future__ import annotations

import sys
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
LIMITS = {"README.md": 1_000, "docs": 25_000}


def words(path: Path) -> int:
    """Words outside tables, code and its output included: what stands between blanks and has a letter (numbers do not)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = " ".join(line for line in lines if not line.startswith("|"))
    return sum(any(map(str.isalpha, word)) for word in text.split())


def counted(tree: Path = TREE) -> dict[str, int]:
    """README and every page of docs by its path."""
    pages = [path for path in sorted((tree / "docs").rglob("*.md")) if path.parent.name != "tables"]
    return {str(path.relative_to(tree)): words(path) for path in (tree / "README.md", *pages)}


def main() -> int:
    counts = counted()
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"{number:6,}  {name}")
    readme = counts.pop("README.md")
    found = {"README.md": readme, "docs": sum(counts.values())}
    for name, number in found.items():
        print(f"{name}: {number:,} words, at most {LIMITS[name]:,}")
    return int(any(found[name] > LIMITS[name] for name in LIMITS))


if __name__ == "__main__":
    sys.exit(main())
