import sqlite3
import subprocess
import sys

import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.experiments.records import Record
from chanceline.experiments.run import run
from chanceline.experiments.store import APPLICATION, SCHEMA, Store
from chanceline.experiments.tasks import make_task


def plain(store):
    return [(r.task.id, dict(r.task.parameters), r.result, r.made_with) for r in store.records()]


@pytest.fixture
def filled(tmp_path, walks):
    path = tmp_path / "filled.sqlite"
    with Store(path, write=True) as store:
        run(walks(20), store=store)
    return path


def test_round_trip_and_provenance(filled, walks):
    with Store(filled) as store:
        assert len(store) == 20
        assert store.finished() == {task.id for task in walks(20)}
        record = next(store.records())
        assert record.result == record.task.run()
        assert record.made_with.startswith("chanceline ")
        assert "numba" in record.made_with
        assert set(record.task.parameters) == {"n", "step", "trial", "pause"}
        assert set(store.seconds()) == store.finished()


def test_file_is_wal_and_carries_schema(filled):
    connection = sqlite3.connect(filled)
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    assert connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA
    connection.close()


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
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()
        connection.close()
    elif how == "newer":
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version = {SCHEMA + 1}")
        connection.commit()
        connection.close()


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("truncated", "damaged"),
        ("scribbled", "damaged"),
        ("text", "not a chanceline store"),
        ("foreign", "another program"),
        ("newer", f"has schema {SCHEMA + 1} and this version of chanceline reads schemas 1 and {SCHEMA}"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_damaged_and_foreign_files_are_refused_and_left_alone(filled, how, sentence, write):
    damage(filled, how)
    before = filled.read_bytes()
    with pytest.raises(InputError, match=sentence):
        Store(filled, write=write)
    assert filled.read_bytes() == before


def test_empty_file_is_a_new_store_but_nothing_to_read(tmp_path, walks):
    path = tmp_path / "empty.sqlite"
    path.touch()
    with pytest.raises(InputError, match="no task has been finished"):
        Store(path)
    with Store(path, write=True) as store:
        run(walks(1), store=store)
    with Store(path) as store:
        assert len(store) == 1


def test_missing_store_and_folder_are_named(tmp_path):
    with pytest.raises(InputError, match="there is no store"):
        Store(tmp_path / "nothing.sqlite")
    with pytest.raises(InputError, match="folder"):
        Store(tmp_path / "no" / "where.sqlite", write=True)


def test_one_writer_many_readers(filled, walks):
    with Store(filled, write=True) as writer:
        with pytest.raises(InputError, match="another process is writing"):
            Store(filled, write=True)
        with Store(filled) as reader:
            run(walks(30), store=writer)
            assert len(reader) == 30
            with pytest.raises(InputError, match="opened for reading"):
                reader.add(writer.records())
    with Store(filled, write=True) as writer:
        assert len(writer) == 30


def test_a_dead_writer_leaves_no_lock(filled):
    code = "from chanceline.experiments.store import *; Store(sys.argv[1], write=True); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", f"import os, sys; {code}", filled], check=False).returncode == 9
    with Store(filled, write=True) as store:
        assert len(store) == 20


def test_merge_is_a_union_in_any_order(tmp_path, walks):
    tasks = walks(30)
    parts = {"a": tasks[:15], "b": tasks[10:25], "c": tasks[20:]}
    for name, part in parts.items():
        with Store(tmp_path / f"{name}.sqlite", write=True) as store:
            run(part, store=store)
    with Store(tmp_path / "whole.sqlite", write=True) as whole:
        run(tasks, store=whole)
        expected = plain(whole)
    for order in ("abc", "cab"):
        with Store(tmp_path / f"merged-{order}.sqlite", write=True) as merged:
            assert merged.merge(tmp_path / f"{name}.sqlite" for name in order) == 30
            assert plain(merged) == expected
            assert merged.merge([tmp_path / "a.sqlite"]) == 0


def test_contradicting_results_are_refused_whole(filled, tmp_path, walks):
    first, new = walks(21)[0], walks(21)[20]
    other = tmp_path / "other.sqlite"
    with Store(other, write=True) as store:
        run([new], store=store)
        store.add([Record(first, {"end": 0.0}, "chanceline 0.0.1", 0.0)])
    with Store(filled, write=True) as store:
        before = plain(store)
        with pytest.raises(InputError, match=f"task {first.id} .* has another result"):
            store.merge([other])
        assert plain(store) == before


def test_exports_hold_the_same_table(filled, tmp_path):
    with Store(filled) as store:
        assert store.export(tmp_path / "out.csv") == 20
        assert store.export(tmp_path / "out.parquet") == 20
        table = store.frame()
    csv = pd.read_csv(tmp_path / "out.csv", dtype=str).astype(table.dtypes)
    pd.testing.assert_frame_equal(csv, table, check_exact=True)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out.parquet"), table, check_exact=True)
    assert list(table["trial"]) == list(range(20))
    assert sorted(path.name for path in tmp_path.glob("*out*")) == ["out.csv", "out.parquet"]


def test_export_refuses_unknown_formats_and_keeps_curves(tmp_path):
    with Store(tmp_path / "s.sqlite", write=True) as store:
        run([make_task("toy_kinds:curve", n=4)], store=store)
        assert store.frame()["levels"][0] == "[0.0, 0.25, 0.5, 0.75]"
        assert next(store.records()).result["levels"] == [0.0, 0.25, 0.5, 0.75]
        with pytest.raises(InputError, match=r"\.csv or \.parquet"):
            store.export(tmp_path / "out.xls")
