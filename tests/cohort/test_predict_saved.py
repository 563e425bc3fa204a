"""A saved result predicts the samples tested as the test did, to the last sample, from what a user has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from cohorts import ABOUT, GENES, cohort, pairs, spread_signal

from chanceline import load_result, separation_test
from chanceline.cohort.new_columns import ranks_among
from chanceline.errors import InputError
from chanceline.tables.load import load_data

KINDS = {
    "sparse": (cohort, {"drop": ABOUT}),
    "dense": (spread_signal, {}),
    "named beforehand": (
        cohort,
        {"features": ["g0", "g1"], "preregistered": True, "drop": ABOUT},
    ),
    "covariates": (cohort, {"adjust": ["age", "sex"], "drop": ["site"]}),
    "blocks": (cohort, {"blocks": "site", "drop": ["sex", "age"]}),
    "blocks and covariates": (cohort, {"blocks": "site", "adjust": ["age"], "drop": ["sex"]}),
    "pairs": (pairs, {"pairs": "patient"}),
    "pairs by stems": (pairs, {"pairs": "stem:name"}),
    "integer": (cohort, {"integer": True, "drop": ABOUT}),
}


def saved(result, tmp_path):
    path = tmp_path / "result.json"
    result.save(path)
    return load_result(path)


def test_every_kind_of_rule_names_the_classes_that_the_test_named(quick, tmp_path):
    for kind, (make, options) in KINDS.items():
        frame = make()
        if kind == "pairs by stems":
            side = np.where(frame["outcome"] == "ill", "T", "N")
            frame["name"] = frame.pop("patient") + "_" + side
        frame.to_csv(tmp_path / "data.csv", index=False)
        result = separation_test(tmp_path / "data.csv", label="outcome", permutations=0, **options)
        predictions = saved(result, tmp_path).predict(tmp_path / "data.csv")
        assert len(result.rule.features) > 0, kind
        assert result.rule.dense == (kind == "dense")
        assert np.array_equal(predictions.scores, result.rule.sample_scores), kind
        wrong = np.flatnonzero(predictions.predicted != frame["outcome"].to_numpy())
        assert wrong.tolist() == list(result.rule.wrong), kind
        # In any order, with columns that nobody asked for.
        shuffled = frame.assign(weight=1.0)[["weight", *reversed(list(frame))]].iloc[::-1]
        again = saved(result, tmp_path).predict(shuffled)
        assert again.predicted.tolist()[::-1] == predictions.predicted.tolist(), kind


def test_points_are_those_of_the_scorecard(quick, tmp_path):
    frame = cohort()
    result = separation_test(frame, label="outcome", permutations=0, integer=True, drop=ABOUT)
    card = result.rule.scorecard
    predictions = saved(result, tmp_path).predict(frame, rule="points")
    values = frame[GENES].to_numpy()[:, card.support]
    totals = (values / card.steps) @ card.points
    assert predictions.probabilities is None
    assert np.array_equal(predictions.scores > 0, totals > card.threshold)
    wrong = predictions.predicted != frame["outcome"].to_numpy()
    assert int(wrong.sum()) == card.errors


def counts(seed=0, rows=40):
    """Counts with zeros and gaps, values below a limit, text; two features go with the outcome."""
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, size=rows).astype(bool)
    table = rng.poisson(np.exp(rng.normal(2, 0.6, size=(rows, 8)))).astype(float)
    table[:, 0] += 9 * ill
    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(8)])
    frame["arm"] = np.where(rng.random(rows) < 0.5 + 0.3 * ill, "drug", "none")
    frame["stage"] = rng.choice(["I", "II", "III"], size=rows)
    return frame.assign(outcome=np.where(ill, "ill", "well"))


def with_gaps(frame):
    frame = frame.copy()
    frame.loc[3, "c0"] = np.nan
    frame.loc[[5, 9], "c1"] = np.nan
    frame.loc[7, "arm"] = None
    return frame


def with_limits(frame):
    frame = frame.astype({"c0": object, "c1": object})
    frame.loc[frame["c0"].astype(float) < 6, "c0"] = "<6"
    frame.loc[2, "c1"] = "ND"
    frame.loc[4, "c1"] = ">40"
    return frame


RECIPES = {
    "log": (counts, {"transform": "log"}),
    "clr": (counts, {"transform": "clr"}),
    "cpm": (counts, {"transform": "cpm"}),
    "centre": (counts, {"transform": "centre"}),
    "rank": (counts, {"transform": "rank"}),
    "indicators": (counts, {"one_hot": True}),
    "median": (lambda: with_gaps(counts()), {"missing": "median", "one_hot": True}),
    "half-min and log": (lambda: with_gaps(counts()), {"missing": "half-min", "transform": "log"}),
    "rows": (lambda: with_gaps(counts()), {"missing": "rows"}),
    "columns and clr": (lambda: with_gaps(counts()), {"missing": "columns", "transform": "clr"}),
    "limits": (lambda: with_limits(counts()), {"below": "half"}),
    "limits as gaps": (lambda: with_limits(counts()), {"below": "missing", "missing": "min"}),
}


@pytest.mark.parametrize("name", RECIPES)
def test_cells_become_the_numbers_that_the_test_saw(name, tmp_path):
    """All features are named, so that the rule has every kind of column; one row alone goes the same way."""
    make, options = RECIPES[name]
    frame = make()
    data = load_data(frame, "outcome", **options)
    result = separation_test(
        data, features=data.feature_names, permutations=0, expected_error=False
    )
    loaded = saved(result, tmp_path)
    predictions = loaded.predict(frame)
    told = predictions.is_told
    assert predictions.scores[told] == pytest.approx(result.scores, rel=1e-12, abs=1e-12)
    assert np.array_equal(predictions.scores[told] > 0, result.scores > 0)
    if name == "rows":
        assert np.flatnonzero(~told).tolist() == [3, 5, 9]
        assert predictions.predicted[3] is None
        assert "3 rows left out because of gaps" in str(predictions)
    alone = loaded.predict(frame.iloc[[0]])
    assert alone.scores == pytest.approx(predictions.scores[[0]], rel=1e-12, abs=1e-12)


def test_ranks_are_those_among_the_samples_tested():
    ordered = np.array([1.0, 2.0, 2.0, 5.0])
    assert ranks_among(ordered, ordered).tolist() == pd.Series(ordered).rank().tolist()
    assert ranks_among(np.array([0.0, 1.5, 9.0]), ordered).tolist() == [0.5, 1.5, 4.5]


@pytest.fixture
def small(tmp_path):
    """A result on two features named beforehand, one of them an indicator."""
    frame = counts().rename(columns={"c0": "CRP"})
    data = load_data(frame, "outcome", one_hot=True)
    result = separation_test(
        data, features=["CRP", "arm=none"], permutations=0, expected_error=False
    )
    return saved(result, tmp_path), frame


def test_columns_are_matched_by_name_and_missing_ones_named(small):
    loaded, frame = small
    wanted = loaded.predict(frame).scores
    assert np.array_equal(loaded.predict(frame.rename(columns={"CRP": " crp"})).scores, wanted)
    with pytest.raises(InputError, match=r"lacks 2 columns of the 2 .* 'CRP', 'arm'"):
        loaded.predict(frame.drop(columns=["CRP", "arm"]))
    with pytest.raises(InputError, match=r"lacks 1 column .*'CRP'.*is 'CRP' the column 'CRP2'"):
        loaded.predict(frame.rename(columns={"CRP": "CRP2"}))


def test_cells_that_the_rule_cannot_use_are_named(small):
    loaded, frame = small
    text = frame.astype({"CRP": object})
    for cell, said in (("<6", "beyond a limit of detection"), ("high", "which is no number")):
        text.loc[1, "CRP"] = cell
        with pytest.raises(InputError, match=f"'CRP' has '{cell}' in row 1, .*{said}"):
            loaded.predict(text)
    with pytest.raises(InputError, match=r"'arm' has 'placebo' in row 0.*it had 'drug', 'none'"):
        loaded.predict(frame.assign(arm="placebo"))
    with pytest.raises(InputError, match="every row of DataFrame has a gap"):
        loaded.predict(frame.assign(CRP=np.nan))


def test_what_belongs_to_the_result_cannot_be_set_anew(small):
    loaded, frame = small
    with pytest.raises(InputError, match="transform is part of the result"):
        loaded.predict(frame, transform="log")
    with pytest.raises(InputError, match="no rule 'few'; it has separating"):
        loaded.predict(frame, rule="few")


def test_other_units_are_said_first(small):
    loaded, frame = small
    assert loaded.predict(frame).findings == ()
    for factor in (1000, 1 / 18, 2.2):
        found = loaded.predict(frame.assign(CRP=frame["CRP"] * factor)).findings[0].message
        assert found.startswith("1 of 2 features looks as if measured in other units: 'CRP'")
        assert f"a factor of {factor:.2g}" in found
    # A single sample is compared with everything that was tested.
    assert loaded.predict(frame.iloc[[0]]).findings == ()
    alone = frame.iloc[[0]].assign(CRP=1e4)
    assert "other units: 'CRP'" in loaded.predict(alone).findings[0].message


def test_a_new_block_is_measured_from_its_own_mean(quick, tmp_path):
    """Whatever is added to all samples of a site that the rule does not know changes nothing."""
    result = separation_test(
        cohort(), label="outcome", permutations=0, blocks="site", drop=["sex", "age"]
    )
    loaded = saved(result, tmp_path)
    new = cohort(seed=1).assign(site="west")
    scores = loaded.predict(new).scores
    assert loaded.predict(new.assign(**{gene: new[gene] + 7 for gene in GENES})).scores == (
        pytest.approx(scores)
    )
    # Second route: the rule on columns less their mean, at the place of the average sample tested.
    centred = new[GENES] - new[GENES].mean() + cohort()[GENES].mean()
    assert scores == pytest.approx(result.rule.scores(centred))
    # Without the column, the average block.
    without = loaded.predict(new.drop(columns="site"))
    assert without.scores == pytest.approx(result.rule.scores(new[GENES]))
    assert "does not tell; that of the average one is used" in str(without)


REAL = {
    "golub72": {},
    "colon_alon": {"transform": "centre"},
    "microbiome_crc": {"transform": "clr"},
    "microbiome_ibd": {"transform": "rank"},
    "wdbc": {"integer": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_tables(name, quick, real_data, tmp_path):
    path = real_data(name)
    result = separation_test(path, label="-1", permutations=0, **REAL[name])
    predictions = saved(result, tmp_path).predict(path)
    assert np.array_equal(predictions.scores, result.rule.sample_scores)
    assert predictions.findings == ()
