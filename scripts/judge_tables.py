"""The verdict, front and figure of every table in a folder of published data: docs/tables/published-tables.md and its images.

    python scripts/judge_tables.py ../shared/data

The folder holds `NAME.csv.gz`, features first and the column `label` last, and the sheet of `OPTIONS`; none of the data is copied
into the project.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import matplotlib  # noqa: E402

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from chanceline._io import write_text  # noqa: E402
from chanceline.chance.bound import format_p  # noqa: E402
from chanceline.figures.style import figure_style, save  # noqa: E402
from chanceline.significance import SeparationTest, judge  # noqa: E402
from chanceline.tables import load_data  # noqa: E402

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "tables" / "published-tables.md"
IMAGES = DOCS / "images" / "tables"
SOURCES = {
    "breast_gravier": "Gravier 2010",
    "breast_west": "West 2001",
    "cns_pomeroy": "Pomeroy 2002",
    "colon_alon": "Alon 1999",
    "dlbcl_shipp": "Shipp 2002",
    "gastric_nmr": "Urine NMR, tutorial of CIMCB, cancer against healthy; metabolites without gaps",
    "golub38": "Golub 1999, training set",
    "golub72": "Golub 1999, all",
    "lung_gordon": "Gordon 2002",
    "microbiome_crc": "16S counts, colorectal cancer, collection 16SMicrobiomeMLFS; centred log-ratios",
    "microbiome_ibd": "16S counts, inflammatory bowel disease, the same collection; centred log-ratios",
    "prostate_singh": "Singh 2002",
    "sonar": "Gorman and Sejnowski 1988",
    "wdbc": "Street, Wolberg and Mangasarian 1993",
}
# What a table needs besides its label.
OPTIONS = {
    "gastric_nmr.xlsx": {"label": "Class", "classes": ("GC", "HE"), "missing": "columns"},
    "microbiome_crc.csv.gz": {"transform": "clr"},
    "microbiome_ibd.csv.gz": {"transform": "clr"},
}


def summary_row(name: str, result: SeparationTest, seconds: float) -> str:
    found, rule = result.separating, result.rule
    smallest = (
        f"{found.n_selected} separate"
        if found.separates
        else f"{found.n_selected} leave {found.errors} errors"
    )
    expected = "–"
    if rule is not None and rule.expected_error is not None:
        error = rule.expected_error
        low, high = (round(100 * end) for end in error.interval)
        expected = f"{100 * error.rate:.0f} % ({low}–{high}), {len(rule.features)} features; {100 * error.majority_error:.0f} %"
    cells = [
        f"[{name}](#{name.replace('_', '-')})",
        f"{result.n_samples} × {result.n_features}",
        f"**{result.verdict}**",
        format_p(result.log10_pvalue),
        result.evidence.summary().replace("shuffled labels", "shuffled"),
        expected,
        smallest,
        f"{seconds:.1f}",
    ]
    return f"| {' | '.join(cells)} |"


def section(name: str, result: SeparationTest) -> list[str]:
    lines = [f"## {name.replace('_', '-')}", "", f"{SOURCES[name]}. {' '.join(result.story())}", ""]
    return [*lines, f'<img src="images/tables/{name}.svg" alt="Front of {name}">', ""]


def draw(name: str, result: SeparationTest) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with figure_style(), plt.rc_context({"svg.hashsalt": name}):
        chart, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
        result.plot(ax)
        save(chart, IMAGES / f"{name}.svg")
        plt.close(chart)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these, and no page")
    options = parser.parse_args()
    rows, sections = [], []
    for path in sorted([*options.folder.glob("*.csv.gz"), *options.folder.glob("*.xlsx")]):
        name = path.name.partition(".")[0]
        if options.names and name not in options.names:
            continue
        dataset = load_data(path, **{"label": "label", **OPTIONS.get(path.name, {})})
        begin, wall = time.process_time(), time.monotonic()
        result = judge(dataset)
        seconds = time.process_time() - begin
        print(
            f"{name}: {result.summary()} ({seconds:.1f} CPU s, {time.monotonic() - wall:.1f} s)",
            flush=True,
        )
        if not options.names:
            draw(name, result)
        rows.append(summary_row(name, result, seconds))
        sections += section(name, result)
    if options.names:
        return
    table = [
        "| table | samples × features | verdict | p | named | CV error (95 % CI), rule; majority | smallest set | CPU s |",
        "|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    write_text(PAGE, "\n".join([*table, "", *sections]))


if __name__ == "__main__":
    main()
