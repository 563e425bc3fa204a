"""No finding recommends what was done already, and none is said twice."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from chanceline import separation_test
from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.checks.ranks import mann_whitney, stratified_rank_pvalue

HALVES = np.repeat(["ill", "well"], 30)
ILL = HALVES == "ill"


def generator(seed):
    return np.random.default_rng(seed)


def table(**columns):
    values = generator(0).normal(size=(60, 12)).round(3)
    return pd.DataFrame(values, columns=[f"g{j}" for j in range(12)]).assign(
        outcome=HALVES, **columns
    )


def messages(result, severity=None):
    return " | ".join(str(one) for one in result.findings if severity in (None, one.severity))


def test_gaps_that_were_left_out_with_their_rows_are_no_warning():
    data = table()
    data.loc[generator(1).random(60) < np.where(ILL, 0.6, 0.05), "g3"] = np.nan
    assert "missing='columns' or missing='rows' keeps" in messages(
        load_data(data, "outcome", missing="median")
    )
    for missing in ("rows", "columns"):
        assert messages(load_data(data, "outcome", missing=missing), "warning") == ""


def days(numbers):
    return (pd.Timestamp("2021-03-01") + pd.to_timedelta(numbers, unit="D")).strftime("%Y-%m-%d")


def test_dates_that_blocks_keep_out_are_no_warning():
    """The ill came in the first runs; within a run of ten days they came in any order."""
    rng = generator(2)
    ill = np.concatenate([rng.permutation(np.arange(10) < count) for count in (9, 8, 6, 4, 2, 1)])
    data = table(sampled=days(np.arange(60)), run=np.repeat(list("abcdef"), 10))
    data["outcome"] = np.where(ill, "ill", "well")
    assert "the dates in 'sampled' tell the classes apart (area" in messages(
        load_data(data, "outcome"), "warning"
    )
    assert messages(load_data(data, "outcome", blocks="run"), "warning") == ""


def test_dates_that_differ_within_blocks_are_told_without_naming_blocks_as_the_remedy():
    site = np.tile(["A", "B", "C"], 20)
    said = messages(
        load_data(table(sampled=days(np.arange(60)), site=site), "outcome", blocks="site")
    )
    assert "tell the classes apart within the 3 values of 'site' too" in said
    assert "smaller blocks keep it out" in said
    assert "blocks=COLUMN" not in said


def test_ranks_within_blocks_against_enumeration():
    values = np.array([3.0, 1, 2, 2, 9, 7, 8, 4])
    labels = np.array([1.0, 1, -1, -1, 1, -1, -1, -1])
    block = pd.Series(list("aaaabbbb"))
    one_block = pd.Series(["a"] * 8)
    assert stratified_rank_pvalue(values, labels, one_block) == pytest.approx(
        mann_whitney(values, labels).pvalue
    )
    ranks = pd.Series(values).rank().to_numpy()
    sums = [
        ranks[np.array([*first, *second]) > 0].sum()
        for first, second in product(permutations(labels[:4]), permutations(labels[4:]))
    ]
    z = (ranks[labels > 0].sum() - np.mean(sums)) / np.std(sums)
    assert stratified_rank_pvalue(values, labels, block) == pytest.approx(2 * norm.sf(abs(z)))


def test_limits_within_declared_blocks_have_another_remedy():
    cells = generator(6).lognormal(size=(60, 3)).round(2).astype(str).astype(object)
    cells[generator(7).random((60, 3)) < np.where(ILL, 0.6, 0.05)[:, None]] = "ND"
    data = table(run=np.tile(np.arange(6), 10)).assign(a=cells[:, 0], b=cells[:, 1], c=cells[:, 2])
    assert "blocks=COLUMN" in messages(load_data(data, "outcome", below="half"))
    said = messages(load_data(data, "outcome", below="half", blocks="run"))
    assert "values below a limit differ" in said
    assert "blocks=COLUMN" not in said


def test_a_column_that_says_the_same_as_what_was_adjusted_for_is_no_warning():
    site = np.where(generator(8).random(60) < 0.8, np.where(ILL, "A", "B"), "A")
    data = table(
        site=site,
        site_code=np.where(site == "A", 1, 2),
        Site_name=np.where(site == "A", "Aachen", "Bonn"),
    )
    assert (
        messages(load_data(data, "outcome", adjust="Site_name")).count("goes with the classes") == 0
    )
    assert (
        messages(load_data(data, "outcome", blocks="site_code")).count("goes with the classes") == 0
    )
    older = np.where(ILL, 60, 50) + generator(9).normal(0, 8, 60)
    assert "'age' goes with" in messages(
        load_data(data.assign(age=older), "outcome", adjust="site")
    )


def test_nearly_equal_rows_beside_declared_groups():
    data = table(subject=np.repeat(np.arange(30), 2))
    names = [f"g{j}" for j in range(12)]
    data.loc[7, names] = data.loc[3, names] + 1e-4
    options = {"label": "outcome", "permutations": 9, "expected_error": False}
    assert "with groups=COLUMN" in messages(separation_test(data, independent="subject", **options))
    declared = messages(separation_test(data, groups="subject", **options))
    assert (
        "rows 3 and 7 are nearly equal (1 such pairs); though nothing that was declared" in declared
    )
    assert "groups=COLUMN" not in declared


def test_equal_rows_of_opposite_classes_are_told_once():
    data = table()
    data.loc[50, [f"g{j}" for j in range(12)]] = data.loc[3, [f"g{j}" for j in range(12)]]
    result = separation_test(data, label="outcome", permutations=9, expected_error=False)
    assert messages(result).count("3 and 50") == 1


def test_a_column_in_both_files_is_told_once(tmp_path, read):
    ages = np.where(ILL, 60, 50) + generator(10).normal(0, 8, 60).round(1)
    data = table(age=ages).assign(sample=[f"s{j}" for j in range(60)])
    data[["sample", "age", "outcome"]].to_csv(tmp_path / "clinic.csv", index=False)
    dataset = read(
        data.drop(columns="outcome")[["sample", "age", "g0", "g1"]], labels=tmp_path / "clinic.csv"
    )
    assert messages(dataset).count("'age' goes with the classes") == 1


def test_remedies_of_sentences_that_stop(read, tmp_path):
    thousands = "a\tb\toutcome\n1,500,000\t2,25\tx\n3,1\t4,5\ty\n7,5\t4,5\ty\n"
    with pytest.raises(
        InputError, match="'1,500,000' in row 2; write numbers with a point"
    ) as stop:
        read(thousands, decimal=",")
    assert "decimal=" not in str(stop.value)
    three = "a,b,outcome\nmg,kg,class\nmean,mean,x\n1,2.5,u\n2,3.5,v\n4,4,u\n"
    with pytest.raises(InputError, match="'mean' in row 3") as stop:
        read(three, header="2", label="outcome class", positive="u")
    assert "header=" not in str(stop.value)
    with pytest.raises(InputError, match="leave out header='none'"):
        read("a,b,outcome\n1,2.5,u\n2,3.5,v\n4,4,u\n", "-1", header="none", positive="u")
    with pytest.raises(InputError, match=r"is empty .* in row 3") as stop:
        read("a,b,y\nmg,kg,\n1,2.5,\n2,3.5,v\n4,4,u\n", "y", header="2")
    assert "header=" not in str(stop.value)
    np.savez(tmp_path / "t.npz", X=np.arange(8.0).reshape(2, 4), y=[0, 1, 0])
    with pytest.raises(InputError, match="y for every row, but has") as stop:
        load_data(tmp_path / "t.npz", transpose=True)
    assert "transpose" not in str(stop.value)


def test_where_to_look_for_the_label_names_nothing_that_was_given(read, tmp_path):
    (tmp_path / "clinic.csv").write_text("sample,stage,kind\ns1,1,p\ns2,2,q\ns3,3,r\ns4,4,t\n")
    genes = "gene,s1,s2,s3,s4\ng1,1.5,2,3,4\ng2,4,5,6,7.5\ng3,1,2,3,4\n"
    with pytest.raises(InputError, match="no column has exactly two values") as stop:
        read(genes, None, transpose=True, labels=tmp_path / "clinic.csv")
    assert "labels=FILE" not in str(stop.value)
    titles = "gene,s1,s2,s3,s4,s5,s6\ntitle,p,q,r,s,t,u\ng1,1.5,2,3,4,5,6\ng2,4,5,6,7.5,1,2\n"
    with pytest.raises(InputError, match="label") as stop:
        read(titles, None, transpose=True)
    assert "transpose" not in str(stop.value)


def test_notes_name_an_option_only_where_it_changes_something():
    names = [f"s{j}" for j in range(60)]
    assert "'name'." in messages(load_data(table(name=names), "outcome"))
    alone = messages(load_data(table(site=np.tile(list("ABC"), 20)), "outcome"))
    assert "1 text column left out: 'site'; one_hot=True makes indicators of 'site'." in alone
    both = messages(load_data(table(name=names, site=np.tile(list("ABC"), 20)), "outcome"))
    assert "'name', 'site'; one_hot=True makes indicators of 'site'." in both
    as_text = table(sampled=days(generator(11).permutation(60)))
    assert "keep_identifiers" not in messages(load_data(as_text, "outcome"))
    as_number = table(serial_date=44000 + generator(12).permutation(60))
    assert "keep_identifiers=True keeps 'serial_date'" in messages(load_data(as_number, "outcome"))
