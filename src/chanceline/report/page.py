"""The frame of every report: a Jinja2 template filled with escaped values, in one file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import platform
import re
from collections.abc import Callable, Mapping
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
from chanceline.errors import InputError
from chanceline.figures.style import PALETTE, figure_style, fit_phone

TEMPLATES = Path(__file__).parent / "templates"
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
PAPER = (
    "Xu Y., Ohzeki M. and Kabashima Y., “Storage capacity of perceptron with variable selection”."
)
# Inches of a figure for a phone; its smallest letters are then 10 pixels high on a screen of 390.
PHONE_WIDTH = 3.7
# Letters.
LONG_WORD = 24


def shown(value: object) -> object:
    """Text from data with control characters and marks of direction written out; the template escapes it."""
    return value if hasattr(value, "__html__") else visible(str(value))


def prose(value: object) -> Markup:
    """Our own words: escaped, 2.5e-8 rather than 2.5e-08, `ρ_VS` with its index below, and no line broken within `M = 3`."""
    text = re.sub(
        r"([αρ])_([A-Z]{2})\b", r"\1<sub>\2</sub>", _short_exponents(str(escape(shown(value))))
    )
    return Markup(re.sub(r"(?<![^\s(])([^\W\d_]) (=|≤) (?=\d)", "\\1\u00a0\\2\u00a0", text))


def number(value: float, digits: int = 4) -> str:
    """A number to read, with few digits: 2.5e-8."""
    return _short_exponents(f"{value:.{digits}g}")


def _short_exponents(text: str) -> str:
    text = re.sub(r"(?<=\d)e[+-]00(?!\d)", "", text)
    return re.sub(
        r"(?<=\d)e([+-])0*(\d)", lambda found: f"e{found[1].removeprefix('+')}{found[2]}", text
    )


def asset(name: str) -> Markup:
    """A style or script of ours, as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


def script_hash(script: str) -> str:
    """What a content security policy knows a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# The palette as variables that follow the reader's choice of light or dark.
_VARIABLES = " ".join(
    f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items()
)
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    finalize=shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
# A word that may be broken within, such as a hash.
ENVIRONMENT.tests["long"] = lambda value: any(len(word) > LONG_WORD for word in str(value).split())
ENVIRONMENT.filters.update(prose=prose, number=number, sha256=script_hash)
ENVIRONMENT.globals.update(
    asset=asset,
    version=__version__,
    palette=Markup(f":root {{ color-scheme: light dark; {_VARIABLES} }}\n"),
    variables=Markup(f"color-scheme: light; {_VARIABLES}"),
)


def drawn(
    draw: Callable[[Any], None], name: str, size: tuple[float, float] = (7.5, 4.4)
) -> dict[str, Markup]:
    """What `draw` puts on the axes as SVG, once for a wide screen and once for a phone.

    `name` tells the drawings of a page apart, so that each refers to its own parts.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawings = {}
    for screen, inches in {
        "wide": size,
        "phone": (PHONE_WIDTH, PHONE_WIDTH * min(1.0, 1.8 * size[1] / size[0])),
    }.items():
        with figure_style(), rc_context({"axes.grid": False, "svg.hashsalt": f"{name} {screen}"}):
            chart = Figure(figsize=inches, layout="constrained")
            draw(chart.subplots())
            if screen == "phone":
                fit_phone(chart)
            content = StringIO()
            chart.savefig(
                content, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
            )
        drawings[screen] = in_page(content.getvalue())
    return drawings


def in_page(svg: str) -> Markup:
    """A drawing of ours as an element of a page: without the head of a file, and in the page's own colours."""
    names = {light: name for name, (light, _) in PALETTE.items()}
    colours = re.compile("|".join(names) + r"(?![0-9a-f])")
    return Markup(colours.sub(lambda found: f"var(--{names[found[0]]})", svg[svg.index("<svg") :]))


def hash_arrays(*arrays: Any) -> str:
    """SHA-256 of the shapes and values of arrays, the same on every machine."""
    digest = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array, dtype="<f8")
        digest.update(str(values.shape).encode() + values.tobytes())
    return digest.hexdigest()


@dataclass
class Page:
    """A report before it is written.

    Attributes
    ----------
    template
        File in `templates`, with the content of the page and a paragraph of methods to paste into a paper.
    title
        Heading and window title.
    record
        The whole result as plain data; it stands at the end of the page as JSON.
    values
        What the template shows beside them.
    provenance
        What is needed to repeat the run beside the versions: seeds, hash of the data.
    """

    template: str
    title: str
    record: Mapping[str, Any]
    values: Mapping[str, Any]
    provenance: Mapping[str, object] = field(default_factory=dict)
    references: tuple[str, ...] = (PAPER,)

    def render(self) -> str:
        record = plain(self.record)
        content = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
        if visible(content, keep="\n") != content:
            # The escapes of JSON stand for the same letters, and what is unseen can be seen.
            content = json.dumps(record, indent=1, allow_nan=False)
        versions = {"chanceline": __version__, "Python": platform.python_version()} | {
            name: version(name) for name in PACKAGES
        }
        made = {
            **self.provenance,
            "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        }
        frame = {
            "title": self.title,
            "record": escape(content),
            "provenance": made.items(),
            "references": self.references,
        }
        return ENVIRONMENT.get_template(self.template).render(self.values, **frame)

    def write(self, path: str | Path) -> Path:
        """Write the page; the file is whole or not there."""
        write_text(path, self.render())
        return Path(path)


def read_report(path: str | Path) -> dict[str, Any]:
    """The JSON inside a report."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    found = re.search(r'<pre id="result">(.*?)</pre>', text, re.DOTALL)
    if found is None:
        raise InputError(f"{path} is not a report of chanceline.")
    try:
        content = json.loads(html.unescape(found.group(1)))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is no whole report of chanceline ({error}); write it anew."
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{path} is not a report of chanceline.")
    return content
