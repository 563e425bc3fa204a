"""The frame of every report: pieces of escaped HTML, put together into one file that needs nothing else.

Every function here takes plain values and escapes them; nothing that comes from data or file names reaches the
page unescaped.
"""

from __future__ import annotations

import hashlib
import html
import json
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from chanceline import __version__
from chanceline.errors import InputError
from chanceline.files import write_text
from chanceline.results import plain

ASSETS = files("chanceline") / "report" / "assets"
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
PAPER = "Xu Y., Ohzeki M. and Kabashima Y., “Storage capacity of perceptron with variable selection”."
COVER = (
    "Cover T. M., “Geometrical and statistical properties of systems of linear inequalities with applications in "
    "pattern recognition”, IEEE Transactions on Electronic Computers EC-14:326 (1965)."
)
# A colour that matplotlib writes and the page's style then decides, light or dark.
INK = "#010203"


def escape(value: object) -> str:
    """Text that HTML shows as it is."""
    return html.escape(str(value), quote=True)


def prose(value: object) -> str:
    """Our own words: escaped, and powers of ten raised."""
    return re.sub(r"10\^-(\d+(?:\.\d+)?)", r"10<sup>−\1</sup>", escape(value))


def bullets(items: Iterable[object]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def table(header: Sequence[object], rows: Iterable[Sequence[object]], show: Callable[[object], str] = escape) -> str:
    """Rows of values, as they are or as `prose`."""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(_cell(value, show) for value in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(value: object, show: Callable[[object], str]) -> str:
    if isinstance(value, float):
        return f'<td class="number">{value:.6g}</td>'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td class="number">{value}</td>'
    return f"<td>{show(value)}</td>"


def verdict(kind: str, word: object, sentence: object) -> str:
    """The first thing on the page; `kind` is structure, chance or unclear."""
    return f'<div class="verdict {escape(kind)}"><strong>{escape(word)}</strong><p>{prose(sentence)}</p></div>'


def tiles(items: Iterable[tuple[object, object, object]]) -> str:
    """Name, value and kind of the few numbers that matter."""
    cells = (
        f'<div class="tile"><span>{escape(name)}</span><b>{prose(value)}</b><span class="kind">{escape(kind)}</span></div>'
        for name, value, kind in items
    )
    return f'<div class="tiles">{"".join(cells)}</div>'


def figure(draw: Callable[[Any], None], caption: object, size: tuple[float, float] = (7.5, 4.4)) -> str:
    """What `draw` puts on the axes, as SVG inside the page."""
    import matplotlib.pyplot as plt

    from chanceline.figures.style import house_style

    ink: dict[Any, Any] = dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
    with house_style(), plt.rc_context({**ink, "axes.grid": False, "svg.hashsalt": str(caption)}):
        chart, ax = plt.subplots(figsize=size, layout="constrained")
        draw(ax)
        content = StringIO()
        chart.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        plt.close(chart)
    return picture(content.getvalue(), caption)


def picture(svg: str, caption: object) -> str:
    """A ready SVG with its caption, in the page's own ink; anything but drawing in it is refused."""
    begin = svg.find("<svg")
    if begin < 0 or re.search(r"<script|<foreignObject|\son\w+=|javascript:", svg, re.IGNORECASE):
        raise InputError("a figure for the report must be an SVG drawing without scripts.")
    drawing = svg[begin:].replace(INK, "var(--ink)")
    return f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>"


def hash_arrays(*arrays: Any) -> str:
    """SHA-256 of the shapes and values of arrays, the same on every machine."""
    import numpy as np

    digest = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array, dtype="<f8")
        digest.update(str(values.shape).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


@dataclass
class Page:
    """A report in the making: sections are added in the order of reading, then the file is written.

    Attributes
    ----------
    title
        Heading and window title.
    record
        The whole result as plain data; it stands at the end of the page as JSON.
    methods
        A paragraph to paste into a paper.
    provenance
        What is needed to repeat the run beside the versions: seeds, hash of the data.
    """

    title: str
    record: Mapping[str, Any]
    methods: str
    provenance: Mapping[str, object] = field(default_factory=dict)
    references: tuple[str, ...] = (PAPER,)
    parts: list[str] = field(default_factory=list)

    def add(self, *pieces: str) -> None:
        """Pieces made by the functions of this module."""
        self.parts.extend(pieces)

    def section(self, heading: str, *pieces: str) -> None:
        self.add(f"<h2>{escape(heading)}</h2>", *pieces)

    def render(self) -> str:
        style = "".join((ASSETS / name).read_text(encoding="utf-8") for name in ("theme.css", "report.css"))
        content = json.dumps(plain(self.record), indent=1, ensure_ascii=False, allow_nan=False)
        versions = {"chanceline": __version__, "Python": platform.python_version()} | {name: version(name) for name in PACKAGES}
        made = [*self.provenance.items(), ("versions", ", ".join(f"{name} {number}" for name, number in versions.items()))]
        return "\n".join(
            [
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{escape(self.title)}</title><style>{style}</style></head><body><main>",
                f"<h1>{escape(self.title)}</h1>",
                *self.parts,
                "<h2>Methods, to paste into a paper</h2>",
                f"<blockquote>{escape(self.methods)}</blockquote>",
                bullets(self.references),
                "<h2>How this was made</h2>",
                table(("what", "value"), made),
                "<details><summary>The whole result as JSON</summary>",
                f'<pre id="result">{escape(content)}</pre></details>',
                "</main></body></html>",
            ]
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; the file is whole or not there."""
        target = Path(path)
        write_text(target, self.render())
        return target


def read_report(path: str | Path) -> dict[str, Any]:
    """The JSON inside a report."""
    found = re.search(r'<pre id="result">(.*?)</pre>', Path(path).read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise InputError(f"{path} is not a report of chanceline.")
    content: dict[str, Any] = json.loads(html.unescape(found.group(1)))
    return content
