"""What a statistician sees at first glance: subjects, pairs, confounders, nearly equal rows; and what is none of that."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.cli.main import run
from chanceline.errors import InputError
from chanceline.tables import load_data
from chanceline.tables.checks.designs import log_chance_one_label
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.checks.subjects import find_suspect_values
from chanceline.tables.outcome_table import OutcomeNames, load_any_outcome
from chanceline.tables.settings import TableSettings

HALVES = np.repeat([1.0, -1.0], 30)
SUBJECTS = np.repeat(np.arange(15), 4)


def table(y=HALVES, **columns):
    values = np.random.default_rng(0).normal(size=(len(y), 12))
    return pd.DataFrame(values, columns=[f"g{j}" for j in range(12)]).assign(outcome=y, **columns)


def whole_subjects(seed=0):
    return np.repeat(np.random.default_rng(seed).permutation(np.repeat([1.0, -1.0], [7, 8])), 4)


@pytest.mark.parametrize(
    ("sizes", "positives"), [([2, 2, 2, 1], 3), ([3, 3, 2], 5), ([1, 1, 1, 4], 2)]
)
def test_probability_of_one_label_in_each_value_against_enumeration(sizes, positives):
    values = np.repeat(np.arange(len(sizes)), sizes)
    labellings = [
        np.isin(np.arange(len(values)), chosen)
        for chosen in combinations(range(len(values)), positives)
    ]
    pure = [
        all(len(set(labels[values == v])) == 1 for v in range(len(sizes))) for labels in labellings
    ]
    assert np.exp(log_chance_one_label(np.array(sizes), positives)) == pytest.approx(np.mean(pure))


@pytest.mark.parametrize(
    ("y", "column", "remedy"),
    [
        (whole_subjects(), {"patient": [f"P{i:02d}" for i in SUBJECTS]}, "groups='patient'"),
        (whole_subjects(), {"patient_id": SUBJECTS}, "groups='patient_id'"),
        (whole_subjects(), {"who": SUBJECTS * 17 % 101}, "groups='who'"),
        (np.repeat([1.0, -1.0], 6), {"mouse": np.repeat(np.arange(4), 3)}, "groups='mouse'"),
        (np.tile([1.0, -1.0], 30), {"subject": np.repeat(np.arange(30), 2)}, "pairs='subject'"),
        (np.tile([1.0, -1.0, -1.0], 20), {"set": np.repeat(np.arange(20), 3)}, "blocks='set'"),
    ],
)
def test_subjects_and_pairs_stop_a_test(y, column, remedy):
    (name,) = column
    data = table(y, **column)
    with pytest.raises(InputError, match=f"declare it with {remedy}, or say independent='{name}'"):
        chanceline.separation_test(data, label="outcome", permutations=9)
    options = {"label": "outcome", "permutations": 9, "expected_error": False}
    role = remedy.partition("=")[0]
    declared, independent = (
        chanceline.separation_test(data, **{one: name}, **options) for one in (role, "independent")
    )
    assert declared.n_features == independent.n_features == 12
    assert (declared.n_units < len(y)) == (role == "groups")


def test_a_data_frame_beside_its_labels_is_looked_at_too():
    data, y = table(whole_subjects(), patient_id=SUBJECTS).drop(columns="outcome"), whole_subjects()
    with pytest.raises(InputError, match="groups='patient_id'"):
        chanceline.separation_test(data, y, permutations=9)
    result = chanceline.separation_test(
        data, y, groups="patient_id", permutations=9, expected_error=False
    )
    assert (result.n_units, result.n_features) == (15, 12)


@pytest.mark.parametrize(
    "subject",
    [
        SUBJECTS,
        [f"P{i:02d}" for i in SUBJECTS],
        [f"P{i:02d}_{j % 4}" for j, i in enumerate(SUBJECTS)],
    ],
)
def test_leaving_a_subject_out_makes_no_rows_independent(subject):
    data = table(whole_subjects(), patient=subject)
    with pytest.raises(InputError, match=r"groups='(stem:)?patient', or say independent='patient'"):
        chanceline.separation_test(data, label="outcome", drop="patient", permutations=9)
    said = {"label": "outcome", "drop": "patient", "permutations": 9, "expected_error": False}
    assert chanceline.separation_test(data, independent="patient", **said).n_units == 60
    assert not load_data(
        table(stage=generator(3).integers(1, 4, 60)), "outcome", drop="stage"
    ).undeclared


def test_the_command_stops_with_its_flags(tmp_path, capsys):
    table(whole_subjects(), patient=[f"P{i}" for i in SUBJECTS]).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert run(["test", str(tmp_path / "t.csv"), "--label", "outcome"]) == 2
    assert "--groups patient, or say --independent patient" in capsys.readouterr().err
    assert run(["front", str(tmp_path / "t.csv"), "--label", "outcome", "--quiet"]) == 0


def generator(seed):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "column",
    [
        {"site": generator(1).choice(list("ABCD"), 60)},
        {"sex": generator(2).choice(["f", "m"], 60)},
        {"sex": np.tile(["f", "m"], 30)},
        {
            "stage": np.where(
                HALVES > 0,
                generator(3).choice(["T1", "T2"], 60),
                generator(4).choice(["T3", "T4"], 60),
            )
        },
        {
            "nodes": np.where(
                HALVES > 0, generator(5).poisson(2, 60), 9 + generator(6).poisson(2, 60)
            )
        },
        {"genotype": generator(7).integers(0, 3, 60)},
        {"patient": [f"P{i}" for i in range(60)]},
        {"diagnosis": np.where(HALVES > 0, "adenoma", "healthy")},
    ],
)
def test_ordinary_columns_stop_nothing(column):
    ((name, values),) = column.items()
    assert find_suspect_values(pd.Series(values, name=name), HALVES) is None
    assert not load_data(table(**column), "outcome").undeclared


def test_false_alarms_of_neutral_whole_numbers_are_rare():
    rng = generator(8)
    suspects = []
    for _ in range(300):
        column = pd.Series(rng.integers(0, 12, 40), name="x")
        suspects.append(find_suspect_values(column, rng.permutation(np.repeat([1.0, -1.0], 20))))
    assert suspects == [None] * 300


@pytest.mark.parametrize(
    "column",
    [
        {"age": np.where(HALVES > 0, 60, 50) + generator(9).normal(0, 8, 60)},
        {
            "age": 50
            + np.where(HALVES > 0, 0, generator(10).choice([-12, 12], 60))
            + generator(11).normal(0, 3, 60)
        },
        {"site": np.where(generator(12).random(60) < 0.8, np.where(HALVES > 0, "A", "B"), "A")},
    ],
)
def test_a_usual_confounder_that_goes_with_the_classes_is_told(column):
    (name,) = column
    findings = load_data(table(**column), "outcome").findings
    assert f"column '{name}' goes with the classes" in str(findings[0])
    assert not any(
        "goes with" in str(one)
        for one in load_data(table(**column), "outcome", adjust=name).findings
    )


def ages_of_visits(seed, classes):
    """Three visits of each of thirty patients, whose ages have nothing to do with their class."""
    patient = np.repeat(np.arange(30), 3)
    rng = generator(seed)
    values = pd.DataFrame(rng.normal(size=(90, 4))).add_prefix("g")
    age = rng.integers(30, 80, 30)[patient]
    outcome = np.array(classes)[np.arange(30) % len(classes)][patient]
    return values.assign(age=age, who=[f"P{number}" for number in patient], outcome=outcome)


@pytest.mark.parametrize("classes", [["ill", "well"], ["ill", "mild", "well"]])
def test_visits_of_a_patient_count_once_for_confounders(classes):
    """Each patient's age counted three times: it "went with" classes drawn without it."""
    n_alarms = 0
    for seed in range(40):
        frame = ages_of_visits(seed, classes)
        names = OutcomeNames(label="outcome")
        read = load_any_outcome(frame, names, TableSettings(groups="who"))
        n_alarms += any("'age' goes with" in str(finding) for finding in read.findings)
    # At a level of 0.05, with binomial slack; with every visit counted they were 17 and 22.
    assert n_alarms <= 6


