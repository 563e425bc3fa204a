"""`chanceline explore`: one interactive page that works offline.

It holds the diagram, the live bound and the samples needed.
"""

from __future__ import annotations

import os
from pathlib import Path

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from chanceline._io import write_text
from chanceline.report.diagram_lines import diagram_table, unequal_table
from chanceline.report.page import ENVIRONMENT, asset
from chanceline.theory.capacity_table import capacity_table

SCRIPTS = ("chance.js", "lines.js", "diagram.js", "explorer.js")


def explorer_page(start: str = "", source: str = "") -> str:
    """The interactive page of the diagram as one HTML text, with its style, scripts and data.

    Parameters
    ----------
    start : the numbers that the page begins with, as the fragment of its address
        `#N=2000&P=62&M=3…` (`SeparationTest.explorer`); by default none, and no verdict.
    source : where these numbers come from, such as the name of a file.
    """
    # Pairs of a density ρ and the ratio of two capacities there: with one step of symmetry breaking
    # over replica symmetric. The ratio changes so slowly with ρ that linear interpolation between
    # these values is accurate to six digits.
    breaking_ratios = [[row.rho, row.alpha_1rsb / row.alpha_rs] for row in capacity_table()]

    # The page's scripts read these keys.
    script_data = {
        "table": diagram_table(),  # the lines for equal classes
        "broken": breaking_ratios,
        "unequal": unequal_table(),  # the chance line for unequal classes and errors
        "start": {"address": start, "source": source},
    }
    data_script = Markup(f"const DATA = {htmlsafe_json_dumps(script_data)};")
    code_script = Markup("").join(asset(name) for name in SCRIPTS)
    return ENVIRONMENT.get_template("explorer.html").render(scripts=[data_script, code_script])


def write_explorer(path: str | os.PathLike[str], start: str = "", source: str = "") -> Path:
    """Write `explorer_page`; the file is complete or not there."""
    write_text(Path(path), explorer_page(start, source))
    return Path(path)
