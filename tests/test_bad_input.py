"""Bad command lines and bad calls, made from good ones: an ending that is documented, in one sentence, and never a hang."""

from __future__ import annotations

import io
import json
import shutil
import signal
import webbrowser
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import chanceline
from chanceline._results import Result, plain
from chanceline.cli.main import main
from chanceline.tables import load_data

FEW = settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
CPU_SECONDS = 30
SWEEP = """name = "tiny"
[[block]]
kind = "smallest"
trials = 2
grid = { n = [8], alpha = [0.5] }
fixed = { method = "omp" }
"""
LINES = (
    "solve -a 1.2 -r 0.5",
    "capacity 0.5 --json",
    "curve --points 3 --json",
    "bound -P 62 -N 2000 -M 3 --positives 40 --json",
    "plan -N 2000 -M 5 --balance 0.35 --json",
    "test data.csv --label class --permutations 9 --budget 20 -j 1 --quiet --json --errors 1",
    "test data.npz --permutations 0 --level 0.05 -j 1 --quiet --report out.html",
    "test data.csv --label class --sets sets.gmt --permutations 9 -j 1 --quiet --json --table out.csv",
    "search data.csv --label class --intercept --budget 20 --seed 1 --quiet --json",
    "search --random N=8,alpha=0.5,seed=1,inputs=gaussian --budget 20 --method omp --quiet --json",
    "front data.csv --label class --max-features 3 --budget 20 --quiet --json",
    "memory --neurons 8 --load 0.5 --budget 20 -j 1 --quiet --json",
    "memory --patterns patterns.npy --fan-in minimal --budget 20 -j 1 --quiet --save out.npz",
    "sweep run sweep.toml --store store.sqlite --trials 1 -j 1 --quiet",
    "sweep status sweep.toml --store store.sqlite --json",
    "sweep export store.sqlite --out out.csv",
    "sweep verify store.sqlite",
    "sweep plot paper-fig3 --out out.svg",
    "report store.sqlite --out out.html",
    "explore --no-open --out out.html",
)
WORDS = (
    "nan", "inf", "-inf", "1e12", "1e-12", "0", "1", "-1", "2", "0.5", "0.9999999999999999", "9223372036854775808", "", "abc",
    "None", "\x1b[31mred", "\udcff", "a,b", "N=8,alpha=inf", "N=0,alpha=1", "nowhere/x", ".", "data.csv", "data.npz",
    "store.sqlite", "patterns.npy", "cut.csv", "cut.npz", "cut.sqlite", "empty", "exact", "--json", "--help",
)  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 6))
Y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
CALLS = (
    (
        chanceline.chance_bound,
        {"n_samples": 40, "n_features": 100, "n_selected": 3, "positives": 20, "errors": 0},
    ),
    (chanceline.chance_size, {"n_samples": 40, "n_features": 100, "positives": 15, "errors": 0}),
    (
        chanceline.largest_convincing,
        {"n_samples": 40, "n_features": 100, "positives": 20, "level": 0.05, "errors": 0},
    ),
    (
        chanceline.samples_needed,
        {"n_features": 100, "n_selected": 3, "balance": 0.4, "level": 0.05, "errors": 0},
    ),
    (chanceline.capacity, {"rho": 0.5, "ansatz": "rs", "balance": 0.5, "margin": 0.0}),
    (chanceline.density, {"alpha": 1.0}),
    (chanceline.capacity_curve, {"rhos": [0.2, 0.5]}),
    (chanceline.solve, {"alpha": 1.2, "rho": 0.5, "ansatz": "rs"}),
    (
        chanceline.search,
        {"X": X, "y": Y, "method": "auto", "budget": 20, "seed": 0, "intercept": True},
    ),
    (chanceline.front, {"X": X, "y": Y, "max_features": 3, "budget": 50, "seed": 0}),
    (
        chanceline.separation_test,
        {"X": X, "y": Y, "features": None, "permutations": 9, "budget": 20, "level": 0.05},
    ),
    (
        chanceline.set_tests,
        {
            "table": "data.csv",
            "sets": {"s": ["a", "b"]},
            "label": "class",
            "permutations": 9,
            "level": 0.05,
        },
    ),
    (
        chanceline.AssociativeMemory,
        {"n_neurons": 8, "fan_in": 0.5, "wiring": "selected", "seed": 0, "budget": 20},
    ),
    (load_data, {"path": "data.csv", "label": "class"}),
)
VALUES = (
    0,
    1,
    -1,
    2,
    0.5,
    40.5,
    1e308,
    1e-9,
    np.nan,
    np.inf,
    2**63,
    np.float32(0.3),
    None,
    "",
    "abc",
    "nowhere.csv",
    [],
)


