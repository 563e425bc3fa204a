"""Formats other than plain text: the same numbers, or one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.readers.parquet import COLUMNS_AT_ONCE

VALUES = "g1\t{}1.5\t2\t3\ng2\t{}4\t5\t6.5\n"
GCT = "#1.2\n2\t3\nName\tDescription\ts1\ts2\ts3\n" + VALUES.format("first\t", "second\t")
ABOUT = "group\tna\till\twell\till\nage\tna\t40\t50\t60\n"
GCT_1_3 = "#1.3\n2\t3\t1\t2\nid\tsymbol\ts1\ts2\ts3\n" + ABOUT + VALUES.format("A\t", "B\t")
SERIES = (
    '!Series_title\t"A study"\n\n!Sample_title\t"one"\t"two"\t"three"\n'
    '!Sample_characteristics_ch1\t"disease: tumour"\t"disease: normal"\t"disease: tumour"\n'
    '!Sample_characteristics_ch1\t"age: 40"\t"age: 50"\t"age: 60"\n'
    '!series_matrix_table_begin\n"ID_REF"\t"GSM1"\t"GSM2"\t"GSM3"\n'
    + VALUES.format("", "")
    + "!series_matrix_table_end\n"
)


def assert_transposed(dataset):
    assert dataset.feature_names == ("g1", "g2")
    assert dataset.X.tolist() == [[1.5, 4], [2, 5], [3, 6.5]]


def test_gct_with_classes_beside_it(read, tmp_path):
    classes = tmp_path / "study.cls"
    classes.write_text("3 2 1\n# ill well\n0 1 0\n")
    dataset = read(GCT, None, labels=classes)
    assert_transposed(dataset)
    assert dataset.y.tolist() == [-1, 1, -1]
    with pytest.raises(InputError, match="labels=FILE"):
        read(GCT, None)


def test_gct_with_classes_inside(read):
    dataset = read(GCT_1_3, "group")
    assert_transposed(dataset)
    assert dataset.classes == ("ill", "well")
    below = GCT_1_3.replace("4\t5", "4\t<LOD")
    with pytest.raises(InputError, match=r"'<LOD' in column 'g2', sample 's2'.*below='half'"):
        read(below, "group")
    assert read(below, "group", na="<LOD", missing="columns").feature_names == ("g1",)


def test_series_matrix(read):
    content = gzip.compress(SERIES.encode())
    dataset = read(content, "disease")
    assert_transposed(dataset)
    assert dataset.y.tolist() == [1, -1, 1]
    with pytest.raises(InputError, match="columns with two values: 'disease'"):
        read(content, None)


@pytest.mark.parametrize(("name", "content", "match"), [
    ("a.gct", GCT.replace("2\t3\n", "9\t3\n", 1), "cut off"),
    ("a.gct", GCT_1_3.replace("4\t5", "4\tbad").replace("group", "outcome"), "'g2' holds numbers, but 'bad' in sample 's2'"),
    ("a.txt", SERIES.replace("!series_matrix_table_end\n", ""), "cut off"),
    ("a.txt", SERIES.replace(VALUES.format("", ""), ""), "holds no values"),
    ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old kind; save it as .xlsx"),
    ("a.rds", gzip.compress(b"RDX3\n", mtime=0), "write.csv"),
])  # fmt: skip
def test_files_that_cannot_be_read(read, name, content, match):
    with pytest.raises(InputError, match=match) as caught:
        read(content, name=name)
    assert "\n" not in str(caught.value)


def test_excel(tmp_path):
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": [1.5, 2.0, 3.0], "b c": [4, 5, 6.5], "outcome": ["x", "y", "x"]})
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        table.to_excel(book, sheet_name="values", index=False)
        table.assign(a=0.5).to_excel(book, sheet_name="other", index=False)
    assert load_data(path, "outcome").X.tolist() == [[1.5, 4], [2, 5], [3, 6.5]]
    assert load_data(path, "outcome", sheet="other").X[:, 0].tolist() == [0.5] * 3
    with pytest.raises(InputError, match="no sheet 'third'; it has 'values', 'other'"):
        load_data(path, "outcome", sheet="third")


def test_excel_without_its_package(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": [1.5, 2.0], "outcome": ["x", "y"]}).to_excel(
        tmp_path / "book.xlsx", index=False
    )
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(InputError, match=r"chanceline\[excel\]"):
        load_data(tmp_path / "book.xlsx", "outcome")


def test_parquet_of_many_columns_in_parts(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    n = 2 * COLUMNS_AT_ONCE + 7
    X = np.random.default_rng(0).normal(size=(4, n))
    columns = {f"c{j}": pa.array(X[:, j]) for j in range(n)}
    columns["c5"] = pa.array([1, 2, None, 4])
    names = [*columns]
    names[10:10] = ["outcome", "flag"]
    columns |= {
        "outcome": pa.array(["x", "y", "x", "y"]),
        "flag": pa.array([True, False, False, True]),
    }
    parquet.write_table(
        pa.table({name: columns[name] for name in names}), tmp_path / "wide.parquet"
    )
    dataset = load_data(tmp_path / "wide.parquet", "10", missing="columns")
    assert dataset.feature_names == tuple(name for name in names if name not in ("c5", "outcome"))
    assert np.array_equal(np.delete(dataset.X, 9, axis=1), np.delete(X, 5, axis=1))
    assert dataset.X[:, 9].tolist() == [1, 0, 0, 1]
    assert dataset.classes == ("x", "y")


def test_parquet_with_an_index(tmp_path):
    table = pd.DataFrame({"a": [1.5, 2.0], "b": [0.5, 1.5]}, index=["s1", "s2"])
    table.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "labels.csv").write_text("s,outcome\ns2,x\ns1,y\n")
    dataset = load_data(tmp_path / "t.parquet", labels=tmp_path / "labels.csv")
    assert dataset.X.tolist() == [[1.5, 0.5], [2, 1.5]]
    assert dataset.y.tolist() == [1, -1]
    table.T.to_parquet(tmp_path / "transposed.parquet")
    other = load_data(
        tmp_path / "transposed.parquet", labels=tmp_path / "labels.csv", transpose=True
    )
    assert other.feature_names == ("a", "b")
    assert np.array_equal(other.X, dataset.X)


def test_npz_transposed(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.arange(8.0).reshape(2, 4) ** 2 + 0.5, y=["x", "y", "x", "y"])
    with pytest.raises(InputError, match=r"transpose=True"):
        load_data(path)
    assert load_data(path, transpose=True).X.shape == (4, 2)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.npz", "t.parquet", "t.xlsx"])
def test_files_that_are_cut_off_get_one_sentence(tmp_path, name):
    pytest.importorskip("openpyxl")
    path, table = (
        tmp_path / name,
        pd.DataFrame({"a": np.arange(8) / 3, "outcome": list("pqqpqppq")}),
    )
    {
        "t.csv.gz": table.to_csv,
        "t.npz": lambda path: np.savez(path, X=np.eye(4), y=[0, 1, 0, 1]),
        "t.parquet": table.to_parquet,
        "t.xlsx": table.to_excel,
    }[name](path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match="could not be read") as caught:
        load_data(path, "outcome")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("module", [gzip, bz2, lzma])
def test_a_small_file_that_unpacks_to_very_much_is_refused(read, monkeypatch, module):
    monkeypatch.setattr("chanceline.tables.readers.encoding.MIN_UNPACKED_LIMIT", 1 << 20)
    content = module.compress(bytes(8 << 20))
    assert len(content) < (8 << 20) / 300
    with pytest.raises(InputError, match=r"unpacks to more than 1 MB.*unpack it first"):
        read(content, "y")


def workbook(**cells):
    book = pytest.importorskip("openpyxl").Workbook()
    for place, value in cells.items():
        book.active[place] = value
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_a_sheet_with_a_cell_far_outside_is_refused(read):
    table = {"A1": "a", "B1": "y", "A2": 1, "B2": 0, "A3": 2, "B3": 1, "A4": 3, "B4": 1}
    assert read(workbook(**table), "y").X.tolist() == [[1], [2], [3]]
    with pytest.raises(
        InputError, match="reaches to row 1,048,576 and column 16,384, but only 9 cells are filled"
    ):
        read(workbook(**table, XFD1048576="here"), "y")


def test_a_workbook_that_unpacks_to_very_much_is_refused(read, monkeypatch):
    monkeypatch.setattr("chanceline.tables.readers.encoding.MIN_UNPACKED_LIMIT", 1000)
    monkeypatch.setattr("chanceline.tables.readers.encoding.MAX_UNPACKING_RATIO", 1)
    with pytest.raises(InputError, match="unpacks to more than 0 MB"):
        read(workbook(A1="a", B1="y", A2=1, B2=0), "y")
