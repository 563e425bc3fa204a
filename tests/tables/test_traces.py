"""Traces of how a table was made: every one is told with its remedy, and what merely resembles it is not."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, ttest_ind

from chanceline import separation_test
from chanceline.cli.flags import in_flags
from chanceline.tables import load_data
from chanceline.tables.checks import filtered
from chanceline.tables.checks.advice import examine_dataset
from chanceline.tables.checks.batches import few_numbers, pvalue_of_features
from chanceline.tables.checks.class_fills import columns_filled_by_class, warn_of_class_fills
from chanceline.tables.checks.corrected import low_variance_combinations, warn_of_corrected_batches
from chanceline.tables.checks.filtered import warn_of_filtered_features
from chanceline.tables.checks.lone_columns import warn_of_lone_columns
from chanceline.tables.checks.near_rows import warn_of_near_rows
from chanceline.tables.checks.row_order import (
    drift_pvalue,
    is_in_order_of_rows,
    labels_stand_in_runs,
    likeness_to_drift,
    warn_of_drift_along_rows,
)
from chanceline.tables.checks.row_shifts import covariances_with_others, rows_are_shifted
from chanceline.tables.checks.totals import are_counts
from chanceline.tables.checks.within_classes import (
    centred_within,
    class_of_rows,
    shuffles_within_classes,
    standardized_within_classes,
)

HALVES = np.repeat([1.0, -1.0], 40)
NAMES = [f"g{j}" for j in range(2000)]


def generator(seed):
    return np.random.default_rng(seed)


def table(values, y, **columns):
    frame = pd.DataFrame(values, columns=NAMES[: values.shape[1]])
    return frame.assign(outcome=np.where(y > 0, "ill", "well"), **columns)


def warnings_of(data):
    found = [*data.findings, *examine_dataset(data, np.arange(len(data.y)))]
    return " | ".join(one.message for one in found if one.severity == "warning")


def read(frame, **settings):
    return warnings_of(load_data(frame, "outcome", **settings))


# Batches among the columns


def batch_table(seed, shift, share=0.8):
    """Kit B is frequent among the ill, and moves 30 of 100 features by `shift`."""
    rng = generator(seed)
    is_b = rng.random(80) < np.where(HALVES > 0, share, 1 - share)
    values = rng.normal(size=(80, 100))
    values[:, :30] += shift * is_b[:, None]
    return values, is_b


def test_text_that_goes_with_classes_and_features_is_told():
    values, is_b = batch_table(0, shift=1.2)
    frame = table(values, HALVES, kit=np.where(is_b, "B", "A"))
    said = read(frame)
    assert "column 'kit' goes with the classes" in said
    assert "adjust='kit' asks" in said
    assert "column 'kit'" in read(frame, one_hot=True), (
        "its indicator is no feature that follows it"
    )
    assert "'kit'" not in read(frame, adjust="kit")
    assert "'kit'" not in read(frame, blocks="kit")


def test_a_column_of_subjects_is_compared_subject_by_subject():
    """Sixteen rows of a subject are no sixteen witnesses that its treatment goes with the classes."""
    n_warned = 0
    for seed in range(20):
        rng = generator([seed, 6])
        subject = np.repeat(np.arange(24), 16)
        y = rng.permutation(np.repeat([1.0, -1.0], 12))[subject]
        values = rng.normal(size=(24, 30))[subject] + 0.5 * rng.normal(size=(384, 30))
        treatment = rng.choice(["saline", "drug"], 24)[subject]
        frame = table(values, y, treatment=treatment, subject=[f"p{number}" for number in subject])
        n_warned += "'treatment' goes with" in read(frame, groups="subject")
    # At level 0.01 chance tells more than three with a probability below 0.001; row by row 13 are told.
    assert n_warned <= binom.ppf(0.999, 20, 0.01)


def depths(rng, subject):
    """Counts; each subject has a depth of its own."""
    expected = np.exp(4 + 0.5 * rng.normal(size=(24, 1)) + 0.5 * rng.normal(size=(24, 30)))
    return {"values": rng.poisson(expected[subject]).astype(float)}


def levels(rng, subject):
    """All columns of a subject are high, or all are low."""
    values = (rng.normal(size=(24, 1)) + 0.5 * rng.normal(size=(24, 30)))[subject]
    return {"values": values + 0.2 * rng.normal(size=values.shape)}


def gaps(rng, subject):
    """Some subjects have many gaps."""
    values = rng.normal(size=(384, 30))
    values[rng.random(values.shape) < 0.1 * rng.gamma(1, 1, (24, 1))[subject]] = np.nan
    return {"values": values, "missing": "median"}


def limits(rng, subject):
    """Some subjects have many values below a limit that is not written."""
    values = np.round(rng.normal(9, 1, (384, 30)), 2).astype(str)
    values[rng.random(values.shape) < 0.1 * rng.gamma(1, 1, (24, 1))[subject]] = "<LOD"
    return {"values": values, "below": "half"}


def dates(rng, subject):
    """Subjects came on different days."""
    day = pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 300, 24)[subject], "D")
    return {"values": rng.normal(size=(384, 30)), "day": day.strftime("%Y-%m-%d")}


@pytest.mark.parametrize("draw", [depths, levels, gaps, limits, dates])
def test_whatever_follows_subjects_is_compared_subject_by_subject(draw):
    n_warned = 0
    for seed in range(20):
        rng = generator([seed, 8])
        subject = np.repeat(np.arange(24), 16)
        y = rng.permutation(np.repeat([1.0, -1.0], 12))[subject]
        drawn = draw(rng, subject)
        columns = {"day": drawn["day"]} if "day" in drawn else {}
        frame = table(drawn["values"], y, subject=[f"p{n}" for n in subject], **columns)
        settings = {name: drawn[name] for name in ("missing", "below") if name in drawn}
        n_warned += read(frame, groups="subject", **settings) != ""
    # Each check has the level 0.05.
    assert n_warned <= binom.ppf(0.999, 20, 0.05)


def test_a_batch_written_as_a_number_is_told():
    values, is_b = batch_table(1, shift=1.2)
    assert "adjust='lab' asks" in read(table(values, HALVES, lab=np.where(is_b, 3, 7)))


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.8), (1.2, 0.5)])
def test_text_that_goes_with_classes_or_features_alone_is_not_told(shift, share):
    """A stage that goes with the outcome, and a sex that goes with features, are no batches."""
    for seed in range(5):
        values, is_b = batch_table([seed, 2], shift, share)
        frame = table(values, HALVES, stage=np.where(is_b, "T1", "T2"), code=np.where(is_b, 1, 2))
        assert read(frame) == ""


def test_the_label_in_other_words_is_no_batch():
    values, _ = batch_table(3, shift=0.0)
    values[HALVES > 0] += 1.0
    assert "adjust" not in read(
        table(values, HALVES, diagnosis=np.where(HALVES > 0, "CRC", "none"))
    )


def test_the_label_said_more_finely_is_not_to_be_adjusted_for():
    """Four groups, two in each class: adjusting for them would leave nothing of the classes."""
    values, _ = batch_table(7, shift=0.0)
    is_second = np.arange(80) % 2 == 1
    values[:, :30] += 1.5 * is_second[:, None]
    fine = [
        f"{'ill' if y > 0 else 'well'}-{int(s)}" for y, s in zip(HALVES, is_second, strict=True)
    ]
    said = read(table(values, HALVES, group=fine))
    assert "every value of column 'group' has one label" in said
    assert "adjust" not in said


def test_whole_numbers_are_looked_at_only_where_they_are_exceptions():
    values, is_b = batch_table(4, shift=0.0)
    frame = pd.DataFrame(values).assign(lab=np.where(is_b, 1.0, 2.0), age=50 + np.arange(80.0) // 2)
    assert few_numbers(frame) == ["lab"]
    answers = pd.DataFrame(generator(5).integers(1, 6, (80, 30)).astype(float))
    assert few_numbers(answers) == []


def test_sum_of_squares_of_categories_against_regressions():
    """The statistic of the observed order is what indicators explain of features less the classes."""
    rng = generator(6)
    y = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    column = pd.Series(rng.choice(list("abc"), 30), name="kit")
    values = standardized_within_classes(rng.normal(size=(30, 8)), y)
    terms = centred_within(pd.get_dummies(column).to_numpy(float), class_of_rows(y))

    def explained(order):
        fitted = terms[order] @ np.linalg.lstsq(terms[order], values, rcond=None)[0]
        return np.sum(fitted**2)

    observed = explained(np.arange(30))
    shuffled = np.array([explained(order) for order in shuffles_within_classes(y, 199)])
    expected = (1 + np.sum(shuffled >= observed - 1e-12)) / 200
    assert pvalue_of_features(column, values @ values.T, y) == pytest.approx(expected)


# Rows


def replicates(seed, noise, kinds=40):
    """80 rows of `kinds` samples, with errors of standard deviation `noise`."""
    rng = generator(seed)
    return rng.normal(size=(kinds, 200))[np.arange(80) % kinds] + noise * rng.normal(size=(80, 200))


def test_replicates_with_errors_are_told():
    same = np.tile(generator(7).permutation(np.repeat([1.0, -1.0], 20)), 2)
    (said,) = warn_of_near_rows(replicates(8, 0.6), same, np.arange(80), range(80))
    assert (
        "rows 0 and 40; 1 and 41; 2 and 42; … are far more alike than independent rows (40"
        in said.message
    )
    assert "groups=COLUMN" in said.message
    (equal,) = warn_of_near_rows(replicates(8, 0.1), same, np.arange(80), range(80))
    assert "are nearly equal (40 such pairs)" in equal.message


@pytest.mark.parametrize("seed", range(5))
def test_subtypes_are_no_replicates(seed):
    """Samples of five tissues are alike, but not as one sample is with itself."""
    assert warn_of_near_rows(replicates(seed, 1.0, kinds=5), HALVES, np.arange(80), range(80)) == []


def drifting(seed, y, slope=1.5):
    """A third of the features drift along the rows."""
    rng = generator(seed)
    values = rng.normal(size=(len(y), 150))
    values[:, :50] += slope * np.linspace(-1, 1, len(y))[:, None] * rng.choice([-1, 1], 50)
    return values


RUNS = np.repeat([1.0, -1.0, 1.0, -1.0], [25, 12, 13, 30])


def test_drift_along_rows_with_labels_in_runs_is_told():
    frame = table(drifting(9, RUNS), RUNS)
    said = read(frame)
    assert "the features drift along the rows, in both classes" in said
    assert "set adjust=COLUMN" in said
    assert "drift" not in read(frame.assign(when=np.arange(80) * 1.5), adjust="when")
    assert "drift" not in read(frame.assign(week=np.arange(80) // 20), blocks="week")


def test_what_resembles_a_drift_is_not_told():
    in_turns = np.tile([1.0, -1.0], 40)
    assert warn_of_drift_along_rows(drifting(10, in_turns), in_turns) == []
    structure = generator(11).normal(size=(80, 150)) + np.outer(
        HALVES, generator(12).normal(size=150)
    )
    assert warn_of_drift_along_rows(structure, HALVES) == []
    # Each class was measured from its first to its last sample, side by side, and sorted later.
    side_by_side = drifting(13, HALVES)[np.r_[0:80:2, 1:80:2]]
    assert drift_pvalue(side_by_side, HALVES) == 0.001
    assert likeness_to_drift(side_by_side, HALVES) < 0.1
    assert warn_of_drift_along_rows(side_by_side, HALVES) == []


def test_pvalues_of_drift_are_valid_for_correlated_noise():
    n_small = 0
    for seed in range(100):
        rng = generator([seed, 14])
        noise = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 20)) + rng.normal(size=(30, 20))
        n_small += drift_pvalue(noise, np.repeat([1.0, -1.0], 15)) <= 0.1
    assert n_small <= binom.ppf(0.999, 100, 0.1)


def test_runs_against_all_orders():
    """Eight labels of which four are positive have 70 orders; the changes have the mean and variance that are used."""
    orders = set(permutations([1, 1, 1, 1, -1, -1, -1, -1]))
    changes = np.array([np.sum(np.diff(order) != 0) for order in orders])
    assert (changes.mean(), changes.var()) == pytest.approx((4.0, 4 * 3 / 7))
    # 40 changes are expected of 80 labels, with a standard deviation of 4.4.
    in_runs_of_two = np.tile([1.0, 1.0, -1.0, -1.0], 20)
    in_runs_of_four = np.tile(np.repeat([1.0, -1.0], 4), 10)
    assert not labels_stand_in_runs(in_runs_of_two)
    assert labels_stand_in_runs(in_runs_of_four)


def test_the_order_of_rows_is_recognized():
    assert is_in_order_of_rows(np.arange(20)[::-1] ** 3)
    assert not is_in_order_of_rows(generator(15).normal(size=20))
    assert not is_in_order_of_rows(np.array(["a", "b"] * 10, dtype=object))
    assert not is_in_order_of_rows(np.ones(20))


# Depth in logarithms


def logarithms(seed, ratio):
    """log2(1 + counts), with `ratio` times as many reads for the positives."""
    rng = generator(seed)
    depth = np.where(HALVES > 0, ratio, 1.0) * rng.lognormal(0, 0.2, 80)
    means = depth[:, None] * rng.lognormal(4, 1, 150) * rng.gamma(2.5, 0.4, (80, 150))
    return np.log2(rng.poisson(means) + 1).round(3)


def test_depth_in_logarithms_is_told():
    frame = table(logarithms(16, ratio=1.6), HALVES)
    assert "transform='centre' takes the rows' means out" in read(frame)
    assert "transform" not in read(frame, transform="centre")
    assert "transform" not in read(frame, transform="none")


def test_equal_depth_and_a_difference_in_some_columns_are_not_told():
    assert read(table(logarithms(17, ratio=1.0), HALVES)) == ""
    values = generator(18).normal(size=(80, 60))
    values[HALVES > 0, :20] += 1.0
    assert "transform" not in read(table(values, HALVES))
    # Peaks of a spectrum: every column rises with the mean of all, as its neighbours are in it.
    places = np.linspace(0, 1, 120)
    peaks = np.exp(-((places - generator(19).random((12, 1))) ** 2) / 0.005)
    heights = generator(20).lognormal(0, 0.5, (80, 12))
    assert not rows_are_shifted(heights @ peaks, HALVES)


def test_covariances_with_the_mean_of_the_others_against_their_definition():
    values = generator(21).normal(size=(15, 6))
    values -= values.mean(axis=0)
    others = [np.delete(values, j, axis=1).mean(axis=1) for j in range(6)]
    expected = [np.cov(values[:, j], others[j], bias=True)[0, 1] for j in range(6)]
    assert covariances_with_others(values) == pytest.approx(expected)


def test_centred_logarithms_are_centred_log_ratios_of_counts():
    counts = generator(22).integers(1, 500, size=(20, 8))
    y = np.tile([1.0, -1.0], 10)
    ratios = load_data(table(counts, y), "outcome", transform="clr").X
    centred = load_data(table(np.log(counts), y), "outcome", transform="centre").X
    assert centred == pytest.approx(ratios)


# Features that were made or chosen with the labels


def test_a_noisy_copy_of_the_label_is_asked_about():
    rng = generator(23)
    values = rng.normal(size=(80, 100))
    values[:, 7] = HALVES + 0.9 * rng.normal(size=80)
    (said,) = warn_of_lone_columns(values, HALVES, NAMES)
    assert "'g7' alone tells the classes apart" in said.message
    assert "drop='g7'" in said.message
    values[:, 3] = values[:, 7] + 0.1 * rng.normal(size=80)
    (said,) = warn_of_lone_columns(values, HALVES, NAMES)
    assert "each of the columns 'g7', 'g3' alone tells" in said.message
    assert "leave them out (drop='g7,g3')" in said.message


def test_good_features_are_not_taken_for_the_outcome():
    rng = generator(24)
    values = rng.normal(size=(80, 100))
    values[:, 0] += 0.8 * HALVES
    assert warn_of_lone_columns(values, HALVES, NAMES) == [], "one of a usual strength"
    values[:, :5] = HALVES[:, None] + 0.9 * rng.normal(size=(80, 5))
    assert warn_of_lone_columns(values, HALVES, NAMES) == [], "several as strong as a noisy copy"
    few = np.tile([1.0, -1.0], 5)
    assert warn_of_lone_columns(rng.normal(size=(10, 20)), few, NAMES) == [], "few samples"


def best_of_many(seed, n_chosen, n_candidates):
    values = generator(seed).normal(size=(80, n_candidates))
    differences = HALVES @ values
    return values[:, np.argsort(-np.abs(differences))[:n_chosen]]


@pytest.mark.parametrize(("n_chosen", "n_candidates"), [(100, 2000), (30, 60), (500, 2000)])
def test_features_chosen_by_the_labels_are_asked_about(n_chosen, n_candidates):
    (said,) = warn_of_filtered_features(best_of_many(25, n_chosen, n_candidates), HALVES)
    assert "candidates=NUMBER" in said.message
    assert "--candidates NUMBER" in in_flags(said.message)


def test_the_question_is_not_asked_when_it_was_answered():
    frame = table(best_of_many(26, 60, 2000), HALVES)
    options = {"label": "outcome", "expected_error": False, "budget": 0}
    asked = separation_test(frame, permutations=9, **options)
    answered = separation_test(frame, candidates=2000, **options)
    assert any("candidates=NUMBER" in said for said in asked.checks())
    assert not any("candidates=NUMBER" in said for said in answered.checks())


def test_tables_with_noise_or_with_good_features_alone_are_not_called_filtered():
    rng = generator(27)
    half_good = rng.normal(size=(80, 200))
    half_good[:, :100] += HALVES[:, None]
    assert warn_of_filtered_features(half_good, HALVES) == []
    all_good = rng.normal(size=(80, 40)) + np.outer(HALVES, rng.uniform(0.5, 1.5, 40))
    assert warn_of_filtered_features(all_good, HALVES) == []
    one_factor = rng.normal(size=(80, 1)) + 0.1 * rng.normal(size=(80, 40))
    one_factor += 0.2 * HALVES[:, None]
    assert warn_of_filtered_features(one_factor, HALVES) == [], "forty columns that say one thing"


def test_spread_of_pvalues_against_t_tests():
    values = generator(28).normal(size=(80, 50))
    pvalues = ttest_ind(values[HALVES > 0], values[HALVES < 0]).pvalue
    correlations = filtered._correlations(filtered._unit_columns(values), HALVES)
    spread = filtered._spread_of_pvalues(correlations, len(HALVES))
    expected = (np.mean(pvalues > 0.5), np.quantile(pvalues, 0.75), np.quantile(pvalues, 0.95))
    assert spread == pytest.approx(expected)


BATCH = np.repeat(np.arange(3), 20)
WITH_BATCHES = np.concatenate([np.repeat([1.0, -1.0], [n, 20 - n]) for n in (4, 10, 16)])


def corrected(seed, *, with_labels, y=WITH_BATCHES, share=1.0):
    """Values less the batches' effects, or a share of them, estimated beside the labels' or without."""
    rng = generator(seed)
    values = rng.normal(size=(60, 200)) + rng.normal(size=(3, 200))[BATCH]
    batches = np.eye(3)[BATCH]
    terms = np.column_stack([batches, y]) if with_labels else batches
    return values - share * batches @ np.linalg.lstsq(terms, values, rcond=None)[0][:3]


def test_batches_taken_out_with_the_labels_are_told():
    values = corrected(29, with_labels=True)
    shrunken = corrected(29, with_labels=True, share=0.95)
    for table_as_written in (values, values.round(2), shrunken):
        (said,) = warn_of_corrected_batches(table_as_written, WITH_BATCHES)
        assert "as if 3 batches had been taken out with the labels kept" in said.message
        assert "blocks=COLUMN" in said.message


def test_vanishing_combinations_are_contrasts_of_batches_less_the_labels():
    found = low_variance_combinations(corrected(30, with_labels=True))
    ones_and_labels = np.column_stack([np.ones(60), WITH_BATCHES])
    batches = np.eye(3)[BATCH][:, 1:]
    contrasts = batches - ones_and_labels @ np.linalg.lstsq(ones_and_labels, batches, rcond=None)[0]
    assert found.shape == (60, 2)
    # The same plane: either is a combination of the other.
    assert np.linalg.matrix_rank(np.column_stack([found, contrasts]), tol=1e-6) == 2


def test_other_corrections_and_copies_are_not_told():
    assert warn_of_corrected_batches(corrected(31, with_labels=False), WITH_BATCHES) == []
    balanced = np.tile([1.0, -1.0], 30)
    harmless = corrected(32, with_labels=True, y=balanced)
    assert warn_of_corrected_batches(harmless, balanced) == [], "equally many of each class"
    noise = generator(33).normal(size=(60, 200))
    assert warn_of_corrected_batches(noise, WITH_BATCHES) == []
    noise[1] = noise[0]
    assert warn_of_corrected_batches(noise, WITH_BATCHES) == [], "two equal rows"
    noise[40:] = (noise[:20] + noise[1:21]) / 2
    between_rows = np.r_[np.ones(30), -np.ones(10), np.ones(20)]
    assert warn_of_corrected_batches(noise, between_rows) == [], "rows between others"


def filled(seed, fill, share=0.1, *, by_class):
    rng = generator(seed)
    values = rng.normal(size=(80, 300)).round(3) + 0.3 * HALVES[:, None]
    gaps = pd.DataFrame(values).mask(rng.random(values.shape) < share)
    fills = gaps.groupby(HALVES).transform(fill) if by_class else gaps.agg(fill)
    return gaps.fillna(fills).to_numpy()


@pytest.mark.parametrize("fill", ["mean", "median"])
def test_gaps_filled_class_by_class_are_told(fill):
    for values in (filled(34, fill, by_class=True), filled(34, fill, by_class=True).round(3)):
        (said,) = warn_of_class_fills(values, HALVES, NAMES)
        assert "the mean or median of a class stands again and again" in said.message
        assert "missing='median' or missing='columns'" in said.message
    assert "of a class stands" in read(table(values, HALVES))


@pytest.mark.parametrize("fill", ["mean", "median", "min"])
@pytest.mark.parametrize("share", [0.03, 0.1])
def test_gaps_filled_without_the_labels_are_not_told(fill, share):
    for seed in range(5):
        values = filled([seed, 35], fill, share, by_class=False)
        assert warn_of_class_fills(values, HALVES, NAMES) == []
    coarse = filled(36, fill, share, by_class=False).round(1)
    assert warn_of_class_fills(coarse, HALVES, NAMES) == []


def test_arrays_are_looked_at_as_tables_are():
    values = filled(37, "mean", by_class=True)
    result = separation_test(values, HALVES, permutations=9, expected_error=False, budget=0)
    assert any("of a class stands again and again" in said for said in result.checks())


def test_wide_tables_are_looked_at_in_blocks_of_columns():
    """What stands in a later block is found as in the first, and called by its own name."""
    rng = np.random.default_rng(6)
    n_columns = 60_000
    values = rng.normal(size=(20, n_columns))
    labels = np.repeat([1.0, -1.0], 10)
    for column in (3, 59_000, 59_999):
        values[:4, column] = values[4:10, column].mean()
    (said,) = warn_of_class_fills(values, labels, [f"x{j}" for j in range(n_columns)])
    in_one_block = columns_filled_by_class(values, labels > 0).tolist()
    assert 59_999 in in_one_block
    assert f"in {len(in_one_block)} columns" in said.message
    assert all(f"'x{column}'" in said.message for column in in_one_block)
    values[:, 55_555] = rng.integers(0, 3, 20)
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(n_columns)])
    assert few_numbers(frame) == ["x55555"]
    counts = rng.integers(0, 90, size=(20, n_columns)).astype(float)
    assert are_counts(counts)
    counts[7, 58_000] = 0.5
    assert not are_counts(counts)
