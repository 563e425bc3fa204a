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
from functools import partial
from importlib.metadata import version
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Any

from chanceline import __version__
from chanceline._io import write_text
from chanceline._results import plain, visible
from chanceline.errors import InputError
from chanceline.figures.style import figure_style, fit_phone, is_narrow
from chanceline.report.drawing import safe_drawing
from chanceline.report.theme import ASSETS, theme_css, with_policy

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pandas", "matplotlib")
PAPER = "Xu Y., Ohzeki M. and Kabashima Y., “Storage capacity of perceptron with variable selection”."
COVER = (
    "Cover T. M., “Geometrical and statistical properties of systems of linear inequalities with applications in "
    "pattern recognition”, IEEE Transactions on Electronic Computers EC-14:326 (1965)."
)
# Inches of a figure for a phone; its smallest letters are then 10 pixels high on a screen of 390.
PHONE_WIDTH = 3.7
# Pixels: of letters at least, and of the text on a desk and on a phone, as in report.css.
SMALLEST_LETTER, TEXT_WIDTH, PHONE_TEXT = 10, 830, 320
# Letters: of a cell that is a sentence, and of a word that may be broken.
SENTENCE, LONG_WORD = 30, 24


def escape(value: object) -> str:
    """Text that HTML shows as it is, with control characters and turning marks written out."""
    return html.escape(visible(str(value)), quote=True)


def prose(value: object) -> str:
    """Our own words: escaped, 2.5e-8 rather than 2.5e-08, `ρ_VS` with its index below, and no line broken within `M = 3`."""
    text = re.sub(r"([αρ])_([A-Z]{2})\b", r"\1<sub>\2</sub>", _short_exponents(escape(value)))
    return re.sub(r"(?<![^\s(])([^\W\d_]) (=|≤) (?=\d)", "\\1\u00a0\\2\u00a0", text)


def number(value: float, digits: int = 4) -> str:
    """A number to read, with few digits: 2.5e-8."""
    return _short_exponents(f"{value:.{digits}g}")


def _short_exponents(text: str) -> str:
    text = re.sub(r"(?<=\d)e[+-]00(?!\d)", "", text)
    return re.sub(r"(?<=\d)e([+-])0*(\d)", lambda found: f"e{found[1].removeprefix('+')}{found[2]}", text)


def bullets(items: Iterable[object]) -> str:
    """A list of sentences of ours."""
    return "<ul>" + "".join(f"<li>{prose(item)}</li>" for item in items) + "</ul>"


def table(header: Sequence[object], rows: Iterable[Sequence[object]], show: Callable[[object], str] = escape) -> str:
    """Rows of values, as they are or as `prose`; one that holds sentences is a list of cards on a phone."""
    rows = [list(row) for row in rows]
    wordy = len(header) > 2 and any(isinstance(value, str) and len(value) > SENTENCE for row in rows for value in row)
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(map(partial(_cell, show=show), header, row)) + "</tr>" for row in rows)
    kind = ' class="cards"' if wordy else ""
    return f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(name: object, value: object, show: Callable[[object], str]) -> str:
    kind, text = "", show(value)
    if isinstance(value, float):
        kind, text = ' class="number"', number(value, 6)
    elif isinstance(value, int) and not isinstance(value, bool):
        kind = ' class="number"'
    elif any(len(word) > LONG_WORD for word in str(value).split()):
        kind = ' class="long"'
    return f'<td{kind} data-name="{escape(name)}">{text}</td>'


def verdict(kind: str, word: object, sentence: object) -> str:
    """The first thing on the page; `kind` is structure, chance or unclear."""
    return f'<div class="verdict {escape(kind)}"><strong>{escape(word)}</strong><p>{prose(sentence)}</p></div>'


def tiles(items: Iterable[tuple[object, object, object]]) -> str:
    """Name, value and kind of the few numbers that matter."""
    cells = (
        f'<div class="tile"><span>{escape(name)}</span><b>{prose(value)}</b><span class="kind">{prose(kind)}</span></div>'
        for name, value, kind in items
    )
    return f'<div class="tiles">{"".join(cells)}</div>'


def figure(draw: Callable[[Any], None], caption: object, size: tuple[float, float] = (7.5, 4.4)) -> str:
    """What `draw` puts on the axes, as SVG inside the page: once for a wide screen and once for a phone."""
    sizes = {"wide": size, "phone": (PHONE_WIDTH, PHONE_WIDTH * min(1.0, 1.8 * size[1] / size[0]))}
    drawings = "".join(
        f'<div class="{kind}">{safe_drawing(_drawn(draw, inches, f"{caption} {kind}"))}</div>' for kind, inches in sizes.items()
    )
    return f"<figure>{drawings}<figcaption>{prose(caption)}</figcaption></figure>"


def _drawn(draw: Callable[[Any], None], size: tuple[float, float], salt: str) -> str:
    import matplotlib.pyplot as plt

    with figure_style(), plt.rc_context({"axes.grid": False, "svg.hashsalt": salt}):
        chart, ax = plt.subplots(figsize=size, layout="constrained")
        try:
            draw(ax)
            if is_narrow(ax):
                fit_phone(chart)
            content = StringIO()
            chart.savefig(content, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        finally:
            plt.close(chart)
    return content.getvalue()


def picture(svg: str, caption: object) -> str:
    """A ready SVG with its caption, in the page's own colours; anything but drawing in it is refused.

    It keeps a width at which its letters can be read: it may be wider than the text, and is moved sideways on a phone.
    """
    drawing = safe_drawing(svg)
    least = _readable_width(drawing)
    broad = ' class="broad"' if least > TEXT_WIDTH else ""
    hint = '<p class="sideways">Wider than a phone: move it sideways.</p>' if least > PHONE_TEXT else ""
    body = f'{hint}<div class="scroll"><div style="min-width: {least}px">{drawing}</div></div>'
    return f"<figure{broad}>{body}<figcaption>{prose(caption)}</figcaption></figure>"


def _readable_width(drawing: str) -> int:
    """Pixels at which the smallest letters that matplotlib drew (as outlines of size 100, scaled) are 10 pixels high."""
    found = re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) [\d.]+"', drawing)
    letters = [100 * float(scale) for scale in re.findall(r"scale\((0\.\d+) -0", drawing)]
    return ceil(float(found[1]) * SMALLEST_LETTER / min(letters)) if found and letters else 0


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
        style = theme_css() + (ASSETS / "report.css").read_text(encoding="utf-8")
        content = json.dumps(plain(self.record), indent=1, ensure_ascii=False, allow_nan=False)
        if visible(content, keep="\n") != content:
            # The escapes of JSON stand for the same letters, and what is unseen can be seen.
            content = json.dumps(plain(self.record), indent=1, allow_nan=False)
        versions = {"chanceline": __version__, "Python": platform.python_version()} | {name: version(name) for name in PACKAGES}
        made = [*self.provenance.items(), ("versions", ", ".join(f"{name} {number}" for name, number in versions.items()))]
        lines = "\n".join(
            [
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f"<title>{escape(self.title)}</title><style>{style}</style></head><body><main>",
                f"<h1>{escape(self.title)}</h1>",
                *self.parts,
                "<h2>Methods, to paste into a paper</h2>",
                f"<blockquote>{prose(self.methods)}</blockquote>",
                bullets(self.references),
                "<h2>How this was made</h2>",
                table(("what", "value"), made),
                "<details><summary>The whole result as JSON</summary>",
                f'<pre id="result">{html.escape(content)}</pre></details>',
                "</main></body></html>",
            ]
        )
        return with_policy(lines)

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
