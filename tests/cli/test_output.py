"""What goes to stderr and stdout: flags instead of parameters, nothing unseen, progress in a pipe and in a terminal."""

import json

import numpy as np
import pandas as pd
import pytest

from chanceline.cli.flags import in_flags
from chanceline.cli.terminal import (
    complain,
    print_json,
    progress_bar,
    say,
    show,
    status_line,
)


def test_messages_show_what_is_hidden_and_name_flags(capsys):
    complain("no column 'a\x1b[2Jb\u202ec\nd'; choose missing='median'")
    say("found 'a\x1b[2J'\nand more")
    assert capsys.readouterr().err == (
        "chanceline: no column 'a\\x1b[2Jb\\u202ec\\nd'; choose --missing median\nfound 'a\\x1b[2J'\nand more\n"
    )


@pytest.mark.parametrize(("sentence", "told"), [
    ("choose missing='rows' or missing='median'.", "choose --missing rows or --missing median."),
    ("set na='<LOD' if that", "set --na '<LOD' if that"),
    ("set transpose=True (and labels=FILE if", "set --transpose (and --labels FILE if"),
    ("with drop='the \"b\"'.", "with --drop 'the \"b\"'."),
    ("permutations=199.", "--permutations 199."),
    ("intercept=False", "--no-intercept"),
    ("write N=256,alpha=1,seed=0", "write N=256,alpha=1,seed=0"),
    ("the_level=3 and x.na=4 and grid=5", "the_level=3 and x.na=4 and grid=5"),
])  # fmt: skip
def test_parameters_become_flags(sentence, told):
    assert in_flags(sentence) == told


@pytest.mark.parametrize("name", ["plain", "β", "\u202ehidden", "\U000e0041", "\x1b[1m", "\udcff"])
def test_json_says_the_same_without_hidden_characters(capsys, name):
    print_json({"name": name})
    text = capsys.readouterr().out
    assert json.loads(text) == {"name": name}
    assert not set(text) & set("\u202e\U000e0041\x1b\udcff")


def test_quiet_is_quiet(capsys):
    with progress_bar("things", quiet=True) as progress, status_line(quiet=True) as tell:
        assert (progress, tell) == (None, None)
    assert capsys.readouterr() == ("", "")


def test_a_pipe_gets_a_line_now_and_then(capsys):
    progress_of_things = progress_bar("things", quiet=False, line_seconds=0.0)
    with progress_of_things as progress, status_line(quiet=False) as tell:
        progress(3, 30)
        tell("12 variables")
    assert capsys.readouterr() == ("", "things: 3 of 30\n12 variables\n")


def test_long_lines_are_wrapped_and_long_names_are_not_cut(capsys):
    name = "gene" * 30
    show(f"short\n  {'word ' * 30}\n  {name}")
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "short"
    assert lines[0].startswith("  word")
    assert all(len(line) <= 100 for line in lines[:-1])
    assert lines[-1].strip() == name


@pytest.mark.parametrize("arguments", [("test", "-j", 1, "--table"), ("search", "--out")])
def test_no_name_becomes_a_formula_in_exported_csv(command, tmp_path, arguments):
    formula = '=HYPERLINK("http://x";"g")'
    generator = np.random.default_rng(3)
    labels = np.arange(30) % 2
    table = pd.DataFrame({formula: labels + 0.1 * generator.random(30), "y": labels})
    source, exported = tmp_path / "table.csv", tmp_path / "exported.csv"
    table.to_csv(source, index=False)
    name, *options = arguments
    code, _, err = command(name, source, "--label", "y", "-q", *options, exported)
    assert code == 0, err
    assert pd.read_csv(exported)["feature"][0] == f"'{formula}"
