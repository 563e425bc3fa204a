"""Messages: the library's parameters become flags, and what is unseen is written out."""

import json

import pytest

from chanceline.cli.output import complain, print_json, say


def test_messages_show_what_is_hidden(capsys):
    complain("no column 'a\x1b[2Jb\u202ec\nd'")
    say("found 'a\x1b[2J'\nand more")
    assert capsys.readouterr().err == "chanceline: no column 'a\\x1b[2Jb\\u202ec\\nd'\nfound 'a\\x1b[2J'\nand more\n"


def test_messages_name_flags(capsys):
    complain("values are missing; choose missing='median'")
    assert capsys.readouterr().err == "chanceline: values are missing; choose --missing median\n"


@pytest.mark.parametrize("name", ["plain", "β", "\u202ehidden", "\U000e0041", "\x1b[1m", "\udcff"])
def test_json_says_the_same_without_hidden_characters(capsys, name):
    print_json({"name": name})
    text = capsys.readouterr().out
    assert json.loads(text) == {"name": name}
    assert not set(text) & set("\u202e\U000e0041\x1b\udcff")
