"""What the operating system may do to a command: close its streams, give it an odd terminal, fill the disk, stop it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from chanceline._cluster import WorkersLostError

CHANCELINE = [sys.executable, "-m", "chanceline"]


def in_shell(line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        timeout=120,
        env={**os.environ, "PYTHON": sys.executable},
    )


def one_sentence(text: bytes) -> bool:
    return text.startswith(b"chanceline: ") and text.count(b"\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("capacity 0.5 --report page.html", 0), ("--help", 0), ("capacity 1.5", 2)],
)
def test_a_reader_that_leaves_is_no_error(tmp_path, monkeypatch, arguments, code):
    """The reader is gone before anything is written, so that every write fails; files are written all the same."""
    monkeypatch.chdir(tmp_path)
    done = in_shell(f"set -o pipefail; (sleep 1; exec $PYTHON -m chanceline {arguments}) | true")
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr
    assert Path("page.html").exists() == ("page.html" in arguments)


@pytest.mark.parametrize(("redirection", "code"), [(">&-", 0), ("2>&-", 0), (">/dev/full", 3)])
def test_closed_and_full_streams(tmp_path, redirection, code):
    page = tmp_path / "page.html"
    done = in_shell(f"$PYTHON -m chanceline explore --no-open --out {page} {redirection}")
    assert done.returncode == code
    assert page.stat().st_size > 1000
    assert one_sentence(done.stderr) == (code != 0)


@pytest.mark.parametrize("arguments", [
    ("test", "."),
    ("memory", "--neurons", 10, "--patterns", "nowhere.npy"),
    ("curve", "--points", 1, "--out", "file/x.csv"),
    ("explore", "--no-open", "--out", "."),
    ("report", "file"),
    ("reproduce", "--quick", "--out", "file"),
    ("capacity", 0.5, "--report", "."),
    ("test", "--example", "planted", "--report", "nowhere/x.html"),
], ids=lambda arguments: " ".join(map(str, arguments))[:40])  # fmt: skip
def test_the_wrong_kind_of_file_is_one_sentence(command, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("a file")
    code, _, err = command(*arguments)
    assert code == 2, err
    assert err.startswith("chanceline: ")
    assert err.count("\n") == 1
    assert os.listdir() == ["file"]


@pytest.mark.parametrize("arguments", [
    ("capacity", 0.5, "--report", "disk/page.html"),
    ("memory", "--neurons", 200, "--load", 0.01, "--budget", 0, "-j", 1, "--quiet", "--save", "disk/memory.npz"),
    ("sweep", "run", "sweep.toml", "--store", "disk/store.sqlite", "-j", 1, "--quiet"),
], ids=lambda arguments: arguments[0])  # fmt: skip
def test_a_full_disk_is_the_machines_fault(command, tmp_path, monkeypatch, small_disk, arguments):
    monkeypatch.chdir(tmp_path)
    grid = "grid = { n = [8], alpha = [0.5] }"
    Path("sweep.toml").write_text(
        f'name = "tiny"\n[[block]]\nkind = "smallest"\ntrials = 1\n{grid}\n'
    )
    (small_disk / "filler").write_bytes(bytes((64 << 10) - os.statvfs(small_disk).f_frsize))
    code, _, err = command(*arguments)
    assert code == 3, err
    assert err.count("chanceline: ") == 1
    assert not list(small_disk.rglob("*.html"))


def test_a_full_disk_costs_the_page_and_not_the_verdict(command, tmp_path, small_disk):
    (small_disk / "filler").write_bytes(bytes((64 << 10) - os.statvfs(small_disk).f_frsize))
    page = small_disk / "page.html"
    code, out, err = command("test", "--example", "planted", "--quiet", "-j", 1, "--report", page)
    assert code == 3
    assert out.startswith("STRUCTURE")
    assert err == f"chanceline: {page}: No space left on device\n"
    assert not page.exists()


@pytest.mark.parametrize(
    ("error", "code"), [(MemoryError(), 3), (WorkersLostError("the workers died"), 1)]
)
def test_the_verdict_survives_a_rule_that_cannot_be_made(command, monkeypatch, error, code):
    def fail(plan: object) -> None:
        raise error

    arguments = ("test", "--example", "planted", "--quiet", "-j", 1)
    expected = command(*arguments, "--no-expected-error")
    monkeypatch.setattr("chanceline.significance.run.usable_rule", fail)
    ended, out, err = command(*arguments)
    assert ended == code
    assert one_sentence(err.encode())
    assert out.splitlines()[0] == expected[1].splitlines()[0]
    assert "while the rule for new samples was made, so that there is none" in " ".join(out.split())


def test_a_place_for_compiled_code_that_is_missing_is_told(command, monkeypatch):
    monkeypatch.setattr("chanceline.kernels.compile.CACHE", False)
    code, _, err = command("bound", "-N", 200, "-P", 30, "-M", 3, "--positives", 15)
    assert code == 0
    assert err.startswith("compiled code could not be kept")


def test_too_little_memory_is_one_sentence(command, monkeypatch):
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("chanceline.report.explorer.write_explorer", refuse)
    code, out, err = command("explore", "--no-open")
    assert (code, out) == (3, "")
    assert "memory" in err


@pytest.mark.parametrize(
    "error",
    [ValueError, KeyError, TypeError, OverflowError, IndexError, UnicodeError, RuntimeError],
)
def test_an_error_of_ours_looks_like_one(command, monkeypatch, error):
    """Nobody is told that the input is bad where the program is; and a name with an escape in it stays harmless."""

    def fail(*_: object) -> None:
        raise error("odd \x1b[31m thing")

    monkeypatch.setattr("chanceline.significance.run.make_plan", fail)
    code, out, err = command("test", "--example", "planted", "--quiet")
    assert (code, out) == (1, "")
    assert err.startswith("Traceback")
    assert 'raise error("odd' in err
    assert err.splitlines()[-1].startswith(
        f"chanceline: internal error ({error.__name__}); please report"
    )
    assert "\x1b" not in err


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("explore", "broken.html", "--no-open"), "broken.html is no whole report of chanceline"),
    (("explore", "other.html", "--no-open"), "other.html is no page of chanceline test"),
    (("explore", "list.html", "--no-open"), "list.html is not a report of chanceline"),
    (("explore", "binary.html", "--no-open"), "binary.html is not a report of chanceline"),
    (("capacity", "1e-200"), "rho = 1e-200 is too close to 0 to resolve"),
    (("memory", "--neurons", 8, "--quiet", "-j", 2**63), "n_jobs must be a whole number from 1 to 10,000"),
    (("test", "empty.csv", "--label", "y", "--unlabelled", "drop"), "label column 'y' is empty in every row"),
], ids=lambda value: " ".join(map(str, value))[:30] if isinstance(value, tuple) else "")  # fmt: skip
def test_bad_input_that_used_to_reach_a_library(
    command, tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    Path("broken.html").write_text('<pre id="result">{"explorer": "#N=3",</pre>')
    Path("other.html").write_text('<pre id="result">{"alpha": 3}</pre>')
    Path("list.html").write_text('<pre id="result">[1]</pre>')
    Path("binary.html").write_bytes(b"\xff\xfe\x00\x93")
    Path("empty.csv").write_text("a,y\n1,\n2,\n")
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"chanceline: {sentence}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGHUP, marks=pytest.mark.slow), signal.SIGINT]
)
def test_a_signal_ends_the_command_and_its_workers(tmp_path, number):
    arguments = [
        "memory",
        "--neurons",
        "400",
        "--load",
        "1.2",
        "--fan-in",
        "minimal",
        "-j",
        "2",
        "--quiet",
    ]
    process = subprocess.Popen(
        [*CHANCELINE, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    parent = psutil.Process(process.pid)
    try:
        deadline = time.monotonic() + 60
        while len(parent.children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        children = parent.children(recursive=True)
        assert len(children) >= 2
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (128 + number, b"")
    assert one_sentence(err)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list(tmp_path.iterdir()) == []