@pytest.mark.parametrize("features", [3, 40, 3000])
def test_nearly_equal_rows_are_named(features):
    rng = generator(13)
    X, y, alone = rng.normal(size=(50, features)), np.tile([1.0, -1.0], 25), np.arange(50)
    assert warn_of_near_rows(X, y, alone, range(1, 51)) == []
    X[7] = X[3] + 1e-3 * rng.normal(size=features)
    X[8] = X[3]
    same, opposite = warn_of_near_rows(X, y, alone, range(2, 52))
    assert "rows 5 and 9 are nearly equal (1 such pairs); if they are of one subject" in str(same)
    assert "rows 9 and 10 are nearly equal (1 such pairs); though of opposite classes" in str(
        opposite
    ), "5 and 10 are equal"
    together = np.where(np.isin(alone, [3, 7, 8]), 3, alone)
    assert warn_of_near_rows(X, y, together, range(1, 51)) == []


GENES = [
    "ID1",
    "ID2",
    "ID3",
    "ID4",
    "Id2",
    "CAGE1",
    "LINE1",
    "RIN1",
    "Family_XIII",
    "Family_XIII_UCG_001",
    "f__Family_XI",
]


@pytest.mark.parametrize("mean", [2, 5000])
def test_genes_and_taxa_called_like_subjects_are_features(mean):
    """Counts that repeat, and counts that are different in every row: one column of many alike."""
    rng = generator(14)
    counts = rng.poisson(rng.gamma(2.0, mean / 2, size=(24, 200)))
    data = pd.DataFrame(counts, columns=[*GENES, *(f"gene{j}" for j in range(200 - len(GENES)))])
    if mean > 100:
        assert data["ID1"].is_unique
    dataset = load_data(data.assign(outcome=np.tile([1.0, -1.0], 12)), "outcome")
    assert dataset.feature_names[: len(GENES)] == tuple(GENES)
    assert not dataset.undeclared
    assert not any(
        "RIN1" in str(one)
        for one in load_data(data.assign(outcome=data["RIN1"].rank() > 12), "outcome").findings
    )


