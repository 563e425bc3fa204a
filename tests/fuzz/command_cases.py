"""Bad command lines, mutated from good ones by a seed: odd values, odd options, missing words, damaged files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from typer.main import get_command

from chanceline.cli.main import build_app

GOOD = (
    "solve -a 1.2 -r 0.5",
    "solve -a 0.8 -r 0.5 --json",
    "capacity 0.5",
    "capacity 0.5 --json",
    "density 1.0",
    "curve --points 3 --json",
    "curve --points 2 --out out.csv",
    "bound -P 62 -N 2000 -M 3 --positives 40 --json",
    "bound -P 30 -N 50 -M 2 --null coin --errors 2",
    "plan -P 62 -N 2000 --positives 40",
    "plan -N 2000 -M 5 --balance 0.35 --json",
    "test data.csv --label class --permutations 9 --budget 20 --workers 1 --quiet",
    "test data.csv --label class --permutations 9 --budget 20 --workers 1 --quiet --json --errors 1",
    "test data.npz --permutations 0 --workers 1 --quiet --json",
    "test hostile.csv --label class --permutations 9 --budget 20 --workers 1 --quiet",
    "test hostile.csv --label class --permutations 9 --budget 20 --workers 1 --quiet --report out.html",
    "search data.csv --label class --intercept --budget 20 --quiet --json",
    "search hostile.csv --label class --intercept --budget 20 --quiet",
    "search data.npz --intercept --budget 20 --quiet --method omp",
    "search --random N=8,alpha=0.5,seed=1,inputs=gaussian --budget 20 --quiet --json",
    "front data.csv --label class --max-features 3 --budget 20 --quiet --json",
    "front hostile.csv --label class --max-features 3 --budget 20 --quiet",
    "memory --neurons 8 --load 0.5 --budget 20 --workers 1 --quiet --json",
    "memory --patterns patterns.npy --fan-in minimal --budget 20 --workers 1 --quiet",
    "memory --patterns patterns.csv --fan-in 0.5 --budget 20 --workers 1 --quiet --save out.npz",
    "sweep status sweep.toml --store store.sqlite --json",
    "sweep run sweep.toml --store store.sqlite --workers 1 --quiet",
    "sweep export store.sqlite --out out.csv",
    "sweep merge merged.sqlite store.sqlite",
    "sweep verify store.sqlite",
    "sweep plot paper-fig3 --out out.svg",
    "report store.sqlite --out out.html",
    "report folder --out out.html",
    "explore --no-open --out out.html",
    "reproduce --quick --quiet --out folder",
)
WORDS = (
    "nan", "inf", "-inf", "1e308", "-1e308", "1e-309", "5e-324", "-5e-324", "0.9999999999999999", "1.0000000000000002", "0", "1",
    "-1", "2", "0.5", "-0.0", "9223372036854775808", "-9223372036854775809", "1" + "0" * 40, "1e400", "1_000", "0x10", "١٢", "½",
    "", " ", "-", "--", "abc", "None", "true", "\x1b[31mred", "a\u202eb", "\udcff", "a\nb", "a,b", "N=8,alpha=inf",
    "N=8,alpha=nan", "N=0,alpha=1", "N=8,P=0", "N=8,alpha=1e308", "../x", "/", "/dev/null", "/dev/full",
    "/proc/self/mem", "nowhere/x", ".",
    "x" * 300, "data.csv", "data.npz", "store.sqlite", "patterns.npy", "folder", "pipe", "circle", "class", "1rsb", "full",
    "coin", "exact", "auto", "biht", "reweighted-l1", "median", "%s%n", "$(x)", "tcp://127.0.0.1:1",
)  # fmt: skip
SWEEP = """name = "tiny"
description = "a few small problems"

