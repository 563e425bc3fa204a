"""`chanceline explore`: one interactive page with the diagram, the live bound and the samples needed; works offline."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from chanceline import __version__
from chanceline._io import write_text
from chanceline.report.diagram import broken_ratio, diagram_table, unequal_table
from chanceline.report.theme import ASSETS, scripts_in, theme_css, with_policy


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def explorer_page() -> str:
    """The whole page as one HTML text: style, script and the table of lines inside."""
    parts = {
        "version": __version__,
        "theme.css": theme_css(),
        "data": script_json({"table": diagram_table(), "broken": broken_ratio(), "unequal": unequal_table()}),
    }

    def part(match: re.Match[str]) -> str:
        name = match.group(1)
        return parts[name] if name in parts else (ASSETS / name).read_text(encoding="utf-8")

    page = re.sub(r"\{\{([a-z.]+)\}\}", part, (ASSETS / "explorer.html").read_text(encoding="utf-8"))
    return with_policy(page, scripts_in(page))


def write_explorer(path: str | os.PathLike[str]) -> Path:
    """Write the explorer; the file is complete or not there."""
    target = Path(path)
    write_text(target, explorer_page())
    return target
