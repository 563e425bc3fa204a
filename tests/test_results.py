"""What every result shares: plain values for JSON, and names from outside that cannot play tricks."""

import json
import unicodedata
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from chanceline._results import Result, plain, visible


def test_plain_values():
    record = plain(
        {"a": np.arange(3), 1: (np.float64(0.5), float("nan"), np.inf), "b": np.bool_(True)}
    )
    assert json.loads(json.dumps(record)) == {"a": [0, 1, 2], "1": [0.5, None, None], "b": True}


@pytest.mark.parametrize(("text", "shown"), [
    ("gène α ≤ β 基因 🧬", "gène α ≤ β 基因 🧬"),
    ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
    ("\x9b31m", r"\x9b31m"),
    ("age\u202egpj.exe", r"age\u202egpj.exe"),
    ("a\u2066b\u2069\u200fc\u061c", r"a\u2066b\u2069\u200fc\u061c"),
    ("a\u200bb\ufeff", r"a\u200bb\ufeff"),
    ("a\nb\r\u2028\t", r"a\nb\r\u2028\t"),
    ("\udcff.csv", r"\udcff.csv"),
    ("\U000e0041", r"\U000e0041"),
])  # fmt: skip
def test_hidden_characters_are_written_out(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


def test_every_character_that_turns_or_hides_is_caught():
    turning = [chr(code) for code in range(0x110000) if unicodedata.bidirectional(chr(code)) in {
        "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}]  # fmt: skip
    assert len(turning) == 9
    for character in [*turning, *map(chr, range(32)), *map(chr, range(127, 160))]:
        assert character not in visible(f"a{character}b")


def test_what_is_kept_is_kept():
    assert visible("one\ntwo\x1b", keep="\n") == "one\ntwo\\x1b"


def test_a_former_name_works_with_a_warning_and_stays_a_key():
    @dataclass(frozen=True, repr=False)
    class Renamed(Result):
        majority_error: float
        kind = "exact"
        _former = MappingProxyType({"guess": "majority_error"})

        def summary(self):
            return "one number"

    renamed = Renamed(0.25)
    with pytest.warns(DeprecationWarning, match=r"Renamed\.guess is now Renamed\.majority_error"):
        assert renamed.guess == 0.25
    assert renamed.to_dict() == {"majority_error": 0.25, "kind": "exact", "guess": 0.25}
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = renamed.nonsense
