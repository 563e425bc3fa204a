"""Files of many kinds become the same numbers; bad ones get one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.raw_table import RawTable


def same(dataset, table):
    assert dataset.feature_names == ("a", "b c", "d")
    assert np.array_equal(dataset.X, table[["a", "b c", "d"]].to_numpy())
    assert dataset.classes == ("ill", "well")
    assert dataset.y.tolist() == [-1.0, 1.0] * 6


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators(read, table, separator):
    same(read(table.to_csv(sep=separator, index=False)), table)


def zipped(raw):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("inside.csv", raw)
    return content.getvalue()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zipped])
def test_compressed_files_are_known_by_their_content(read, table, pack):
    same(read(pack(table.to_csv(index=False).encode()), name="data.weird"), table)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(read, table, encoding):
    same(
        read(table.to_csv(index=False).replace("outcome", "Größe").encode(encoding), "Größe"), table
    )


def test_decimal_commas_white_space_and_trailing_separators(read, table):
    text = (
        table.to_csv(index=False, sep=";", decimal=",")
        .replace("outcome", " outcome ")
        .replace("ill", " ill ")
    )
    same(read("\n".join(line + ";" for line in text.splitlines()) + "\n\n", "OUTCOME"), table)


def test_white_space_separated(read, table):
    text = table.rename(columns={"b c": "b"}).to_csv(sep=" ", index=False)
    assert np.array_equal(read(text).X, table[["a", "b c", "d"]].to_numpy())


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


@pytest.mark.parametrize(("labels", "classes"), [
    ([0, 1], ("0", "1")), ([True, False], ("False", "True")), ([-1.0, 1.0], ("-1", "1")), (["10", "9"], ("9", "10")),
    ([" no", "yes "], ("no", "yes")), (["1", "1.0", "2", "2"], ("1", "2")),
])  # fmt: skip
def test_labels_of_all_kinds(read, table, labels, classes):
    dataset = read(table.assign(outcome=labels * (12 // len(labels))))
    assert dataset.classes == classes
    assert set(dataset.y) == {-1.0, 1.0}


def test_label_by_number_and_row_names(read, table):
    table.index = [f"patient {i}" for i in range(12)]
    dataset = read(table.to_csv().removeprefix(","), "-1")  # as R writes it
    same(dataset, table)
    assert any("row name" in finding.message for finding in dataset.findings)


def test_identifiers_are_left_out_unless_kept(read, table):
    table.insert(0, "patient_id", [1007, 1003, 2999, 4, 88, 1, 17, 19, 23, 31, 47, 53])
    table.insert(1, "count", np.arange(12)[::-1] + 5)
    text = table.to_csv()
    dataset = read(text)
    assert dataset.feature_names == ("a", "b c", "d")
    assert any("patient_id" in finding.message for finding in dataset.findings)
    assert read(text, keep_identifiers=True).feature_names == (
        "Unnamed: 0",
        "patient_id",
        "count",
        "a",
        "b c",
        "d",
    )
    assert read(text, drop=["a", "d"]).feature_names == ("b c",)


def test_text_columns_only_on_request(read, table):
    table = table.assign(
        site=["north", "south", "west"] * 4, as_text=[f" {i / 3:.2f}" for i in range(12)]
    )
    plain = read(table)
    assert plain.feature_names == ("a", "b c", "d", "as_text")
    assert any("'site'" in finding.message for finding in plain.findings)
    hot = read(table, one_hot=True)
    assert hot.feature_names[-3:] == ("site=north", "site=south", "site=west")
    assert np.array_equal(hot.X[:, -3:].sum(axis=1), np.ones(12))


def test_one_half_of_two_values_says_all(read, table):
    """Both halves of a column are one feature twice: which of them a search picks would be arbitrary."""
    table = table.assign(
        sex=["male", "female", "female"] * 4,
        site=["north", "south", "west"] * 4,
        smokes=["no", "yes"] * 6,
    )
    dataset = read(table, one_hot=True)
    assert dataset.feature_names[3:] == (
        "sex=male",
        "site=north",
        "site=south",
        "site=west",
        "smokes=yes",
    )
    assert dataset.X[:, 3].tolist() == [1, 0, 0] * 4
    assert any(
        "last in the alphabet: 'sex=male', 'smokes=yes'." in finding.message
        for finding in dataset.findings
    )
    table.loc[2, "sex"] = None
    with pytest.raises(InputError, match="'sex=male' first, in row 4"):
        read(table, one_hot=True)
    assert read(table, one_hot=True, missing="columns").feature_names[3:] == (
        "site=north",
        "site=south",
        "site=west",
        "smokes=yes",
    )


def test_missing_values(read, table):
    table.loc[3, "a"] = np.nan
    table.loc[5, "d"] = np.inf
    with pytest.raises(InputError, match="'a' first, in row 5"):
        read(table)
    assert read(table, missing="columns").feature_names == ("b c",)
    rows = read(table, missing="rows")
    assert rows.X.shape == (10, 3)
    assert rows.y.shape == (10,)
    assert read(table, missing="median").X[3, 0] == np.nanmedian(table["a"])


def test_blocks_and_groups_are_no_features(read, table):
    more = table.assign(site=["x", "y"] * 6, subject=np.repeat(np.arange(6), 2))
    dataset = read(more, blocks="site", groups="subject")
    same(dataset, table)
    assert dataset.blocks.tolist() == ["x", "y"] * 6
    assert len(set(dataset.groups)) == 6
    with pytest.raises(InputError, match=r"blocks column 'site' is empty .* in row 3"):
        read(more.assign(site=["x", None] * 6), blocks="site")


def test_more_than_two_classes(read, table):
    table = table.assign(outcome=["a", "b", "c"] * 4)
    with pytest.raises(InputError, match="positive='a'"):
        read(table)
    dataset = read(table, positive="b")
    assert dataset.classes == ("others", "b")
    assert dataset.y.sum() == -4


@pytest.mark.parametrize(("name", "content", "match"), [
    ("empty.csv", "", "empty"),
    ("wrong-label.csv", "a,outcom\n1,x\n2,y\n", "did you mean 'outcom'"),
    ("gap.csv", "a,outcome\n1,x\n2,\n3,y\n", "is empty .* in row 3; .*unlabelled='drop'"),
    ("one-class.csv", "a,outcome\n1,x\n2,x\n", "one class only"),
    ("continuous.csv", "a,outcome\n1,0.5\n2,0.7\n3,0.9\n4,0.1\n", "two classes are needed; split it at a value fixed beforehand"),
    ("text-only.csv", "a,outcome\nu,x\nv,y\n", "no numeric feature"),
    ("image.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00", "not a text table"),
    ("ragged.csv", "a,b,outcome\n1,2,x\n1,2,3,4,5,y\n1,2,3,4,5,6,7,z\n", "row 3 of ragged.csv has 6 fields"),
])  # fmt: skip
def test_bad_files_get_one_sentence(read, name, content, match):
    with pytest.raises(InputError, match=match) as caught:
        read(content, name=name)
    assert "\n" not in str(caught.value)


def test_bad_arguments(tmp_path, table):
    path = tmp_path / "data.csv"
    table.to_csv(path, index=False)
    with pytest.raises(TypeError, match="mising"):
        load_data(path, "outcome", mising="rows")
    with pytest.raises(InputError, match="columns with two values: 'outcome'"):
        load_data(path)
    # Words are classes more often than numbers are.
    is_rare = (np.arange(len(table)) < 2).astype(int)
    pd.concat([pd.Series(is_rare, name="rare"), table], axis=1).to_csv(path, index=False)
    with pytest.raises(InputError, match="columns with two values: 'outcome', 'rare'"):
        load_data(path)
    table.to_csv(path, index=False)
    with pytest.raises(InputError, match="positive class 'dead'"):
        load_data(path, "outcome", positive="dead")
    with pytest.raises(InputError, match="missing must be one of"):
        load_data(path, "outcome", missing="guess")
    np.savez(tmp_path / "odd.npz", data=np.eye(3))
    with pytest.raises(InputError, match="arrays X and y"):
        load_data(tmp_path / "odd.npz")


def test_columns_about_samples_whose_names_are_numbers_are_found():
    about = pd.DataFrame({5: ["ill", "well"] * 4})
    column = RawTable(pd.DataFrame({"a": range(8)}), descriptions=about).column("5")
    assert column is not None
    assert column.tolist() == ["ill", "well"] * 4
