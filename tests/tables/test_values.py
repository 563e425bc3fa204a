"""Values as instruments and studies have them: limits, gaps, genotypes, counts, classes; what is done is blind to the labels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.checks.gap_patterns import (
    warn_if_gaps_follow_classes,
    warn_if_gaps_follow_small_values,
)
from chanceline.tables.checks.ranks import mann_whitney
from chanceline.tables.dates import times_as_numbers
from chanceline.tables.transforms import apply_transform

LIMITS = "a,b,y\n1,2.5,u\n<0.5,3,v\n3,4,u\n0.7,5,v\n<1,>9,u\n2,11,v\n"


def messages(dataset, severity=None):
    return " | ".join(str(one) for one in dataset.findings if severity in (None, one.severity))


def test_limits_of_detection_ask(read):
    with pytest.raises(
        InputError,
        match=r"3 values .* 2 columns \('<0.5' in column 'a', row 3\); below='half' .* below='missing'",
    ):
        read(LIMITS, "y")


def test_the_strictest_limit_holds_for_all_rows(read):
    """Half of 1, not of 0.5, also for the 0.7 that one run could measure: a limit must not tell its row's class."""
    dataset = read(LIMITS, "y", below="half")
    assert dataset.X[:, 0].tolist() == [1, 0.5, 3, 0.5, 0.5, 2]
    assert dataset.X[:, 1].tolist() == [2.5, 3, 4, 5, 9, 9]
    assert "limits differ within 'a'" in messages(dataset, "prepared")
    gone = read(LIMITS, "y", below="missing", missing="min")
    assert gone.X[:, 0].tolist() == [1, 1, 3, 1, 1, 2]
    assert gone.X[:, 1].tolist() == [2.5, 3, 4, 5, 9, 9], (
        "what lies above a limit is not filled with the smallest value"
    )


@pytest.mark.parametrize("cell", ["ND", "n.d.", "< LOD", "<LLOQ", "BQL", "not detected"])
def test_words_for_undetected_are_half_the_smallest_value(read, cell):
    text = f"a,b,y\n1,2.5,u\n{cell},3,v\n3,4,u\n0.8,5,v\n"
    assert read(text, "y", below="half").X[:, 0].tolist() == [1, 0.4, 3, 0.8]
    assert read(text, "y", na=cell, missing="columns").feature_names == ("b",)


def test_limits_of_logarithms_have_no_half(read):
    text = "a,b,y\n-1,2.5,u\n<-2,3,v\n3,4,u\n"
    with pytest.raises(InputError, match="'a' has a limit below 0"):
        read(text, "y", below="half")
    with pytest.raises(InputError, match=r"'a' has values below 0.*missing='min'"):
        read(text, "y", below="missing", missing="half-min")


def test_limits_with_decimal_commas(read):
    assert read("a;b;y\n1,5;<0,5;u\n2,5;3,5;v\n2,1;3,7;u\n", "y", below="half").X[
        :, 1
    ].tolist() == [0.25, 3.5, 3.7]


def test_genotypes_are_counted(read):
    dataset = read("g,h,y\n0/0,1.5,u\n0/1,2,v\n1|1,1,u\n1/0,3,v\n./.,2,u\n", "y", missing="median")
    assert dataset.X[:, 0].tolist() == [0, 1, 2, 1, 1]


@pytest.mark.parametrize("gap", ["", "NA", "?", " "])
@pytest.mark.parametrize(
    ("true", "false"), [("TRUE", "FALSE"), ("True", "False"), ("true", "false")]
)
def test_true_and_false_are_numbers_beside_a_gap_too(read, true, false, gap):
    text = f"a,flag,y\n1.5,{true},u\n2,{false},v\n3,{gap},u\n4,{true},v\n5,{true},u\n"
    dataset = read(text, "y", missing="median", na="?", one_hot=True)
    assert dataset.feature_names == ("a", "flag")
    assert dataset.X[:, 1].tolist() == [1, 0, 1, 1, 1]
    with pytest.raises(InputError, match="'flag' first, in row 4"):
        read(text, "y", na="?")
    transposed = f"name,s1,s2,s3,s4,s5\na,1.5,2,3,4,5\nb,7,2,3,4,5\nflag,{true},{false},{gap},{true},{true}\ny,u,v,u,v,u\n"
    assert read(transposed, "y", transpose=True, missing="median", na="?").X[:, 2].tolist() == [
        1,
        0,
        1,
        1,
        1,
    ]


