"""Identifiers and classes keep every digit and every letter: none are made one by arithmetic or by spaces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline.tables import load_data
from chanceline.tables.spelling import plain_text

FIRST, SECOND = 12345678901234567, 12345678901234568  # one number as floats
assert float(FIRST) == float(SECOND)


def messages(dataset):
    return " | ".join(str(finding) for finding in dataset.findings)


@pytest.mark.parametrize(("value", "text"), [
    (FIRST, str(FIRST)), (str(SECOND), str(SECOND)), (f" {FIRST}.0 ", str(FIRST)), ("9" * 21, "9" * 21),
    ("1", "1"), ("1.0", "1"), (1.0, "1"), (" 01 ", "1"), ("1.5", "1.5"), (-1.0, "-1"), (np.float32(2), "2"),
    ("309_1", "309_1"), ("30_91", "30_91"), ("1E5", "1E5"), ("nan", "nan"),
])  # fmt: skip
def test_one_spelling_for_a_number_and_all_its_digits(value, text):
    assert plain_text(value) == text


@pytest.mark.parametrize("gap", ["", "7,3,1,,,x9"])
def test_long_classes_and_groups_stay_apart_whether_or_not_there_is_a_gap(read, gap):
    """A gap makes floats of whole numbers, and both classes would be one."""
    rows = [
        f"{j},{j % 3}.5,{j * j % 7},{(FIRST, SECOND)[j % 2]},{(FIRST, SECOND)[j % 2]},x{j}"
        for j in range(8)
    ]
    text = "\n".join(["a,b,c,outcome,subject,name", *rows, gap])
    dataset = read(text, unlabelled="drop", groups="subject")
    assert dataset.classes == (str(FIRST), str(SECOND))
    assert sorted(set(map(str, dataset.groups))) == [str(FIRST), str(SECOND)]


def test_labels_are_joined_by_long_ids(read, tmp_path):
    second = tmp_path / "clinic.csv"
    second.write_text(f"sample,outcome\n{SECOND},ill\n{FIRST},well\n7,ill\n9,well\n")
    table = f"sample,a,b\n{FIRST},1,2.5\n{SECOND},3,4\n9,2,1\n7,5,5\n"
    assert read(table, None, labels=second).y.tolist() == [1, -1, 1, -1]
    features_in_rows = f"gene,{FIRST},{SECOND},9,7\na,1,3,2,5\nb,2.5,4,1,5\n"
    assert read(features_in_rows, None, labels=second, transpose=True).y.tolist() == [1, -1, 1, -1]


def test_ids_with_underscores_are_no_numbers(read, tmp_path):
    """Python reads 30_91 and 309_1 as 3091."""
    second = tmp_path / "clinic.csv"
    second.write_text("sample,outcome\n309_1,ill\n30_91,well\n309_2,ill\n30_92,well\n")
    table = "sample,a,b\n30_92,1,2.5\n309_1,3,4\n30_91,2,1\n309_2,5,5\n"
    assert read(table, None, labels=second).y.tolist() == [1, -1, 1, -1]
    features_in_rows = "gene,30_92,309_1,30_91,309_2\na,1,3,2,5\nb,2.5,4,1,5\nc,2,1,3,5\n"
    assert read(features_in_rows, None, labels=second, transpose=True).y.tolist() == [1, -1, 1, -1]


def test_long_classes_in_a_row_of_a_transposed_table(read):
    text = (
        f"gene,s1,s2,s3,s4\na,1.5,2,3,4\nb,4,5,6,7.5\noutcome,{FIRST},{SECOND},{FIRST},{SECOND}\n"
    )
    assert read(text, transpose=True).classes == (str(FIRST), str(SECOND))


def test_long_numbers_beside_a_gap_in_parquet(tmp_path):
    """(A sheet of Excel holds 15 digits of a number, whatever was typed.)"""
    table = pd.DataFrame({"a": [1.5, 2, 3, 4, 5], "b": [4, 5, 6.5, 1, 2]})
    table["outcome"] = pd.array([FIRST, SECOND, None, FIRST, SECOND], dtype="Int64")
    table.to_parquet(tmp_path / "table.parquet", index=False)
    dataset = load_data(tmp_path / "table.parquet", "outcome", unlabelled="drop")
    assert dataset.classes == (str(FIRST), str(SECOND))
    assert dataset.X[:, 0].tolist() == [1.5, 2, 4, 5]


def test_large_measurements_stay_numbers(read):
    """A gap beside numbers beyond 2⁵³: they are features, read as floats as before."""
    dataset = read("a,b,outcome\n12345678901234567,1,x\n,2,y\n3e17,3.5,x\n5,4,y\n", missing="min")
    assert dataset.X[:, 0].tolist() == [12345678901234567.0, 5, 3e17, 5]


NO = [
    "no",
    "\tno",
    " no ",
    "no\xa0",
    "\u200bno",
    "no",
]  # a tab, spaces, a space that does not break, one without width


@pytest.fixture
def untidy():
    table = pd.DataFrame({"a": np.arange(12) / 3, "b": [4.0, 1, 5, 2, 6, 3, 9, 7, 8, 2, 1, 0]})
    table["smokes"] = [*NO, *["yes", "yes\xa0"] * 2, "maybe", " maybe"]
    table["site"] = ["Bad  Ems", "Bad\xa0Ems", "Ulm", " Ulm", "Bad Ems", "Ulm"] * 2
    table["outcome"] = ["ill", "well "] * 6
    return table


@pytest.mark.parametrize("in_memory", [True, False])
def test_spaces_make_no_category(untidy, read, in_memory):
    before = untidy.copy()
    dataset = (
        load_data(untidy, "outcome", one_hot=True) if in_memory else read(untidy, one_hot=True)
    )
    assert dataset.feature_names[2:5] == ("smokes=maybe", "smokes=no", "smokes=yes")
    assert dataset.X[:, 3].tolist() == [1] * 6 + [0] * 6
    assert {name for name in dataset.feature_names if name.startswith("site")} <= {
        "site=Bad Ems",
        "site=Ulm",
    }
    assert dataset.classes == ("ill", "well")
    assert untidy.equals(before), "the user's table stays as it is"


def test_spaces_make_no_block_group_pair_or_covariate(untidy, read):
    for role in ("blocks", "groups", "pairs"):
        assert set(getattr(read(untidy, **{role: "site"}), role)) == {"Bad Ems", "Ulm"}
    assert set(read(untidy, adjust="smokes").covariates["smokes"]) == {"no", "yes", "maybe"}


def test_a_cell_of_spaces_is_empty(untidy, read):
    untidy.loc[3, "outcome"] = " \xa0"
    untidy.loc[5, "outcome"] = " NA\xa0"
    dataset = read(untidy, unlabelled="drop")
    assert dataset.classes == ("ill", "well")
    assert "2 rows without a label left out" in messages(dataset)


def test_spaces_around_ids_do_not_hinder_a_join(read, tmp_path):
    second = tmp_path / "clinic.csv"
    second.write_text("sample,outcome\ns1\xa0,ill\n\ts2,well\u00a0\ns3,ill\ns4,well\n")
    assert read(
        "sample,a,b\ns4,1,2.5\ns1,3,4\n s2,2,1\ns3 ,5,5\n", None, labels=second
    ).y.tolist() == [1, -1, 1, -1]
