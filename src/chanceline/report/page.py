"""The frame of every report: a Jinja2 template filled with escaped values.

A page is one file that needs nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup, escape

from chanceline import __version__
from chanceline._io import write_text
from chanceline._results import plain, visible
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import in_tiles_if_wide
from chanceline.errors import InputError
from chanceline.figures.style import PALETTE, figure_style, fit_phone

TEMPLATES = Path(__file__).parent / "templates"
# Packages whose versions a page names.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
PAPER = (
    "Xu Y., Ohzeki M. and Kabashima Y., “Storage capacity of perceptron with variable selection”."
)
# Inches of a figure for a phone; its smallest letters are then 10 pixels high on a screen of 390.
PHONE_WIDTH = 3.7
# A phone's figure is taller for its width than that for a wide screen, but not taller than wide.
PHONE_STRETCH = 1.8
LONG_WORD = 24  # letters; longer words, such as a hash, may be broken within


def shown_in_page(value: object) -> object:
    """Text from data with everything unseen written out; the template escapes it afterwards.

    What is HTML already, with a method `__html__`, stays as it is.
    """
    if hasattr(value, "__html__"):
        return value
    return visible(str(value))


def prose(value: object) -> Markup:
    """Our own words as HTML.

    They are escaped; 2.5e-08 is written as 2.5e-8, `ρ_VS` with its index below, and no line is
    broken within `M = 3`.
    """
    text = str(escape(shown_in_page(value)))
    text = _short_exponents(text)
    text = re.sub(r"([αρ])_([A-Z]{2})\b", r"\1<sub>\2</sub>", text)
    text = re.sub(r"(?<![^\s(])([^\W\d_]) (=|≤) (?=\d)", "\\1\u00a0\\2\u00a0", text)
    return Markup(text)


def short_number(value: float, digits: int = 4) -> str:
    """A number to read, with few digits: 2.5e-8."""
    return _short_exponents(f"{value:.{digits}g}")


def _short_exponents(text: str) -> str:
    """The text with 1e+00 as 1, 2.5e-08 as 2.5e-8 and 1e+12 as 1e12."""
    without_zero = re.sub(r"(?<=\d)e[+-]00(?!\d)", "", text)
    without_plus = re.sub(r"(?<=\d)e\+0*(\d)", r"e\1", without_zero)
    return re.sub(r"(?<=\d)e-0*(\d)", r"e-\1", without_plus)


def has_long_word(value: object) -> bool:
    """Whether a cell of a table holds a word that may have to be broken within."""
    return any(len(word) > LONG_WORD for word in str(value).split())


def asset(name: str) -> Markup:
    """A style or script of ours, as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def script_hash(script: str) -> str:
    """What a content security policy knows a script by: its SHA-256 in base 64."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def csv_address(content: str) -> str:
    """A CSV file as the address of a link, so that the page holds the file itself."""
    encoded = base64.b64encode(content.encode(errors="backslashreplace")).decode()
    return f"data:text/csv;charset=utf-8;base64,{encoded}"


# The palette as variables that follow the reader's choice of light or dark.
_VARIABLES = " ".join(
    f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items()
)
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    finalize=shown_in_page,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.tests["long"] = has_long_word
ENVIRONMENT.filters.update(
    prose=prose, number=short_number, sha256=script_hash, csv_address=csv_address
)
ENVIRONMENT.globals.update(
    asset=asset,
    version=__version__,
    palette=Markup(f":root {{ color-scheme: light dark; {_VARIABLES} }}\n"),
    variables=Markup(f"color-scheme: light; {_VARIABLES}"),
)


def plain_paragraph(template: str, values: Mapping[str, object]) -> str:
    """A template of words without tags as one paragraph of plain text.

    Parameters
    ----------
    template : the name of the template.
    values : what it shows, by the names that it uses.
    """
    rendered = ENVIRONMENT.get_template(template).render(values)
    words = Markup(rendered).unescape().split()
    return " ".join(words)


# What a figure is drawn for, "wide" or "phone" → the drawing.
Drawings = dict[str, Markup]


def draw_for_page(
    draw: Callable[[Any], None], name: str, size: tuple[float, float] = (7.5, 4.4)
) -> Drawings:
    """Draw a figure as SVG, once for a wide screen and once for a phone.

    Parameters
    ----------
    draw : puts the figure on the axes that it is given.
    name : tells the drawings of a page apart, so that each refers to its own parts.
    size : width and height for a wide screen, in inches.
    """
    width, height = size
    phone_height = PHONE_WIDTH * min(1.0, PHONE_STRETCH * height / width)
    wide = _draw_svg(draw, f"{name} wide", size, for_phone=False)
    phone = _draw_svg(draw, f"{name} phone", (PHONE_WIDTH, phone_height), for_phone=True)
    return {"wide": svg_in_page(wide), "phone": svg_in_page(phone)}


def _draw_svg(
    draw: Callable[[Any], None], id_salt: str, size: tuple[float, float], *, for_phone: bool
) -> str:
    """Draw a figure and return it as the text of an SVG file.

    Parameters
    ----------
    draw : puts the figure on the axes that it is given.
    id_salt : text from which matplotlib makes the ids of elements. Drawings on one page need
        different ones, as each refers to its own elements by these ids.
    size : width and height in inches.
    for_phone : whether to adapt the figure to a small screen.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with figure_style(), rc_context({"axes.grid": False, "svg.hashsalt": id_salt}):
        chart = Figure(figsize=size, layout="constrained")
        draw(chart.subplots())
        if for_phone:
            fit_phone(chart)
        content = StringIO()
        # Without date and creator, drawing the same figure again gives the same file.
        chart.savefig(
            content, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return content.getvalue()


def svg_in_page(svg: str) -> Markup:
    """An SVG file of ours as an element of a page.

    The head of the file is left out, and colours of the palette become the page's variables, which
    change in the dark.
    """
    element = svg[svg.index("<svg") :]
    colour_names = {light: name for name, (light, _) in PALETTE.items()}
    known_colour = re.compile("|".join(colour_names) + r"(?![0-9a-f])")
    return Markup(known_colour.sub(lambda match: f"var(--{colour_names[match[0]]})", element))


def hash_arrays(*arrays: Any) -> str:
    """SHA-256 of the shapes and values of arrays, the same on every machine.

    Very wide tables are read a tile at a time, wherever they are kept.
    """
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(array.shape).encode())
        for part in _parts_of_array(array):
            digest.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return digest.hexdigest()


