"""Standard output and error that do not fail: closed, read by nobody any more, or unable to show a letter.

A reader that has seen enough (`| head`) is no error: the rest of the output is dropped, the command does all its work, files
included, and ends with its own exit code.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

FALLBACK = "chanceline-plain"
# The paper's letters and signs for a terminal that has only ASCII.
PLAIN = str.maketrans(
    {
        "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "κ": "kappa", "λ": "lambda", "μ": "mu",
        "ρ": "rho", "σ": "sigma", "χ": "chi", "Δ": "Delta", "Σ": "Sigma", "Φ": "Phi", "≤": "<=", "≥": ">=", "≠": "!=",
        "≈": "~", "−": "-", "–": "-", "—": "-", "±": "+-", "×": "x", "·": "*", "…": "...", "→": "->", "∞": "inf", "√": "sqrt",
        "’": "'", "‘": "'", "“": '"', "”": '"', "²": "^2", "³": "^3", "ℓ": "l", "₀": "0", "₁": "1",
    }
)  # fmt: skip


@contextmanager
def careful_streams() -> Iterator[None]:
    """Within the block stdout and stderr do not fail; whatever a test has put in their place is left alone."""
    _open_missing()
    codecs.register_error(FALLBACK, _plain_letters)
    before = sys.stdout, sys.stderr
    try:
        # Python has no stream object (None) where it found none open.
        if sys.stdout is sys.__stdout__:
            sys.stdout = _careful(1, sys.stdout)
        if sys.stderr is None:
            sys.stderr = _careful(2, None)
        elif sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
            sys.stderr.reconfigure(errors=FALLBACK)
        yield
    finally:
        sys.stdout, sys.stderr = before


def shows(stream: TextIO, text: str) -> bool:
    """Whether the stream's encoding has all these letters."""
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class _Patient(io.RawIOBase):
    """A descriptor whose reader may leave: what comes afterwards is dropped. A full disk is still an error, once.

    Closing this stream leaves the descriptor open: it belongs to the interpreter's own stream.
    """

    def __init__(self, handle: int) -> None:
        super().__init__()
        self._handle = handle
        self._dropped = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._handle

    def isatty(self) -> bool:
        return os.isatty(self._handle)

    def write(self, piece: bytes) -> int:  # type: ignore[override]
        if not self._dropped:
            try:
                return os.write(self._handle, piece)
            except BrokenPipeError:
                self._dropped = True
            except OSError:
                # Whatever is still in the buffer cannot be written either, and must not fail again at the end.
                self._dropped = True
                raise
        return len(piece)


def _careful(handle: int, stream: TextIO | None) -> TextIO:
    encoding = "utf-8" if stream is None else stream.encoding
    buffer = io.BufferedWriter(_Patient(handle))  # type: ignore[type-var]
    return io.TextIOWrapper(buffer, encoding=encoding, errors=FALLBACK, line_buffering=os.isatty(handle))


def _open_missing() -> None:
    """Where the shell closed a standard stream (`>&-`), the next file opened would take its number: put /dev/null there."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest free number


def _plain_letters(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return missing.translate(PLAIN).encode("ascii", "backslashreplace").decode("ascii"), error.end
