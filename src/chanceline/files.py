"""Files that are either whole or not there: written under a temporary name in the same folder, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from chanceline.errors import InputError


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once; an older file of that name stays whole until the new one replaces it."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist")
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; name a file")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except PermissionError:
        raise InputError(f"cannot write {path}: no permission to write into {path.parent}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_text(path: Path, content: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, content.encode("utf-8"))


def make_folder(path: Path) -> Path:
    """The folder, made if it is not there."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot write into {path}: a file of that name is in the way") from None
    except PermissionError:
        raise InputError(f"cannot make the folder {path}: no permission") from None
    return path
