"""Commands that the docs show without their output: in shell blocks and within sentences.

Those on a table are run; others, among them long ones (sweeps of hours, clusters) are read as the command line reads them.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

from chanceline.cli.main import build_app, main
from chanceline.experiments.sweeps import load_sweep

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What sentences write for a file, a name or the rest of a command.
STANDING_FOR = {
    "…": "",
    "STORE.sqlite": "a.sqlite",
    "FILE": "a.sqlite",
    "DIR": "folder",
    "COLUMN": "outcome",
}


def in_blocks() -> list[tuple[str, str]]:
    """Page and command, of every line of a shell block that calls the program."""
    return [
        (page, line.partition("#")[0].strip())
        for page, text in TEXTS.items()
        for language, body in BLOCK.findall(text)
        if language == "sh"
        for line in body.splitlines()
        if line.startswith("chanceline ")
    ]


def in_sentences() -> list[tuple[str, str]]:
    """Page and command, of every command with arguments in a line of text."""
    return [
        (page, found)
        for page, text in TEXTS.items()
        for found in re.findall(r"`(chanceline [^`\n]+)`", BLOCK.sub("", text))
    ]


def read(command: str) -> None:
    """Go through the words of a command as the program does, up to the point where it would begin to work."""
    words = shlex.split(command)[1:]
    found = get_command(build_app())
    context = found.make_context("chanceline", list(words), resilient_parsing=True)
    while words and hasattr(found, "resolve_command"):
        name, found, words = found.resolve_command(context, words)
        assert found is not None, command
        context = found.make_context(
            name, list(words), parent=context, resilient_parsing=hasattr(found, "resolve_command")
        )


RUN = sorted({command for _, command in in_blocks() if "data.csv" in command})


def test_there_are_commands():
    assert len(in_blocks()) > 10
    assert len(RUN) >= 3


@pytest.mark.parametrize(("page", "command"), in_blocks())
def test_commands_in_blocks_are_understood(page, command):
    read(command)


@pytest.mark.parametrize(
    "wrong",
    ["test data.csv --labell x", "sweep runn best", "search --random N=8,alpha=1 --budget many"],
)
def test_wrong_commands_are_seen(wrong):
    # Typer brings its own Click in some versions and not in others: the error is known by what it says.
    with pytest.raises(Exception, match=r"No such option|runn|valid integer"):
        read(f"chanceline {wrong}")


@pytest.mark.parametrize("command", RUN)
def test_commands_on_a_table_run(command, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        rng.normal(size=(30, 20)).round(3), columns=[f"gene{j}" for j in range(1, 21)]
    )
    table["outcome"] = np.where(table["gene1"] + table["gene7"] > 0, "case", "control")
    table.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)[1:]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 0
    assert capsys.readouterr().out
    for flag in ("--report", "--figure"):
        if flag in words:
            assert (tmp_path / words[words.index(flag) + 1]).stat().st_size > 0


LAB = re.findall(
    r"^chanceline (test .*?)  # (stops: )?(.*)$", TEXTS["docs/lab-tables.md"], re.MULTILINE
)


@pytest.mark.parametrize(("words", "stops", "said"), [
    pytest.param(*one, marks=[] if one[1] else pytest.mark.slow, id=one[0]) for one in LAB
])  # fmt: skip
def test_files_of_labs_go_to_the_verdict_shown(words, stops, said, real_data, monkeypatch, command):
    monkeypatch.chdir(real_data("golub38").parent)
    code, out, err = command(*shlex.split(words), "--quiet")
    assert code == (2 if stops else 0)
    # Before the verdict stand what the outcome is taken for, and checks that bear on the verdict.
    assert (said in err) if stops else f"\n{said}." in f"\n{out}"


@pytest.mark.parametrize(("page", "command"), in_sentences())
def test_commands_in_sentences_are_understood(page, command):
    for stands, meant in STANDING_FOR.items():
        command = command.replace(stands, meant)
    name, *flags = [word for word in shlex.split(command)[1:] if word != "COMMAND"]
    if all(word.startswith("-") for word in (name, *flags)):
        options = {
            option for parameter in get_command(build_app()).params for option in parameter.opts
        } | {"--help"}
        assert {name, *flags} <= options
        return
    found = get_command(build_app()).commands[name]
    if hasattr(found, "commands") and flags:
        found, flags = found.commands[flags[0]], flags[1:]
    known = {
        option
        for parameter in found.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {word for word in flags if word.startswith("-")} <= known


def test_flags_in_sentences_exist():
    app = get_command(build_app())
    inner = [sub for one in app.commands.values() for sub in getattr(one, "commands", {}).values()]
    commands = [app, *app.commands.values(), *inner]
    known = {
        option
        for one in commands
        for parameter in one.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    shown = {
        flag
        for page in ("README.md", "docs/prepare-your-table.md", "docs/chance-test.md", "docs/analyst.md", "docs/proofs.md",
                     "docs/command-line.md", "docs/search.md", "docs/explorer.md", "docs/memory.md")
        for span in re.findall(r"`(--?[a-zA-Z][^`\n]*)`", BLOCK.sub("", TEXTS[page]))
        for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", span)
    }  # fmt: skip
    assert len(shown) > 20
    assert shown - known == set()


def test_make_has_the_targets_shown():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    shown = {
        found
        for text in TEXTS.values()
        for found in re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)
    }
    assert {"demo", "test"} <= shown
    assert shown <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_the_sweep_shown_is_a_sweep(tmp_path):
    (shown,) = [
        body for language, body in BLOCK.findall(TEXTS["docs/experiments.md"]) if language == "toml"
    ]
    path = tmp_path / "my-sweep.toml"
    path.write_text(shown, encoding="utf-8")
    sweep = load_sweep(str(path))
    assert len(sweep.tasks) == 2 * 2 * 100