def test_true_among_words_is_a_word(read):
    text = "a,heard,y\n1.5,true,u\n2,false,v\n3,rumour,u\n4,true,v\n5,true,u\n"
    assert read(text, "y").feature_names == ("a",)
    assert "'heard'" in messages(read(text, "y"))
    with pytest.raises(InputError, match="column 'a' holds numbers, but 'TRUE' in row 3"):
        read("a,b,y\n1.5,1,u\nTRUE,2,v\n3,4,u\n4,7,v\n", "y")


def test_typed_columns_of_a_data_frame():
    table = pd.DataFrame({
        "whole": pd.array([1, None, 4, 7], dtype="Int64"), "flag": pd.array([True, False, None, True], dtype="boolean"),
        "level": pd.Categorical([1.5, 2, 2, 1.5]), "when": pd.date_range("2020-01-01", periods=4),
        "y": pd.Categorical(list("uvuv")),
    })  # fmt: skip
    dataset = load_data(table, "y", missing="min")
    assert dataset.feature_names == ("whole", "flag", "level")
    assert dataset.X.T.tolist() == [[1, 1, 4, 7], [1, 0, 0, 1], [1.5, 2, 2, 1.5]]
    assert [*table.columns] == ["whole", "flag", "level", "when", "y"], (
        "the user's table stays as it is"
    )


def test_categories_of_labels_that_no_row_has_are_not_said_to_be_left_out():
    table = pd.DataFrame(
        {"a": [1.5, 2, 3.25, 4], "b": [2, 1, 5.5, 2], "y": pd.Categorical(list("uvuv"))}
    )
    assert messages(load_data(table, "y")) == ""
    several = table.assign(y=pd.Categorical(list("uvww")))
    assert (
        messages(load_data(several, "y", classes="u,v"))
        == "note: 2 rows of other classes left out (2 w)."
    )


def test_the_column_that_cannot_be_filled_with_half_its_smallest_value_is_the_one_named():
    table = pd.DataFrame({"a": [-1.5, -2, -3.25, -4], "b": [2, None, 5.5, -2], "y": list("uvuv")})
    with pytest.raises(InputError, match="column 'b' has values below 0"):
        load_data(table, "y", missing="half-min")


@pytest.mark.parametrize(("how", "filled"), [("median", 3.0), ("min", 2.0), ("half-min", 1.0)])
def test_fills(read, how, filled):
    text = "a,b,y\n2,1.5,u\n,2,v\n4,1,u\n"
    dataset = read(text, "y", missing=how)
    assert dataset.X[1, 0] == filled
    flipped = read(text.replace("u", "w"), "y", missing=how)
    assert np.array_equal(dataset.X, flipped.X), "blind to the labels"


def test_two_header_lines(read):
    text = "Lipids,,Age,y\nC16,C18,,\n1,2,3,u\n2,3.5,5,v\n"
    dataset = read(text, "y", header="2")
    assert dataset.feature_names == ("Lipids C16", "Lipids C18", "Age")
    assert dataset.rows == [3, 4]
    with pytest.raises(InputError, match="header='2'"):
        read(text, "y")
    with pytest.raises(InputError, match="'a' holds numbers, but 'mg/L' in row 2; set header='2'"):
        read("a,b,y\nmg/L,kg,class\n1,2.5,u\n2,3.5,v\n4,4,u\n", "y", positive="u")


def test_rows_are_called_as_programs_show_them(read):
    with pytest.raises(InputError, match="'x' in row 6"):
        read("# remark\n\na,b,y\n1,2,u\n\n2,x,v\n2,3,v\n4,4.5,u\n", "y")
    with pytest.raises(InputError, match="'a' first, in sample 's2'"):
        read("gene,s1,s2\na,1,\nb,2,3\ny,u,v\n", "y", transpose=True)
    with pytest.raises(InputError, match="'a' first, in row 7"):
        load_data(pd.DataFrame({"a": [1.5, None], "y": ["u", "v"]}, index=[4, 7]), "y")


CLASSES = "a,b,y\n1,2.5,GC\n2,3,HE\n,4,QC\n0.7,5,HE\n2,3,\n5,1,GC\n3,1,BN\n5,7,gc\n6,1,HE\n"


