"""Data to stdout, messages and progress to stderr; the library's parameters become flags."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from chanceline._results import plain, visible
from chanceline.cli.flags import in_flags
from chanceline.cli.streams import shows


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object on stdout, the only thing printed there with --json."""
    text = json.dumps(plain(record), indent=2, ensure_ascii=False)
    # The escapes of JSON stand for the same letters, and what is unseen can be seen.
    faithful = shows(sys.stdout, text) and visible(text, keep="\n") == text
    print(text if faithful else json.dumps(plain(record), indent=2, ensure_ascii=True))


def show(text: str) -> None:
    """Text for people on stdout, names from outside in it."""
    print(visible(text, keep="\n"))


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    print(f"chanceline: {visible(in_flags(sentence))}", file=sys.stderr, flush=True)


def say(sentence: str) -> None:
    """A message that is not data, on stderr."""
    print(visible(in_flags(sentence), keep="\n"), file=sys.stderr, flush=True)
