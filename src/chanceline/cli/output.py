"""Data to stdout, messages and progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Turn NumPy scalars and arrays, tuples and non-finite numbers into what JSON can hold (NaN and ±∞ → null)."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object on stdout, the only thing printed there with --json."""
    print(json.dumps(plain(record), indent=2, ensure_ascii=False))


def complain(sentence: str) -> None:
    """One sentence on stderr."""
    print(f"chanceline: {sentence}", file=sys.stderr)


def say(sentence: str) -> None:
    """A message that is not data, on stderr."""
    print(sentence, file=sys.stderr, flush=True)
