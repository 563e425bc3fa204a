"""What the operating system may do to a command: close its streams, give it an odd terminal, fill the disk, stop it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from chanceline.cli import explore as explore_command
from chanceline.cli.main import main

CHANCELINE = [sys.executable, "-m", "chanceline"]


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    command = [*CHANCELINE, *(os.fsencode(str(argument)) for argument in arguments)]
    return subprocess.run(command, capture_output=True, timeout=120, env={**os.environ, **variables})


def in_shell(line: str, *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """A line of bash in which $0 and "$@" stand for the program and the arguments."""
    words = ["bash", "-c", line, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, timeout=120, env={**os.environ, "PYTHON": sys.executable})


def one_sentence(text: bytes) -> bool:
    return text.startswith(b"chanceline: ") and text.count(b"\n") == 1


def in_process(capsys, *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


# The reader of a pipe leaves


@pytest.mark.parametrize("arguments", ["capacity 0.5", "capacity 0.5 --json", "--help", "bound -P 62 -N 20 -M 3 --positives 40"])
def test_a_reader_that_leaves_is_no_error(arguments):
    # The reader is gone before anything is written, so that every write fails.
    line = f"set -o pipefail; (sleep 1; exec $PYTHON -m chanceline {arguments}) | true"
    done = in_shell(line)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_reader_that_leaves_does_not_cost_what_comes_after(tmp_path):
    """`capacity` prints first and writes its page then."""
    page = tmp_path / "page.html"
    done = in_shell(f"set -o pipefail; (sleep 1; exec $PYTHON -m chanceline capacity 0.5 --report {page}) | true")
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert page.stat().st_size > 1000


def test_an_error_keeps_its_exit_code_when_the_reader_leaves():
    done = in_shell("set -o pipefail; $PYTHON -m chanceline capacity 1.5 | true")
    assert done.returncode == 2
    assert one_sentence(done.stderr)


@pytest.mark.parametrize(("redirection", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&- <&-", 0), (">/dev/full", 1)])
def test_closed_and_full_streams(tmp_path, redirection, code):
    page = tmp_path / "page.html"
    done = in_shell(f"$PYTHON -m chanceline explore --no-open --out {page} {redirection}")
    assert done.returncode == code
    assert page.stat().st_size > 1000
    if code:
        assert one_sentence(done.stderr)
        assert b"the disk is full" in done.stderr
    else:
        assert done.stderr == b""


# Terminals that cannot show everything


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "koi8-r"])
def test_letters_that_the_terminal_lacks_are_written_out(encoding):
    done = run("capacity", 0.5, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding)
    assert "1.7964865468" in text
    assert ("alpha_VS" in text) == (encoding != "utf-8")


def test_json_keeps_its_meaning_in_ascii(tmp_path):
    table = tmp_path / "data.csv"
    rows = "".join(f"{i * 7 % 12 + 0.5},{i % 3 + 0.1},{i * 7 % 12 > 5}\n" for i in range(12))
    table.write_text(f"gène β 🧬,x,class\n{rows}", encoding="utf-8")
    arguments = ("search", table, "--label", "class", "--intercept", "--json", "--quiet")
    plain, ascii_only = run(*arguments), run(*arguments, PYTHONIOENCODING="ascii")
    assert (plain.returncode, ascii_only.returncode) == (0, 0)
    assert ascii_only.stdout.isascii()
    assert json.loads(plain.stdout) == json.loads(ascii_only.stdout)
    assert json.loads(plain.stdout)["features"] == ["gène β 🧬"]


@pytest.mark.parametrize(
    "variables", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii:strict"}]
)
def test_help_and_complaints_in_a_plain_locale(variables):
    done = run("--help", **variables)
    assert (done.returncode, done.stderr) == (0, b"")
    done = run("capacity", "β", **variables)
    assert done.returncode == 2
    assert one_sentence(done.stderr)


@pytest.mark.parametrize("command", ["test", "search"])
def test_a_file_whose_name_is_no_text(tmp_path, command):
    missing = run(command, os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.csv"))
    assert missing.returncode == 2
    assert one_sentence(missing.stderr)
    assert rb"\udcff" in missing.stderr


# Folders for files, files for folders, odd targets


@pytest.mark.parametrize("arguments", [
    ("test", "."),
    ("search", "."),
    ("sweep", "run", "."),
    ("memory", "--neurons", 10, "--patterns", "."),
    ("curve", "--points", 1, "--out", "."),
    ("curve", "--points", 1, "--out", "file/x.csv"),
    ("curve", "--points", 1, "--out", "x" * 300),
    ("curve", "--points", 1, "--out", "pipe"),
    ("explore", "--no-open", "--out", "."),
    ("explore", "--no-open", "--out", "circle"),
    ("report", "file"),
    ("report", "nothing"),
    ("reproduce", "--quick", "--out", "file"),
    ("capacity", 0.5, "--report", "."),
    ("test", "--example", "planted", "--permutations", 0, "--quiet", "--figure", "nowhere/x.png"),
], ids=lambda arguments: " ".join(map(str, arguments))[:40])  # fmt: skip
def test_the_wrong_kind_of_file_is_one_sentence(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("a file")
    Path("circle").symlink_to("circle")
    os.mkfifo("pipe")
    before = sorted(os.listdir())
    code, _, err = in_process(capsys, *arguments)
    assert code == 2, err
    assert err.splitlines()[-1].startswith("chanceline: ")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("number", "code", "words"), [
    (errno.ENOSPC, 1, "the disk is full"),
    (errno.EROFS, 2, "the file system is read-only"),
    (errno.EACCES, 2, "no permission"),
    (errno.EHOSTUNREACH, 1, os.strerror(errno.EHOSTUNREACH)),
])  # fmt: skip
def test_whatever_the_system_refuses_is_one_sentence(capsys, monkeypatch, number, code, words):
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number), "somewhere")

    monkeypatch.setattr(explore_command, "print_json", refuse)
    monkeypatch.setattr("chanceline.report.explorer.write_explorer", lambda out: Path(__file__))
    assert in_process(capsys, "explore", "--json") == (code, "", f"chanceline: cannot use somewhere: {words}\n")


@pytest.mark.parametrize("arguments", [
    ("explore", "--no-open", "--out", "disk/page.html"),
    ("capacity", 0.5, "--report", "disk/page.html"),
    ("memory", "--neurons", 200, "--load", 0.01, "--budget", 0, "--workers", 1, "--quiet", "--save", "disk/memory.npz"),
    ("sweep", "run", "sweep.toml", "--store", "disk/store.sqlite", "--workers", 1, "--quiet"),
], ids=lambda arguments: arguments[0])  # fmt: skip
def test_a_full_disk_is_called_a_full_disk(capsys, tmp_path, monkeypatch, small_disk, arguments):
    monkeypatch.chdir(tmp_path)
    grid = "grid = { n = [8], alpha = [0.5] }"
    Path("sweep.toml").write_text(f'name = "tiny"\n[[block]]\nkind = "smallest"\ntrials = 1\n{grid}\n')
    (small_disk / "filler").write_bytes(bytes((64 << 10) - os.statvfs(small_disk).f_frsize))
    code, _, err = in_process(capsys, *arguments)
    assert code == 1, err
    assert "the disk is full" in err
    assert err.count("chanceline: ") == 1
    assert not list(small_disk.rglob("*.html"))


def test_too_little_memory_is_one_sentence(capsys, monkeypatch):
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("chanceline.report.explorer.write_explorer", refuse)
    code, out, err = in_process(capsys, "explore", "--no-open")
    assert (code, out) == (1, "")
    assert "memory" in err


# Stopped from outside


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_command_and_its_workers(tmp_path, number):
    arguments = ["memory", "--neurons", "400", "--load", "1.2", "--fan-in", "minimal", "--workers", "2", "--quiet"]
    process = subprocess.Popen([*CHANCELINE, *arguments], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    parent = psutil.Process(process.pid)
    deadline = time.monotonic() + 60
    while len(parent.children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    children = parent.children(recursive=True)
    assert len(children) >= 2
    time.sleep(1.0)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, b"")
    assert one_sentence(err)
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list(tmp_path.iterdir()) == []


def test_under_nohup_a_hang_up_is_ignored():
    code = (
        "import signal, os\n"
        "from chanceline.cli import main as module\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "module.run = lambda arguments: (os.kill(os.getpid(), signal.SIGHUP), 7)[1]\n"
        "module.main([])\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 7
