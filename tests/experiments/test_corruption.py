"""A store that was changed behind our back is refused, or says exactly what it said before; never silently something else."""

import os
import random
import shutil
import sqlite3
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from chanceline.errors import ChancelineError, InputError, MachineError
from chanceline.experiments.records import Record
from chanceline.experiments.run import iter_run, run
from chanceline.experiments.store import FIRST_SCHEMA, SCHEMA, Store, read_stores
from chanceline.experiments.tasks import make_task

OLD_STORE = Path(__file__).parent / "old_store.sql"


@pytest.fixture
def filled(tmp_path, walks):
    path = tmp_path / "filled.sqlite"
    with Store(path, write=True) as store:
        run(walks(40), store=store)
        run([make_task("toy_kinds:curve", n=n) for n in range(1, 20)], store=store)
    return path


def said(path):
    """All that a reader, an export or a figure can see."""
    with Store(path) as store:
        return [(record.values(), store.schema) for record in store.records()], store.frame().to_csv(), store.seconds()


def flip_bytes(path, rng):
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 1, 4, 16])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def change_a_digit(path, rng):
    data = bytearray(path.read_bytes())
    digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    place = rng.choice(digits)
    data[place] = 48 + (data[place] - 48 + rng.randrange(1, 10)) % 10
    path.write_bytes(data)


def overwrite_a_block(path, rng):
    data = bytearray(path.read_bytes())
    length = rng.choice([16, 100, 512, 4096])
    start = rng.randrange(max(1, len(data) - length))
    data[start : start + length] = bytes([rng.choice([0, 255, 48])]) * length
    path.write_bytes(data)


def exchange_pages(path, rng):
    data = path.read_bytes()
    pages = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    one, other = rng.sample(range(len(pages)), 2)
    pages[one], pages[other] = pages[other], pages[one]
    path.write_bytes(b"".join(pages))


def cut(path, rng):
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(1, len(data))])


def change_by_sql(path, rng):
    """What another program could do, with the file itself in perfect order."""
    connection = sqlite3.connect(path)
    (row_id,) = rng.choice(connection.execute("SELECT id FROM results").fetchall())
    statement = rng.choice(
        [
            "UPDATE results SET result = replace(result, '1', '2') WHERE id = ? AND result LIKE '%1%'",
            "UPDATE results SET result = '{}' WHERE id = ?",
            "UPDATE results SET result = 'nothing' WHERE id = ?",
            "UPDATE results SET result = x'ff00' WHERE id = ?",
            "UPDATE results SET parameters = replace(parameters, 'n', 'm') WHERE id = ?",
            "UPDATE results SET kind = 'count' WHERE id = ?",
            "UPDATE results SET made_with = 'chanceline 9' WHERE id = ?",
            "UPDATE results SET seconds = 1e9 WHERE id = ?",
            "UPDATE results SET seconds = 'long' WHERE id = ?",
            "UPDATE results SET checksum = '0' || substr(checksum, 2) WHERE id = ? AND checksum NOT LIKE '0%'",
            "UPDATE results SET id = '0123456789abcdef0123456789abcdef' WHERE id = ?",
            "DELETE FROM results WHERE id = ?",
            "INSERT INTO results SELECT 'f' || substr(id, 2), kind, parameters, result, made_with, seconds, checksum "
            "FROM results WHERE id = ? AND id NOT LIKE 'f%'",
            "UPDATE totals SET rows = rows + 1 WHERE ? != ''",
            "DELETE FROM totals WHERE ? != ''",
        ]
    )
    connection.execute(statement, (row_id,))
    connection.commit()
    connection.close()


def test_two_hundred_corruptions_are_refused_or_harmless(filled, tmp_path, walks):
    rng = random.Random(11)
    before = said(filled)
    extra = run(walks(41)[40:])
    with Store(tmp_path / "more.sqlite", write=True) as more:
        more.merge([filled])
        more.add(extra)
    after = said(tmp_path / "more.sqlite")
    ways = [flip_bytes, change_a_digit, overwrite_a_block, exchange_pages, cut, change_by_sql]
    outcomes = {"refused": 0, "harmless": 0, "more than a line": 0}
    for number in range(200):
        path = tmp_path / f"{number}.sqlite"
        shutil.copy(filled, path)
        ways[number % len(ways)](path, rng)
        try:
            assert said(path) == before, f"{ways[number % len(ways)].__name__} number {number} went unseen"
            with Store(path, write=True) as store:
                store.add(extra)
            assert said(path) == after, f"{ways[number % len(ways)].__name__} number {number} came in with a write"
        except ChancelineError as error:
            outcomes["refused" if len(str(error).splitlines()) == 1 else "more than a line"] += 1
        else:
            outcomes["harmless"] += 1
    # Unused space and bytes that SQLite never reads are a good part of so small a file.
    assert outcomes["refused"] > 100, outcomes
    assert outcomes["refused"] + outcomes["harmless"] == 200


def test_a_forged_row_with_its_own_checksum_is_refused(filled, tmp_path):
    """Someone who knows how the checksum is made still cannot give a result another task's id."""
    from chanceline.experiments.records import add_seals, seal

    connection = sqlite3.connect(filled)
    first, second = connection.execute("SELECT * FROM results ORDER BY id LIMIT 2").fetchall()
    forged = (first[0], *second[1:6])
    change = "UPDATE results SET kind=?, parameters=?, result=?, made_with=?, seconds=?, checksum=? WHERE id=?"
    connection.execute(change, (*forged[1:], seal(forged), first[0]))
    seals = [row[0] for row in connection.execute("SELECT checksum FROM results")]
    connection.execute("UPDATE totals SET checksum = ?", (add_seals("0", seals),))
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="the id is not that of the parameters"):
        Store(filled)