def put(value: float) -> Any:
    spoiled = X.copy()
    spoiled[3, 2] = value
    return spoiled


ARRAYS = (
    put(np.nan),
    put(np.inf),
    put(1e308),
    X * 1e-200,
    X + 1e15,
    X * 0,
    X > 0,
    X.astype(str),
    X[:0],
    X[:, :0],
    X[0],
    X[:7],
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that the good command lines name, and damaged ones."""
    folder = tmp_path_factory.mktemp("files")
    rows = [
        ",".join([*map(repr, map(float, x)), "ab"[int(label > 0)]])
        for x, label in zip(X, Y, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(["a,b,c,d,e,f,class", *rows, ""]))
    np.savez(folder / "data.npz", X=X, y=Y)
    np.save(folder / "patterns.npy", RNG.choice([-1, 1], size=(3, 8)))
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "sets.gmt").write_text("s\t\ta\tb\nt\t\tc\tx\n")
    (folder / "empty").touch()
    with chdir(folder):
        assert (
            run(["sweep", "run", "sweep.toml", "--store", "store.sqlite", "-j", "1", "--quiet"])[0]
            == 0
        )
    for name in ("data.csv", "data.npz", "store.sqlite"):
        content = (folder / name).read_bytes()
        (folder / f"cut.{name.partition('.')[2]}").write_bytes(content[: len(content) // 2])
    return folder


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """No browser opens."""
    monkeypatch.setattr(webbrowser, "open", lambda url: False)


@contextmanager
def fresh(files: Path) -> Iterator[Path]:
    """Work in a copy of the files, so that no case sees what another has done."""
    with TemporaryDirectory() as folder:
        shutil.copytree(files, folder, dirs_exist_ok=True)
        with chdir(folder):
            yield Path(folder)


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError("the case took too long")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run(words: list[str]) -> tuple[object, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), limited(), pytest.raises(SystemExit) as stop:
        main(words)
    return stop.value.code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("line", LINES)
def test_good_command_lines(line, files):
    with fresh(files):
        code, out, err = run(line.split())
    assert code == 0, err
    assert "--json" not in line or json.loads(out)


@FEW
@given(line=st.sampled_from(LINES), place=st.integers(1, 20), word=st.sampled_from(WORDS))
def test_bad_command_lines(files, line, place, word):
    words = line.split()
    words[1 + place % (len(words) - 1)] = word
    with fresh(files) as folder:
        code, out, err = run(words)
        assert not list(folder.glob(".chanceline-*"))
    assert code in (0, 1, 2, 3)
    assert "internal error" not in err, err
    assert err.count("chanceline: ") == (code != 0) or "Usage:" in out + err
    assert not set(out + err) & set("\x1b\udcff")


@pytest.mark.parametrize(("function", "arguments"), CALLS)
def test_good_calls(function, arguments, files):
    with fresh(files):
        assert function(**arguments) is not None


@FEW
@given(
    call=st.sampled_from(CALLS),
    place=st.integers(0, 7),
    value=st.sampled_from(VALUES),
    array=st.integers(0, len(ARRAYS) - 1),
)
def test_bad_calls(files, call, place, value, array):
    """An ordinary exception, or a result that can be shown, stored and whose weights are numbers."""
    function, good = call
    name = list(good)[place % len(good)]
    result = None
    with (
        fresh(files),
        limited(),
        suppress(chanceline.ChancelineError, ValueError, TypeError, OverflowError, OSError),
    ):
        result = function(
            **{**good, name: ARRAYS[array] if isinstance(good[name], np.ndarray) else value}
        )
    if isinstance(result, Result):
        assert "\n" not in repr(result)
        assert json.dumps(plain(result.to_dict()), allow_nan=False)
    weights = getattr(getattr(result, "separating", result), "weights", 0.0)
    # Of a solution of the theory they are a law, which a method gives.
    assert callable(weights) or np.all(np.isfinite(weights))
