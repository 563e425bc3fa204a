"""The associative memory: what it stores is checked by its dynamics, written here a second time."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from chanceline import InputError
from chanceline.memory import AssociativeMemory, random_patterns

N, P = 50, 36


@pytest.fixture(scope="module")
def patterns():
    return random_patterns(N, n_patterns=P, seed=4)


@pytest.fixture(scope="module")
def selected(patterns):
    memory = AssociativeMemory(N, fan_in=0.25, wiring="selected", seed=4, budget=1000)
    memory.store(patterns)
    return memory


def step(couplings, state):
    """One parallel step, neuron by neuron, over a dense matrix."""
    new = []
    for i, row in enumerate(couplings.toarray()):
        field = sum(float(w) * int(s) for w, s in zip(row, state, strict=True))
        new.append(1 if field > 0 else -1 if field < 0 else state[i])
    return new


def test_stored_patterns_are_fixed_points_of_the_dynamics(selected, patterns):
    assert selected.report.complete
    assert selected.is_stored(patterns).all()
    for pattern in patterns:
        assert step(selected.couplings, pattern.tolist()) == pattern.tolist()
    assert np.array_equal(selected.recall(patterns, order="sequential"), patterns)


def test_couplings_are_sparse_normalised_and_without_diagonal(selected):
    couplings = selected.couplings
    assert isinstance(couplings, csr_array)
    assert not couplings.diagonal().any()
    assert (np.diff(couplings.indptr) == round(0.25 * (N - 1))).all()
    assert np.allclose((couplings**2).sum(axis=1), 1)
    assert couplings.has_sorted_indices


def test_report_counts_what_the_couplings_hold(selected, patterns):
    report = selected.report
    dense = selected.couplings.toarray()
    stability = (patterns * (patterns @ dense.T)).min(axis=0)
    assert np.allclose(report.stabilities, stability)
    assert report.couplings_per_bit == pytest.approx(selected.couplings.nnz / (P * N))
    assert report.load == P / (N - 1)
    assert report.dense_couplings_per_bit == pytest.approx((N - 1) / P)
    assert "50 of 50 neurons" in str(report)


def test_selected_holds_a_load_above_cover_gardner_that_random_wiring_does_not(patterns):
    """Load 36/49 = 0.73 at ρ = 0.25: above 2ρ = 0.5 and below α_VS = 1.29."""
    fan_in = round(0.25 * (N - 1))
    assert fan_in < P / 2
    kept = {}
    for wiring in ("selected", "hebbian-selected", "random"):
        memory = AssociativeMemory(N, fan_in, wiring, seed=4, budget=400)
        report = memory.store(patterns)
        kept[wiring] = N - report.unsolved.size
        held = ((memory.fields(patterns) * patterns) > 0).all(axis=0)
        assert np.array_equal(np.flatnonzero(~held), report.unsolved)
    assert kept["selected"] == N
    assert kept["random"] < N / 2
    assert kept["random"] < kept["hebbian-selected"] < kept["selected"]


def test_unsolved_neurons_are_reported_and_the_rest_kept(patterns):
    clash = np.vstack([patterns[:10], patterns[:1]])
    clash[-1, 7] *= -1  # equal to the first but for neuron 7, which no wiring can then hold
    for wiring in ("selected", "random"):
        memory = AssociativeMemory(N, 30, wiring, seed=0, budget=200)
        report = memory.store(clash)
        assert report.unsolved.tolist() == report.impossible.tolist() == [7]
        assert not report.complete
        assert memory.is_stored(clash).tolist() == [
            bool((np.sign(field) == pattern).all())
            for field, pattern in zip(memory.fields(clash), clash, strict=True)
        ]
        assert memory.is_stored(clash[1:10]).any()
        assert (memory.fields(clash) * clash > 0)[:, np.arange(N) != 7].all()
        assert "unsolved neurons    7 (1 proven" in str(report)


def test_progress(patterns):
    heard = []
    AssociativeMemory(N, 5, "random").store(
        patterns, n_jobs=1, progress=lambda *done: heard.append(done)
    )
    assert heard == [(done, N) for done in range(1, N + 1)]


def test_kappa_is_met_or_reported(patterns):
    few = patterns[:10]
    memory = AssociativeMemory(N, 0.5, kappa=0.8, seed=1, budget=400)
    report = memory.store(few)
    assert report.complete
    fields = memory.fields(few) * few
    assert fields.min() >= 0.8 - 1e-12
    strict = AssociativeMemory(
        N, 0.5, kappa=fields.min(axis=0).max() + 1e-6, seed=1, budget=400
    ).store(few)
    assert strict.unsolved.size == N
    impossible = AssociativeMemory(N, 1.0, kappa=50.0, seed=1).store(few)
    assert impossible.impossible.size == N


@pytest.mark.parametrize("wiring", ["selected", "random", "hebbian-selected"])
@pytest.mark.parametrize("kappa", [0.0, 0.4])
def test_minimal_fan_in_stores_everything(patterns, wiring, kappa):
    few = patterns[:15]
    memory = AssociativeMemory(N, "minimal", wiring, seed=2, kappa=kappa, budget=200)
    report = memory.store(few)
    assert report.complete
    assert memory.is_stored(few).all()
    assert report.stabilities.min() >= kappa


def test_random_minimal_fan_in_cannot_be_one_less(patterns):
    few = patterns[:15]
    report = AssociativeMemory(N, "minimal", "random", seed=2).store(few)
    for neuron in range(3):
        fewer = int(report.fan_ins[neuron]) - 1
        assert neuron in AssociativeMemory(N, fewer, "random", seed=2).store(few).impossible


def test_recall_repairs_a_probe_at_low_load():
    patterns = random_patterns(80, n_patterns=5, seed=0)
    memory = AssociativeMemory(80, 0.4, seed=0, budget=200)
    memory.store(patterns)
    probe = patterns[2].copy()
    probe[:8] *= -1
    for order in ("parallel", "sequential"):
        assert np.array_equal(memory.recall(probe, order=order), patterns[2])
    assert np.array_equal(memory.recall(probe, steps=0), probe)
    assert np.array_equal(memory.recall(probe, steps=1), step(memory.couplings, probe.tolist()))


def test_sequential_recall_updates_one_neuron_at_a_time():
    """Two neurons that copy each other: in parallel they swap for ever, one by one they agree."""
    memory = AssociativeMemory(2, 1).with_couplings(csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    assert memory.recall([1, -1], steps=5).tolist() == [-1, 1]
    assert abs(int(memory.recall([1, -1], order="sequential").sum())) == 2


def test_a_neuron_without_field_keeps_its_state_but_holds_nothing():
    memory = AssociativeMemory(3, 1).with_couplings(csr_array(np.zeros((3, 3))))
    assert memory.recall([1, -1, 1]).tolist() == [1, -1, 1]
    assert memory.is_stored([1, -1, 1]) is False


def test_save_and_load_give_the_same_memory(selected, patterns, tmp_path):
    path = tmp_path / "memory.npz"
    path.write_text("something older")
    selected.save(path)
    again = AssociativeMemory.load(path)
    assert [file.name for file in tmp_path.iterdir()] == ["memory.npz"]
    assert repr(again) == repr(selected)
    assert again.rule == selected.rule
    assert again.report.to_dict().keys() == selected.report.to_dict().keys()
    assert np.array_equal(again.report.stabilities, selected.report.stabilities)
    assert (again.couplings != selected.couplings).nnz == 0
    assert again.is_stored(patterns).all()
    with np.load(path, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


@pytest.mark.parametrize("content", ["other", "torn", "damaged"])
def test_a_file_that_is_no_memory_gets_one_sentence(selected, tmp_path, content):
    path = tmp_path / "memory.npz"
    if content == "other":
        np.savez(path, settings=np.array("{}"))
    else:
        selected.save(path)
        whole = path.read_bytes()
        half = len(whole) // 2
        path.write_bytes(
            whole[:half] if content == "torn" else whole[:half] + bytes(64) + whole[half + 64 :]
        )
    with pytest.raises(InputError, match=r"memory\.npz"):
        AssociativeMemory.load(path)


def test_an_empty_memory_says_so(tmp_path):
    memory = AssociativeMemory(5, 2)
    for use in (
        lambda: memory.recall([1] * 5),
        lambda: memory.save(tmp_path / "x.npz"),
        lambda: memory.couplings,
    ):
        with pytest.raises(InputError, match="empty"):
            use()


@pytest.mark.parametrize(
    ("fan_in", "count"), [(3, 3), (49, 49), (0.25, 12), (1.0, 49), (0.001, 1), ("minimal", None)]
)
def test_fan_in_is_a_count_a_share_or_minimal(fan_in, count):
    assert AssociativeMemory(50, fan_in).rule.fan_in == count


@pytest.mark.slow
def test_two_hundred_neurons_hold_a_load_of_0_8_with_a_quarter_of_the_couplings():
    patterns = random_patterns(200, 0.8, seed=1)
    selected, chance = (
        AssociativeMemory(200, 0.25, wiring, seed=1) for wiring in ("selected", "random")
    )
    assert selected.store(patterns, n_jobs=2).complete
    assert selected.is_stored(patterns).all()
    assert np.array_equal(selected.recall(patterns, steps=1), patterns)
    assert chance.store(patterns).impossible.size == 200
    assert not chance.is_stored(patterns).any()
