"""What holds for every command: help with an example that parses, --json, exit codes, quiet pipes, no colour when not wanted."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from chanceline.cli.main import build_app, main

APP = get_command(build_app())


def walk(command, path=()):
    """Every command that does something, with its path."""
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from walk(child, (*path, name))


COMMANDS = {" ".join(path): command for path, command in walk(APP)}


def examples(command) -> list[str]:
    return re.findall(
        r"^Example: (?:\[bold\])?(chanceline [^\[\n]+)", command.help or "", re.MULTILINE
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_of_this_very_command_that_parses(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = examples(COMMANDS[name])
    assert found, "no line `Example: chanceline …` in its help"
    for example in found:
        assert example.startswith(f"chanceline {name}")
        arguments = shlex.split(example)[1 + len(name.split()) :]
        # Parsing checks options and types, and runs nothing.
        assert COMMANDS[name].make_context(name, arguments).params


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_and_json_is_there(name):
    options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert "--json" in options
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), f"{parameter.name} has no help"


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_option_is_one_sentence_and_exit_code_2(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*name.split(), "--no-such-option"])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.out == ""
    assert captured.err.startswith("chanceline: ")
    assert captured.err.count("\n") == 1


def test_no_color_is_honoured():
    colour = re.compile(r"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])(?:;[0-9]+)*m")

    def help_with(**variables: str) -> str:
        settings = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color", **variables}
        return subprocess.run(
            [sys.executable, "-m", "chanceline", "--help"],
            capture_output=True,
            text=True,
            env=settings,
        ).stdout

    assert colour.search(help_with())
    assert not colour.search(help_with(NO_COLOR="1"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell):
    variables = {**os.environ, "_CHANCELINE_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "chanceline ca",
                 "_TYPER_COMPLETE_FISH_ACTION": "get-args", "COMP_WORDS": "chanceline ca", "COMP_CWORD": "1"}  # fmt: skip
    program = Path(sys.executable).with_name("chanceline")
    done = subprocess.run([program], capture_output=True, text=True, env=variables, check=True)
    assert "capacity" in done.stdout
