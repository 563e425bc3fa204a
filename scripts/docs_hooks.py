"""For MkDocs: puts the explorer into the site and turns formulas into MathML, so that pages need no network."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from chanceline.report.explorer import explorer_page

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\(?P<open>[\[(])(?P<tex>.*?)\\[\])]</\1>', re.DOTALL
)


def on_files(files: Files, config: Any) -> Files:
    """The explorer is a page of the site like any other file."""
    files.append(File.generated(config, "explorer-page.html", content=explorer_page()))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw themselves."""

    def draw(found: re.Match[str]) -> str:
        tex = html.unescape(found["tex"])
        if found["open"] == "(":
            return str(convert(tex))
        return f'<div style="overflow-x: auto">{convert(tex, display="block")}</div>'

    return FORMULA.sub(draw, content)
