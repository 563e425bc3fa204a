"""Runs a page in headless Chromium and reads what it wrote into its own document."""

from __future__ import annotations

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

ARTEFACTS = Path(__file__).resolve().parents[2] / "results" / "screenshots"
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


def run_chromium(*arguments: str) -> str:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        absent = "no Chromium is installed (Debian: apt-get install chromium)"
        if os.environ.get("CHANCELINE_BROWSER") == "required":
            pytest.fail(absent)
        pytest.skip(absent)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        done = subprocess.run(
            [program, *FLAGS, f"--user-data-dir={profile}", *arguments], capture_output=True, text=True, timeout=180, check=False
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_script(page: str, script: str, folder: Path) -> Any:
    """Open `page` with `script` at its end; the value of `script`, which must be an expression of plain data."""
    file = folder / "page.html"
    wrapped = f"<script>{{const o=document.createElement('pre');o.id='outcome';try{{o.textContent=JSON.stringify({script})}}"
    wrapped += "catch(e){o.textContent=JSON.stringify({failure:String(e.stack)})}document.body.append(o)}</script>"
    file.write_text(page.replace("</body>", f"{wrapped}</body>"), encoding="utf-8")
    document = run_chromium("--dump-dom", file.as_uri())
    found = re.search(r'<pre id="outcome">(.*?)</pre>', document, re.DOTALL)
    assert found, "the page did not run to its end"
    return json.loads(html.unescape(found.group(1)))


def screenshot(address: str, name: str, width: int, height: int) -> Path:
    """A picture of the page, kept under results/screenshots."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    target = ARTEFACTS / f"{name}.png"
    run_chromium(f"--window-size={width},{height}", f"--screenshot={target}", address)
    return target
