"""From the bytes of a file to its text: compression, encoding, and files that are no text.

A small file can be made so that it unpacks to more than any memory holds: what is unpacked has a
limit.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from typing import IO, Any

from chanceline.errors import InputError

ZIP = b"PK\x03\x04"
# First bytes of compressed files, and what opens them.
OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
}
# What is unpacked may have so many times the file's size, or so many bytes if that is more. Tables
# become five to fifty times as large; a file made to fill the memory becomes a thousand times.
MAX_UNPACKING_RATIO = 200
MIN_UNPACKED_LIMIT = 256 << 20
# First bytes of files that hold tables but are not read, and what to do about them.
REFUSED_SIGNATURES = {
    b"\xd0\xcf\x11\xe0": "is an Excel file of the old kind; save it as .xlsx or CSV.",
    b"\x89HDF": "is an HDF5 file (as .h5 or .mat are); save the table as CSV, Parquet, .npz or "
    ".h5ad.",
    b"\x93NUMPY": "holds one array only; save X and y together with numpy.savez as .npz.",
    b"RDX": "is a file of R; save the table with write.csv.",
    b"%PDF": "is a PDF; export the table as CSV or .xlsx.",
}
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
CHECKED_FOR_ZEROS = 1000  # letters: a file that is no text has a zero among them


def is_workbook(raw: bytes) -> bool:
    """Whether the bytes are those of an Excel file (.xlsx), which is an archive."""
    return raw.startswith(ZIP) and b"xl/workbook.xml" in raw


def decompress(raw: bytes, name: str) -> bytes:
    """The content of a file compressed by gzip, bzip2, xz or zip; of any other file its own bytes.

    The compression is recognized by the first bytes. A zip archive must hold exactly one file.
    Excel files, which are zip archives too, must be recognized before this is called.

    Parameters
    ----------
    raw : the bytes of the file.
    name : the name of the file, for error messages.
    """
    # A small file may unpack to more than any memory holds, so that the size is limited.
    for first_bytes, open_packed in OPENERS.items():
        if raw.startswith(first_bytes):
            with open_packed(io.BytesIO(raw)) as file:
                return _read_unpacked(file, name, limit=unpacked_limit(len(raw)))
    if not raw.startswith(ZIP):
        return raw
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = archive.namelist()
        if len(members) != 1:
            raise InputError(
                f"{name} holds {len(members)} files and is no .xlsx; give one table as .xlsx, CSV "
                "or .npz."
            )
        with archive.open(members[0]) as file:
            return _read_unpacked(file, name, limit=unpacked_limit(len(raw)))


def unpacked_limit(packed_size: int) -> int:
    """The most bytes that a packed file of so many bytes may unpack to."""
    return max(MIN_UNPACKED_LIMIT, MAX_UNPACKING_RATIO * packed_size)


def _read_unpacked(file: IO[bytes], name: str, limit: int) -> bytes:
    """The content of a packed file; more than `limit` bytes are an error."""
    content = file.read(limit + 1)
    if len(content) > limit:
        raise InputError(f"{name} {too_large_sentence(limit)}")
    return content


def too_large_sentence(limit: int) -> str:
    """The end of an error message about a packed file whose content exceeds the limit (bytes)."""
    return (
        f"unpacks to more than {limit >> 20:,} MB, far more than its size lets expect; if it is a "
        "table indeed, unpack it first."
    )


def decode(raw: bytes, name: str) -> str:
    """The text of a file, with `\\n` at all line ends; bytes that are no text are an error.

    UTF-16 is recognized by its byte order mark. Anything else is UTF-8 or, if that fails, Latin-1.

    Parameters
    ----------
    raw : the bytes of the file, not compressed.
    name : the name of the file, for error messages.
    """
    # Refuse files of other formats, which are known by their first bytes.
    for first_bytes, reason_and_remedy in REFUSED_SIGNATURES.items():
        if raw.startswith(first_bytes):
            raise InputError(f"{name} {reason_and_remedy}")

    encoding = "utf-8-sig"
    if raw[:2] in UTF16_MARKS:
        encoding = "utf-16"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode("latin-1")  # which decodes any bytes

    if "\x00" in text[:CHECKED_FOR_ZEROS]:
        raise InputError(
            f"{name} is not a text table; give CSV, Parquet (.parquet), Excel (.xlsx) or .npz."
        )
    if not text or text.isspace():
        raise InputError(f"{name} is empty.")
    return text.replace("\r\n", "\n").replace("\r", "\n")