def test_two_classes_of_several(read):
    with pytest.raises(InputError, match=r"in row 6; .*unlabelled='drop'"):
        read(CLASSES, "y")
    text = CLASSES.replace("gc", "GC")
    with pytest.raises(InputError, match=r"4 classes .*classes='BN,GC'.*positive='BN'"):
        read(text, "y", unlabelled="drop")
    dataset = read(text, "y", unlabelled="drop", classes="GC,HE")
    assert dataset.classes == ("HE", "GC")
    assert dataset.y.tolist() == [1, -1, -1, 1, 1, -1]
    assert dataset.rows == [2, 3, 5, 7, 9, 10]
    assert (
        "1 row without a label left out. | note: 2 rows of other classes left out (1 QC, 1 BN)"
        in messages(dataset)
    )
    pooled = read(text, "y", unlabelled="drop", classes=("GC", "HE", "BN"), positive="he")
    assert pooled.y.tolist() == [-1, 1, 1, -1, -1, -1, 1]
    with pytest.raises(
        InputError, match="class 'XX' is not in label column 'y'; it has 'BN', 'GC', 'HE', 'QC'"
    ):
        read(text, "y", unlabelled="drop", classes="GC,XX")
    with pytest.raises(InputError, match="'GC' and 'gc'"):
        read(CLASSES, "y", unlabelled="drop", classes="GC,HE")


def test_a_continuous_outcome_is_split_where_asked(read):
    text = "a,b,y\n1,2,.1\n2,3.5,.4\n2,3,.5\n1,1,.7\n"
    with pytest.raises(InputError, match="split_at=VALUE"):
        read(text, "y")
    dataset = read(text, "y", split_at=0.4)
    assert (dataset.classes, dataset.y.tolist()) == (("<0.4", "≥0.4"), [-1, 1, 1, 1])
    with pytest.raises(InputError, match="split_at needs numbers, but label column 'y' has 'x'"):
        read(text.replace(".7", "x"), "y", split_at=0.4)


@pytest.mark.parametrize("ties", [1, 4])
def test_area_under_the_curve_is_mann_and_whitneys(ties):
    rng = np.random.default_rng(ties)
    values, labels = rng.normal(size=60), np.where(np.arange(60) < 25, 1.0, -1.0)
    values = np.round(ties * (values + 0.4 * labels)) if ties > 1 else values
    area, pvalue = mann_whitney(values, labels)
    theirs = stats.mannwhitneyu(values[:25], values[25:], method="asymptotic", use_continuity=False)
    assert area == pytest.approx(theirs.statistic / (25 * 35))
    assert pvalue == pytest.approx(theirs.pvalue)
    assert mann_whitney(np.ones(60), labels) == (0.5, 1.0)


def test_gaps_that_follow_a_class_are_seen_and_others_hardly_ever():
    labels, seen = np.repeat([1.0, -1.0], 30), 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        seen += bool(
            warn_if_gaps_follow_classes(rng.random((60, 20)) < 0.2, labels, "gaps", "none")
        )
    assert seen <= 10, "at level 0.05 in 100 tables: P(more than 10) = 0.011"
    marks = rng.random((60, 20)) < 0.1
    marks[:, 7] = rng.random(60) < np.where(labels > 0, 0.8, 0.1)
    finding = warn_if_gaps_follow_classes(marks, labels, "gaps", "remedy")
    assert "gaps differ between the classes" in finding[0].message
    exact = stats.fisher_exact(
        [
            [marks[:30, 7].sum(), 30 - marks[:30, 7].sum()],
            [marks[30:, 7].sum(), 30 - marks[30:, 7].sum()],
        ]
    )
    assert (
        1.9 * 20 * exact.pvalue
        < float(finding[0].message.split("p = ")[1].split(")")[0])
        < 4.1 * 20 * exact.pvalue
    )


def test_gaps_of_small_values_are_seen():
    rng = np.random.default_rng(0)
    levels = rng.uniform(0, 6, size=40)
    values = pd.DataFrame(levels + rng.normal(size=(50, 40)))
    censored = values.mask(values < 1.5)
    ours = warn_if_gaps_follow_small_values(censored)
    theirs = stats.spearmanr(censored.median(), censored.isna().mean())
    assert f"Spearman {theirs.statistic:.2f}" in ours[0].message
    n_alarms = 0
    for _ in range(100):
        n_alarms += len(warn_if_gaps_follow_small_values(values.mask(rng.random((50, 40)) < 0.2)))
    assert n_alarms <= 4, "at level 0.01 in 100 tables: P(more than 4) = 0.0034"


def test_class_dependent_gaps_name_what_keeps_them_out(read):
    rng = np.random.default_rng(1)
    y = np.repeat(["u", "v"], 30)
    table = pd.DataFrame(rng.normal(size=(60, 12)).round(3), columns=[f"p{j}" for j in range(12)])
    table.loc[rng.random(60) < np.where(y == "u", 0.6, 0.05), "p3"] = np.nan
    table["y"] = y
    with pytest.raises(
        InputError, match=r"gaps differ .* p = .*; missing='columns' or missing='rows' keeps"
    ) as caught:
        read(table, "y")
    assert "median" not in str(caught.value)
    assert "gaps differ between the classes" in messages(
        read(table, "y", missing="median"), "warning"
    )
    assert messages(read(table, "y", missing="columns"), "warning") == ""


