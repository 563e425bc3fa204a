"""A memory as one .npz file: plain arrays and a line of JSON, nothing that could run code when read."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError
from chanceline.files import write_bytes

FORMAT = "chanceline memory 1"


def write_memory(path: Path, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the file whole or not at all."""
    content = io.BytesIO()
    named: dict[str, Any] = {"settings": np.array(json.dumps({"format": FORMAT, **settings})), **arrays}
    np.savez_compressed(content, **named)
    write_bytes(path, content.getvalue())


def read_memory(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of a file that `write_memory` wrote."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop("settings")))
        if settings.pop("format") != FORMAT:
            raise ValueError("another format")
    except OSError as error:
        raise InputError(f"No memory could be read from {path} ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a memory written by save ({error}).") from error
    return settings, arrays
