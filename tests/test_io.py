"""Files are whole or not there; the system's own words for what cannot be written."""

import os
import stat
from pathlib import Path

import pytest

from chanceline import _io
from chanceline._io import check_target, write_bytes, write_text


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    write_text(path, "old")
    monkeypatch.setattr(
        _io.os,
        "fsync",
        lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    with pytest.raises(OSError, match="No space left") as full:
        write_text(path, "new")
    assert full.value.filename == str(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.csv"]


def test_a_full_disk_leaves_nothing(small_disk):
    with pytest.raises(OSError, match="No space left"):
        write_bytes(small_disk / "large", bytes(2**17))
    assert os.listdir(small_disk) == []


def test_links_and_permissions_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    write_text(target, "old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_devices_are_written_into():
    write_bytes(Path(os.devnull), b"gone")
    assert not Path(os.devnull).is_file()


def test_what_has_no_place_is_known_before_any_work(tmp_path):
    with pytest.raises(IsADirectoryError):
        check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        check_target(tmp_path / "nowhere" / "x.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileNotFoundError):
        check_target(tmp_path / "file" / "x.csv")
    assert check_target(tmp_path / "x.csv") == tmp_path / "x.csv"
