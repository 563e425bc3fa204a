"""Data to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from chanceline.results import plain


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object on stdout, the only thing printed there with --json."""
    print(json.dumps(plain(record), indent=2, ensure_ascii=False))


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    print(f"chanceline: {sentence}", file=sys.stderr)


def say(sentence: str) -> None:
    """A message that is not data, on stderr."""
    print(sentence, file=sys.stderr, flush=True)
