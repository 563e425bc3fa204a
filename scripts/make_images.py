"""Write the pictures of the README and the docs into docs/images: python scripts/make_images.py

The diagram is drawn by matplotlib. With --screenshots the explorer and a report are shown by headless Chromium, as in
their tests.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from chanceline.figures.style import COLOURS, house_style
from chanceline.files import write_text
from chanceline.report.diagram import interpolated_lines

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"


def draw_zones(ax: Any) -> None:
    """The (ρ, α) diagram with its zones named."""
    lines = interpolated_lines([k / 400 for k in range(1, 400)])
    rho, edge, union = lines["rho"], lines["alpha_rs"], lines["union"]
    typical = [2 * r for r in rho]
    # Keeping every variable separates random patterns up to α = 2, and the proof reaches there too.
    proof = [max(u, a) if u < 2 else 2.0 for u, a in zip(union, edge, strict=True)]
    ax.fill_between(rho, proof, 2.4, color=COLOURS["settled"])
    ax.fill_between(rho, edge, proof, color=COLOURS["silent"])
    ax.fill_between(rho, typical, edge, color=COLOURS["chosen"])
    ax.fill_between(rho, rho, typical, color=COLOURS["typical"])
    ax.fill_between(rho, 0, rho, color=COLOURS["every"])
    ax.plot(rho, edge, color=COLOURS["rs"], linewidth=2.8)
    ax.plot(rho, typical, color=COLOURS["cover-gardner"])
    ax.plot(rho, rho, color=COLOURS["vc"])
    ax.plot(rho, proof, color=COLOURS["limit"])
    zones = [
        (0.12, 2.12, "structure: chance is ruled out by a proof"),
        (0.4, 1.89, "only permutation can tell"),
        (0.36, 1.16, "chance: a good choice\nseparates noise"),
        (0.83, 1.32, "chance: a typical\nchoice does"),
        (0.8, 0.36, "chance: every choice does"),
    ]
    for x, y, name in zones:
        ax.text(x, y, name, ha="left" if y > 2 else "center", va="center", fontsize=9.5, color=COLOURS["ink"], weight="bold")
    ax.annotate(r"the chance line $\alpha_{\rm VS}(\rho)$", (0.62, 1.905), xytext=(0.53, 1.66), color=COLOURS["rs"], fontsize=10,
                arrowprops={"arrowstyle": "-", "color": COLOURS["rs"]})  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 2.3), xlabel="share of the variables used, ρ = M/N", ylabel="samples for each variable, α = P/N")


def write_diagram() -> None:
    with house_style(), plt.rc_context({"axes.grid": False, "savefig.facecolor": "white"}):
        chart, ax = plt.subplots(figsize=(8, 5), layout="constrained")
        draw_zones(ax)
        content = StringIO()
        chart.savefig(content, format="svg", metadata={"Date": None})
        plt.close(chart)
    tidy = "\n".join(line.rstrip() for line in content.getvalue().splitlines()) + "\n"
    write_text(IMAGES / "diagram.svg", tidy)


def write_screenshots() -> None:
    sys.path.insert(0, str(ROOT / "tests" / "report"))
    from browser import screenshot

    from chanceline.report import write_explorer, write_test_report
    from chanceline.significance import separation_test
    from chanceline.tables.examples import load_example

    with tempfile.TemporaryDirectory() as folder:
        explorer = write_explorer(Path(folder) / "explorer.html")
        data = load_example("noise")
        result = separation_test(data.X, data.y, feature_names=data.feature_names)
        report = write_test_report(result, Path(folder) / "report.html", data)
        for address, name, height in ((explorer, "explorer", 1000), (report, "report", 1100)):
            (IMAGES / f"{name}.png").write_bytes(screenshot(address.as_uri(), name, 1200, height).read_bytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the pictures of the README and the docs.")
    parser.add_argument("--screenshots", action="store_true", help="of the explorer and a report too (needs Chromium)")
    options = parser.parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    write_diagram()
    if options.screenshots:
        write_screenshots()
    print(f"pictures in {IMAGES.relative_to(ROOT)}")
