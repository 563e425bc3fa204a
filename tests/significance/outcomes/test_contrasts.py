"""Which classes differ: exchanges within two sides, and p-values corrected for all comparisons."""

from __future__ import annotations

import numpy as np
import pytest

import chanceline
from chanceline.significance.outcomes.score_design import make_score_design
from chanceline.significance.outcomes.several_classes import make_classes
from chanceline.significance.outcomes.shuffle_contrasts import (
    contrast_design,
    read_contrasts,
    restricted_exchange,
    shuffle_contrasts,
)
from chanceline.significance.shuffles import ShufflePlan
from chanceline.significance.unit_exchange import exchange_units


def test_members_are_exchanged_uniformly_and_within_blocks():
    blocks = np.array([0, 0, 0, 0, 1, 1, 1])
    members = np.array([0, 2, 3, 4, 6])
    block_of_member = blocks[members]
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(1200):
        exchanged = restricted_exchange(exchange_units(blocks, rng), members, block_of_member)
        assert sorted(exchanged) == list(range(5))
        assert np.array_equal(block_of_member[exchanged], block_of_member)
        key = tuple(exchanged.tolist())
        seen[key] = seen.get(key, 0) + 1
    # 3!·2! permutations, 100 times each on average.
    assert len(seen) == 12
    assert max(abs(count - 100) for count in seen.values()) < 4.5 * 10


def test_all_units_are_exchanged_as_in_the_whole_test():
    blocks = np.zeros(9, dtype=np.int64)
    donors = exchange_units(blocks, np.random.default_rng(1))
    np.testing.assert_array_equal(restricted_exchange(donors, np.arange(9), blocks), donors)


def test_a_class_against_the_rest_is_tested_on_all_samples():
    outcome = make_classes(list("abc") * 10, "kind", "abc")
    design = make_score_design(outcome)
    own = contrast_design(design, outcome.contrasts[-1])
    signs = np.where(outcome.codes == 2, 1.0, -1.0)
    centred = signs - signs.mean()
    scores = own.permuted_scores(0, 0)[0]
    np.testing.assert_allclose(abs(scores @ centred), np.linalg.norm(centred))


def test_a_pair_has_the_samples_of_its_two_classes():
    outcome = make_classes(list("abc") * 10, "kind", "abc")
    design = make_score_design(outcome)
    own = contrast_design(design, outcome.contrasts[0])
    assert own.n_units == 20
    drawn = own.permuted_scores(0, 3)[0]
    np.testing.assert_allclose(np.sort(drawn), np.sort(own.permuted_scores(0, 0)[0]))


def test_pairs_of_many_classes_are_left_out():
    names = list("abcdefghij") * 2
    outcome = make_classes(names, "kind", "abcdefghij")
    assert [item.words for item in outcome.contrasts] == [
        f"{name} against the rest" for name in "abcdefghij"
    ]


def test_only_what_differs_is_called_different():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 20))
    names = np.array(list("ABCD"))[np.arange(80) % 4]
    X[names == "D", 7] += 2.5
    result = chanceline.separation_test(X, names, permutations=199, expected_error=False)
    different = {item.words for item in result.contrasts if item.adjusted_pvalue <= 0.05}
    assert different == {
        "A against D",
        "B against D",
        "C against D",
        "D against the rest",
    }
    for item in result.contrasts:
        assert item.adjusted_pvalue >= max(item.pvalue, result.pvalue)
        if "D" in item.words:
            assert item.feature == "x7"


@pytest.mark.slow
def test_the_family_keeps_its_level():
    # Three classes of noise: some comparison is called different in 5 % of the tables.
    outcome = make_classes(list("abc") * 8, "kind", "abc")
    design = make_score_design(outcome)
    n_called = 0
    n_sets = 200
    for number in range(n_sets):
        X = np.random.default_rng([5, number]).normal(size=(24, 6))
        plan = ShufflePlan(n_shuffles=39, seed=number)
        runs = shuffle_contrasts(X, design, outcome.contrasts, plan, n_steps=2)
        readings = read_contrasts(runs, tuple("uvwxyz"), overall_pvalue=0.0)
        n_called += min(item.adjusted_pvalue for item in readings) <= 0.05
    # Three standard deviations above 5 %.
    assert n_called <= 0.05 * n_sets + 3 * np.sqrt(n_sets * 0.05 * 0.95)
