"""Neurons whose outgoing couplings have one sign, what is read of their wiring, and the load that Hebb's choice holds."""

import numpy as np
import pytest
from scipy.stats import norm

from chanceline import InputError
from chanceline.memory import (
    AssociativeMemory,
    connectivity,
    hebbian_capacity,
    largest_loads,
    random_patterns,
)
from chanceline.memory.stability import NeuronProblem, fit_stable_weights


@pytest.fixture(scope="module")
def patterns():
    return random_patterns(60, n_patterns=10, seed=2)


@pytest.mark.parametrize("wiring", ["selected", "random", "hebbian-selected"])
@pytest.mark.parametrize("fan_in", [0.3, "minimal"])
def test_no_neuron_breaks_dales_law(patterns, wiring, fan_in, tmp_path):
    memory = AssociativeMemory(60, fan_in, wiring, 2, excitatory=0.8, budget=200)
    report = memory.store(patterns)
    couplings = memory.couplings
    assert (couplings.data * memory.signs[couplings.indices] > 0).all()
    assert (memory.signs > 0).sum() == 48
    assert np.diff(couplings.indptr).max() <= 18 or fan_in == "minimal"
    solved = np.setdiff1d(np.arange(60), report.unsolved)
    assert solved.size > 40
    assert ((memory.fields(patterns) * patterns)[:, solved] > 0).all()
    memory.save(tmp_path / "memory.npz")
    again = AssociativeMemory.load(tmp_path / "memory.npz")
    assert np.array_equal(again.signs, memory.signs)


def test_signs_cost_half_of_the_load_of_given_inputs_and_half_of_the_synapses():
    """All inputs: α_c = 1 instead of 2, half of the weights zero there (Amit, Wong and Campbell 1989)."""
    held = [
        largest_loads(61, 1.0, "random", seed, neurons=10, excitatory=0.5).held for seed in range(4)
    ]
    assert np.mean(held) / 60 == pytest.approx(1.0, abs=0.1)
    memory = AssociativeMemory(60, 1.0, "random", 1, excitatory=0.5)
    memory.store(random_patterns(60, load=0.9, seed=1))
    assert connectivity(memory).silent == pytest.approx(0.5, abs=0.06)


def test_the_readings_are_those_of_a_count_by_hand(patterns):
    memory = AssociativeMemory(60, 0.3, "hebbian-selected", 2, excitatory=0.8)
    memory.store(patterns)
    w, kept = memory.couplings.toarray(), [j for j in range(60) if memory.signs[j] > 0]
    read = connectivity(memory)
    assert read.excitatory["probability"] == pytest.approx((w > 0).sum() / (48 * 59))
    assert read.inhibitory["probability"] == pytest.approx((w < 0).sum() / (12 * 59))
    assert read.inhibitory["mean"] == pytest.approx(-w[w < 0].mean())
    assert read.excitatory["cv"] == pytest.approx(np.std(w[w > 0]) / np.mean(w[w > 0]))
    assert read.excitatory["histogram"].sum() == (w > 0).sum()
    pairs = [(i, j) for i in kept for j in kept if i < j]
    both = sum(w[i, j] != 0 and w[j, i] != 0 for i, j in pairs)
    ones = sum(int(w[i, j] != 0) + int(w[j, i] != 0) for i, j in pairs)
    assert read.expected == pytest.approx(len(pairs) * (ones / 2 / len(pairs)) ** 2)
    assert read.reciprocal == pytest.approx(both / read.expected)
    answered = [w[i, j] for i in kept for j in kept if w[i, j] and w[j, i]]
    alone = [w[i, j] for i in kept for j in kept if w[i, j] and not w[j, i]]
    assert read.strength == pytest.approx(np.mean(answered) / np.mean(alone))
    # Hebb's rule is symmetric, so that pairs are coupled both ways far more often than by chance; a random choice is not.
    assert read.reciprocal > 2
    free = AssociativeMemory(60, 0.3, "random", 2)
    free.store(patterns)
    assert abs(connectivity(free).reciprocal - 1) < 4 / np.sqrt(connectivity(free).expected)
    assert connectivity(free).silent == 0


def test_hebbs_choice_ends_at_gardner_and_holds_what_is_measured():
    for kappa in (0.0, 0.7):
        gardner = 1 / ((1 + kappa**2) * norm.cdf(kappa) + kappa * norm.pdf(kappa))
        assert hebbian_capacity(1.0, kappa) == pytest.approx(gardner, rel=1e-6)
    generator, n, rho = np.random.default_rng(3), 300, 0.2
    held = []
    for _ in range(12):
        rows, low, high = 2.0 * generator.integers(0, 2, (2 * n, n)) - 1, 1, 2 * n
        while low < high:
            middle = (low + high + 1) // 2
            chosen = np.argsort(-np.abs(rows[:middle].sum(axis=0)))[: round(rho * n)]
            if fit_stable_weights(NeuronProblem(rows[:middle]), chosen).separates:
                low = middle
            else:
                high = middle - 1
        held.append(low / n)
    assert np.mean(held) == pytest.approx(
        hebbian_capacity(rho), abs=3 * np.std(held) / np.sqrt(12) + 0.01
    )


def test_a_share_of_excitatory_neurons_is_a_share():
    with pytest.raises(InputError, match="excitatory neurons must be between 0 and 1"):
        AssociativeMemory(10, excitatory=1.2)
