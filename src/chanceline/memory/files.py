"""A memory as one .npz file: plain arrays and a line of JSON, nothing that could run code when read."""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._io import write_bytes
from chanceline.errors import InputError

FORMAT = "chanceline memory 1"

# What a damaged file makes NumPy, zipfile and JSON raise; the header of an array is parsed as Python.
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, SyntaxError, RuntimeError, MemoryError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def write_memory(path: Path, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the file whole or not at all."""
    content = io.BytesIO()
    named: dict[str, Any] = {"settings": np.array(json.dumps({"format": FORMAT, **settings})), **arrays}
    np.savez_compressed(content, **named)
    write_bytes(path, content.getvalue())


def read_memory(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of a file that `write_memory` wrote."""
    content = Path(path).read_bytes()
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop("settings")))
        if settings.pop("format") != FORMAT:
            raise ValueError("another format")
    except DAMAGED as error:
        raise InputError(f"{path} is not a memory written by save ({error}).") from error
    return settings, arrays
