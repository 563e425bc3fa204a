"""What all pages share: colours that follow the reader's choice, and a policy that lets nothing in from outside."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files

from chanceline.figures.style import PALETTE

ASSETS = files("chanceline") / "report" / "assets"
CHARSET = '<meta charset="utf-8">'


def theme_css() -> str:
    """The palette as variables, light or dark, and the style of every page."""
    variables = " ".join(f"--{name}: light-dark({light}, {dark});" for name, (light, dark) in PALETTE.items())
    return f":root {{ color-scheme: light dark; {variables} }}\n" + (ASSETS / "theme.css").read_text(encoding="utf-8")


def with_policy(page: str, scripts: Sequence[str] = ()) -> str:
    """The page with a content security policy: these scripts by their hash, styles, drawn-in pictures, and nothing else.

    The policy stands behind the escaping of what comes from data: should something slip through, the browser neither runs
    nor loads it.
    """
    allowed = f" script-src {' '.join(map(_hash, scripts))};" if scripts else ""
    policy = f"default-src 'none';{allowed} style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    if page.count(CHARSET) != 1:
        raise ValueError("a page has one declaration of its character set, and the policy follows it")
    return page.replace(CHARSET, f'{CHARSET}<meta http-equiv="Content-Security-Policy" content="{policy}">')


def scripts_in(page: str) -> list[str]:
    """The scripts of a page that holds nothing from outside."""
    return re.findall(r"<script>(.*?)</script>", page, re.DOTALL)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
