"""Results that a change of the code must not change: JSON of commands, and what searches with fixed seeds reach.

    python scripts/golden.py            compares with tests/golden and names what differs (exit code 1)
    python scripts/golden.py NAME …     only these
    python scripts/golden.py --write    writes them anew; a difference on purpose belongs into CHANGELOG

Floats are compared to nine digits; times, counts of effort and what another processor may change are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "golden"
VOLATILE = {"seconds", "cpu_seconds", "store", "source", "version"}
# What follows from which inputs a memory selects: patterns of ±1 are full of equally good choices, and the processor's last digit
# decides between them. Sizes and what is held are compared here, the rest with inputs that are given: memory-hebbian.
SELECTED = {"stability_min", "stability_median", "retrieval", "survives", "connectivity", "theory"}
# A largest margin is found up to a tolerance, and the processor decides what remains: features,
# errors, bound and sentence of the separating rule are compared, not all digits of its weights.
MARGIN_DIGITS = ("weights", "bias")
VOLATILE_OF = {"memory": VOLATILE | SELECTED, "memory-minimal": VOLATILE | SELECTED}
COMMANDS = {
    "capacity": "capacity 0.1",
    "capacity-balance-margin": "capacity 0.2 --balance 0.3 --margin 0.1",
    "capacity-errors": "capacity 0.1 --errors 0.05",
    "capacity-signs": "capacity 0.1 --signs given --margin 0.1",
    "capacity-1rsb": "capacity 0.5 --ansatz 1rsb",
    "density": "density 0.5",
    "solve": "solve --alpha 1.2 --rho 0.5",
    "solve-typical": "solve --alpha 0.5 --rho 0.5",
    "bound": "bound -P 62 -N 2000 -M 3 --positives 40",
    "bound-coin-errors": "bound -P 80 -N 500 -M 4 --errors 2 --null coin",
    "plan-size": "plan -P 62 -N 2000 --positives 40",
    "plan-samples": "plan -N 2000 -M 5 --balance 0.35",
    "search-auto": "search --random N=64,alpha=0.8,seed=3",
    "search-exact": "search --random N=40,alpha=0.6,seed=1 --method exact",
    "search-errors": "search --random N=40,alpha=1.0,seed=2 --errors 3",
    "search-file": "search noise.csv --label y --intercept",
    "front": "front noise.csv --label y --max-features 6",
    "front-breast-cancer": "front wide.csv --label y --max-features 5",
    "test-planted": "test --example planted",
    "test-noise": "test --example noise --permutations 199",
    "test-breast-cancer": "test --example breast-cancer --permutations 99",
    "test-file": "test wide.csv --label y --permutations 99",
    "test-features": "test wide.csv --label y --features x1,x2 --preregistered --permutations 99",
    "memory": "memory --neurons 60 --load 0.6 --fan-in 0.3",
    "memory-minimal": "memory --neurons 40 --load 0.4 --fan-in minimal --wiring selected",
    "memory-hebbian": "memory --neurons 60 --load 0.2 --fan-in 0.3 --wiring hebbian-selected",
    "sweep": "sweep run small.toml --store small.sqlite",
}
SWEEP = """name = "small"
description = "a few tasks of every kind"
batch = 2
[[block]]
kind = "smallest"
trials = 3
grid = {n = [24, 32], alpha = [0.5, 1.0]}
fixed = {method = "auto"}
"""


def tables(folder: Path) -> None:
    """The files that the commands read."""
    import numpy as np

    for name, (samples, features, shift) in {
        "noise": (24, 30, 0.0),
        "wide": (60, 200, 0.9),
    }.items():
        generator = np.random.default_rng(7)
        labels = generator.permutation(samples) % 2
        values = generator.standard_normal((samples, features))
        values[:, :2] += shift * labels[:, None]
        header = ",".join([*(f"x{j}" for j in range(features)), "y"])
        np.savetxt(
            folder / f"{name}.csv",
            np.column_stack([values, labels]),
            "%.6g",
            ",",
            header=header,
            comments="",
        )
    (folder / "small.toml").write_text(SWEEP)


def run_command(name: str) -> Any:
    """The JSON that a command prints; of a sweep its results."""
    from chanceline.cli.main import run

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = run(
            [
                *COMMANDS[name].split(),
                "--json",
                *(["--quiet"] if _has_quiet(COMMANDS[name]) else []),
            ]
        )
    assert code == 0, f"{COMMANDS[name]}: exit code {code}"
    record = json.loads(printed.getvalue())
    if name == "sweep":
        from chanceline.experiments.store import Store

        with Store(Path("small.sqlite")) as store:
            kept = sorted(store.records(), key=lambda record: record.task.id)
            record["results"] = [[record.task.id, dict(record.result)] for record in kept]
    return record


def _has_quiet(command: str) -> bool:
    return command.split()[0] in {"search", "front", "test", "memory", "sweep"}


def sizes() -> Iterator[tuple[str, int]]:
    """How well a hundred searches do: numbers of variables of every method, errors on fronts.

    Which of several equally good supports is found is not compared: last digits decide that.
    """
    import numpy as np

    from chanceline import front, search
    from chanceline.perceptron.random_patterns import random_problem

    for method in ("auto", "tabu", "amp", "omp", "greedy-biht", "l1", "reweighted-l1", "exact"):
        for seed in range(6 if method in ("auto", "tabu") else 4):
            for inputs in ("binary", "gaussian"):
                n = 40 if method == "exact" else 64
                X, y = random_problem(n, 0.8, seed, inputs)
                found = search(X, y, method, seed=seed, intercept=seed % 2 == 1)
                yield f"{method}-{inputs}-{seed}", int(found.n_selected)
    for seed in range(8):
        generator = np.random.default_rng([5, seed])
        X, y = (
            generator.standard_normal((60, 150)),
            np.where(generator.permutation(60) % 2 == 0, 1.0, -1.0),
        )
        for point in front(X, y, max_features=5, seed=seed).points:
            yield (
                f"front-{seed}-{point.k}",
                int(point.errors),
            )


def without(keys: set[str], value: Any) -> Any:
    """The value without these keys of its dictionaries, at any depth."""
    if isinstance(value, dict):
        return {key: without(keys, item) for key, item in value.items() if key not in keys}
    if isinstance(value, list):
        return [without(keys, item) for item in value]
    return value


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Every place at which two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in old or key not in new:
                yield f"{where}/{key}: {'gone' if key in old else 'new'}"
            else:
                yield from differences(old[key], new[key], f"{where}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}/{place}")
    elif isinstance(old, float) and isinstance(new, int | float):
        if abs(old - new) > 1e-9 * max(1.0, abs(old), abs(new)):
            yield f"{where}: {old!r} → {new!r}"
    elif old != new:
        yield f"{where}: {str(old)[:300]} → {str(new)[:300]}"


def make(name: str) -> Any:
    """The record of that name, computed now."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            tables(Path(folder))
            if name == "sizes":
                record = dict(sizes())
            else:
                record = run_command(name)
            # As it comes back from a file: tuples are lists there.
            record = without(VOLATILE_OF.get(name, VOLATILE), json.loads(json.dumps(record)))
            if "separating" in record:
                record["separating"] = without(set(MARGIN_DIGITS), record["separating"])
            return record
        finally:
            os.chdir(before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*COMMANDS, "sizes"])
    parser.add_argument("--write", action="store_true", help="write the files anew")
    given = parser.parse_args()
    different = 0
    action: Callable[[Path, Any], list[str]] = _write if given.write else _compare
    for name in given.names:
        found = action(FOLDER / f"{name}.json", make(name))
        different += bool(found)
        print(
            f"{name}: {'different' if found else 'written' if given.write else 'equal'}",
            *found[:20],
            sep="\n    ",
            flush=True,
        )
    sys.exit(1 if different else 0)


def _write(path: Path, record: Any) -> list[str]:
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return []


def _compare(path: Path, record: Any) -> list[str]:
    return list(differences(json.loads(path.read_text(encoding="utf-8")), record))


if __name__ == "__main__":
    main()
