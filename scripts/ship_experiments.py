"""Turn the store of a full run into what comes with the package and the docs.

    python scripts/ship_experiments.py experiments.sqlite --machine "two cores of a desktop"

Writes one CSV of points a figure and provenance.json into src/chanceline/data/experiments, the tables of the docs into
docs/tables and their figures into docs/images. Without a store, tables and figures are made from the shipped CSVs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from chanceline._io import write_text
from chanceline.experiments.figure_points import SWEEPS, shipped_points, stored_points
from chanceline.experiments.scaling import capacity_limits, entropy_limits
from chanceline.experiments.store import Store
from chanceline.experiments.sweeps import load_sweep
from chanceline.figures.experiments import draw_sweep
from chanceline.theory.capacity import density

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "src" / "chanceline" / "data" / "experiments"


def ship(store_path: Path, machine: str) -> None:
    """Points and provenance from a store."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with Store(store_path) as store:
        seconds = store.seconds()
        versions = sorted({record.made_with for record in store.records()})
    sweeps = {}
    for figure, names in SWEEPS.items():
        points = stored_points(figure, store_path)
        write_text(TARGET / f"{figure}.csv", points.to_csv(index=False, float_format="%.6g"))
        for name in names:
            tasks = load_sweep(name).tasks
            times = [seconds[task.id] for task in tasks if task.id in seconds]
            sweeps[name] = {
                "tasks": len(tasks),
                "finished": len(times),
                "core_minutes": round(sum(times) / 60, 1),
            }
    provenance = {"machine": machine, "made_with": versions, "sweeps": sweeps}
    write_text(
        TARGET / "provenance.json", json.dumps(provenance, indent=2, ensure_ascii=False) + "\n"
    )


def markdown(header: str, rows: Iterable[Iterable[str]]) -> str:
    columns = header.split("|")
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.strip() for cell in line)} |\n" for line in lines)


def measured(value: float, error: float) -> str:
    return "" if pd.isna(value) else f"{value:.3f} ± {error:.3f}"


def compared(value: float, error: float, theory: float) -> str:
    """Value, error, and in brackets the deviation from theory in errors."""
    return "" if pd.isna(value) else f"{measured(value, error)} ({(value - theory) / error:+.1f})"


def entropy_table() -> str:
    rows = [
        [
            row.inputs,
            f"{row.rho:g}",
            f"{row.alpha:g}",
            f"{row.rs:.4f}",
            compared(row.exact, row.exact_error, row.rs),
            compared(row.sampled, row.sampled_error, row.rs),
            compared(row.both, row.both_error, row.rs),
        ]
        for row in entropy_limits(shipped_points("entropy")).itertuples()
    ]
    return markdown("inputs|ρ|α|Σ, RS = 1RSB|exact counts|Monte Carlo|all sizes", rows)


def capacity_table() -> str:
    rows = [
        [
            row.inputs,
            f"{row.alpha:g}",
            f"{row.rs:.4f}",
            f"{row.rsb:.4f}",
            compared(row.searched, row.searched_error, row.rsb),
        ]
        for row in capacity_limits(shipped_points("capacity")).itertuples()
    ]
    return markdown(
        r"inputs|α|\(\rho_\mathrm{VS}\), RS|\(\rho_\mathrm{VS}\), 1RSB|search, N → ∞", rows
    )


def smallest_table() -> str:
    paper, best = shipped_points("paper-fig3"), shipped_points("best")
    both = paper.merge(best, on=["alpha", "n"], suffixes=("_paper", "_best"))
    largest = both[both["n"] == both["n"].max()]
    limits = capacity_limits(best).set_index("alpha").reindex(largest["alpha"])
    rows = [
        [
            f"{row.load_paper:.3f}",
            f"{row.load_paper / 2:.3f}",
            measured(row.density_paper, row.error_paper),
            str(row.problems_paper),
            measured(row.density_best, row.error_best),
            str(row.problems_best),
            measured(limit.searched, limit.searched_error),
            f"{density(row.alpha).rho:.3f}",
            "" if pd.isna(limit.searched) else f"{100 * (limit.searched / limit.rs - 1):+.0f} %",
        ]
        for row, limit in zip(largest.itertuples(), limits.itertuples(), strict=True)
    ]
    header = (
        f"α|Cover–Gardner α/2|greedy-BIHT, N = {both['n'].max()}|problems|`auto`, the same N|problems|"
        r"`auto`, N → ∞|\(\rho_\mathrm{VS}\)|difference"
    )
    return markdown(header, rows)


def runs_table() -> str:
    provenance = json.loads((TARGET / "provenance.json").read_text(encoding="utf-8"))
    rows = [
        [f"`{name}`", f"{run['finished']} of {run['tasks']}", f"{run['core_minutes']:.1f}"]
        for name, run in provenance["sweeps"].items()
    ]
    note = f"\nRun on {provenance['machine']}, with {'; '.join(provenance['made_with'])}.\n"
    return markdown("sweep|tasks|minutes of one core", rows) + note


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("--machine", help="what the store was made on, in general words")
    arguments = parser.parse_args()
    if arguments.store is not None:
        if not arguments.machine:
            parser.error("say with --machine what the store was made on")
        ship(arguments.store, arguments.machine)
    tables = {
        "entropy": entropy_table,
        "capacity": capacity_table,
        "smallest": smallest_table,
        "runs": runs_table,
    }
    for name, table in tables.items():
        write_text(ROOT / "docs" / "tables" / f"experiments-{name}.md", table())
    for figure in SWEEPS:
        print(draw_sweep(figure, ROOT / "docs" / "images" / f"experiments-{figure}.png"))


if __name__ == "__main__":
    main()
