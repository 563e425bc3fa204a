"""Drives headless Chromium through its debugging pipe: no driver, no network, no further package."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from browser import chromium_program

# The descriptors on which Chromium reads commands and writes answers.
COMMANDS, ANSWERS = 3, 4
SECONDS = 240.0  # until something that a page should show is given up


class DrivenPage:
    """One tab of a browser."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands = commands
        self._answers = answers
        self._rest = b""
        self._number = 0
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer; events in between are passed over."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = self._answers.read(1 << 16)
            assert piece, "Chromium has ended"
            self._rest += piece
        first, _, self._rest = self._rest.partition(b"\0")
        return json.loads(first)

    def value(self, expression: str) -> Any:
        """What a script of the page gives, which may be a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until a script gives something; on a page that is just loading it may fail."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            answer = self.call("Runtime.evaluate", expression=f"Boolean({expression})")
            if "exceptionDetails" not in answer and answer["result"]["value"]:
                return
            time.sleep(0.1)
        raise AssertionError(f"{expression}: {self.value('document.body.innerText')[:1000]}")

    def go(self, address: str) -> None:
        """Open a page."""
        self.call("Page.navigate", url=address)
        self.wait_for(f"document.readyState === 'complete' && location.href === {address!r}")

    def bring(self, selector: str, path: Path) -> None:
        """Choose a file in a field."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self, path: Path, width: int, height: int) -> None:
        """The page on a screen of this size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(picture))


@contextmanager
def driven_page() -> Iterator[DrivenPage]:
    """A tab of a browser of its own, which ends with the block."""
    program = chromium_program()
    command_read, command_write = os.pipe()
    answer_read, answer_write = os.pipe()
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
    ]
    # A shell gives the pipes the numbers that Chromium expects.
    shell = f'exec "$0" "$@" {COMMANDS}<&{command_read} {ANSWERS}>&{answer_write}'
    with (
        os.fdopen(command_write, "wb", buffering=0) as commands,
        os.fdopen(answer_read, "rb", buffering=0) as answers,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        process = subprocess.Popen(
            ["bash", "-c", shell, program, *flags, f"--user-data-dir={profile}"],
            pass_fds=(command_read, answer_write),
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        try:
            yield DrivenPage(commands, answers)
        finally:
            process.terminate()
            process.wait(timeout=60)