def test_transforms_by_hand():
    X = np.array([[1.0, 3, 0], [10, 20, 10], [4, 4, 8]])
    names = pd.Index(["a", "b", "c"])
    assert np.allclose(apply_transform(X, "cpm", names).sum(axis=1), 1e6)
    assert np.allclose(apply_transform(X, "cpm", names)[0], [25e4, 75e4, 0])
    assert np.array_equal(apply_transform(X, "log", names), np.log2(X + 1))
    assert np.array_equal(apply_transform(X + 1, "log", names), np.log2(X + 1)), (
        "1 is added only where there are zeros"
    )
    assert np.allclose(
        apply_transform(X + 1, "clr", names), apply_transform(7 * (X + 1), "clr", names)
    ), "blind to a row's total"
    assert np.allclose(
        apply_transform(X, "clr", names),
        np.log((X + 0.5) / stats.gmean(X + 0.5, axis=1, keepdims=True)),
    )
    assert apply_transform(X, "rank", names)[:, 1].tolist() == [1, 3, 2]
    with pytest.raises(InputError, match="column 'b' has some below"):
        apply_transform(X - [0, 5, 0], "clr", names)
    with pytest.raises(InputError, match="in every row, but 1 row"):
        apply_transform(X * [[0], [1], [1]], "cpm", names)


def test_totals_that_follow_the_classes_come_first(read):
    rng = np.random.default_rng(2)
    depth = np.where(np.arange(40) < 20, 1.6, 1.0)
    table = pd.DataFrame(
        rng.poisson(20 * depth[:, None], size=(40, 30)), columns=[f"otu{j}" for j in range(30)]
    )
    table["note"], table["y"] = "x", np.repeat(["ill", "well"], 20)
    first = read(table, "y").findings[0]
    assert first.severity == "warning"
    assert "area under the curve 1.00" in first.message
    assert messages(read(table, "y", transform="none"), "warning") == ""
    dataset = read(table, "y", transform="clr")
    assert messages(dataset, "warning") == ""
    assert "centred log-ratios" in messages(dataset, "prepared")
    assert np.allclose(dataset.X.mean(axis=1), 0)
    assert messages(read(table.assign(y=np.tile(["ill", "well"], 20)), "y"), "warning") == "", (
        "counts alike need no remark"
    )


def survey(kind, rng, ill):
    """Answers of 40 people to 20 questions, higher of the ill, who are older; all whole numbers."""
    higher = np.where(ill, 0.3, 0.0)[:, None]
    chance = np.clip(rng.random((40, 20)) + higher, 0, 0.999)
    answers = {
        "yes or no": np.floor(2 * chance),
        "one to five": 1 + np.floor(5 * chance),
        "99 for no answer": np.where(
            rng.random((40, 20)) < 0.4 * higher,
            rng.choice([77, 88, 99], (40, 20)),
            np.floor(4 * chance),
        ),
        "none to ten": np.floor(11 * chance),
        "per cent by tens": 10 * np.floor(11 * chance),
    }[kind]
    table = pd.DataFrame(answers.astype(int), columns=[f"q{j}" for j in range(20)])
    return table.assign(
        years=rng.integers(18, 50, 40) + 40 * ill,
        weight=rng.integers(50, 99, 40),
        y=np.where(ill, "ill", "well"),
    )


@pytest.mark.parametrize(
    "kind", ["yes or no", "one to five", "99 for no answer", "none to ten", "per cent by tens"]
)
def test_a_survey_is_no_table_of_counts(read, kind):
    ill = np.arange(40) < 20
    table = survey(kind, np.random.default_rng(5), ill)
    totals = table.drop(columns="y").sum(axis=1).to_numpy()
    assert mann_whitney(totals, np.where(ill, 1.0, -1.0))[1] < 0.05, (
        "the totals do follow the classes"
    )
    assert "counts" not in messages(read(table, "y"))


def test_shallow_counts_are_counts(read):
    """Most cells are 0, most columns small, and some taxa are frequent, as in 16S counts of a hundred reads a sample."""
    rng = np.random.default_rng(6)
    sizes = np.sort(rng.gamma(0.15, 8.0, size=300))[::-1]
    depth = np.where(np.arange(40) < 20, 3.0, 1.0)
    counts = rng.poisson(rng.gamma(0.5, 2.0 * sizes, size=(40, 300)) * depth[:, None])
    assert np.median(counts) == 0
    table = pd.DataFrame(counts, columns=[f"otu{j}" for j in range(300)]).assign(
        y=np.repeat(["ill", "well"], 20)
    )
    assert "the table holds counts" in messages(read(table, "y"), "warning")


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%m/%d/%y", "%Y-%m-%d %H:%M"])
def test_dates_are_read_in_their_order(written):
    days = pd.date_range("2019-11-20", periods=40, freq="5D").to_series(index=range(40))
    found = times_as_numbers(days.dt.strftime(written).where(days.index != 7))
    assert found.drop(7).is_monotonic_increasing
    assert np.isnan(found[7])
    assert times_as_numbers(pd.Series(["2021-01-01", "1.2.3.4", None])) is None


