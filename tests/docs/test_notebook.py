"""The notebook runs from top to bottom and shows what it promises."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.ipynb"))
KINDS = {"text", "text/plain", "text/html", "image/png"}
DRAWING = re.compile(r"<svg.*</svg>", re.DOTALL)
# In a process of its own: a kernel's warnings and its event loop are not ours.
RUN = """
import sys
import nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=300, kernel_name="python3").execute()
nbformat.write(book, sys.argv[2])
"""
# Without Jupyter the cells still have to run.
PLAIN = """
import json, sys
cells = json.load(open(sys.argv[1], encoding="utf-8"))["cells"]
exec("\\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"), {"__name__": "__main__"})
"""


def run(program: str, *arguments: object, **environment: str) -> None:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    settings = {
        name: value for name, value in os.environ.items() if name != "MPLBACKEND"
    } | environment
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, check=False, env=settings
    )
    assert done.returncode == 0, done.stderr[-3000:]


def shown(cells: list[dict]) -> list[dict[str, str]]:
    """What every cell with code shows, by kind; of pictures, that there is one: how they are drawn depends on Matplotlib."""
    outputs = [
        [output.get("data", output) for output in cell["outputs"]]
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    return [
        {
            kind: DRAWING.sub("<svg>", "".join(part[kind])) if "text" in kind else ""
            for part in parts
            for kind in KINDS & set(part)
        }
        for parts in outputs
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.slow
def test_notebook_runs(path, tmp_path):
    if not find_spec("nbclient") or not find_spec("ipykernel"):
        run(PLAIN, path, MPLBACKEND="Agg")
        return
    run(RUN, path, tmp_path / "done.ipynb")
    before, after = (
        json.loads(one.read_text(encoding="utf-8"))["cells"]
        for one in (path, tmp_path / "done.ipynb")
    )
    assert shown(after) == shown(before), (
        "the outputs stored in the notebook are those of another version"
    )
    assert any({"text/html", "text/plain"} <= set(parts) for parts in shown(after))
    assert any(
        "STRUCTURE" in parts.get("text/html", "") and "<svg>" in parts["text/html"]
        for parts in shown(after)
    )


def test_there_is_a_notebook():
    assert [path.name for path in NOTEBOOKS] == ["first-table.ipynb"]