def _parts_of_array(array: Any) -> Iterator[Any]:
    """The whole of an array, or of a very wide table its tiles."""
    table = array
    if array.ndim == 2:
        table = in_tiles_if_wide(array)
    if not isinstance(table, ColumnTable):
        yield array
        return
    for tile in table.tiles():
        yield tile.values


@dataclass
class Page:
    """A report before it is written.

    Attributes
    ----------
    template
        File in `templates`, with the content of the page and a paragraph of methods to paste into a
        paper.
    title
        Heading and window title.
    record
        The whole result as plain data; it stands at the end of the page as JSON.
    values
        What else the template shows.
    provenance
        What is needed to repeat the run besides the versions: seeds, hash of the data.
    references
        What the methods cite.
    """

    template: str
    title: str
    record: Mapping[str, Any]
    values: Mapping[str, Any]
    provenance: Mapping[str, object] = field(default_factory=dict)
    references: tuple[str, ...] = (PAPER,)

    def render(self) -> str:
        """The page as one HTML text."""
        provenance = {**self.provenance, "versions": versions_in_use()}
        values_of_every_page = {
            "title": self.title,
            "record": escape(json_of(self.record)),
            "provenance": provenance.items(),
            "references": self.references,
        }
        return ENVIRONMENT.get_template(self.template).render(self.values, **values_of_every_page)

    def write(self, path: str | Path) -> Path:
        """Write the page; the file is whole or not there."""
        write_text(path, self.render())
        return Path(path)


def versions_in_use() -> str:
    """The versions of chanceline, Python and the packages that numbers depend on."""
    versions = {"chanceline": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        versions[name] = version(name)
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def json_of(record: Mapping[str, Any]) -> str:
    """A record as JSON, with escapes for all special letters if one of them cannot be seen."""
    values = plain(record)
    content = json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False)
    if visible(content, keep="\n") != content:
        return json.dumps(values, indent=1, allow_nan=False)
    return content


def read_report(path: str | Path) -> dict[str, Any]:
    """Read the result back from a report, a page that holds it as JSON.

    Returns the record from which the page was made, as plain values.
    """
    page = Path(path).read_text(encoding="utf-8", errors="replace")
    element = re.search(r'<pre id="result">(.*?)</pre>', page, re.DOTALL)
    if element is None:
        raise InputError(f"{path} is not a report of chanceline.")
    json_text = html.unescape(element.group(1))
    try:
        record = json.loads(json_text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is no whole report of chanceline ({error}); write it anew."
        ) from None
    if not isinstance(record, dict):
        raise InputError(f"{path} is not a report of chanceline.")
    return record
