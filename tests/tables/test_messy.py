"""Tables as people have them: read as they were meant, or one sentence that names the cell and the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import load_data


def messages(dataset):
    return " | ".join(str(finding) for finding in dataset.findings)


@pytest.mark.parametrize("separator", [",", pytest.param(" ", marks=pytest.mark.slow)])
def test_lines_of_any_length(tmp_path, separator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 20_000)).round(6)
    names = [f"probe_{j}" for j in range(20_000)]
    table = pd.DataFrame(X, columns=names).assign(outcome=list("abbaab"))
    path = tmp_path / "wide.csv"
    table.to_csv(path, index=False, sep=separator)
    assert len(path.read_text().splitlines()[0]) > 131_072
    dataset = load_data(path, "outcome")
    assert np.array_equal(dataset.X, X)
    assert dataset.feature_names == tuple(names)
    assert dataset.y.tolist() == [-1, 1, 1, -1, -1, 1]


GENES = "gene,s1,s2,s3,s4\ng1,1.5,2,3,4\ng2,4,5,6,7.5\n"


def test_features_in_rows_with_the_label_in_a_row(read):
    dataset = read(GENES + "outcome,case,control,case,control\n", transpose=True)
    assert dataset.feature_names == ("g1", "g2")
    assert dataset.X.tolist() == [[1.5, 4], [2, 5], [3, 6], [4, 7.5]]
    assert dataset.classes == ("control", "case")
    assert dataset.y.tolist() == [1, -1, 1, -1]


def test_text_beside_the_names_of_features_is_no_sample(read):
    text = "gene,symbol,s1,s2,s3\ng1,ABC,1.5,2,3\ng2,DEF,4,5,6.5\ng3,GHI,1,2,2.5\noutcome,,x,y,x\n"
    dataset = read(text, transpose=True)
    assert dataset.X.shape == (3, 3)
    assert "'symbol'" in messages(dataset)


def test_labels_in_a_second_file(read, tmp_path):
    second = tmp_path / "clinic.csv"
    second.write_text(
        "age,sample,group,site\n30,s4,ill,x\n40,s2,ill,y\n50,s3,well,x\n60,s1,well,y\n70,s9,well,y\n"
    )
    dataset = read(GENES, "group", transpose=True, labels=second, id="sample", blocks="site")
    assert dataset.y.tolist() == [1, -1, 1, -1]
    assert dataset.blocks.tolist() == ["y", "y", "x", "x"]
    assert dataset.feature_names == ("g1", "g2"), "columns of the second file are no features"
    straight = "name,g1,g2\ns3,1.5,2\ns1,4,5.5\ns2,2,2\n"
    assert read(straight, "group", labels=second, id="sample", positive="well").y.tolist() == [
        1,
        1,
        -1,
    ]


def test_a_second_file_with_one_column_needs_no_label(read, tmp_path):
    second = tmp_path / "labels.tsv"
    second.write_text("sample\tclass\ns1\ta\ns2\tb\ns3\ta\ns4\tb\n")
    assert read(GENES, None, transpose=True, labels=second).y.tolist() == [-1, 1, -1, 1]


def test_classes_in_a_cls_file(read, tmp_path):
    classes = tmp_path / "classes.cls"
    classes.write_text("4 2 1\n# ALL AML\n0 0 1 1\n")
    dataset = read(GENES, None, transpose=True, labels=classes)
    assert dataset.classes == ("ALL", "AML")
    assert dataset.y.tolist() == [-1, -1, 1, 1]
    classes.write_text("3 2 1\n# ALL AML\n0 0 1\n")
    with pytest.raises(InputError, match="3 samples, but the table has 4"):
        read(GENES, None, transpose=True, labels=classes)


def test_second_files_that_do_not_fit(read, tmp_path):
    second = tmp_path / "labels.csv"
    second.write_text("sample,class\ns1,a\ns2,b\n")
    with pytest.raises(InputError, match=r"labels.csv \('s3', 's4'\)"):
        read(GENES, None, transpose=True, labels=second)
    left = read(GENES, None, transpose=True, labels=second, missing="rows")
    assert left.X.tolist() == [[1.5, 4], [2, 5]]
    assert "'s3', 's4'" in messages(left)
    second.write_text("sample,class\ns1,a\ns1,b\n")
    with pytest.raises(InputError, match="two rows for 's1'"):
        read(GENES, None, transpose=True, labels=second)
    second.write_text("sample,class\nt1,a\nt2,b\n")
    with pytest.raises(InputError, match="no sample of the table"):
        read(GENES, None, transpose=True, labels=second)


NUMBERS = "1.5,2\n4,5.5\n2,2\n3,1\n"


@pytest.mark.parametrize("content", [
    "ill\nwell\nwell\nill\n", "outcome\nill\nwell\nwell\nill", "ill \r\nwell\r\nwell\r\nill\r\n", "0\n1\n1\n0\n",
    "state\n0\n1\n1\n0\n", '"very ill"\n"well"\n"well"\n"very ill"\n',
])  # fmt: skip
def test_one_column_of_labels_is_joined_in_order(read, tmp_path, content):
    second = tmp_path / "labels.txt"
    second.write_bytes(content.encode())
    dataset = read(NUMBERS, None, header="none", labels=second)
    assert dataset.X.shape == (4, 2)
    assert len(set(dataset.y[[0, 3]])) == len(set(dataset.y[[1, 2]])) == 1
    assert dataset.y[0] != dataset.y[1]
    assert "labels.txt has one column" in messages(dataset)
    assert "in the same order" in messages(dataset)
    assert read(GENES, None, transpose=True, labels=second).y.tolist() == dataset.y.tolist()


def test_one_column_of_labels_with_gaps_keeps_its_places(read, tmp_path):
    second = tmp_path / "labels.txt"
    second.write_text("ill\nNA\nwell\nill\n")
    dataset = read(NUMBERS, None, header="none", labels=second, unlabelled="drop")
    assert dataset.X[:, 0].tolist() == [1.5, 2, 3]
    assert dataset.y.tolist() == [-1, 1, -1]
    second.write_text("outcome\nill\n\nwell\nill\n")
    assert read(NUMBERS, None, header="none", labels=second, unlabelled="drop").y.tolist() == [
        -1,
        1,
        -1,
    ]


@pytest.mark.parametrize(
    "content", ["ill\nwell\nill\n", "ill\nwell\nill\nwell\nill\n", "outcome\nill\nwell\nill\n"]
)
def test_one_column_of_labels_that_does_not_fit(read, tmp_path, content):
    (tmp_path / "labels.txt").write_text(content)
    rows = content.count("\n") - ("outcome" in content)
    with pytest.raises(
        InputError,
        match=f"labels.txt has one column with {rows} rows, but the table has 4 samples; .* names",
    ):
        read(NUMBERS, None, header="none", labels=tmp_path / "labels.txt")


def test_two_columns_need_names(read, tmp_path):
    (tmp_path / "labels.csv").write_text("sample,outcome\ns1,ill\ns2,well\ns3,well\ns4,ill\n")
    with pytest.raises(
        InputError,
        match=r"holds the names of column 'sample' of labels.csv .*; add them .* in the order of",
    ):
        read(NUMBERS, None, header="none", labels=tmp_path / "labels.csv")


MORE_GENES = "g3,1,2,3,4\ng4,1,2,3,5\ng5,1,2,4,3\ng6,2,2,2,1\n"


@pytest.mark.parametrize(("more", "label"), [
    ("outcome,case,control,case,control\n", "outcome"), (MORE_GENES, "outcome"), (MORE_GENES, None),
])  # fmt: skip
def test_a_transposed_table_is_noticed(read, more, label):
    with pytest.raises(InputError, match=r"features (in|are in) rows[;,] set transpose=True"):
        read(GENES + more, label)


@pytest.mark.parametrize("label", [None, "outcome"])
def test_named_samples_with_a_column_of_two_values_may_be_no_transposed_table(read, label):
    rows = [f"s{n},{n}.5,{n * n},{n % 3}.25,{n % 2}\n" for n in range(12)]
    with pytest.raises(InputError, match=r"columns with two values: 'status'; if features"):
        read("name,f1,f2,f3,status\n" + "".join(rows), label)


def test_comments_above_the_table(read):
    expected = [[1, 2], [3, 4.5]]
    assert (
        read("# made by hand, on Monday\n# more\na,b,outcome\n1,2,x\n3,4.5,y\n").X.tolist()
        == expected
    )
    assert read("# a,b,outcome\n1,2,x\n3,4.5,y\n").feature_names == ("a", "b"), (
        "as numpy.savetxt writes it"
    )


def test_decimal_commas_with_tabs(read):
    assert read("a\tb\toutcome\n1,5\t2,25\tx\n3,1\t4,5\ty\n").X.tolist() == [
        [1.5, 2.25],
        [3.1, 4.5],
    ]
    thousands = "a\tb\toutcome\n1,500\t2,250\tx\n3,100\t4,500\ty\n"
    with pytest.raises(
        InputError, match=r"column 'a' holds numbers, but '1,500' in row 2 .* decimal=','"
    ):
        read(thousands)
    assert read(thousands, decimal=",").X.tolist() == [[1.5, 2.25], [3.1, 4.5]]


@pytest.mark.parametrize("first", ["1.5,2,x", "5,2,x", "5,5,y", "0.1,0.2,0.3"])
def test_a_header_of_numbers_stops(read, first):
    text = first + "\n3,4.5,y\n2,1.5,x\n7,2,y\n"
    with pytest.raises(InputError, match="looks like a sample"):
        read(text, "-1")
    if first != "0.1,0.2,0.3":
        assert read(text, "-1", header="none").X.shape == (4, 2)
    assert read(text, "-1", header="first").X.shape == (3, 2)


@pytest.mark.parametrize(
    "names", ["0,1,outcome", "1,2,outcome", "1007,1053,outcome", "id,1007,outcome"]
)
def test_numbers_as_names(read, names):
    assert read(names + "\n3,4.5,y\n2,1.5,x\n7,2,y\n").X.shape == (3, 1 if "id" in names else 2)


@pytest.mark.parametrize(("cell", "remedy"), [
    ("?", r"na='\?'"), ("n.a.", r"na='n.a.'"), ('"1,234"', "no comma"), ("5%", "plain numbers"),
])  # fmt: skip
def test_an_odd_cell_among_numbers_is_named(read, cell, remedy):
    text = f"a,b,outcome\n1,2,x\n3,4,y\n5,{cell},x\n7,4.5,x\n9,6.5,y\n"
    with pytest.raises(
        InputError, match=f"column 'b' holds numbers, but .* in row 4; .*{remedy}.*drop='b'"
    ):
        read(text)
    assert read(text, drop="b").feature_names == ("a",)
    filled = read(text, na=cell.strip('"'), missing="median")
    assert filled.X[:, 1].tolist() == [2, 4, 4.25, 4.5, 6.5]


def test_text_stays_text(read):
    dataset = read(
        "grade,when,b,outcome\n1a,2020-01-01,2,x\n2b,2020-01-02,4.5,y\n3,2021-03-01,1,x\n"
    )
    assert dataset.feature_names == ("b",)
    assert "1 text column left out: 'grade'" in messages(dataset)
    assert "left out as dates: 'when'" in messages(dataset)


def test_equal_names_are_told_apart_and_said(read):
    dataset = read("a,a,a (2),a,outcome\n1,2,3,4,x\n5,6,7,9,y\n")
    assert len(set(dataset.feature_names)) == 4
    assert dataset.feature_names[:2] == ("a", "a (2)")
    assert "more than once ('a'" in messages(dataset)


def test_infinite_values(read):
    text = "a,b,outcome\n1,2,x\n3,inf,y\n4,5.5,x\n"
    with pytest.raises(
        InputError, match=r"infinite values \(column 'b' first, in row 3\); .*missing='rows'"
    ):
        read(text)
    dataset = read(text, missing="rows")
    assert dataset.X.tolist() == [[1, 2], [4, 5.5]]
    assert "1 row with missing or infinite values left out" in messages(dataset)


def test_spelling_of_classes(read):
    with pytest.raises(InputError, match="has 'Case' and 'case'; write them alike"):
        read("a,b,outcome\n1,2,Case\n3,4.5,case\n1,1,control\n")
    dataset = read("a,b,outcome\n1,2,Case \n3,4.5,Case\n1,1,control\n", positive="case")
    assert dataset.classes == ("control", "Case")


def test_quoted_separators_and_line_ends(read):
    dataset = read('"a, first","two\nlines",outcome\n1,2,"x, y"\n3,4.5,z\n5,"6",z\n')
    assert dataset.feature_names == ("a, first", "two\nlines")
    assert dataset.classes == ("z", "x, y")
    assert dataset.X.tolist() == [[1, 2], [3, 4.5], [5, 6]]
