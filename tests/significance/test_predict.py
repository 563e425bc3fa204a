"""`predict` on the samples tested is the rule that was printed, to the last sample.

This holds for every kind of rule: sparse, dense, named beforehand, with covariates or blocks.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.significance import separation_test
from chanceline.sklearn import SparseRule
from chanceline.tables.load import load_data

GENES = [f"g{j}" for j in range(20)]
ABOUT = ["sex", "age", "site", "arm"]


def study(seed=0, rows=120):
    """Two genes, sex (coded 1 and 2) and age go with the outcome; sites shift all genes."""
    rng = np.random.default_rng(seed)
    genes = rng.normal(size=(rows, len(GENES)))
    sex = rng.integers(1, 3, size=rows)
    age = rng.normal(60, 12, size=rows)
    site = rng.choice(["north", "south", "west"], size=rows)
    score = genes[:, 0] - genes[:, 1] + 2.5 * (sex - 1.5) + ((age - 60) / 12) ** 2 - 1
    score += 0.7 * rng.normal(size=rows)
    genes += 3 * np.array([0.0, 1.0, 2.0])[np.unique(site, return_inverse=True)[1]][:, None]
    return pd.DataFrame(genes, columns=GENES).assign(
        sex=sex,
        age=age,
        site=site,
        arm=np.where(sex == 1, "drug", "none"),
        outcome=np.where(score > 0, "ill", "well"),
    )


def check(result, frame, outcome):
    """The printed rule: its scores, the samples it gets wrong, and the classes it names."""
    predicted = result.predict(frame)
    positive = result.class_names[1]
    assert np.array_equal(predicted == result.classes[1], result.rule.sample_scores > 0)
    assert np.flatnonzero(predicted != outcome.to_numpy()).tolist() == list(result.rule.wrong)
    by_scores = (result.rule.sample_scores > 0) != (outcome == positive)
    assert np.flatnonzero(by_scores).tolist() == list(result.rule.wrong)
    assert result.score(frame, outcome) == pytest.approx(1 - len(result.rule.wrong) / len(frame))


COVARIATES = {
    "a category coded 1 and 2": ["sex"],
    "a category in words": ["arm"],
    "a number": ["age"],
    "all": ["age", "sex", "site"],
}


LONG_COVARIATES = ("a category coded 1 and 2", "all")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in LONG_COVARIATES else name
        for name in COVARIATES
    ],
)
def test_rules_with_covariates(name):
    frame = study()
    adjust = COVARIATES[name]
    outcome = frame["outcome"]
    beside = [column for column in ABOUT if column not in adjust]
    result = separation_test(frame, label="outcome", adjust=adjust, drop=beside, permutations=9)
    assert len(result.rule.wrong) < 40
    check(result, frame, outcome)
    wanted = result.predict(frame).tolist()
    # By name in any order, or as an array in the order of `adjust`; beside a table or an array.
    for given in (frame[adjust[::-1]], dict(frame[adjust]), frame[adjust].to_numpy()):
        assert result.predict(frame[GENES], covariates=given).tolist() == wanted
        assert result.predict(frame[GENES].to_numpy(), covariates=given).tolist() == wanted
    assert result.predict(frame.iloc[::-1]).tolist() == wanted[::-1]
    with pytest.raises(InputError, match=f"made with the covariate '{adjust[-1]}'"):
        result.predict(frame.drop(columns=adjust[-1]))
    with pytest.raises(InputError, match="made with covariates"):
        result.predict(frame[GENES].to_numpy())


@pytest.mark.slow
def test_covariates_in_arrays():
    frame = study()
    about = frame[["sex", "age"]].to_numpy()
    genes = frame[GENES].to_numpy()
    result = separation_test(genes, frame["outcome"], adjust=about, permutations=9)
    predicted = result.predict(genes, covariates=about)
    assert np.array_equal(predicted == "well", result.rule.sample_scores > 0)
    unknown = about + np.array([6, 0])
    category = f"{unknown[0, 0]:g}"
    with pytest.raises(InputError, match=f"'covariate 0' has the category '{category}' in row 1"):
        result.predict(frame[GENES], covariates=unknown)


def pairs_and_sites(seed=3):
    """Sixty pairs at six sites, each with a level of its own."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.normal(size=(60, len(GENES))), 2, axis=0)
    genes = rng.normal(size=(120, len(GENES))) + levels
    outcome = np.tile(["ill", "well"], 60)
    genes[:, :2] += 0.8 * (outcome == "ill")[:, None]
    frame = pd.DataFrame(genes, columns=GENES).assign(outcome=outcome)
    return frame.assign(pair=np.repeat(np.arange(60), 2), site=np.arange(120) // 20)


BLOCKED = {
    "blocks": {"blocks": "site", "drop": ["pair"], "independent": ["pair"]},
    "pairs": {"pairs": "pair", "drop": ["site"]},
    "blocks, and a covariate": {
        "blocks": "site",
        "adjust": ["sex"],
        "drop": ["pair"],
        "independent": ["pair"],
    },
}


@pytest.mark.parametrize(
    "name",
    [name if name != "pairs" else pytest.param(name, marks=pytest.mark.slow) for name in BLOCKED],
)
def test_rules_with_blocks(name):
    frame = pairs_and_sites().assign(sex=np.random.default_rng(1).integers(1, 3, size=120))
    design = BLOCKED[name]
    drop = [*design["drop"], "sex"] if "adjust" not in design else design["drop"]
    result = separation_test(frame, label="outcome", permutations=9, **{**design, "drop": drop})
    column = result.rule.block_column
    assert column in ("site", "pair")
    check(result, frame, frame["outcome"])
    wanted = result.predict(frame).tolist()
    rest = frame[[*GENES, "sex"]]
    assert result.predict(rest, blocks=frame[column]).tolist() == wanted
    assert result.predict(rest, blocks=frame[column].astype(float)).tolist() == wanted
    # New samples belong to none of the blocks: the threshold is that of the average block.
    beside = {} if "adjust" not in design else {"covariates": frame[["sex"]]}
    average = result.rule.scores(frame[GENES], **beside)
    biases = [result.rule.block_biases[str(block)] for block in frame[column]]
    own = result.rule.sample_scores - np.array(biases)
    np.testing.assert_allclose(average, own + result.rule.bias)
    with pytest.raises(InputError, match=f"no block '99'.*column '{column}'"):
        result.predict(frame.assign(**{column: 99}))


def spread_signal(seed=6, rows=100, columns=300):
    rng = np.random.default_rng(seed)
    outcome = np.arange(rows) % 2
    genes = rng.normal(size=(rows, columns)) + 0.35 * outcome[:, None]
    frame = pd.DataFrame(genes, columns=[f"g{j}" for j in range(columns)])
    return frame.assign(outcome=np.where(outcome, "ill", "well"))


OTHERS = {
    "sparse": (study, {"drop": ABOUT}),
    "named beforehand": (
        study,
        {"features": ["g0", "g1"], "preregistered": True, "drop": ABOUT},
    ),
    "a scorecard besides": (study, {"integer": True, "drop": ABOUT}),
    "dense": (spread_signal, {}),
}


@pytest.mark.parametrize(
    "name",
    [name if name != "dense" else pytest.param(name, marks=pytest.mark.slow) for name in OTHERS],
)
def test_rules_without_a_design(name):
    make, options = OTHERS[name]
    frame = make()
    result = separation_test(frame, label="outcome", permutations=9, **options)
    assert result.rule.dense == (name == "dense")
    assert len(result.rule.features) > 0
    check(result, frame, frame["outcome"])
    check(result, frame[[*reversed(list(frame))]], frame["outcome"])


def test_rules_of_groups():
    frame = study(rows=60)
    frame = pd.concat([frame, frame]).reset_index(drop=True)
    frame[GENES] += 0.5 * np.random.default_rng(0).normal(size=(120, len(GENES)))
    frame["who"] = [f"P{number:02d}" for number in range(60)] * 2
    result = separation_test(frame, label="outcome", groups="who", drop=ABOUT, permutations=9)
    check(result, frame, frame["outcome"])


def test_rules_on_transformed_columns_take_transformed_columns():
    frame = study()
    counts = np.exp(frame[GENES]).assign(outcome=frame["outcome"])
    data = load_data(counts, "outcome", transform="log")
    result = separation_test(data, permutations=9)
    check(result, pd.DataFrame(data.X, columns=data.feature_names), frame["outcome"])


@pytest.mark.slow
def test_a_wide_table_is_predicted_from_the_columns_of_the_rule():
    """Of more than 40,000 columns the rule is made from those that remain after screening."""
    frame = spread_signal(rows=50, columns=40_100)
    result = separation_test(frame, label="outcome", permutations=9)
    assert 0 < len(result.rule.features) < 40_000
    check(result, frame, frame["outcome"])
    check(result, frame[list(result.rule.features)], frame["outcome"])


def test_a_rule_without_features_has_the_errors_that_predict_makes():
    """With classes of equal size every sample lies on the threshold; all were called wrong."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 8))).add_prefix("g")
    frame["outcome"] = np.tile(["ill", "well"], 30)
    result = separation_test(frame, label="outcome", permutations=9)
    assert result.rule.features == ()
    assert len(result.rule.wrong) == 30
    check(result, frame, frame["outcome"])


def test_labels_are_compared_however_they_were_read():
    """The classes of a file are text, those of the user's column numbers."""
    frame = study()
    frame["outcome"] = (frame["outcome"] == "ill").astype(int)
    result = separation_test(frame, label="outcome", drop=ABOUT, permutations=9)
    share = 1 - len(result.rule.wrong) / len(frame)
    assert result.score(frame, frame["outcome"]) == pytest.approx(share)
    assert result.score(frame, frame["outcome"].astype(float)) == pytest.approx(share)
    with pytest.raises(InputError, match="class '2', but the rule tells 0 from 1"):
        result.score(frame, frame["outcome"] + 1)


def test_the_estimator_predicts_as_its_rule():
    for frame in (study(), spread_signal(), study().assign(outcome=np.tile(["ill", "well"], 60))):
        genes = frame[[name for name in frame if name.startswith("g")]]
        model = SparseRule().fit(genes, frame["outcome"])
        scores = model.rule_.scores(genes.to_numpy())
        assert np.array_equal(model.decision_function(genes), scores)
        assert np.array_equal(model.predict(genes) == "well", scores > 0)
