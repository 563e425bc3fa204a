"""One look for all figures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

COLOURS = {
    "vs": "#1f5fa8",
    "broken": "#111111",
    "cg": "#d9822b",
    "vc": "#8a8a8a",
    "union": "#8f4fa8",
    "l0": "#3a8f5f",
    "replicon": "#b5352c",
}


@contextmanager
def house_style() -> Iterator[None]:
    """One look for all figures, without touching the user's settings."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "figure.dpi": 110,
            "savefig.dpi": 160,
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "legend.frameon": False,
            "lines.linewidth": 1.8,
            "svg.hashsalt": "chanceline",
        }
    ):
        yield