def test_dates_are_no_features_and_tell_of_drift(read):
    rng = np.random.default_rng(3)
    days = pd.date_range("2021-03-01", periods=24)
    table = pd.DataFrame(
        {"a": rng.normal(size=24), "b": rng.normal(size=24), "sampled": days.strftime("%d.%m.%Y")}
    )
    table["serial_date"], table["day"] = (
        np.arange(24) * 7 + 44000,
        days.strftime("%Y%m%d").astype(int),
    )
    table["y"] = np.repeat(["u", "v"], 12)
    dataset = read(table, "y", one_hot=True)
    assert dataset.feature_names == ("a", "b")
    assert "dates in 'sampled' tell the classes apart (area under the curve" in messages(
        dataset, "warning"
    )
    assert "dates in 'day' tell" in messages(dataset, "warning")
    assert "dates in 'sampled' tell" in messages(
        read(table.assign(sampled=table["sampled"].where(table.index != 3)), "y")
    )
    assert messages(read(table.assign(y=np.tile(["u", "v"], 12)), "y"), "warning") == ""
    assert read(table, "y", keep_identifiers=True).feature_names == ("a", "b", "serial_date", "day")


@pytest.fixture
def cells():
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(4)
    donors = np.repeat([f"d{i}" for i in range(6)], 5)
    obs = pd.DataFrame(
        {
            "donor": donors,
            "y": np.where(donors < "d3", "ill", "well"),
            "phase": np.tile(list("GSMGS"), 6),
        }
    )
    obs.index = pd.Index([f"c{i}" for i in range(30)], dtype=object)
    counts = rng.poisson(3.0, size=(30, 4))
    data = anndata.AnnData(
        counts.astype(float),
        obs.astype(object),
        pd.DataFrame(index=pd.Index(list("ABCD"), dtype=object)),
    )
    data.layers["counts"] = __import__("scipy.sparse").sparse.csr_matrix(counts)
    return data, counts


def test_cells_are_summed_to_donors(cells):
    data, counts = cells
    dataset = load_data(data, "y", layer="counts", pseudobulk="donor")
    assert dataset.X.tolist() == counts.reshape(6, 5, 4).sum(axis=1).tolist()
    assert dataset.rows == [f"d{i}" for i in range(6)]
    assert dataset.y.tolist() == [-1, -1, -1, 1, 1, 1]
    assert dataset.undeclared == ""
    assert np.array_equal(load_data(data, "y", groups="donor").groups, data.obs["donor"])
    with pytest.raises(InputError, match="cells of one 'donor' differ in 'phase'"):
        load_data(data, "phase", pseudobulk="donor", classes="G,S")
    with pytest.raises(InputError, match="no layer 'raw'; there are 'counts'"):
        load_data(data, "y", layer="raw")


@pytest.mark.parametrize("dtype", [object, "category"])
def test_a_cell_without_a_donor_is_refused(dtype):
    # What is read of an AnnData object.
    cell_names = pd.Index([f"c{i}" for i in range(6)])
    donors = pd.Series(["d0", "d0", None, "d1", None, "d1"], index=cell_names, dtype=dtype)
    data = SimpleNamespace(
        X=np.arange(12.0).reshape(6, 2),
        layers={},
        obs=pd.DataFrame({"donor": donors, "y": list("aabbbb")}, index=cell_names),
        obs_names=cell_names,
        var_names=["A", "B"],
    )
    with pytest.raises(InputError, match=r"column 'donor' is empty .* in sample 'c2'"):
        load_data(data, "y", pseudobulk="donor")


def test_cells_as_samples_stop(cells):
    assert "pseudobulk=COLUMN" in load_data(cells[0], "y").undeclared
    assert load_data(cells[0], "y", independent=("obs_names", "donor")).undeclared == ""


def test_tables_of_other_libraries(table):
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for form in (polars.from_pandas, arrow.Table.from_pandas):
        dataset = load_data(form(table), "outcome")
        assert np.array_equal(dataset.X, table[["a", "b c", "d"]].to_numpy())
