"""Subjects hidden in names (309_1 … 309_15) stop a test, and names of single samples do not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.cli.main import run
from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.stems import find_any_stems, find_stems

OPTIONS = {"label": "outcome", "permutations": 19, "expected_error": False, "budget": 0}


def measured(rows, columns=8, seed=0):
    values = np.random.default_rng(seed).normal(size=(rows, columns)).round(4)
    return pd.DataFrame(values, columns=[f"protein{j}" for j in range(columns)])


def mice(seed):
    """72 mice with 15 rows each; proteins differ between mice, and the class of a mouse is drawn by lot."""
    rng = np.random.default_rng(seed)
    mouse = np.repeat(np.arange(72), 15)
    values = 2 * rng.normal(size=(72, 10))[mouse] + rng.normal(size=(1080, 10))
    ill = rng.permutation(np.arange(72) < 36)[mouse]
    names = [f"{301 + one}_{row % 15 + 1}" for row, one in enumerate(mouse)]
    table = pd.DataFrame(values, columns=[f"protein{j}" for j in range(10)])
    return table.assign(MouseID=names, outcome=np.where(ill, "ill", "well"))


def subjects(form, count=14, rows=3):
    """Names of `count` subjects with so many rows each, and a class for every subject."""
    names = [
        form.format(subject=i + 1, row=j + 1, letter="abcdefgh"[j])
        for i in range(count)
        for j in range(rows)
    ]
    of_subject = np.random.default_rng(1).permutation(np.arange(count) < count // 2)
    return names, np.where(np.repeat(of_subject, rows), "ill", "well")


FORMS = ["{subject:02d}_{row}", "NETL_{subject:03d}_V{row}", "P{subject:02d}-{letter}", "S{subject:02d}_{letter}",
         "S{subject:02d}.{row}", "P{subject:02d}{letter}", "patient {subject}, visit {row}", "M{subject}_rep{row}.CEL",
         "M{subject} ({row})"]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_stems_of_subjects(form):
    names, outcome = subjects(form)
    stems = find_stems(names)
    assert [len({*stems.stems[k : k + 3]}) for k in range(0, 42, 3)] == [1] * 14
    assert len(stems.sizes) == 14
    table = measured(42).assign(sample=names, outcome=outcome)
    sentence = load_data(table, "outcome").undeclared
    assert "the names in column 'sample' have 14 stems with 3 rows each" in sentence
    assert "declare them with groups='stem:sample', or say independent='sample'" in sentence
    declared = load_data(table, "outcome", groups="stem:sample")
    assert pd.Series(declared.groups).nunique() == 14
    assert declared.undeclared == load_data(table, "outcome", independent="sample").undeclared == ""


def test_replicates_without_a_number_for_the_first():
    names = [f"P{i:02d}{end}" for i in range(10) for end in ("", ".1", ".2")]
    stems = find_stems(names)
    assert [*stems.sizes.values()] == [3] * 10


def test_the_coarsest_subjects_are_named():
    names = [
        f"P{i:02d}_V{visit}_R{replicate}"
        for i in range(12)
        for visit in (1, 2)
        for replicate in (1, 2)
    ]
    outcome = np.repeat(np.tile(["ill", "well"], 6), 4)
    table = measured(48).assign(sample=names, outcome=outcome)
    sentence = load_data(table, "outcome").undeclared
    assert "12 stems with 4 rows each ('P00_V1' has the stem 'P00')" in sentence
    assert "groups='stem:stem:sample'" in sentence
    assert [
        *pd.Series(load_data(table, "outcome", groups="stem:stem:sample").groups).value_counts()
    ] == [4] * 12


@pytest.mark.slow
def test_groups_that_are_visits_of_fewer_subjects():
    """One cut too few: the groups are visits, which are no more independent than rows are."""
    names = [
        f"P{i:02d}_V{visit}_R{replicate}"
        for i in range(14)
        for visit in (1, 2)
        for replicate in (1, 2)
    ]
    table = measured(56).assign(sample=names, outcome=np.repeat(np.tile(["ill", "well"], 7), 4))
    for setting in ("stem:sample", "visit"):
        column = setting.removeprefix("stem:")
        with_visits = table.assign(visit=[name[:6] for name in names])
        with pytest.raises(
            InputError,
            match=rf"14 stems with 2 groups each .*groups='stem:{setting}', or say indep.*'{column}'",
        ):
            chanceline.separation_test(with_visits, groups=setting, **OPTIONS)
        assert (
            chanceline.separation_test(
                with_visits, groups=setting, independent=column, **OPTIONS
            ).n_units
            == 28
        )
    assert chanceline.separation_test(table, groups="stem:stem:sample", **OPTIONS).n_units == 14


@pytest.mark.parametrize("ends", [("T", "N"), ("before", "after"), ("V1", "V2")])
def test_pairs_by_stems(ends):
    names = [f"P{i:02d}_{end}" for i in range(10) for end in ends]
    table = measured(20).assign(sample=names, outcome=["tumour", "normal"] * 10)
    with pytest.raises(
        InputError,
        match=r"10 stems with 2 rows each .*, and one row of each class .* pairs='stem:sample'",
    ):
        chanceline.separation_test(table, **OPTIONS)
    assert chanceline.separation_test(table, pairs="stem:sample", **OPTIONS).n_blocks == 10
    with pytest.raises(
        InputError, match=r"groups='sample' has a value of its own .*: set pairs='stem:sample'"
    ):
        chanceline.separation_test(table, groups="sample", **OPTIONS)
    with pytest.raises(
        InputError, match=r"pairs='sample' has a value of its own .*: set pairs='stem:sample'"
    ):
        chanceline.separation_test(table, pairs="sample", **OPTIONS)


def test_visits_whose_tails_tell_the_class_are_blocks():
    names = [f"P{i:02d}_d{day}" for i in range(10) for day in (0, 7, 14)]
    table = measured(30).assign(sample=names, outcome=["before", "after", "after"] * 10)
    assert "blocks='stem:sample'" in load_data(table, "outcome").undeclared
    assert (
        chanceline.separation_test(
            table, blocks="stem:sample", independent="sample", **OPTIONS
        ).n_blocks
        == 10
    )


@pytest.mark.slow
def test_mice_stop_and_are_no_evidence_once_declared():
    """Undeclared rows of one mouse look like structure; by mouse they do not."""
    with pytest.raises(
        InputError, match=r"'MouseID' have 72 stems with 15 rows each .*groups='stem:MouseID'"
    ):
        chanceline.separation_test(mice(0), **OPTIONS)
    with pytest.raises(
        InputError,
        match=r"value of its own in each of the 1080 rows; .*: set groups='stem:MouseID'",
    ):
        chanceline.separation_test(mice(0), groups="MouseID", **OPTIONS)
    alone = chanceline.separation_test(mice(0), independent="MouseID", **OPTIONS)
    assert alone.pvalue < 1e-4
    small = 0
    for seed in range(20):
        result = chanceline.separation_test(mice(seed), groups="stem:MouseID", **OPTIONS)
        assert result.n_units == 72
        small += result.pvalue <= 0.1
    assert small <= 6, "at level 0.1 in 20 tables: P(more than 6) = 0.002"


def test_the_command_names_its_flags(tmp_path, capsys):
    mice(0).to_csv(tmp_path / "mice.csv", index=False)
    assert run(["test", str(tmp_path / "mice.csv"), "--label", "outcome"]) == 2
    assert "--groups stem:MouseID, or say --independent MouseID" in capsys.readouterr().err
    command = [
        "test",
        str(tmp_path / "mice.csv"),
        "--label",
        "outcome",
        "--groups",
        "stem:MouseID",
        "--quiet",
    ]
    assert run([*command, "--permutations", "9", "--no-expected-error"]) == 0
    assert "72 groups" in capsys.readouterr().out


NAMES, OUTCOME = subjects("{subject:02d}_{row}")


def test_names_in_the_index_of_a_data_frame():
    table = measured(42).assign(outcome=OUTCOME).set_index(pd.Index(NAMES))
    with pytest.raises(
        InputError,
        match=r"the names in the index have 14 stems .*groups='stem:index', or say independent='index'",
    ):
        chanceline.separation_test(table, **OPTIONS)
    assert chanceline.separation_test(table, groups="stem:index", **OPTIONS).n_units == 14
    assert chanceline.separation_test(table, independent="index", **OPTIONS).n_units == 42
    named = table.rename_axis("mouse")
    assert "groups='stem:mouse'" in load_data(named, "outcome").undeclared
    X, y = named.drop(columns="outcome"), OUTCOME
    beside = {name: value for name, value in OPTIONS.items() if name != "label"}
    with pytest.raises(InputError, match="groups='stem:mouse'"):
        chanceline.separation_test(X, y, **beside)
    assert chanceline.separation_test(X, y, groups="stem:mouse", **beside).n_units == 14
    repeated = table.set_index(pd.Index([name.partition("_")[0] for name in NAMES]))
    assert (
        "the index has 14 values, and one label in all rows of each"
        in load_data(repeated, "outcome").undeclared
    )
    assert pd.Series(load_data(repeated, "outcome", groups="index").groups).nunique() == 14


def test_names_in_a_header(read, tmp_path):
    values = measured(42).T.set_axis(NAMES, axis=1)
    text = values.to_csv(index_label="gene") + "outcome," + ",".join(OUTCOME) + "\n"
    sentence = read(text, transpose=True).undeclared
    assert "the names in the header have 14 stems with 3 rows each" in sentence
    assert "groups='stem:samples', or say independent='samples'" in sentence
    assert pd.Series(read(text, transpose=True, groups="stem:samples").groups).nunique() == 14
    assert read(text, transpose=True, independent="samples").undeclared == ""
    described = values.assign(Description="x")[["Description", *NAMES]]
    gct = "#1.2\n8\t42\n" + described.to_csv(sep="\t", index_label="Name")
    (tmp_path / "study.cls").write_text("42 2 1\n# ill well\n" + " ".join(OUTCOME) + "\n")
    assert (
        "groups='stem:samples'"
        in read(gct, None, name="study.gct", labels=tmp_path / "study.cls").undeclared
    )


def test_names_in_a_series_matrix(read):
    lines = [
        "!Sample_title\t" + "\t".join(f'"mouse {name}"' for name in NAMES),
        "!Sample_characteristics_ch1\t" + "\t".join(f'"state: {one}"' for one in OUTCOME),
    ]
    body = (
        measured(42)
        .T.set_axis([f"GSM{5000 + j}" for j in range(42)], axis=1)
        .to_csv(sep="\t", index_label="ID_REF")
    )
    text = "\n".join(
        [*lines, "!series_matrix_table_begin", body.strip(), "!series_matrix_table_end", ""]
    )
    assert "'title' have 14 stems" in read(text, "state", name="series.txt").undeclared


def test_names_of_cells():
    """As AnnData has them: only what the reader asks for."""
    obs = pd.DataFrame({"outcome": OUTCOME}, index=NAMES)
    values = measured(42)
    data = SimpleNamespace(
        X=values.to_numpy(), obs=obs, obs_names=obs.index, var_names=values.columns, layers={}
    )
    assert "pseudobulk=COLUMN" in load_data(data, "outcome").undeclared
    assert load_data(data, "outcome", independent="obs_names").undeclared == ""
    assert pd.Series(load_data(data, "outcome", groups="stem:obs_names").groups).nunique() == 14
    with pytest.raises(InputError, match="set groups='stem:obs_names'"):
        load_data(data, "outcome", groups="obs_names")


def test_groups_of_one_row_each():
    table = measured(40).assign(
        sample=[f"S{j:03d}" for j in range(40)], outcome=np.tile(["ill", "well"], 20)
    )
    dataset = load_data(table, "outcome", groups="sample")
    assert [str(one) for one in dataset.findings if one.severity == "warning"] == [
        "warning: every group of 'sample' has one row, so that groups change nothing."
    ]
    X, y = measured(40).to_numpy(), np.tile([1, -1], 20)
    beside = {name: value for name, value in OPTIONS.items() if name != "label"}
    result = chanceline.separation_test(X, y, groups=np.arange(40), **beside)
    assert any("every group has one row" in str(one) for one in result.findings)
    result = chanceline.separation_test(
        X, y, groups=np.arange(40) // 4 * 2 + np.arange(40) % 2, **beside
    )
    assert not any("one row" in str(one) for one in result.findings)
    names, outcome = subjects("{subject:02d}_{row}")
    with pytest.raises(
        InputError, match=r"groups has a value of its own .* 14 stems .*: give the stems as groups"
    ):
        chanceline.separation_test(measured(42).to_numpy(), outcome, groups=names, **beside)


def test_stems_that_are_not_there():
    table = measured(40).assign(
        sample=[f"S{j:03d}" for j in range(40)], outcome=np.tile(["ill", "well"], 20)
    )
    with pytest.raises(
        InputError,
        match=r"names in groups column 'sample' \('S000', 'S001', 'S002' and 37 more\) have no stems",
    ):
        load_data(table, "outcome", groups="stem:sample")
    with pytest.raises(InputError, match="no groups column 'smple'; did you mean 'sample'"):
        load_data(table, "outcome", groups="stem:smple")
    literal = table.assign(**{"stem:sample": np.arange(40) // 2 % 7 * 2 + np.arange(40) % 2})
    assert (
        load_data(literal, "outcome", groups="stem:sample").groups.tolist()
        == literal["stem:sample"].tolist()
    )
    assert find_any_stems(["P1_1", "P1_2", "P2_1", "P3_1", "P4_1", "P5_1"]).sizes["P1"] == 2


HALVES = np.repeat(["ill", "well"], 48)


def tissue_sites():
    """TCGA: the middle part says where a sample was taken, which goes with the disease; the last part is a code."""
    rng = np.random.default_rng(2)
    return [
        f"TCGA-{10 + j // 6}-{code:04d}"
        for j, code in enumerate(rng.choice(9999, 96, replace=False))
    ]


KINDS = ("brain", "heart", "liver", "lung", "skin", "colon", "ovary", "blood")
ORDINARY = {
    "counted": [f"S{j:03d}" for j in range(96)],
    "counted with a separator": [f"sample_{j}" for j in range(96)],
    "accessions": [f"GSM{12345 + j}" for j in range(96)],
    "TCGA": tissue_sites(),
    "TCGA samples": [f"{name}-01" for name in tissue_sites()],
    "patients": [f"patient{j}" for j in range(96)],
    "numbered by class": [f"{'case' if j < 48 else 'control'}_{j % 48 + 1}" for j in range(96)],
    "numbered by stage": [f"T{1 + j // 24}_{j % 24 + 1}" for j in range(96)],
    "kinds": [f"{KINDS[min(j // 10, 7)]} {j % 10 + 1 + 10 * (j // 80)}" for j in range(96)],
    "wells": [f"{'ABCDEFGH'[j % 8]}{j // 8 + 1}" for j in range(96)],
    "plates with both classes": [f"plate{j % 6 + 1}_{j // 6 + 1}" for j in range(96)],
    "dates": [f"2021-{1 + j // 24:02d}-{1 + j % 24:02d}" for j in range(96)],
    "days": [f"2021-{1 + j // 8:02d}-{1 + j % 8:02d}" for j in range(96)],
    "initials": [f"{chr(65 + j % 26)}{chr(65 + j * 7 % 26)}{j}" for j in range(96)],
    "hexadecimal": [f"{code:08x}-{j * j:04x}" for j, code in enumerate(np.random.default_rng(5).integers(0, 2**32, 96))],
    "sites with running numbers": [f"{1 + j % 5:02d}-{j // 5 + 1:03d}" for j in range(96)],
}  # fmt: skip


@pytest.mark.parametrize("kind", ORDINARY)
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_ordinary_names_stop_nothing(kind, order):
    outcome = HALVES if order == "sorted" else np.random.default_rng(3).permutation(HALVES)
    table = measured(96).assign(sample=ORDINARY[kind], outcome=outcome)
    assert load_data(table, "outcome").undeclared == ""
    assert (
        load_data(
            table.drop(columns="sample").set_index(pd.Index(ORDINARY[kind])), "outcome"
        ).undeclared
        == ""
    )


def test_rows_of_a_plate_with_one_class_each_are_asked_about():
    wells = [f"{'ABCDEFGH'[j // 12]}{j % 12 + 1}" for j in range(96)]
    assert (
        "8 stems with 12 rows each"
        in load_data(measured(96).assign(well=wells, outcome=HALVES), "outcome").undeclared
    )


def test_names_made_of_the_classes_are_no_subjects():
    """Eight diseases, numbered each; one is set against the rest."""
    disease = np.repeat([f"D{j}" for j in range(8)], 12)
    names = [f"{one}_{j % 12 + 1}" for j, one in enumerate(disease)]
    table = measured(96).assign(sample=names, outcome=disease)
    assert load_data(table, "outcome", positive="D3").undeclared == ""


def test_false_alarms_by_chance_are_rare():
    """18 subjects with 2 rows each and labels that ignore them."""
    rng = np.random.default_rng(4)
    names = [f"P{j // 2:02d}_{j % 2 + 1}" for j in range(36)]
    said = 0
    for _ in range(200):
        outcome = rng.permutation(np.repeat(["ill", "well"], 18))
        said += bool(
            load_data(measured(36, 2).assign(sample=names, outcome=outcome), "outcome").undeclared
        )
    assert said == 0


def test_a_subject_that_was_declared_is_not_asked_about_again():
    names, outcome = subjects("{subject:02d}_{row}")
    mouse = [int(name.partition("_")[0]) * 7 for name in names]
    table = measured(42).assign(sample=names, mouse=mouse, outcome=outcome)
    assert "groups='mouse'" in load_data(table, "outcome").undeclared
    assert load_data(table, "outcome", independent="mouse").undeclared == ""
    assert load_data(table, "outcome", groups="mouse").undeclared == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["golub72", "colon_alon", "microbiome_crc", "wdbc", "sonar", "prostate_singh"]
)
def test_real_tables_stop_nowhere(name, real_data):
    assert load_data(real_data(name), "label").undeclared == ""