def test_a_refused_merge_leaves_the_target_as_it_was(tmp_path, walks):
    tasks = walks(12)
    for name, part in {"target": tasks[:4], "good": tasks[4:8], "bad": tasks[8:]}.items():
        with Store(tmp_path / f"{name}.sqlite", write=True) as store:
            run(part, store=store)
    target, good, bad = (tmp_path / f"{name}.sqlite" for name in ("target", "good", "bad"))
    connection = sqlite3.connect(bad)
    connection.execute("UPDATE results SET result = replace(result, '0', '1')")
    connection.commit()
    connection.close()
    before = said(target)
    with Store(target, write=True) as store, pytest.raises(InputError, match=r"bad\.sqlite is damaged"):
        store.merge([good, bad])
    assert said(target) == before
    with Store(target, write=True) as store:
        assert store.merge([good]) == 4


def test_sources_that_contradict_each_other_are_refused(tmp_path, walks):
    (task,) = walks(1)
    for name, end in (("one", 1.0), ("two", 2.0)):
        with Store(tmp_path / f"{name}.sqlite", write=True) as store:
            store.add([Record(task, {"end": end}, "chanceline 0.1.0", 0.0)])
    with pytest.raises(InputError, match=r"another result in .*two\.sqlite"):
        read_stores([tmp_path / "one.sqlite", tmp_path / "two.sqlite"])


@pytest.fixture
def old(tmp_path):
    """A store as version 0.1.0 wrote it, schema 1, with half of a sweep."""
    path = tmp_path / "old.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(OLD_STORE.read_text())
    connection.close()
    return path


def test_an_old_store_resumes_and_is_upgraded_only_when_written_to(old):
    tasks = [make_task("smallest", n=n, alpha=0.5, method="omp", trial=trial) for n in (8, 12) for trial in range(4)]
    before = old.read_bytes()
    with Store(old) as store:
        finished = store.finished()
        assert store.schema == FIRST_SCHEMA
        assert len(finished) == 4
        assert finished < {task.id for task in tasks}
        kept = [record.values() for record in store.records()]
    assert old.read_bytes() == before
    with Store(old, write=True) as store:
        assert store.schema == FIRST_SCHEMA
        new = {record.task.id for record in iter_run(tasks, store=store)}
        assert new == {task.id for task in tasks} - finished
        assert store.schema == SCHEMA
    with Store(old) as store:
        assert store.schema == SCHEMA
        assert [record.values() for record in store.records() if record.task.id in finished] == kept
        assert len(store) == 8


@pytest.fixture
def read_only_place():
    """A folder that may be read but not written into, for root too (who becomes nobody for a while)."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)

        @contextmanager
        def closed():
            before = os.geteuid()
            place.chmod(0o555)
            try:
                if before == 0:
                    os.seteuid(65534)
                yield
            finally:
                os.seteuid(before)
                place.chmod(0o755)

        yield place, closed


def test_a_store_in_a_read_only_place_is_readable(filled, read_only_place):
    place, closed = read_only_place
    expected = said(filled)
    shutil.copy(filled, place / "s.sqlite")
    with closed():
        assert said(place / "s.sqlite") == expected
        with pytest.raises(InputError, match=r"cannot write to .*read-only"):
            Store(place / "s.sqlite", write=True)
        with pytest.raises(InputError, match=r"cannot write to .*read-only"):
            Store(place / "new.sqlite", write=True)
    assert [path.name for path in place.iterdir()] == ["s.sqlite"]


def test_results_in_the_log_of_a_killed_run_are_read_there_too(filled, tmp_path, read_only_place, walks):
    place, closed = read_only_place
    with Store(filled, write=True) as writer:
        run(walks(45)[40:], store=writer)
        expected = said(filled)
        for ending in ("", "-wal"):
            shutil.copy(f"{filled}{ending}", place / f"s.sqlite{ending}")
    assert len(expected[0]) == 59 + 5
    with closed():
        assert said(place / "s.sqlite") == expected


def test_a_full_disk_is_called_a_full_disk(tmp_path, walks):
    """SQLite's own limit on pages gives the same error as a disk without room."""
    path = tmp_path / "s.sqlite"
    with Store(path, write=True) as store:
        run(walks(3), store=store)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(MachineError, match="the disk is full; what was saved before is whole"):
            run(walks(500), store=store)
    with Store(path) as store:
        assert len(store) >= 3


@pytest.fixture
def tiny_disk(tmp_path):
    """256 kB, where mounting is allowed."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = shutil.which("mount")
    command = [mount, "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_on_a_real_full_disk_what_was_saved_stays(tiny_disk, walks):
    path = tiny_disk / "s.sqlite"
    seen = []
    with Store(path, write=True) as store, pytest.raises(MachineError, match="the disk is full"):
        seen.extend(record.task.id for record in iter_run(walks(2000), store=store))
    assert 5 < len(seen) < 2000
    with Store(path) as store:
        assert store.finished() == set(seen)
    with pytest.raises(MachineError, match="the disk is full"):
        Store(tiny_disk / "other.sqlite", write=True)


def test_strange_places_are_refused_and_nothing_is_made_beside_them(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.iterdir())
    for name in ("folder", "pipe", "x" * 300, "a\0b"):
        for write in (False, True):
            with pytest.raises(InputError):
                Store(tmp_path / name, write=write)
    assert sorted(tmp_path.iterdir()) == before