[[block]]
kind = "smallest"
trials = 2
grid = { n = [8], alpha = [0.5] }
fixed = { method = "omp" }
"""
APP = get_command(build_app())


def make_files(folder: Path) -> None:
    """The files that the good command lines name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 6))
    y = np.where(X[:, 0] - X[:, 1] > 0, 1, -1)
    for name, odd in (("data", "f"), ("hostile", "f\x1b[31m\u202e")):
        header = ",".join([*(f"{odd}{j}" for j in range(6)), "class"])
        rows = [",".join([*map(repr, map(float, x)), "ab"[int(label > 0)]]) for x, label in zip(X, y, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    np.savez(folder / "data.npz", X=X, y=y)
    patterns = rng.choice([-1, 1], size=(3, 8))
    np.save(folder / "patterns.npy", patterns)
    np.savetxt(folder / "patterns.csv", patterns, delimiter=",", fmt="%d")
    (folder / "sweep.toml").write_text(SWEEP)
    (folder / "folder").mkdir()
    (folder / "folder" / "numbers.csv").write_text("quantity,value,error,source,paper\nx,1,,y,\n")
    (folder / "folder" / "provenance.json").write_text('{"figures": [], "mode": "quick", "packages": {"chanceline": "0"}}')
    (folder / "circle").symlink_to("circle")
    os.mkfifo(folder / "pipe")


def parameters_of(words: list[str]) -> list[Any]:
    """What the parser knows of the command that the words name."""
    command: Any = APP
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return list(command.params)


def mutate(rng: Random, folder: Path) -> list[str]:
    """One bad command line; files it damages are made in `folder`."""
    words = rng.choice(GOOD).split()
    start = 2 if words[0] == "sweep" else 1
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        words = rng.choice(MUTATIONS)(rng, words, start, folder)
    return words


def _other_value(rng: Random, words: list[str], start: int, _: Path) -> list[str]:
    places = [place for place in range(start, len(words)) if not words[place].startswith("--")]
    if not places:
        return [*words, rng.choice(WORDS)]
    place = rng.choice(places)
    return [*words[:place], rng.choice(WORDS), *words[place + 1 :]]


def _glued_value(rng: Random, words: list[str], start: int, _: Path) -> list[str]:
    """--option=value, which lets values begin with a hyphen."""
    options = [place for place in range(start, len(words) - 1) if words[place].startswith("--")]
    if not options:
        return words
    place = rng.choice(options)
    return [*words[:place], f"{words[place]}={rng.choice(WORDS)}", *words[place + 2 :]]


def _another_option(rng: Random, words: list[str], start: int, _: Path) -> list[str]:
    known = parameters_of(words[:start])
    if not known:  # a group whose command is gone
        return [*words, rng.choice(WORDS)]
    parameter = rng.choice(known)
    options = [*parameter.opts, *parameter.secondary_opts]
    option = [rng.choice(options)] if options[0].startswith("-") else []
    value = [] if getattr(parameter, "is_flag", False) and rng.random() < 0.9 else [rng.choice(WORDS)]
    return [*words, *option, *value]


def _missing_word(rng: Random, words: list[str], start: int, _: Path) -> list[str]:
    place = rng.randrange(start - 1, len(words))
    return words[:place] + words[place + 1 :]


def _swapped_words(rng: Random, words: list[str], start: int, _: Path) -> list[str]:
    if len(words) - start < 2:
        return words
    one, two = rng.sample(range(start, len(words)), 2)
    words = list(words)
    words[one], words[two] = words[two], words[one]
    return words


def _damaged_file(rng: Random, words: list[str], start: int, folder: Path) -> list[str]:
    names = {path.name for path in folder.iterdir() if not path.is_symlink() and path.is_file()}
    places = [place for place in range(start, len(words)) if words[place] in names]
    if not places:
        return _other_value(rng, words, start, folder)
    place = rng.choice(places)
    good = folder / words[place]
    damaged = good.with_name(f"damaged{good.suffix}")
    damaged.write_bytes(damage(rng, good.read_bytes()))
    return [*words[:place], damaged.name, *words[place + 1 :]]


def damage(rng: Random, content: bytes) -> bytes:
    """Cut, change, repeat or drop some of it, or put odd cells into a table."""
    kind = rng.randrange(7)
    if kind == 0 or not content:
        return b""
    place = rng.randrange(len(content))
    if kind == 1:
        return content[:place]
    if kind == 2:
        return content[:place] + bytes([rng.randrange(256)]) + content[place + 1 :]
    if kind == 3:
        return content[:place] + rng.randbytes(20) + content[place:]
    if kind == 4:
        return content[place:]
    cells = (b"1e308", b"1e-309", b"-1e308", b"nan", b"inf", b"", b"text", b"1" + b"0" * 400, b'"', b"\x00", b"\xff", b"1,5")
    parts = content.replace(b"\n", b",\n").split(b",")
    for _ in range(rng.choice((1, 5, len(parts)))):
        parts[rng.randrange(len(parts))] = rng.choice(cells)
    return b",".join(parts).replace(b",\n", b"\n")


Mutation = Callable[[Random, list[str], int, Path], list[str]]
MUTATIONS: tuple[Mutation, ...] = (
    _other_value, _other_value, _other_value, _glued_value, _another_option, _another_option, _missing_word, _swapped_words,
    _damaged_file, _damaged_file,
)  # fmt: skip


def fresh_copy(good: Path, target: Path) -> None:
    """The good files once more, so that no case sees what another has done."""
    target.mkdir()
    for path in good.iterdir():
        if path.is_symlink():
            (target / path.name).symlink_to(os.readlink(path))
        elif path.is_fifo():
            os.mkfifo(target / path.name)
        elif path.is_dir():
            shutil.copytree(path, target / path.name)
        else:
            shutil.copyfile(path, target / path.name)
