"""Files are whole or not there, only files are replaced, and every refusal of the system is one sentence."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from chanceline import files
from chanceline.errors import ChancelineError, InputError, MachineError
from chanceline.files import check_target, explain, inside, make_folder, read_bytes, write_bytes, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_usual_rights_and_an_old_one_keeps_its_own(tmp_path):
    path = tmp_path / "x.csv"
    umask = os.umask(0o027)
    try:
        write_text(path, "one")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_text(path, "two")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode), names(tmp_path)) == ("two", 0o604, ["x.csv"])


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "x.csv", tmp_path / "link.csv"
    link.symlink_to(target)
    for text in ("made through a dangling link", "replaced through the link"):
        write_text(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)
    assert names(tmp_path / "there") == ["x.csv"]


def test_links_in_a_circle_are_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    with pytest.raises(InputError, match="circle"):
        write_text(one, "x")


def test_a_folder_and_a_socket_are_refused(tmp_path):
    with pytest.raises(InputError, match="folder; name a file"):
        write_bytes(tmp_path, b"x")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(InputError, match="folder; name a file"):
        write_bytes(link, b"x")
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        with pytest.raises(InputError, match="socket"):
            write_bytes(path, b"x")
    assert path.is_socket()


def test_a_device_is_written_into_and_stays():
    before = os.stat("/dev/null")
    write_bytes(Path("/dev/null"), b"x" * 1000)
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    with pytest.raises(MachineError, match="the disk is full"):
        write_bytes(Path("/dev/full"), b"x")


def test_a_pipe_is_written_into_if_somebody_reads(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(InputError, match="nobody reads"):
        write_bytes(path, b"x")
    content = os.urandom(300_000)
    received: list[bytes] = []
    # Open for reading without waiting for the writer, so that the writer finds a reader.
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)

    def read() -> None:
        select.select([reader], [], [], 30)
        with os.fdopen(reader, "rb") as file:
            received.append(file.read())

    thread = threading.Thread(target=read)
    thread.start()
    write_bytes(path, content)
    thread.join(30)
    assert received == [content]
    assert path.is_fifo()


def test_the_place_of_standard_output_is_not_replaced(tmp_path):
    """/dev/fd/N of a redirection: what the shell opened stays the same file, and what is there stays."""
    path = tmp_path / "out.txt"
    with path.open("w") as file:
        file.write("before\n")
        file.flush()
        inode = path.stat().st_ino
        write_text(Path(f"/dev/fd/{file.fileno()}"), "poured\n")
    assert path.stat().st_ino == inode
    assert path.read_text() == "before\npoured\n"


@pytest.mark.parametrize("text", ["α ≤ 2", "\udcff.csv"])
def test_text_of_any_kind_can_be_written(tmp_path, text):
    write_text(tmp_path / "x", text)
    assert (tmp_path / "x").read_bytes() == text.encode("utf-8", "backslashreplace")


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    write_text(tmp_path / ("x" * 255), "whole")
    assert (tmp_path / ("x" * 255)).read_text() == "whole"
    with pytest.raises(InputError, match="too long"):
        write_text(tmp_path / ("x" * 256), "never")
    with pytest.raises(InputError, match="null"):
        write_text(tmp_path / "a\0b", "never")


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match=r"the folder .*nowhere does not exist"):
        check_target(tmp_path / "nowhere" / "x.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a file, not a folder"):
        check_target(tmp_path / "file" / "x.csv")


@pytest.mark.parametrize(("number", "kind", "words"), [
    (errno.ENOSPC, MachineError, "the disk is full"),
    (errno.EDQUOT, MachineError, "quota"),
    (errno.EIO, MachineError, "disk reports an error"),
    (errno.EMFILE, MachineError, "too many files"),
    (errno.EROFS, InputError, "read-only"),
    (errno.EACCES, InputError, "no permission"),
    (errno.ENAMETOOLONG, InputError, "too long"),
    (errno.EISDIR, InputError, "folder"),
    (errno.ESTALE, MachineError, os.strerror(errno.ESTALE)),
])  # fmt: skip
def test_every_refusal_is_one_sentence_and_costs_nothing(tmp_path, monkeypatch, number, kind, words):
    path = tmp_path / "x.csv"
    write_text(path, "old")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    for call in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(files.os, call, refuse)
            with pytest.raises(kind, match=words) as caught:
                write_text(path, "new")
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
        assert path.read_text() == "old"
        assert names(tmp_path) == ["x.csv"]


def test_an_error_without_a_number_still_says_something():
    assert str(explain(OSError("odd"), "cannot read x")) == "cannot read x: odd"
    assert isinstance(explain(OSError(), "cannot read x"), ChancelineError)


def test_the_order_is_file_to_disk_then_rename_then_folder_to_disk(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def note_replace(*names: object) -> None:
        done.append("rename")
        replace(*names)

    monkeypatch.setattr(files.os, "fsync", note_fsync)
    monkeypatch.setattr(files.os, "replace", note_replace)
    write_text(tmp_path / "x", "kept")
    assert done == ["file", "rename", "folder"]


def test_a_full_disk_is_called_a_full_disk(small_disk):
    path = small_disk / "x.bin"
    write_bytes(path, b"old")
    with pytest.raises(MachineError, match="the disk is full"):
        write_bytes(path, b"x" * 200_000)
    assert path.read_bytes() == b"old"
    assert names(small_disk) == ["x.bin"]


def test_a_read_only_disk_is_found_before_the_work(small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(InputError, match="read-only"):
        check_target(small_disk / "x.csv")
    with pytest.raises(InputError, match="read-only"):
        make_folder(small_disk / "new")


def test_folders(tmp_path):
    assert make_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="in the way"):
        make_folder(tmp_path / "file")
    with pytest.raises(InputError, match="not a folder"):
        make_folder(tmp_path / "file" / "below")


@pytest.mark.parametrize("name", ["../escaped", "/etc/passwd", "a/../../b", "out/x", "a\0b"])
def test_names_stay_inside(tmp_path, name):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "out").symlink_to(tmp_path)
    with pytest.raises(InputError, match="inside"):
        inside(tmp_path / "home", name)
    assert inside(tmp_path / "home", "a/b.csv") == tmp_path / "home" / "a" / "b.csv"


def test_a_file_and_a_pipe_are_read_whole(tmp_path):
    content = os.urandom(200_000)
    (tmp_path / "file").write_bytes(content)
    assert read_bytes(tmp_path / "file") == content
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Somebody who comes late, and somebody who is slow.
    late = "sleep 0.2; (head -c 100000 file; sleep 0.2; tail -c 100000 file) > pipe"
    writer = subprocess.Popen(["sh", "-c", late], cwd=tmp_path)
    assert read_bytes(pipe) == content
    assert writer.wait() == 0


def test_what_may_never_end_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    for path, sentence in (
        (tmp_path / "pipe", "nobody writes into that pipe"),
        (Path("/dev/zero"), "it is a device; name a file"),
        (tmp_path, "it is a folder; name a file"),
        (tmp_path / "none", "there is no such file or folder"),
        (tmp_path / "a\0b", "null character"),
    ):
        with pytest.raises(InputError, match=sentence):
            read_bytes(path)
