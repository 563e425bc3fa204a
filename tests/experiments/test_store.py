"""One file of results: whole after every kill, refused when damaged, merged and exported."""

import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.experiments.run import iter_run, run
from chanceline.experiments.store import APPLICATION, SCHEMA, Record, Store
from chanceline.experiments.tasks import make_task


def said(path):
    """All that a reader, an export or a figure can see."""
    store = Store(path)
    return [record.values() for record in store.records()], store.frame().to_csv(), store.seconds()


def change(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def filled(tmp_path, walks):
    path = tmp_path / "filled.sqlite"
    with Store(path, write=True) as store:
        run(walks(20), store=store, batch=5)
        run([make_task("toy_kinds:curve", n=n) for n in range(1, 11)], store=store, batch=10)
    return path


def test_round_trip_and_provenance(filled, walks):
    with Store(filled) as store:
        assert len(store) == 30
        assert store.finished() > {task.id for task in walks(20)}
        record = next(store.records("toy_kinds:walk"))
        assert record.result == record.task.run()
        assert record.made_with.startswith("chanceline ")
        assert "numba" in record.made_with
        assert set(record.task.parameters) == {"n", "step", "trial", "pause"}
        assert set(store.seconds()) == store.finished()


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "truncated":
        path.write_bytes(data[: len(data) // 2 + 100])
    elif how == "scribbled":
        data[4096:8192] = b"\x5a" * 4096
        path.write_bytes(data)
    elif how == "text":
        path.write_text("n,alpha\n64,1.0\n" * 500)
    elif how == "foreign":
        path.unlink()
        change(path, "CREATE TABLE recipes (name TEXT)")
    elif how == "newer":
        change(path, f"PRAGMA user_version = {SCHEMA + 1}")
    elif how == "changed":
        change(path, "UPDATE results SET result = replace(result, '1', '2')")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("truncated", "damaged"),
        ("scribbled", "damaged"),
        ("text", "no chanceline store"),
        ("foreign", "another program"),
        ("newer", f"has schema {SCHEMA + 1}"),
        ("changed", "damaged .*in the row of task"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_damaged_and_foreign_files_are_refused_and_left_alone(filled, how, sentence, write):
    damage(filled, how)
    before = filled.read_bytes()
    with pytest.raises(InputError, match=sentence) as refusal:
        Store(filled, write=write)
    assert filled.name in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert filled.read_bytes() == before


def test_flipped_bits_are_refused_or_harmless(filled):
    """Never silently something else."""
    rng, before, whole, refused = random.Random(11), said(filled), filled.read_bytes(), 0
    for number in range(20):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        filled.write_bytes(data)
        try:
            assert said(filled) == before, f"flip {number} went unseen"
        except InputError:
            refused += 1
    assert refused >= 5


def test_a_store_of_version_0_2_goes_on(filled, walks):
    """Schema 2 had a second table and a write-ahead log."""
    before = said(filled)
    change(
        filled,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE totals (rows, checksum)",
        "PRAGMA user_version = 2",
    )
    assert said(filled) == before
    with Store(filled, write=True) as store:
        assert len(list(iter_run(walks(22), store=store))) == 2
    connection = sqlite3.connect(filled)
    pragmas = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("user_version", "application_id", "journal_mode")
    ]
    connection.close()
    assert pragmas == [SCHEMA, APPLICATION, "delete"]
    assert len(Store(filled)) == 32


def test_one_writer_many_readers(filled, walks):
    with Store(filled, write=True) as writer:
        with pytest.raises(InputError, match=r"another process is writing to .*filled\.sqlite"):
            Store(filled, write=True)
        run(walks(30), store=writer)
        reader = Store(filled)
        assert len(reader) == 40
        with pytest.raises(InputError, match="opened for reading"):
            reader.add(writer.records())
    with Store(filled, write=True) as writer:
        assert len(writer) == 40


def test_a_full_disk_is_called_so_and_what_was_saved_stays(tmp_path, walks):
    """SQLite's own limit on pages gives the same error as a disk without room."""
    path = tmp_path / "s.sqlite"
    with Store(path, write=True) as store:
        run(walks(3), store=store)
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(OSError, match="full; what was saved before is whole"):
            run(walks(500), store=store)
        kept = store.finished()
    assert Store(path).finished() == kept
    assert len(kept) >= 3


def test_merge_is_a_union_in_any_order(tmp_path, walks):
    tasks = walks(30)
    parts = {"a": tasks[:15], "b": tasks[10:25], "c": tasks[20:], "whole": tasks}
    for name, part in parts.items():
        with Store(tmp_path / f"{name}.sqlite", write=True) as store:
            run(part, store=store, batch=30)
    expected = [record.values()[:5] for record in Store(tmp_path / "whole.sqlite").records()]
    for order in ("abc", "cab"):
        with Store(tmp_path / f"merged-{order}.sqlite", write=True) as merged:
            assert merged.merge(tmp_path / f"{name}.sqlite" for name in order) == 30
            assert merged.merge([tmp_path / "a.sqlite"]) == 0
        assert [
            record.values()[:5] for record in Store(tmp_path / f"merged-{order}.sqlite").records()
        ] == expected


@pytest.mark.parametrize("why", ["contradicts", "damaged"])
def test_a_refused_merge_leaves_the_target_as_it_was(filled, tmp_path, walks, why):
    good, bad = tmp_path / "good.sqlite", tmp_path / "bad.sqlite"
    first, new = walks(21)[0], walks(21)[20]
    with Store(good, write=True) as store:
        run([new], store=store)
    with Store(bad, write=True) as store:
        store.add([Record(first, {"end": 0.0}, "chanceline 0.0.1", 0.0)])
    if why == "damaged":
        change(bad, "UPDATE results SET result = replace(result, '0', '1')")
    before = said(filled)
    sentence = (
        r"bad\.sqlite is damaged" if why == "damaged" else f"task {first.id} .* has another result"
    )
    with Store(filled, write=True) as store, pytest.raises(InputError, match=sentence):
        store.merge([good, bad])
    assert said(filled) == before


def test_exports_hold_the_same_table(filled, tmp_path):
    store = Store(filled)
    for name in ("out.csv", "out.parquet"):
        assert store.export(tmp_path / name, "toy_kinds:walk") == 20
    table = store.frame("toy_kinds:walk")
    csv = pd.read_csv(tmp_path / "out.csv", dtype=str).astype(table.dtypes)
    pd.testing.assert_frame_equal(csv, table, check_exact=True)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "out.parquet"), table, check_exact=True
    )
    assert list(table["trial"]) == list(range(20))
    curves = store.frame("toy_kinds:curve")
    assert curves.set_index("n")["levels"][4] == "[0.0, 0.25, 0.5, 0.75]"
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        store.export(tmp_path / "out.xls")


def test_a_store_in_a_read_only_place_is_readable(filled):
    code = (
        "import os, sys; from chanceline.experiments.store import Store; os.getuid() or os.setuid(65534);"
        "print(len(Store(sys.argv[1])))"
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copy(filled, place / "s.sqlite")
        place.chmod(0o555)
        command = [sys.executable, "-c", code, place / "s.sqlite"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("30\n", 0), done.stderr
        assert [path.name for path in place.iterdir()] == ["s.sqlite"]
        place.chmod(0o755)
