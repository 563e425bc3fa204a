"""Runs `chanceline app` as a user does, with a temporary folder that can be looked into."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Served:
    """A server that was started, with its address and the folder of its files."""

    address: str
    files: Path
    process: subprocess.Popen[str]

    def interrupt(self) -> int:
        """Press Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=120)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The program at work, ended with the block."""
    files = folder / "temporary"
    files.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "chanceline", "app", "--json", "-j", "1"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(files)},
    )
    try:
        assert process.stdout is not None
        # The answer is several lines of JSON.
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("}"):
                break
        yield Served(json.loads("".join(lines))["address"], files, process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
