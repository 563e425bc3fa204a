"""The progress bar: what it says in a pipe and in a terminal, and that its remaining time is the true one."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from chanceline.cli import progress as module
from chanceline.cli.progress import COMPILING, Pace, in_words, progress_bar, status_line


def test_the_time_left_leaves_out_compiling_and_what_was_there_before():
    pace = Pace()
    # A resumed run: 100 of 200 are known when the first report comes, 60 seconds after the start; then one a second.
    assert pace.remaining(100, 200, now=60.0) is None
    assert pace.remaining(101, 200, now=61.0) == pytest.approx(99.0)
    assert pace.remaining(150, 200, now=110.0) == pytest.approx(50.0)
    assert pace.remaining(200, 200, now=160.0) == 0.0


def test_a_second_round_of_work_starts_a_new_estimate():
    pace = Pace()
    pace.remaining(1, 10, now=0.0)
    pace.remaining(10, 10, now=9.0)
    assert pace.remaining(1, 10, now=100.0) is None
    assert pace.remaining(2, 10, now=102.0) == pytest.approx(16.0)


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (3.4, "3 s left"), (89, "89 s left"), (600, "10 min left"), (9000, "2.5 h left")]
)
def test_durations_in_words(seconds, words):
    assert in_words(seconds) == words


def test_quiet_is_quiet(capsys):
    with progress_bar("things", quiet=True) as progress, status_line("looking", quiet=True) as tell:
        assert progress is None
        assert tell is None
    assert capsys.readouterr() == ("", "")


def test_a_pipe_gets_a_line_now_and_then(capsys, monkeypatch):
    clock = iter(float(second) for second in range(100))
    monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    with progress_bar("things", quiet=False) as progress:
        assert progress is not None
        for done in range(1, 31):
            progress(done, 30)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [f"things: {done} of 30, {30 - done} s left" for done in (10, 20, 30)]


def test_a_pipe_gets_every_new_status_once(capsys):
    with status_line("searching", quiet=False) as tell:
        assert tell is not None
        for text in ("12 variables", "12 variables", "[bold]11[/bold] variables"):
            tell(text)
    assert capsys.readouterr().err.splitlines() == ["12 variables", "[bold]11[/bold] variables"]


def test_compiling_is_said_once_and_not_for_what_is_compiled(capsys):
    from numba import njit

    one, two = njit(lambda x: x + 1), njit(lambda x: x + 2)
    with progress_bar("things", quiet=False):
        assert one(1) + two(1) == 5
    assert capsys.readouterr().err == COMPILING + "\n"
    with progress_bar("things", quiet=False):
        assert one(1) + two(1) == 5
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar():
    code = (
        "from chanceline.cli.progress import progress_bar\n"
        "with progress_bar('[things]', quiet=False) as progress:\n"
        "    for done in range(1, 100001): progress(done, 100000)\n"
    )
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=child, stderr=child, env=environment)
    os.close(child)
    written = b""
    try:
        while piece := os.read(parent, 4096):
            written += piece
    except OSError:
        pass  # Linux says so when the other end of a terminal is closed
    os.close(parent)
    assert process.wait() == 0
    text = written.decode()
    assert "[things]" in text
    assert "100000/100000" in text
    # Throttled: 100,000 calls are drawn a few times only.
    assert text.count("[things]") < 50
