"""The folder that `chanceline reproduce` wrote, as one page."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline.errors import InputError
from chanceline.report.page import Page, escape, number, picture, prose, table, verdict
from chanceline.report.takeaways import SHOWN, Shown

if TYPE_CHECKING:
    import pandas as pd


def write_reproduce_report(folder: str | Path, path: str | Path | None = None) -> Path:
    """Write the figures and numbers of a `reproduce` folder as one HTML file, by default `report.html` in it."""
    source = Path(folder)
    return reproduce_page(source).write(source / "report.html" if path is None else path)


def reproduce_page(folder: Path) -> Page:
    """The page before it is written."""
    if not (folder / "provenance.json").is_file():
        raise InputError(f"{folder} was not written by chanceline reproduce: it has no provenance.json.")
    made = _read_provenance(folder / "provenance.json")
    names = [_inside(name) for name in made["figures"]]
    numbers = _read_table(folder / "numbers.csv")
    tables = {name: _read_table(folder / f"{name}.csv") for name in names}
    methods = (
        f"All figures were recomputed with chanceline {made['packages']['chanceline']} in {made['mode']} mode; "
        "the data of each stand beside it as CSV."
    )
    provenance = {
        "mode": made["mode"],
        "made with": ", ".join(f"{name} {number}" for name, number in made["packages"].items()),
        "SHA-256 of the data": _hash_tables(folder, names),
    }
    record = {"provenance": made, "numbers": numbers.astype(object).where(numbers.notna(), None).to_dict("records")}
    page = Page("The paper's figures, recomputed", record, methods, provenance)
    page.add(verdict("unclear", f"{len(names)} figures, {len(numbers)} numbers", MODES.get(made["mode"], "")))
    shown = {name: SHOWN.get(name, Shown(name, name)) for name in names}
    page.add(_contents([(name, entry.heading) for name, entry in shown.items()] + [("numbers", "Numbers")] * bool(len(numbers))))
    for name, entry in shown.items():
        page.add(f'<h2 id="{escape(name)}">{escape(entry.heading)}</h2>')
        if sentence := entry.sentence(tables[name]):
            page.add(f"<p>{prose(sentence)}</p>")
        page.add(picture(_read(folder / f"{name}.svg"), entry.caption))
    if len(numbers):
        page.add('<h2 id="numbers">Numbers</h2>', _numbers_table(numbers))
    return page


MODES = {
    "quick": "Quick mode: coarser curves, and small runs with large error bars.",
    "normal": "The curves were recomputed; the finite-size figures show the run that comes with the package.",
    "full": "Everything was recomputed at full size.",
}


def _contents(entries: list[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="#{escape(name)}">{escape(heading)}</a></li>' for name, heading in entries)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>'


def _numbers_table(numbers: pd.DataFrame) -> str:
    """The numbers rounded for reading: a value to the first digit of its error, or to four digits."""
    rows = []
    for row in numbers.to_dict("records"):
        value = _rounded(row.get("value"), row.get("error"))
        rows.append([_spelled(_text(row, "quantity")), value, _text(row, "source"), _text(row, "paper")])
    return table(("quantity", "value", "what it is", "in the paper"), rows)


def _spelled(quantity: str) -> str:
    return quantity.replace("rho=", "ρ = ").replace("alpha=", "α = ")


def _text(row: dict[Any, Any], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _rounded(value: Any, error: Any) -> str:
    if not isinstance(value, float | int):
        return str(value)
    if not (isinstance(error, float) and error > 1e-4 * abs(value)):
        return number(value, 5)
    places = max(0, -int(f"{error:e}".partition("e")[2]))
    return f"{value:.{places}f} ± {error:.{places}f}"


def _read_provenance(path: Path) -> dict[str, Any]:
    try:
        made = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({' '.join(str(error).split())}); run reproduce again.") from None
    kinds = {"figures": list, "mode": str, "packages": dict}
    whole = isinstance(made, dict) and all(isinstance(made.get(key), kind) for key, kind in kinds.items())
    if not whole or "chanceline" not in made["packages"]:
        raise InputError(f"{path} is damaged, or another version wrote it; run reproduce again.")
    return dict(made)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is damaged: it is no UTF-8 text; run reproduce again.") from error


def _read_table(path: Path) -> pd.DataFrame:
    import pandas as pd

    content = _read(path)
    try:
        return pd.read_csv(io.StringIO(content))
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        if not content.strip():
            return pd.DataFrame()
        raise InputError(f"{path} is damaged ({' '.join(str(error).split())}); run reproduce again.") from error


def _inside(name: object) -> str:
    """The name of a figure; it names a file in the folder and none elsewhere."""
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
        raise InputError(f"provenance.json names a figure {name!r}; figures are named with letters, digits, '_', '-' and '.'.")
    return name


def _hash_tables(folder: Path, names: list[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update((folder / f"{name}.csv").read_bytes())
    return digest.hexdigest()
