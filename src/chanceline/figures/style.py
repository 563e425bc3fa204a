"""One look for all figures and pages: colours, matplotlib's settings, and figures as files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from chanceline._io import check_target, write_bytes
from chanceline.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Name → colour on white and in the dark. Figures are drawn with the first; pages follow the
# reader's choice.
PALETTE: dict[str, tuple[str, str]] = {
    # the page
    "paper": ("#fbfbfa", "#14171b"),
    "card": ("#ffffff", "#1c2026"),
    "ink": ("#1d2126", "#e9ebee"),
    "soft": ("#59616b", "#a3abb5"),
    "rule": ("#d9dce0", "#363c45"),
    "accent": ("#0b62a8", "#6cb4ee"),
    # verdicts
    "structure": ("#0a6b4d", "#6fdcb3"),
    "structure-back": ("#dff3ea", "#123528"),
    "chance": ("#a34400", "#ffb27a"),
    "chance-back": ("#fdebdc", "#43260f"),
    "unclear": ("#4f5560", "#c2c8d0"),
    "unclear-back": ("#eceef1", "#2a2f37"),
    # zones of the diagram: noise is separated by every, a typical, a chosen set; by none;
    # structure is proven
    "every": ("#f5bf94", "#6b3d17"),
    "typical": ("#f9d6b8", "#502f17"),
    "chosen": ("#fdecdc", "#38271a"),
    "silent": ("#eef0f3", "#242930"),
    "settled": ("#d5efe3", "#14392c"),
    # lines of the diagram
    "rs": ("#0072b2", "#58b4f0"),
    "rsb": ("#8e44ad", "#c890e6"),
    "cover-gardner": ("#d55e00", "#ff8f3f"),
    "vc": ("#8a5a2b", "#c99a66"),
    "union": ("#00856b", "#3fcfae"),
    "l0": ("#9a7000", "#e6bd4e"),
    "breaks": ("#6b7683", "#98a3af"),
    "limit": ("#0a6b4e", "#6fdcb4"),
    # the reader's own data
    "here": ("#c2185b", "#ff5c9a"),
}
COLOURS = {name: light for name, (light, _) in PALETTE.items()}
FORMATS = (".svg", ".png", ".pdf")
PHONE_LINE_LETTERS = 38  # in a line of a figure for a phone


def figure_style() -> AbstractContextManager[None]:
    """A context in which all figures have the package's look.

    Outside of it, matplotlib's settings are those of the user.
    """
    import matplotlib as mpl

    settings: dict[Any, Any] = {
        "figure.dpi": 110,
        "savefig.dpi": 160,
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "legend.frameon": False,
        "lines.linewidth": 1.8,
        # Without a fixed salt SVG files have random names inside; with it the same figure is the
        # same file.
        "svg.hashsalt": "chanceline",
    }
    for part in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"):
        settings[part] = COLOURS["ink"]
    return mpl.rc_context(settings)


def check_figure(path: Path | str) -> Path:
    """Return the path if `save` can write a figure there, else refuse it before hours of work."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(
            f"the figure's name must end in {', '.join(FORMATS)}, not {Path(path).name!r}."
        )
    return check_target(path)


def save(figure: Figure, path: Path | str) -> None:
    """Write a figure in the format that the name ends in; the file is whole or not there."""
    file_format = check_figure(path).suffix[1:].lower()
    metadata = None
    if file_format == "svg":
        # Without a date the same figure is the same file.
        metadata = {"Date": None}
    content = BytesIO()
    figure.savefig(content, format=file_format, bbox_inches="tight", metadata=metadata)
    write_bytes(path, content.getvalue())


def draw_to_file(
    draw: Callable[[Any], object], path: Path | str, size: tuple[float, float] = (7.5, 4.5)
) -> None:
    """Save what `draw` puts on axes of this size in inches."""
    from matplotlib.figure import Figure

    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        save(figure, path)


def legend_below(ax: Axes, columns: int = 2, distance: float = 0.16) -> None:
    """A legend below the axes: inside, it would lie on the points.

    `distance` from the axes is a share of their height.
    """
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -distance),
        ncols=columns,
        frameon=False,
        fontsize="small",
        columnspacing=1.2,
    )


def fit_phone(figure: Figure) -> None:
    """Make a narrow figure readable on a phone; the figure is changed in place.

    Long titles and labels are broken into several lines. The legends of all axes are replaced by
    one legend below the figure, with one entry in a line.
    """
    handles: list[Any] = []
    labels: list[str] = []
    for ax in figure.axes:
        for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
            # A formula must stay in one line.
            if "$" not in text.get_text():
                text.set_text(fill(text.get_text(), PHONE_LINE_LETTERS))

        # Collect the entries of the legend, and remove it.
        legend = ax.get_legend()
        if legend is not None:
            handles += legend.legend_handles
            labels += [entry.get_text() for entry in legend.get_texts()]
            legend.remove()
    if handles:
        figure.legend(handles, labels, loc="outside lower left")
