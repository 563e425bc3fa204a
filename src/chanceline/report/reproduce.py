"""The folder that `chanceline reproduce` wrote, as one page."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from chanceline.errors import InputError
from chanceline.files import explained
from chanceline.report.page import Page, picture, table, verdict

# What the figures show; a figure without an entry is shown under its own name.
CAPTIONS = {
    "panels": "The paper's four panels at ρ = 0.5: overlaps, response, entropy, and both stability conditions.",
    "capacity": "The capacity diagram: the chance line between its closed-form neighbours.",
    "entropy_breaking": "Entropy of separating choices with and without breaking of symmetry between supports.",
    "capacity_breaking": "The capacity with breaking between supports; shaded: where replica symmetry is exact.",
    "memory_capacity": "Largest load of the associative memory against the share of inputs kept.",
    "memory_stability": "Recall from noisy probes, and robustness against lost couplings.",
    "memory_pictures": "Pictures stored, disturbed and recalled.",
}


def write_reproduce_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write the figures and numbers of a `reproduce` folder as one HTML file, by default `report.html` in it."""
    source = Path(folder)
    return reproduce_page(source).write(source / "report.html" if path is None else path)


def reproduce_page(folder: Path) -> Page:
    """The page before it is written."""
    made, numbers = _read(folder)
    names = [_inside(name) for name in made["figures"]]
    methods = (
        f"All figures were computed anew with chanceline {made['packages']['chanceline']} in {made['mode']} mode; "
        "the data of each stand beside it as CSV."
    )
    provenance = {
        "mode": made["mode"],
        "made with": ", ".join(f"{name} {number}" for name, number in made["packages"].items()),
        "SHA-256 of the data": _hash_tables(folder, names),
    }
    page = Page("The paper, made anew", {"provenance": made, "numbers": numbers}, methods, provenance)
    page.add(verdict("unclear", f"{len(names)} figures, {len(numbers)} numbers", f"Made in {made['mode']} mode."))
    for name in names:
        page.section(name, picture(_drawing(folder / f"{name}.svg"), CAPTIONS.get(name, name)))
    if numbers:
        page.section("Numbers", table(list(numbers[0]), [list(row.values()) for row in numbers]))
    return page


def _read(folder: Path) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """What provenance.json and numbers.csv hold; damaged files get a sentence."""
    file = folder / "provenance.json"
    if not file.is_file():
        raise InputError(f"{folder} was not written by chanceline reproduce: it has no provenance.json.")
    with explained(f"cannot read what is in {folder}"):
        try:
            made = json.loads(file.read_text(encoding="utf-8"))
            numbers = list(csv.DictReader((folder / "numbers.csv").read_text(encoding="utf-8").splitlines(), strict=True))
        except (ValueError, csv.Error) as error:
            raise InputError(f"{folder} is damaged ({' '.join(str(error).split())}); run reproduce again.") from None
    kinds = {"figures": list, "mode": str, "packages": dict}
    whole = isinstance(made, dict) and all(isinstance(made.get(key), kind) for key, kind in kinds.items())
    if not whole or "chanceline" not in made["packages"] or any(None in row or None in row.values() for row in numbers):
        raise InputError(f"{folder} is damaged, or another version wrote it; run reproduce again.")
    return made, numbers


def _inside(name: object) -> str:
    """The name of a figure; it names a file in the folder and none elsewhere."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise InputError(f"provenance.json names a figure {name!r}; figures are named with letters, digits, '_', '-' and '.'.")
    return name


def _drawing(path: Path) -> str:
    with explained(f"cannot read {path}"):
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{path} is damaged: it is no UTF-8 text; run reproduce again.") from None


def _hash_tables(folder: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        with explained(f"cannot read {folder / name}.csv"):
            digest.update((folder / f"{name}.csv").read_bytes())
    return digest.hexdigest()
