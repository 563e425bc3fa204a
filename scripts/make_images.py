"""Write the pictures of the README and the docs into docs/images: python scripts/make_images.py

The diagram, what is exchanged in each design, the lines with given signs and the memory's largest loads (measured anew, 40 s)
are drawn by matplotlib. With --screenshots the explorer, a report and the page of reproduce are shown by headless Chromium, on a
desk and at 390 pixels, as in their tests. The report is of the shipped example, or with --table FILE --label COLUMN of another
table; that in docs/images is of the colon tumours of Alon et al. (1999), 62 samples and 2000 genes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

from chanceline._io import write_text
from chanceline.figures.memory import draw_largest_loads
from chanceline.figures.style import COLOURS, figure_style
from chanceline.figures.theory import draw_signs
from chanceline.memory import load_curve
from chanceline.report import write_explorer, write_reproduce_report, write_test_report
from chanceline.report.diagram_lines import interpolated_lines
from chanceline.reproduce.folder import Folder
from chanceline.reproduce.stages import run_all
from chanceline.significance import separation_test
from chanceline.tables import load_data
from chanceline.tables.examples import load_example
from chanceline.theory.capacity import capacity_curve, evenly_spaced

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
# Width and height on a desk, height on a phone; the report's first screen without its margins is the card of the README.
PAGES = {
    "explorer": (1280, 1100, 1500),
    "report": (920, 1080, 1398),
    "reproduce": (1280, 1100, 1500),
}


def draw_zones(ax: Any) -> None:
    """The (ρ, α) diagram with its zones named as in the explorer."""
    lines = interpolated_lines([k / 400 for k in range(1, 400)])
    rho, edge, union = lines["rho"], lines["alpha_rs"], lines["union"]
    typical = [2 * r for r in rho]
    # Keeping every variable separates random patterns up to α = 2, and the proof reaches there too.
    proof = [max(u, a) if u < 2 else 2.0 for u, a in zip(union, edge, strict=True)]
    top = 2.4
    zones = (("settled", proof, [top] * len(rho)), ("silent", edge, proof), ("chosen", typical, edge), ("typical", rho, typical),
             ("every", [0.0] * len(rho), rho))  # fmt: skip
    for colour, lower, upper in zones:
        ax.fill_between(rho, lower, upper, color=COLOURS[colour], linewidth=0)
    for colour, line, width in (
        ("rs", edge, 2.8),
        ("cover-gardner", typical, 1.8),
        ("vc", rho, 1.8),
        ("limit", proof, 1.8),
    ):
        ax.plot(rho, line, color=COLOURS[colour], linewidth=width)
    names = [
        (0.21, 2.19, "structure, proven"),
        (0.36, 1.13, "a good choice\nseparates noise"),
        (0.8, 1.24, "a typical choice\nseparates noise"),
        (0.77, 0.33, "every choice\nseparates noise"),
    ]
    for x, y, name in names:
        ax.text(x, y, name, ha="center", va="center", fontsize=9, weight="bold")
    ax.annotate("only permutation can tell", (0.36, 1.85), xytext=(0.48, 2.15), fontsize=9, weight="bold",
                arrowprops={"arrowstyle": "-", "color": COLOURS["ink"]})  # fmt: skip
    ax.annotate("the chance line", (0.56, 1.865), xytext=(0.47, 1.58), color=COLOURS["rs"], fontsize=10,
                arrowprops={"arrowstyle": "-", "color": COLOURS["rs"]})  # fmt: skip
    ax.set(
        xlim=(0, 1),
        ylim=(0, top - 0.05),
        xlabel="density ρ = M/N, the share of variables used",
        ylabel="load α = P/N, samples for each variable",
    )


def draw_designs(ax: Any) -> None:
    """Eight rows of two classes under each option: what is exchanged with what."""
    # Labels of the rows, rows that keep one label, and rows among which labels are exchanged.
    designs = {
        "no option": ("+-+-+-+-", [[k] for k in range(8)], [range(8)]),
        "--blocks site": ("+-+-+-+-", [[k] for k in range(8)], [range(4), range(4, 8)]),
        "--groups patient": ("++--++--", [[0, 1], [2, 3], [4, 5], [6, 7]], [range(8)]),
        "--pairs subject": ("+-+-+-+-", [[k] for k in range(8)], [[0, 1], [2, 3], [4, 5], [6, 7]]),
    }
    for place, (name, (labels, units, exchanged)) in enumerate(designs.items()):
        left = 3.2 * place
        ax.text(left, 1.0, name, ha="center", va="bottom", family="monospace", fontsize=9)
        for rows in exchanged:
            low, high = -max(rows) - 0.42, -min(rows) + 0.42
            ax.fill_between(
                [left - 0.95, left + 0.95], low, high, color=COLOURS["silent"], linewidth=0
            )
            ax.annotate(
                "",
                (left + 1.15, low),
                (left + 1.15, high),
                arrowprops={"arrowstyle": "<->", "color": COLOURS["ink"]},
            )
        for unit in units:
            ax.plot(
                [left - 0.35] * len(unit),
                [-row for row in unit],
                color=COLOURS["ink"],
                linewidth=5 * (len(unit) > 1),
            )
        for row, label in enumerate(labels):
            colour = COLOURS["rs"] if label == "+" else COLOURS["cover-gardner"]
            ax.scatter(left - 0.35, -row, s=70, color=colour, zorder=3)
            ax.text(
                left + 0.25,
                -row,
                "case" if label == "+" else "control",
                va="center",
                ha="center",
                fontsize=8,
            )
    ax.set(xlim=(-1.4, 11.2), ylim=(-8.0, 2.0))
    ax.axis("off")


def write_picture(
    name: str, draw: Callable[[Any], None], size: tuple[float, float], grid: bool
) -> None:
    with figure_style(), plt.rc_context({"axes.grid": grid, "savefig.facecolor": "white"}):
        chart, ax = plt.subplots(figsize=size, layout="constrained")
        draw(ax)
        content = StringIO()
        chart.savefig(content, format="svg", metadata={"Date": None})
        plt.close(chart)
    tidy = "\n".join(line.rstrip() for line in content.getvalue().splitlines()) + "\n"
    write_text(IMAGES / f"{name}.svg", tidy)


def write_page(name: str, folder: Path, options: argparse.Namespace) -> str:
    """The page of that name in the folder, that of reproduce from an earlier run if there is one; its address."""
    if name == "explorer":
        return (
            write_explorer(folder / "explorer.html").resolve().as_uri()
            + "#N=2000&P=62&M=3&positives=40"
        )
    if name == "report":
        data = (
            load_data(options.table, options.label)
            if options.table
            else load_example("breast-cancer")
        )
        return (
            write_test_report(separation_test(data), folder / "report.html", data)
            .resolve()
            .as_uri()
        )
    reproduced = options.reproduced or folder / "reproduce"
    if options.reproduced is None:
        run_all(Folder(reproduced, "quick", lambda line: None))
    return write_reproduce_report(reproduced, folder / "reproduce.html").resolve().as_uri()


def write_screenshots(names: list[str], options: argparse.Namespace) -> None:
    """Each page as on a desk (name.png) and on a phone (name-phone.png), in 128 colours."""
    sys.path.insert(0, str(ROOT / "tests" / "report"))
    from browser import framed, run_chromium

    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            address = write_page(name, Path(folder), options)
            desk, *heights = PAGES[name]
            for suffix, width, height in (("", desk, heights[0]), ("-phone", 390, heights[1])):
                outer, target = (
                    framed(address, width, height, Path(folder)),
                    Path(folder) / "shot.png",
                )
                run_chromium(
                    f"--window-size={max(width, 500)},{height}",
                    f"--screenshot={target}",
                    outer.as_uri(),
                )
                with Image.open(target) as picture:
                    shown = picture.crop((0, 0, width, height)).convert("RGB")
                    shown.quantize(128).save(IMAGES / f"{name}{suffix}.png", optimize=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the pictures of the README and the docs.")
    parser.add_argument(
        "--screenshots",
        nargs="*",
        choices=PAGES,
        help="of these pages, or of all, too (needs Chromium)",
    )
    parser.add_argument(
        "--reproduced",
        type=Path,
        metavar="FOLDER",
        help="what chanceline reproduce wrote, instead of a new run",
    )
    parser.add_argument(
        "--table", type=Path, metavar="FILE", help="the table of the report's picture"
    )
    parser.add_argument("--label", metavar="COLUMN", help="its label")
    options = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    write_picture("diagram", draw_zones, (5, 3.9), grid=False)
    write_picture("designs", draw_designs, (7.6, 3.6), grid=False)
    free, given = (capacity_curve(evenly_spaced(199), signs=signs) for signs in ("free", "given"))
    write_picture(
        "signs", lambda ax: draw_signs(ax, free.to_frame(), given.to_frame()), (6.4, 4.4), grid=True
    )
    held, points = (
        load_curve(100, [0.1, 0.2, 0.3, 0.5], seed=1, budget=1000, neurons=20),
        free.points[1:106:3],
    )
    write_picture(
        "memory-capacity", lambda ax: draw_largest_loads(ax, held, points), (6.4, 4.4), grid=True
    )
    if options.screenshots is not None:
        write_screenshots(options.screenshots or list(PAGES), options)
    print(f"pictures in {IMAGES.relative_to(ROOT)}")
