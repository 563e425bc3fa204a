"""What is measured on a memory, against counting by hand and against theory where it is exact."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from chanceline import InputError
from chanceline.memory import (
    AssociativeMemory,
    cutting,
    largest_loads,
    load_curve,
    random_patterns,
    retrieval,
)
from chanceline.memory.basins import add_noise
from chanceline.memory.damage import cut_couplings

N = 40


@pytest.fixture(scope="module")
def stored():
    patterns = random_patterns(N, 0.3, seed=6)
    memory = AssociativeMemory(N, 0.4, seed=6, budget=400)
    memory.store(patterns)
    return memory, patterns


def test_patterns_are_coins_and_longer_sequences_extend_shorter_ones():
    patterns = random_patterns(300, 1.0, seed=2)
    assert patterns.shape == (299, 300)
    assert set(np.unique(patterns)) == {-1, 1}
    assert abs(patterns.mean()) < 5 / np.sqrt(patterns.size)
    assert np.array_equal(random_patterns(300, n_patterns=10, seed=2), patterns[:10])
    for wrong in ({}, {"load": 0.5, "n_patterns": 3}, {"load": 0.0}, {"n_patterns": 0}):
        with pytest.raises(InputError):
            random_patterns(300, **wrong)


def test_random_wiring_holds_twice_as_many_patterns_as_inputs():
    """Cover: K inputs hold a median of 2K random patterns, with a standard deviation of √(2K)."""
    loads = largest_loads(61, 20, "random", seed=3)
    error = 1.25 * np.sqrt(40 / 61)  # of a median
    assert abs(np.median(loads.held) - 40) < 4 * error
    assert loads.rho == 20 / 60
    assert loads.network == loads.held.min() / 60 < loads.typical


def test_the_largest_load_is_held_and_one_more_pattern_is_not():
    loads = largest_loads(31, 10, "random", seed=5, neurons=6)
    for neuron, held in enumerate(loads.held):
        for extra, inside in ((0, False), (1, True)):
            patterns = random_patterns(31, n_patterns=int(held) + extra, seed=5)
            report = AssociativeMemory(31, 10, "random", seed=5).store(patterns)
            assert (neuron in report.unsolved) == inside


def test_a_curve_is_made_of_its_points():
    curve = load_curve(21, [4, 0.5], ["random", "hebbian-selected"], seed=2, neurons=5)
    assert [point.fan_in for point in curve] == [4, 4, 10, 10]
    assert [point.wiring for point in curve] == ["random", "hebbian-selected"] * 2
    for point in curve:
        alone = largest_loads(21, point.fan_in, point.wiring, seed=2, neurons=5)
        assert np.array_equal(alone.held, point.held)


def test_noise_flips_the_exact_share():
    pattern = np.ones((4, 50))
    noisy = add_noise(pattern, 0.1, np.random.default_rng(0))
    assert (noisy == -1).sum(axis=1).tolist() == [5] * 4
    assert len(np.unique(noisy, axis=0)) > 1


def test_retrieval_without_noise_is_perfect_and_falls_with_noise(stored):
    memory, patterns = stored
    result = retrieval(memory, patterns, [0.0, 0.05, 0.45], probes=100, seed=1)
    assert result.overlaps[0] == result.recalled[0] == 1
    assert result.errors[0] == 0
    assert 1 >= result.overlaps[1] > 0.95
    assert result.overlaps[2] < 0.6
    with pytest.raises(InputError, match="noise"):
        retrieval(memory, patterns, [1.5])


def test_retrieval_of_a_network_that_keeps_every_state_is_the_probe_itself():
    patterns = random_patterns(20, n_patterns=4, seed=0)
    frozen = AssociativeMemory(20, 1).with_couplings(csr_array((20, 20)))
    result = retrieval(frozen, patterns, [0.1, 0.25], probes=30)
    assert result.overlaps == pytest.approx([0.8, 0.5])
    assert result.recalled.tolist() == [0, 0]


def test_selected_inputs_recall_from_further_away_than_random_ones():
    patterns = random_patterns(100, 0.3, seed=8)
    overlap = {}
    for wiring in ("selected", "random"):
        memory = AssociativeMemory(100, 0.25, wiring, seed=8, budget=200)
        assert memory.store(patterns).unsolved.size <= 2
        overlap[wiring] = retrieval(memory, patterns, [0.05], probes=100, seed=8).overlaps[0]
    assert overlap["selected"] > 0.9
    assert overlap["random"] < 0.3


def test_cut_takes_the_given_share_from_every_neuron(stored):
    memory, _ = stored
    whole = memory.couplings.toarray()
    for how in ("random", "weakest"):
        rest = cut_couplings(memory, 0.25, how, seed=1).couplings
        assert np.diff(rest.indptr).tolist() == [12] * N  # of 16
        left = rest.toarray()
        assert np.array_equal(left[left != 0], whole[left != 0])
        if how == "weakest":
            gone = (whole != 0) & (left == 0)
            for i in range(N):
                assert np.abs(whole[i][gone[i]]).max() <= np.abs(left[i][left[i] != 0]).min()
    assert np.array_equal(memory.couplings.toarray(), whole)
    assert cut_couplings(memory, 1.0).couplings.nnz == 0
    with pytest.raises(InputError, match="cut"):
        cut_couplings(memory, 0.5, "strongest")
    with pytest.raises(InputError, match="share"):
        cut_couplings(memory, 1.5)


def test_cutting_counts_what_is_still_held(stored):
    memory, patterns = stored
    result = cutting(memory, patterns, [0.0, 0.25, 1.0], "random", seed=1)
    rest = cut_couplings(memory, 0.25, "random", seed=1).couplings.toarray()
    held = (patterns @ rest.T) * patterns > 0
    assert result.bits.tolist() == [1.0, held.mean(), 0.0]
    assert result.patterns.tolist() == [1.0, held.all(axis=1).mean(), 0.0]
    assert result.overlaps[0] == result.overlaps[2] == 1.0  # without couplings every state stays
    weakest = cutting(memory, patterns, [0.25], "weakest")
    assert weakest.bits[0] > result.bits[1]
