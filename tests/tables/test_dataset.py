"""Files of many kinds become the same numbers; bad ones get one sentence."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import load_data


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 3)).round(4), columns=["a", "b c", "d"])
    frame["outcome"] = ["ill", "well"] * 6
    return frame


def same(dataset, table):
    assert dataset.feature_names == ("a", "b c", "d")
    assert np.array_equal(dataset.X, table[["a", "b c", "d"]].to_numpy())
    assert dataset.classes == ("ill", "well")
    assert dataset.y.tolist() == [-1.0, 1.0] * 6


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(tmp_path, table, separator):
    path = tmp_path / "data.csv"
    table.to_csv(path, sep=separator, index=False)
    same(load_data(path, "outcome"), table)


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".weird", gzip.compress)]
)
def test_compressed_files_are_known_by_their_content(tmp_path, table, suffix, pack):
    path = tmp_path / f"data.csv{suffix}"
    path.write_bytes(pack(table.to_csv(index=False).encode()))
    same(load_data(path, "outcome"), table)


def test_zip_with_one_file(tmp_path, table):
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inside.csv", table.to_csv(index=False))
    same(load_data(path, "outcome"), table)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, table, encoding):
    path = tmp_path / "data.csv"
    path.write_bytes(table.to_csv(index=False).replace("outcome", "Größe").encode(encoding))
    same(load_data(path, "Größe"), table)


def test_decimal_commas_white_space_and_trailing_separators(tmp_path, table):
    text = table.to_csv(index=False, sep=";", decimal=",").replace("outcome", " outcome ").replace("ill", " ill ")
    path = tmp_path / "data.csv"
    path.write_text("\n".join(line + ";" for line in text.splitlines()) + "\n\n")
    same(load_data(path, "OUTCOME"), table)


def test_white_space_separated(tmp_path, table):
    path = tmp_path / "data.txt"
    table.rename(columns={"b c": "b"}).to_csv(path, sep=" ", index=False)
    assert np.array_equal(load_data(path, "outcome").X, table[["a", "b c", "d"]].to_numpy())


def test_parquet_and_npz(tmp_path, table):
    table.to_parquet(tmp_path / "data.parquet")
    same(load_data(tmp_path / "data.parquet", "outcome"), table)
    np.savez(
        tmp_path / "data.npz",
        X=table[["a", "b c", "d"]].to_numpy(),
        y=table["outcome"].to_numpy(dtype=str),
        feature_names=np.array(["a", "b c", "d"]),
    )
    same(load_data(tmp_path / "data.npz"), table)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([0, 1] * 6, ("0", "1")),
        ([True, False] * 6, ("False", "True")),
        ([-1.0, 1.0] * 6, ("-1", "1")),
        (["10", "9"] * 6, ("9", "10")),
        ([" no", "yes "] * 6, ("no", "yes")),
        (["1", "1.0", "2"] * 4, ("1", "2")),
    ],
)
def test_labels_of_all_kinds(tmp_path, table, labels, classes):
    path = tmp_path / "data.csv"
    table.assign(outcome=labels).to_csv(path, index=False)
    dataset = load_data(path, "outcome")
    assert dataset.classes == classes
    assert set(dataset.y) == {-1.0, 1.0}


def test_label_by_number_and_row_names(tmp_path, table):
    path = tmp_path / "data.csv"
    table.index = [f"patient {i}" for i in range(12)]
    lines = table.to_csv().splitlines()
    lines[0] = lines[0].removeprefix(",")
    path.write_text("\n".join(lines))
    dataset = load_data(path, "-1")
    same(dataset, table)
    assert any("row name" in finding.message for finding in dataset.findings)


def test_identifiers_are_left_out_unless_kept(tmp_path, table):
    path = tmp_path / "data.csv"
    table.insert(0, "patient_id", [1007, 1003, 2999, 4, 88, 1, 17, 19, 23, 31, 47, 53])
    table.insert(1, "count", np.arange(12)[::-1] + 5)
    table.to_csv(path)
    dataset = load_data(path, "outcome")
    assert dataset.feature_names == ("a", "b c", "d")
    assert any("patient_id" in finding.message for finding in dataset.findings)
    kept = load_data(path, "outcome", keep_identifiers=True)
    assert kept.feature_names == ("Unnamed: 0", "patient_id", "count", "a", "b c", "d")
    assert load_data(path, "outcome", drop=["a", "d"]).feature_names == ("b c",)


def test_text_columns_only_on_request(tmp_path, table):
    path = tmp_path / "data.csv"
    table.assign(site=["north", "south", "west"] * 4, as_text=[f" {i / 3:.2f}" for i in range(12)]).to_csv(path, index=False)
    plain = load_data(path, "outcome")
    assert plain.feature_names == ("a", "b c", "d", "as_text")
    assert any("'site'" in finding.message for finding in plain.findings)
    hot = load_data(path, "outcome", one_hot=True)
    assert hot.feature_names[-3:] == ("site=north", "site=south", "site=west")
    assert np.array_equal(hot.X[:, -3:].sum(axis=1), np.ones(12))


def test_missing_values(tmp_path, table):
    path = tmp_path / "data.csv"
    table.loc[3, "a"] = np.nan
    table.loc[5, "d"] = np.inf
    table.to_csv(path, index=False)
    with pytest.raises(InputError, match="'a' first, in row 4"):
        load_data(path, "outcome")
    assert load_data(path, "outcome", missing="columns").feature_names == ("b c",)
    rows = load_data(path, "outcome", missing="rows")
    assert rows.X.shape == (10, 3)
    assert rows.y.shape == (10,)
    filled = load_data(path, "outcome", missing="median")
    assert filled.X[3, 0] == np.nanmedian(table["a"])


def test_blocks_and_groups_are_no_features(tmp_path, table):
    path = tmp_path / "data.csv"
    table.assign(site=["x", "y"] * 6, subject=np.repeat(np.arange(6), 2)).to_csv(path, index=False)
    dataset = load_data(path, "outcome", blocks="site", groups="subject")
    same(dataset, table)
    assert dataset.blocks.tolist() == ["x", "y"] * 6
    assert len(set(dataset.groups)) == 6


def test_more_than_two_classes(tmp_path, table):
    path = tmp_path / "data.csv"
    table.assign(outcome=["a", "b", "c"] * 4).to_csv(path, index=False)
    with pytest.raises(InputError, match="positive='a'"):
        load_data(path, "outcome")
    dataset = load_data(path, "outcome", positive="b")
    assert dataset.classes == ("others", "b")
    assert dataset.y.sum() == -4


BAD = {
    "empty file": ("empty.csv", "", "empty"),
    "header only": ("header.csv", "a,b,outcome\n", "no rows"),
    "wrong label": ("ok.csv", "a,outcom\n1,x\n2,y\n", "did you mean 'outcom'"),
    "label missing": ("gap.csv", "a,outcome\n1,x\n2,\n3,y\n", "is empty .* in row 2"),
    "one class": ("one.csv", "a,outcome\n1,x\n2,x\n", "one class only"),
    "continuous label": ("real.csv", "a,outcome\n1,0.5\n2,0.7\n3,0.9\n4,0.1\n", "no class label"),
    "no features": ("none.csv", "outcome\nx\ny\n", "no numeric feature"),
    "text only": ("text.csv", "a,outcome\nu,x\nv,y\n", "no numeric feature"),
    "not a table": ("image.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00", "not a text table"),
    "broken parquet": ("broken.parquet", "nonsense", "could not be read"),
    "broken gzip": ("broken.csv.gz", b"\x1f\x8b\x08\x00garbage", "could not be read"),
    "broken npz": ("broken.npz", b"PK\x03\x04nothing", "could not be read"),
    "ragged": ("ragged.csv", "a,b,outcome\n1,2,x\n1,2,3,4,5,y\n1,2,3,4,5,6,7,z\n", "row 2 of ragged.csv has 6 fields"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_sentence(tmp_path, case):
    name, content, match = BAD[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=match) as caught:
        load_data(path, "outcome")
    assert "\n" not in str(caught.value)


def test_bad_arguments(tmp_path, table):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    with pytest.raises(IsADirectoryError):
        load_data(tmp_path, "outcome")
    with pytest.raises(FileNotFoundError):
        load_data(tmp_path / "missing.csv", "outcome")
    with pytest.raises(TypeError, match="mising"):
        load_data(path, "outcome", mising="rows")
    with pytest.raises(InputError, match="columns with two values: 'outcome'"):
        load_data(path)
    with pytest.raises(InputError, match="positive class 'dead'"):
        load_data(path, "outcome", positive="dead")
    with pytest.raises(InputError, match="missing must be one of"):
        load_data(path, "outcome", missing="guess")
    with pytest.raises(InputError, match="no blocks column"):
        load_data(path, "outcome", blocks="site")
    np.savez(tmp_path / "odd.npz", data=np.eye(3))
    with pytest.raises(InputError, match="arrays X and y"):
        load_data(tmp_path / "odd.npz")
