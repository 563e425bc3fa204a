"""The design of a study: which labellings are exchanged, and how small a p-value they allow."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import chanceline
from chanceline.errors import InputError
from chanceline.significance.design import make_scheme
from chanceline.significance.stepwise import follow_paths, make_columns

HALVES = np.repeat([1.0, -1.0], 3)
SMALL = {
    "3 + 3 samples": (HALVES, {}, 2 / 20),
    "2 + 5 samples": (np.repeat([1.0, -1.0], [2, 5]), {}, 1 / 21),
    "six subjects of two rows": (np.repeat(HALVES, 2), {"groups": np.repeat(np.arange(6), 2)}, 2 / 20),
    "four pairs": (np.tile([1.0, -1.0], 4), {"blocks": np.repeat(np.arange(4), 2)}, 2 / 16),
    "unequal blocks": (np.array([1.0, -1, -1, 1, -1]), {"blocks": [0, 0, 0, 1, 1]}, 1 / 6),
    "coin": (HALVES, {"null": "coin"}, 2 / 64),
}


@pytest.mark.parametrize("name", SMALL)
def test_smallest_p_is_that_of_the_best_labelling_of_all(name):
    y, design, expected = SMALL[name]
    scheme = make_scheme(y, **design)
    X = np.random.default_rng(3).normal(size=(len(y), 9))
    drawn = {tuple(scheme.draw(np.random.default_rng(seed))) for seed in range(1500)}
    losses = follow_paths(make_columns(X, scheme, True), np.array(sorted(drawn)), 1).losses[:, 0]
    # Labels of one class (the coin has them) are explained by the threshold alone: no loss to compare.
    smallest = np.count_nonzero(losses <= losses[losses > 1e-9].min() + 1e-9) - np.count_nonzero(losses <= 1e-9)
    assert scheme.smallest_p == pytest.approx(expected) == pytest.approx(smallest / len(drawn))


def test_smallest_p_counts_every_labelling_once():
    for labels in product([-1.0, 1.0], repeat=5):
        if len(set(labels)) == 2:
            scheme = make_scheme(np.array(labels))
            drawn = {tuple(scheme.draw(np.random.default_rng(seed))) for seed in range(200)}
            assert scheme.smallest_p == pytest.approx(1 / len(drawn))


def frame(rows=24, features=8):
    """Before and after in twelve subjects, as a table."""
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(rows, features)), columns=[f"g{j}" for j in range(features)])
    return table.assign(outcome=["before", "after"] * (rows // 2), subject=np.repeat([f"S{i}" for i in range(rows // 2)], 2))


def test_labels_swap_within_pairs():
    y = np.tile([1.0, -1.0], 5)
    scheme = make_scheme(y, pairs=np.repeat(list("abcde"), 2))
    drawn = np.array([scheme.draw(np.random.default_rng(seed)) for seed in range(400)])
    assert np.all(drawn[:, ::2] == -drawn[:, 1::2])
    assert len({tuple(row) for row in drawn}) == 32
    assert scheme.smallest_p == 2 / 32


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        (slice(1, None), {"pairs": "subject"}, "'S0' has 0 of the positive and 1 of the other class \\(1 of 12"),
        (slice(None), {"pairs": "subject", "blocks": "subject"}, "give pairs or blocks, not both"),
        (slice(None), {"pairs": "subject", "null": "coin"}, "pairs restrict permutations"),
    ],
)
def test_pairs_that_are_none(rows, options, sentence):
    with pytest.raises(InputError, match=sentence):
        chanceline.separation_test(frame()[rows], label="outcome", permutations=9, **options)


def test_a_data_frame_with_its_label_by_name_is_the_same_as_arrays():
    table = frame()
    by_name = chanceline.separation_test(table, label="outcome", pairs="subject", drop="g7", permutations=49, positive="after")
    values, y = table[[f"g{j}" for j in range(7)]], table["outcome"] == "after"
    by_arrays = chanceline.separation_test(values, y, pairs=table["subject"], permutations=49)
    assert by_name.classes == ("before", "after")
    assert (by_name.pvalue, by_name.separating.features, by_name.n_blocks) == (
        by_arrays.pvalue,
        by_arrays.separating.features,
        12,
    )
    assert list(table) == [f"g{j}" for j in range(8)] + ["outcome", "subject"]
