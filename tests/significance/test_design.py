"""The design of a study: which labellings are exchanged, and how small a p-value they allow."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.significance.covariate_model import CovariateModel
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import make_design
from chanceline.significance.path import follow_paths
from chanceline.significance.path_columns import make_path_columns
from chanceline.significance.shuffles import ShufflePlan, shuffle_paths


def design_of(y, null="fixed", **roles):
    return make_design(y, DeclaredRoles(**roles), null)


HALVES = np.repeat([1.0, -1.0], 3)
SMALL = {
    "3 + 3 samples": (HALVES, {}, 2 / 20),
    "2 + 5 samples": (np.repeat([1.0, -1.0], [2, 5]), {}, 1 / 21),
    "six subjects of two rows": (
        np.repeat(HALVES, 2),
        {"groups": np.repeat(np.arange(6), 2)},
        2 / 20,
    ),
    "four pairs": (np.tile([1.0, -1.0], 4), {"blocks": np.repeat(np.arange(4), 2)}, 2 / 16),
    "unequal blocks": (np.array([1.0, -1, -1, 1, -1]), {"blocks": [0, 0, 0, 1, 1]}, 1 / 6),
    "coin": (HALVES, {"null": "coin"}, 2 / 64),
}


@pytest.mark.parametrize("name", SMALL)
def test_smallest_p_is_that_of_the_best_labelling_of_all(name):
    y, options, expected = SMALL[name]
    design = design_of(y, **options)
    X = np.random.default_rng(3).normal(size=(len(y), 9))
    drawn = {tuple(design.draw(np.random.default_rng(seed))) for seed in range(1500)}
    losses = follow_paths(make_path_columns(X, design, True), np.array(sorted(drawn)), 1).losses[
        :, 0
    ]
    # Labels of one class (the coin has them) are explained by the threshold alone: no loss to compare.
    smallest = np.count_nonzero(losses <= losses[losses > 1e-9].min() + 1e-9) - np.count_nonzero(
        losses <= 1e-9
    )
    assert design.smallest_p == pytest.approx(expected) == pytest.approx(smallest / len(drawn))


def test_smallest_p_counts_every_labelling_once():
    for labels in product([-1.0, 1.0], repeat=5):
        if len(set(labels)) == 2:
            design = make_design(np.array(labels))
            drawn = {tuple(design.draw(np.random.default_rng(seed))) for seed in range(200)}
            assert design.smallest_p == pytest.approx(1 / len(drawn))


def frame(rows=24, features=8):
    """Before and after in twelve subjects, as a table."""
    table = pd.DataFrame(
        np.random.default_rng(1).normal(size=(rows, features)),
        columns=[f"g{j}" for j in range(features)],
    )
    return table.assign(
        outcome=["before", "after"] * (rows // 2),
        subject=np.repeat([f"S{i}" for i in range(rows // 2)], 2),
    )


def test_labels_swap_within_pairs():
    y = np.tile([1.0, -1.0], 5)
    design = design_of(y, pairs=np.repeat(list("abcde"), 2))
    drawn = np.array([design.draw(np.random.default_rng(seed)) for seed in range(400)])
    assert np.all(drawn[:, ::2] == -drawn[:, 1::2])
    assert len({tuple(row) for row in drawn}) == 32
    assert design.smallest_p == 2 / 32


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        (
            slice(1, None),
            {"pairs": "subject"},
            "'S0' has 0 of the positive and 1 of the other class \\(1 of 12",
        ),
        (slice(None), {"pairs": "subject", "blocks": "subject"}, "give pairs or blocks, not both"),
        (slice(None), {"pairs": "subject", "null": "coin"}, "pairs restrict permutations"),
    ],
)
def test_pairs_that_are_none(rows, options, sentence):
    with pytest.raises(InputError, match=sentence):
        chanceline.separation_test(frame()[rows], label="outcome", permutations=9, **options)


def test_subjects_are_no_blocks():
    """Rows of a subject with one label cannot change; shuffling the few others tells little."""
    subject = np.repeat(np.arange(32), 6)
    y = np.where(subject < 24, 1.0, -1.0)
    y[[0, 40, 100]] *= -1
    with pytest.raises(InputError, match=r"29 of 32 blocks hold one class only.*groups=COLUMN"):
        design_of(y, blocks=subject)
    with pytest.raises(InputError, match="12 of 12 blocks hold one class only"):
        design_of(np.repeat([1.0, -1.0], 36), blocks=np.repeat(np.arange(12), 6))
    with pytest.raises(InputError, match=r"every block holds one class only.*groups=COLUMN"):
        design_of(np.repeat([1.0, -1.0], 12), blocks=np.repeat(np.arange(4), 6))


def test_blocks_of_one_class_leave_nothing_to_adjust():
    y = np.repeat([1.0, -1.0], 12)
    age = np.arange(24.0) % 7
    with pytest.raises(InputError, match="every block holds one class only"):
        design_of(y, blocks=np.repeat(np.arange(4), 6), covariates={"age": age})


BLOCKS = {
    "forty tumours with normal tissue, and sixty without": (
        np.r_[np.tile([1.0, -1.0], 40), np.ones(60)],
        np.r_[np.repeat(np.arange(40), 2), 40 + np.arange(60)],
    ),
    "small litters, few of them ill": (
        np.where(np.random.default_rng(0).random(120) < 0.2, 1.0, -1.0),
        np.repeat(np.arange(60), 2),
    ),
    "a large site, and crumbs of one class": (
        np.r_[np.tile([1.0, -1.0], 40), np.ones(9)],
        np.r_[np.zeros(80), np.repeat([1, 2, 3], 3)],
    ),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_may_hold_one_class_by_chance_or_alone(name):
    y, blocks = BLOCKS[name]
    design = design_of(y, blocks=blocks)
    assert design.sizes.blocks is not None
    assert design.smallest_p < 0.05


def test_a_data_frame_with_its_label_by_name_is_the_same_as_arrays():
    table = frame()
    by_name = chanceline.separation_test(
        table, label="outcome", pairs="subject", drop="g7", permutations=49, positive="after"
    )
    values, y = table[[f"g{j}" for j in range(7)]], table["outcome"] == "after"
    by_arrays = chanceline.separation_test(values, y, pairs=table["subject"], permutations=49)
    assert by_name.classes == ("before", "after")
    assert (by_name.pvalue, by_name.separating.features, by_name.n_blocks) == (
        by_arrays.pvalue,
        by_arrays.separating.features,
        12,
    )
    assert list(table) == [f"g{j}" for j in range(8)] + ["outcome", "subject"]


def confounded(seed, *, signal=0.0, power=1, rows=120, features=60):
    """Age (or its square) drives a fifth of the features and the label; `signal`: three others do as well."""
    rng = np.random.default_rng([seed, 24])
    age = rng.normal(50, 10, size=rows)
    driver = ((age - 50) / 10) ** power
    driver = (driver - driver.mean()) / driver.std()
    X = rng.normal(size=(rows, features))
    X[:, : features // 5] += driver[:, None]
    odds = 1.5 * driver + signal * X[:, -3:].sum(axis=1)
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), 1.0, -1.0)
    return X, y, pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], size=rows)})


@pytest.mark.parametrize("blocks", [[range(11)], [range(5), range(5, 12)]])
def test_labels_are_drawn_as_enumeration_says(blocks):
    """Every labelling with the same class sizes, weighed by its probability, against draws and the recursion."""
    rng = np.random.default_rng(5)
    members = tuple(np.array(block) for block in blocks)
    odds = tuple(rng.normal(size=len(block)) for block in members)
    labels = np.concatenate(
        [np.repeat([1.0, -1.0], [2 + k, len(block) - 2 - k]) for k, block in enumerate(members)]
    )
    model = CovariateModel(("age",), labels, members, odds)
    exact = {(): 1.0}
    for block, log_odds in zip(members, odds, strict=True):
        sets = list(combinations(block.tolist(), int(np.sum(labels[block] > 0))))
        weights = np.exp([sum(log_odds[np.isin(block, chosen)]) for chosen in sets])
        exact = {
            one + two: p * w
            for one, p in exact.items()
            for two, w in zip(sets, weights / weights.sum(), strict=True)
        }
    observed = tuple(np.flatnonzero(labels > 0))
    assert np.exp(model.log_probability) == pytest.approx(exact[observed])
    draws, counts = 4000, dict.fromkeys(exact, 0)
    for seed in range(draws):
        counts[tuple(np.flatnonzero(model.draw(np.random.default_rng(seed)) > 0))] += 1
    common = [chosen for chosen, p in exact.items() if p * draws >= 5]
    squares = [
        (counts[chosen] - draws * exact[chosen]) ** 2 / (draws * exact[chosen]) for chosen in common
    ]
    # χ² of so many cells: mean n, variance 2n.
    assert abs(sum(squares) - len(common)) < 4 * np.sqrt(2 * len(common))


@pytest.mark.parametrize("power", [1, 2])
def test_a_confounder_is_adjusted_for(power):
    """Level 0.05 in 80 sets: 10 or more false alarms have probability 0.008; unadjusted almost all alarm."""
    rejected = [0, 0]
    for seed in range(80):
        X, y, about = confounded(seed, power=power)
        for k, covariates in enumerate([{"age": about["age"].to_numpy()}, None][: 1 + (seed < 10)]):
            design = design_of(y, covariates=covariates)
            draws, _ = shuffle_paths(
                make_path_columns(X, design, True), design, ShufflePlan(39, seed), 4
            )
            rejected[k] += draws.permutation_reading().pvalue <= 0.05
    assert rejected[0] < 10
    assert rejected[1] >= 8


@pytest.mark.slow
def test_structure_beyond_the_covariates_is_seen():
    X, y, about = confounded(0, signal=3.0)
    result = chanceline.separation_test(X, y, adjust=about, permutations=199)
    assert result.verdict == "structure"
    assert result.separating.bound.log10_p == 0
    assert (
        result.permutation.kind
        == "Monte Carlo, valid if the labels or the features depend on age, sex as the model says; "
        "a check found nothing else"
    )
    assert "Beyond what age, sex explain" in result.reason
    assert "covariates alone" in str(result)


def test_categories_are_blocks_where_counts_allow():
    _, y, about = confounded(1)
    design = design_of(y, covariates={"sex": about["sex"].to_numpy()})
    assert design.covariate_model is None
    assert [size for size, _ in design.sizes.blocks] == about[
        "sex"
    ].value_counts().sort_index().tolist()
    # A fifth of the samples in sites of one class.
    rare = np.full(len(y), 99)
    rare[np.argsort(y)[:24]] = np.repeat(np.arange(12), 2)
    assert design_of(y, covariates={"site": rare.astype(str)}).covariate_model.names == ("site",)


def test_covariates_that_determine_the_label_leave_nothing_to_tell():
    X, y, about = confounded(2)
    result = chanceline.separation_test(
        X, y, adjust={"marker": y + 0.1 * about["age"] / 10}, permutations=19
    )
    assert result.verdict == "cannot tell"
    assert "nearly determine the labels" in result.reason


@pytest.mark.parametrize(
    ("covariates", "options", "sentence"),
    [
        (
            {"age": np.arange(24.0)},
            {"groups": np.repeat(np.arange(12), 2)},
            "'age' must be the same in all rows of a group",
        ),
        ({"age": np.arange(24.0)}, {"null": "coin"}, "fixed class sizes"),
        (
            {"age": np.arange(24.0)},
            {"blocks": np.repeat(np.arange(6), 4)},
            "need 8 samples on average",
        ),
        ({"age": [np.nan, *range(23)]}, {}, "'age' has missing or infinite values"),
        ({"name": [f"n{i}" for i in range(24)]}, {}, "'name' has 24 different values"),
        ({"sex": ["f"] * 24}, {}, "'sex' has one value only"),
        ({"age": np.arange(23.0)}, {}, "one value for each of the 24"),
    ],
)
def test_covariates_that_cannot_be(covariates, options, sentence):
    y = (
        np.repeat([1.0, -1.0, 1.0, -1.0], 6)
        if "blocks" not in options
        else np.tile([1.0, 1.0, -1.0, -1.0], 6)
    )
    with pytest.raises(InputError, match=sentence):
        design_of(y, covariates=covariates, **options)
