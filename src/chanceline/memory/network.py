"""The associative memory: binary neurons with few couplings, whose fixed points are patterns."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from copy import copy
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from chanceline._io import write_bytes
from chanceline._parallel import Progress, run_ordered
from chanceline.errors import InputError, real_number, whole_number
from chanceline.memory.choices import UpdateOrder, Wiring, choice_from
from chanceline.memory.learning import LearnedNeuron, LearningRule, learn_neuron
from chanceline.memory.patterns import Patterns
from chanceline.memory.report import StorageReport, make_report

DEFAULT_SWAP_BUDGET = 2000  # swaps a neuron
MAX_BUDGET = 2**62  # what a compiled loop can count, and something to add to it
# A saved memory is plain arrays and a line of JSON: nothing that could run code when read.
FILE_FORMAT = "chanceline memory 1"
SAVED_COUPLINGS = ("data", "indices", "indptr")
SAVED_REPORT = ("fan_ins", "stabilities", "unsolved", "impossible")


class AssociativeMemory:
    """A network that stores patterns as fixed points; every neuron chooses few of its inputs.

    Each neuron is a perceptron whose N = n_neurons − 1 variables are the other neurons' states and
    whose label is its own; with ρN inputs taken at random it holds α < 2ρ patterns per input, with
    the best ones α < α_VS(ρ).

    Parameters
    ----------
    n_neurons : number of neurons, at least 2.
    fan_in : inputs a neuron keeps: a whole number, a share ρ of N (a float in (0, 1]), or "minimal"
        for as few as are found to hold the patterns.
    wiring : "selected" (inputs searched for the patterns at hand), "random", or "hebbian-selected"
        (those with the largest Hebbian coupling |Σ_μ ξ_iμ ξ_jμ|). The weights are the most stable
        ones on these inputs in all cases.
    seed : of the random choices; each neuron has its own stream, so results do not depend on the
        number of workers.
    kappa : stability asked of every neuron, ξ_iμ (w_i·ξ_μ)/|w_i| ≥ κ.
    budget : effort of the search for inputs, in swaps a neuron.
    excitatory : share of the neurons whose outgoing couplings are all positive; those of the others
        are all negative (Dale's law). Who is which is drawn with the seed, see `signs`. Without it
        couplings have any sign.

    Attributes
    ----------
    signs : +1 (excitatory) or −1 (inhibitory) for every neuron; None without Dale's law.
    report : what the last `store` achieved; None before it, and for couplings from elsewhere.

    Examples
    --------
    >>> from chanceline.memory import AssociativeMemory, random_patterns
    >>> patterns = random_patterns(60, n_patterns=20, seed=1)
    >>> memory = AssociativeMemory(60, fan_in=0.2, seed=1)
    >>> memory.store(patterns).complete
    True
    >>> bool(memory.is_stored(patterns).all())
    True
    """

    def __init__(  # noqa: PLR0913
        self,
        n_neurons: int,
        fan_in: float | str = 0.25,
        wiring: str = "selected",
        seed: int = 0,
        *,
        kappa: float = 0.0,
        budget: int = DEFAULT_SWAP_BUDGET,
        excitatory: float | None = None,
    ) -> None:
        """Check the settings, which the docstring of the class describes. Nothing is stored yet."""
        self.n_neurons = whole_number(n_neurons, "The number of neurons", at_least=2)
        # `fan_in` and `excitatory` stay as given, for `save`. What follows from them is in `rule`
        # (a count of inputs) and in `signs`.
        self.fan_in = fan_in
        self.excitatory = excitatory

        checked_wiring = choice_from(wiring, Wiring, "wiring")
        if real_number(kappa, "The stability kappa") < 0:
            raise InputError(f"The stability kappa must be a number from 0 up, but is {kappa}.")
        checked_seed = whole_number(seed, "The seed")
        self.signs = draw_neuron_signs(excitatory, self.n_neurons, checked_seed)
        n_inputs = count_inputs(fan_in, self.n_neurons - 1)  # None for "minimal"
        checked_budget = whole_number(budget, "The budget", at_most=MAX_BUDGET)

        # How each neuron learns.
        self.rule = LearningRule(
            wiring=checked_wiring,
            fan_in=n_inputs,
            kappa=float(kappa),
            budget=checked_budget,
            seed=checked_seed,
            signs=self.signs,
        )
        # Both are set by `store`.
        self.report: StorageReport | None = None
        self._couplings: csr_array | None = None

    @property
    def couplings(self) -> csr_array:
        """w_ij, (neurons, neurons), row i being the receiving neuron; |w_i| = 1 and no diagonal."""
        if self._couplings is None:
            raise InputError("This memory is empty; call store(patterns) first.")
        return self._couplings

    def store(
        self,
        patterns: ArrayLike,
        *,
        n_jobs: int | None = 1,
        progress: Progress | None = None,
    ) -> StorageReport:
        """Learn patterns of ±1, shape (P, n_neurons); patterns stored before are replaced.

        Every neuron learns on its own, so that `n_jobs` processes (as in joblib) give the same
        result as one. `progress` is called with (neurons done, neurons). On Ctrl-C the memory stays
        as it was before the call, because half of a network stores nothing.
        """
        checked_patterns = self.checked(patterns, "patterns")
        neurons: list[LearnedNeuron] = []

        def learn(neuron_indices: range, jobs: int | None) -> None:
            """Let these neurons learn the patterns, and append the results to `neurons`."""
            learned_neurons = run_ordered(
                learn_neuron, neuron_indices, common=(checked_patterns, self.rule), n_jobs=jobs
            )
            for neuron in learned_neurons:
                neurons.append(neuron)
                if progress is not None:
                    progress(len(neurons), self.n_neurons)

        # The first neuron learns in this process, which compiles the numerical code. The workers
        # then find it in the cache on disk.
        learn(range(1), jobs=1)
        learn(range(1, self.n_neurons), jobs=n_jobs)

        self._couplings = _couplings_of(neurons)
        self.report = make_report(neurons, n_patterns=checked_patterns.shape[0], rule=self.rule)
        return self.report

    def fields(self, states: ArrayLike) -> NDArray[np.float64]:
        """Local fields h_i = Σ_j w_ij s_j of one state, (neurons,), or many, (states, neurons)."""
        columns = self.couplings @ self.checked(states, "states").T
        return _shaped_like(states, columns)

    def is_stored(self, patterns: ArrayLike) -> Any:
        """Whether each pattern is a fixed point whose local fields all have its signs.

        A zero field holds nothing. One pattern gives a bool, many an array of bool, (patterns,).
        """
        checked = self.checked(patterns, "patterns")
        fields = (self.couplings @ checked.T).T
        stored = (fields * checked > 0).all(axis=1)
        if np.ndim(patterns) == 1:
            return bool(stored[0])
        return stored

    def recall(
        self, probe: ArrayLike, steps: int = 50, order: str = "parallel"
    ) -> NDArray[np.int8]:
        """Recall from a probe: update s_i ← sign(Σ_j w_ij s_j) until nothing changes.

        A neuron whose field Σ_j w_ij s_j is zero keeps its state.

        Parameters
        ----------
        probe : one state, (neurons,), or many, (probes, neurons); the result has the same shape.
        steps : the largest number of updates of the whole network.
        order : "parallel" (all neurons at once) or "sequential" (one after the other, in a new
            random order each step).
        """
        update_order = choice_from(order, UpdateOrder, "order")
        steps = whole_number(steps, "The number of steps")
        generator = np.random.default_rng(self.rule.seed)

        states = self.checked(probe, "probe").T  # (neurons, probes)
        for _ in range(steps):
            states_before = states  # needs no copy, because an update makes a new array
            if update_order is UpdateOrder.PARALLEL:
                states = _sign_or_keep(self.couplings @ states, states)
            else:
                states = self._updated_in_turn(states, generator.permutation(self.n_neurons))
            if np.array_equal(states, states_before):
                break
        return _shaped_like(probe, states)

    def _updated_in_turn(
        self, states: NDArray[np.int8], order: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """New states, (neurons, probes), after the neurons were updated one after the other."""
        couplings = self.couplings
        states = states.copy()
        for neuron in order:
            entries = slice(couplings.indptr[neuron], couplings.indptr[neuron + 1])
            inputs = couplings.indices[entries]
            field = couplings.data[entries] @ states[inputs]
            states[neuron] = _sign_or_keep(field, states[neuron])
        return states

    def save(self, path: str | Path) -> None:
        """Write settings, couplings and report to one .npz file, whole or not at all."""
        # The settings, as JSON. A fan-in may be a NumPy number, which JSON cannot write.
        fan_in = self.fan_in
        if not isinstance(fan_in, str | int):
            fan_in = float(fan_in)
        n_patterns = None
        if self.report is not None:
            n_patterns = self.report.n_patterns
        settings = {
            "format": FILE_FORMAT,
            "n_neurons": self.n_neurons,
            "fan_in": fan_in,
            "wiring": self.rule.wiring,
            "seed": self.rule.seed,
            "kappa": self.rule.kappa,
            "budget": self.rule.budget,
            "excitatory": self.excitatory,
            "n_patterns": n_patterns,
        }

        # The arrays of the sparse matrix of couplings, and those of the report.
        arrays = {name: getattr(self.couplings, name) for name in SAVED_COUPLINGS}
        if self.report is not None:
            arrays |= {name: getattr(self.report, name) for name in SAVED_REPORT}

        # Made in memory first: `write_bytes` never leaves half a file behind.
        content = io.BytesIO()
        np.savez_compressed(content, settings=np.array(json.dumps(settings)), **arrays)
        write_bytes(path, content.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> AssociativeMemory:
        """Read what `save` wrote."""
        with Path(path).open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as archive:
                    arrays = {name: archive[name] for name in archive.files}
                return cls._from_saved(arrays)
            except Exception as error:  # whatever NumPy, zipfile and JSON raise for a damaged file
                raise InputError(f"{path} is not a memory written by save ({error}).") from error

    @classmethod
    def _from_saved(cls, arrays: Mapping[str, NDArray[Any]]) -> AssociativeMemory:
        """Make a memory from the arrays of a file: settings, couplings and, if any, its report.

        If the file was not written by `save`, any exception may be raised; `load` turns it into one
        sentence.
        """
        # The settings are the arguments of `__init__`, and two entries more, which are taken out:
        # the format of the file, and the number of patterns (None if the memory had no report).
        settings = json.loads(str(arrays["settings"]))
        file_format = settings.pop("format")
        if file_format != FILE_FORMAT:
            raise ValueError("another format")
        n_patterns = settings.pop("n_patterns")
        memory = cls(**settings)

        # The couplings.
        data, indices, indptr = (arrays[name] for name in SAVED_COUPLINGS)
        shape = (memory.n_neurons, memory.n_neurons)
        couplings = csr_array((data, indices, indptr), shape=shape)
        memory = memory.with_couplings(couplings)

        # The report. Its arrays have the names of the report's attributes.
        has_report = n_patterns is not None
        if has_report:
            report_arrays = {name: arrays[name] for name in SAVED_REPORT}
            memory.report = StorageReport(
                n_neurons=memory.n_neurons,
                n_patterns=n_patterns,
                wiring=memory.rule.wiring,
                kappa=memory.rule.kappa,
                **report_arrays,
            )
        return memory

    def with_couplings(self, couplings: csr_array) -> AssociativeMemory:
        """The same network with other couplings, and without a report of how they were learned."""
        n = self.n_neurons
        has_right_shape = couplings.shape == (n, n)
        if not has_right_shape or couplings.diagonal().any():
            raise InputError(
                f"Couplings of {n} neurons are a square matrix of that size with a zero diagonal, "
                f"but were given with shape {couplings.shape}."
            )
        network = copy(self)
        network._couplings = csr_array(couplings)
        network.report = None
        return network

    def checked(self, states: ArrayLike, name: str = "patterns") -> Patterns:
        """Check that states have one ±1 for each neuron; return them as int8, (states, neurons).

        A single state, (neurons,), becomes one row. An error message calls the states `name`.
        """
        array = np.asarray(states)
        is_table = array.ndim in (1, 2) and array.size > 0
        if not is_table or array.shape[-1] != self.n_neurons:
            raise InputError(
                f"The {name} must have {self.n_neurons} entries in each row, one for each neuron, "
                f"but have shape {array.shape}."
            )
        rows = np.atleast_2d(array)
        is_wrong = ~np.isin(rows, (-1, 1))
        if is_wrong.any():
            row, column = np.argwhere(is_wrong)[0]
            raise InputError(
                f"The {name} must be +1 or −1 everywhere, but row {row + 1} holds "
                f"{rows[row, column]} in column {column + 1}; for bits of 0 and 1 pass 2·x − 1."
            )
        return rows.astype(np.int8)

    def __repr__(self) -> str:
        text = (
            f"AssociativeMemory({self.n_neurons}, fan_in={self.fan_in!r}, "
            f"wiring={self.rule.wiring.value!r}, seed={self.rule.seed}"
        )
        if self._couplings is None:
            text += ", empty"
        return text + ")"


def count_inputs(fan_in: float | str, n_inputs: int) -> int | None:
    """The number of inputs of a neuron, from a count, a share of `n_inputs`, or "minimal".

    The type distinguishes a count from a share: 1 is one input, 1.0 is all of them. The result is
    None for "minimal": then the number is found when the neuron learns.
    """
    if fan_in == "minimal":
        return None
    if isinstance(fan_in, Integral) and 1 <= fan_in <= n_inputs:
        return int(fan_in)
    if isinstance(fan_in, Real) and 0 < fan_in <= 1:
        return max(1, round(float(fan_in) * n_inputs))
    raise InputError(
        f"The fan-in must be a count from 1 to {n_inputs}, a share above 0.0 and up to 1.0, "
        f"or 'minimal', but is {fan_in}."
    )


def draw_neuron_signs(
    excitatory: float | None, n_neurons: int, seed: int
) -> NDArray[np.int8] | None:
    """Draw the common sign of the outgoing couplings of each neuron, (neurons,), by Dale's law.

    The share `excitatory` of the neurons, drawn by lot with the seed, gets +1, and the other
    neurons get −1. Returns None if the share is None: then couplings may have any sign.
    """
    if excitatory is None:
        return None
    if not 0 <= real_number(excitatory, "The share of excitatory neurons") <= 1:
        raise InputError(
            f"The share of excitatory neurons must be between 0 and 1, but is {excitatory}."
        )
    # Give each neuron a random rank, 0 … n_neurons − 1; the lowest ranks are excitatory.
    ranks = np.random.default_rng([n_neurons, seed]).permutation(n_neurons)
    n_excitatory = round(excitatory * n_neurons)
    return np.where(ranks < n_excitatory, 1, -1).astype(np.int8)


def _couplings_of(neurons: list[LearnedNeuron]) -> csr_array:
    """The matrix w_ij, (neurons, neurons), whose row i has the weights that neuron i learned."""
    fan_ins = [neuron.inputs.size for neuron in neurons]
    row_starts = np.concatenate([[0], np.cumsum(fan_ins)])
    inputs = np.concatenate([neuron.inputs for neuron in neurons])
    weights = np.concatenate([neuron.weights for neuron in neurons])
    return csr_array((weights, inputs, row_starts), shape=(len(neurons), len(neurons)))


def _shaped_like(states: ArrayLike, columns: NDArray[Any]) -> NDArray[Any]:
    """Columns, (neurons, states), shaped as the caller's states: one vector, or one in each row."""
    if np.ndim(states) == 1:
        return columns[:, 0]
    return columns.T


def _sign_or_keep(fields: Any, states: Any) -> Any:
    """The sign of each local field as int8; where it is zero, the present state."""
    signs = np.where(fields > 0, 1, -1)
    return np.where(fields == 0, states, signs).astype(np.int8)
