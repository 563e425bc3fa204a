"""Runs what the README and the docs show in a terminal, so that what is shown is real.

A ```console block holds commands after `$ ` and what they print; a ```python block is run, and a ```text block right after
it is what it prints. In expected output `...` stands for anything. Blocks of one page run in order, in one empty folder.
A comment before a block, `<!-- not run: why -->`, takes it out. Blocks of other languages (```sh, ```toml) are only shown.

    python scripts/examples.py            runs everything and says what differs
    python scripts/examples.py --write    puts the real output into the pages
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(
    r"(?:<!-- (?P<note>not run: [^>]+?) -->\n+)?```(?P<language>console|python|text)[^\n]*\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
# How large a rounding error is differs between machines.
ROUNDING = re.compile(r"\b(?:\d\.\de-1\d|0\.0e\+00)\b")


@dataclass(frozen=True)
class Block:
    """One fenced block and where it stands in its page."""

    language: str
    body: str
    note: str
    start: int
    end: int


@dataclass(frozen=True)
class Step:
    """Something to run and what the page says it prints (None: says nothing)."""

    language: str
    code: str
    expected: str | None
    note: str
    span: tuple[int, int]


def pages() -> list[Path]:
    """The README and every page of the docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(text: str) -> list[Block]:
    return [
        Block(
            found["language"],
            found["body"],
            found["note"] or "",
            found.start("body"),
            found.end("body"),
        )
        for found in FENCE.finditer(text)
    ]


def steps(text: str) -> Iterator[Step]:
    """Commands and Python blocks in the order of the page."""
    found = blocks(text)
    for position, block in enumerate(found):
        if block.language == "console":
            yield from _commands(block)
        elif block.language == "python":
            following = found[position + 1] if position + 1 < len(found) else None
            if (
                following
                and following.language == "text"
                and text[block.end : following.start].strip() == "```\n\n```text"
            ):
                yield Step(
                    "python",
                    block.body,
                    following.body,
                    block.note,
                    (following.start, following.end),
                )
            else:
                yield Step("python", block.body, None, block.note, (block.end, block.end))


def _commands(block: Block) -> Iterator[Step]:
    starts = [found.start() for found in re.finditer(r"^\$ ", block.body, re.MULTILINE)]
    if not starts or starts[0] != 0:
        raise ValueError(f"a console block begins with `$ `, not with {block.body[:40]!r}")
    for begin, end in zip(starts, [*starts[1:], len(block.body)], strict=True):
        command, _, output = block.body[begin:end].partition("\n")
        place = block.start + begin + len(command) + 1
        yield Step("console", command[2:], output, block.note, (place, place + len(output)))


def run_command(command: str) -> str:
    """What a command prints on stdout, or its one sentence on stderr when there is nothing on stdout."""
    words = shlex.split(command)
    if words[0] == "chanceline":
        return run_chanceline(words[1:])
    if words[0] == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in words[1:])
    if words[0] == "python":
        done = subprocess.run(
            [sys.executable, *words[1:]], capture_output=True, text=True, check=True
        )
        return done.stdout
    raise ValueError(
        f"only chanceline, python and cat can be shown in a console block, not {command!r}; use ```sh"
    )


def run_chanceline(arguments: list[str]) -> str:
    from chanceline.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        main(arguments)
    return out.getvalue() or err.getvalue()


def run_python(code: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<example>", "exec"), names)
    return out.getvalue()


def matches(expected: str, output: str) -> bool:
    """Equal up to trailing blanks and to sizes of rounding errors; `...` matches anything."""

    def tidy(text: str) -> str:
        text = ROUNDING.sub("rounding", text)
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())

    pattern = re.escape(tidy(expected)).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, tidy(output), re.DOTALL) is not None


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def run_page(text: str) -> Iterator[tuple[Step, str]]:
    """Run a page's steps in an empty folder."""
    names: dict[str, object] = {"__name__": "example"}
    with empty_folder():
        for step in steps(text):
            if step.note:
                continue
            yield (
                step,
                run_command(step.code)
                if step.language == "console"
                else run_python(step.code, names),
            )


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples of the README and the docs.")
    parser.add_argument("--write", action="store_true", help="put the real output into the pages")
    parser.add_argument("pages", nargs="*", type=Path, help="these pages only")
    options = parser.parse_args()
    os.environ.update(NO_COLOR="1", COLUMNS="120", MPLBACKEND="Agg")
    differing = 0
    for page in [path.resolve() for path in options.pages] or pages():
        text = page.read_text(encoding="utf-8")
        edits = []
        for step, output in run_page(text):
            if step.expected is not None and not matches(step.expected, output):
                differing += 1
                print(f"{page.relative_to(ROOT)}: {step.code.splitlines()[0]}")
                edits.append((step.span, output.rstrip("\n") + "\n"))
        if options.write:
            for (begin, end), output in reversed(edits):
                text = text[:begin] + output + text[end:]
            page.write_text(text, encoding="utf-8")
    return 0 if options.write else min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