@pytest.mark.parametrize(
    "name",
    ["sites involved", "number of sites", "n_lines", "patient_age", "Donor Age", "family history"],
)
def test_what_was_measured_of_subjects_is_a_feature(name):
    assert (
        name
        in load_data(table(**{name: generator(15).integers(0, 60, 60)}), "outcome").feature_names
    )


@pytest.mark.parametrize(
    "name",
    [
        "ID",
        "id",
        "patient_id",
        "PatientID",
        "MouseID",
        "study site",
        "Subject No.",
        "Donor.ID",
        "site (code)",
        "cell line",
    ],
)
def test_what_names_subjects_is_no_feature(name):
    values = np.random.default_rng(16).permutation(np.repeat(np.arange(20), 3))
    dataset = load_data(table(**{name: values}), "outcome")
    assert name not in dataset.feature_names


@pytest.mark.parametrize("name", ["ID1", "id2", "patient2"])
def test_numbered_identifiers_are_no_features_where_measurements_are_none_of_their_kind(name):
    different = generator(17).permutation(np.arange(1000, 4000, 50))
    assert name not in load_data(table(**{name: different}), "outcome").feature_names
    answers = pd.DataFrame(generator(18).integers(0, 5, size=(60, 30))).add_prefix("question ")
    survey = answers.assign(outcome=HALVES, **{name: different})
    assert name not in load_data(survey, "outcome").feature_names, "alone among answers that repeat"


def test_an_index_that_puts_rows_together_as_declared_blocks_do_is_no_suspect():
    pairs = np.repeat([f"P{i:02d}" for i in range(30)], 2)
    matched = table(y=np.tile([1.0, -1.0], 30), block=pairs)
    by_subject = matched.set_index(pd.Index(pairs, name="subject"))
    assert load_data(by_subject, "outcome", blocks="block").undeclared == ""
    assert "the index has 30 values" in load_data(by_subject, "outcome", drop="block").undeclared


def test_stems_of_visits_are_cut_once_more_for_a_number_too():
    # P07_V1_R2: replicates of visits of a subject. The stems declared are visits, and the sentence
    # has to propose what differs from what was said.
    names = [f"P{s:02d}_V{v}_R{r}" for s in range(12) for v in (1, 2) for r in (1, 2)]
    frame = table(y=np.repeat(np.arange(12.0) + 0.25, 4), sample=names)
    outcome = OutcomeNames(label="outcome")
    visits = load_any_outcome(frame, outcome, TableSettings(groups="stem:sample"))
    assert "groups='stem:stem:sample'" in visits.undeclared
    assert visits.proposed.setting == "stem:stem:sample"
    subjects = load_any_outcome(frame, outcome, TableSettings(groups=visits.proposed.setting))
    assert subjects.undeclared == ""
