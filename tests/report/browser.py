"""Runs a page in headless Chromium and reads what it wrote into its own document."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
)


def chromium_program() -> str:
    """The browser; without one a test is skipped, or fails where one is required."""
    program = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if program is None:
        absent = "no Chromium is installed (Debian: apt-get install chromium)"
        if os.environ.get("CHANCELINE_BROWSER") == "required":
            pytest.fail(absent)
        pytest.skip(absent)
    return program


def run_chromium(*arguments: str) -> str:
    program = chromium_program()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [program, *FLAGS, f"--user-data-dir={profile}", *arguments],
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def framed(address: str, width: int, height: int, folder: Path) -> Path:
    """A page that shows another in a frame: Chromium's own window is never narrower than 500 pixels, a phone's is."""
    file = folder / "framed.html"
    listen = (
        "addEventListener('message',(e)=>{document.getElementById('outcome').textContent=e.data})"
    )
    frame = f'<iframe src="{html.escape(address)}" style="display:block;border:0;width:{width}px;height:{height}px"></iframe>'
    body = f'<body style="margin:0"><script>{listen}</script>{frame}<pre id="outcome"></pre></body>'
    file.write_text(f'<!doctype html><meta charset="utf-8">{body}', encoding="utf-8")
    return file


def admitting(page: str, script: str) -> str:
    """The page with this one script let through its content security policy, beside those that it has."""
    own = f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
    if "script-src " in page:
        return page.replace("script-src ", f"script-src {own} ", 1)
    return page.replace("default-src 'none';", f"default-src 'none'; script-src {own};", 1)


def run_script(page: str, script: str, folder: Path, width: int = 800, state: str = "") -> Any:
    """Open `page` with `script` at its end; the value of `script`, which must be an expression of plain data."""
    file = folder / "page.html"
    tell = f"{{let o;try{{o={script}}}catch(e){{o={{failure:String(e.stack)}}}}parent.postMessage(JSON.stringify(o),'*')}}"
    file.write_text(
        admitting(page, tell).replace("</body>", f"<script>{tell}</script></body>"),
        encoding="utf-8",
    )
    outer = framed(file.as_uri() + state, width, 900, folder)
    document = run_chromium("--window-size=1400,1000", "--dump-dom", outer.as_uri())
    found = re.search(r'<pre id="outcome">(.+?)</pre>', document, re.DOTALL)
    assert found, "the page did not run to its end"
    return json.loads(html.unescape(found.group(1)))
