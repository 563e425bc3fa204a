"""The associative memory: binary neurons, each with few asymmetric couplings, whose fixed points are the patterns."""

from __future__ import annotations

from concurrent.futures import Executor
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from chanceline._validation import whole_number
from chanceline.errors import InputError
from chanceline.memory.files import read_memory, write_memory
from chanceline.memory.storage import StorageReport
from chanceline.memory.wiring import WIRINGS, Neuron, Patterns, Rule, learn
from chanceline.parallel import Progress, run_ordered

ORDERS = ("parallel", "sequential")
DEFAULT_BUDGET = 2000
REPORTED = ("fan_ins", "stabilities", "unsolved", "impossible")


class AssociativeMemory:
    """A network that stores patterns as fixed points, every neuron choosing few of its possible inputs.

    Each neuron is a perceptron whose N = n_neurons − 1 variables are the other neurons' states and whose label is its
    own; with ρN inputs taken at random it holds α < 2ρ patterns per input, with the best ones α < α_VS(ρ).

    Parameters
    ----------
    n_neurons : number of neurons, at least 2.
    fan_in : inputs a neuron keeps: a whole number, a share ρ of N (a float in (0, 1]), or "minimal" for as few
        as are found to hold the patterns.
    wiring : "selected" (inputs searched for the patterns at hand), "random", or "hebbian-selected" (those with the
        largest Hebbian coupling |Σ_μ ξ_iμ ξ_jμ|). The weights are the most stable ones on these inputs in all cases.
    seed : of the random choices; each neuron has its own stream, so results do not depend on the number of workers.
    kappa : stability asked of every neuron, ξ_iμ (w_i·ξ_μ)/|w_i| ≥ κ.
    budget : effort of the search for inputs, in swaps a neuron.

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

    def __init__(
        self,
        n_neurons: int,
        fan_in: float | str = 0.25,
        wiring: str = "selected",
        seed: int = 0,
        *,
        kappa: float = 0.0,
        budget: int = DEFAULT_BUDGET,
    ) -> None:
        n_neurons = whole_number(n_neurons, "The number of neurons", at_least=2)
        if wiring not in WIRINGS:
            raise InputError(f"There is no {wiring!r} wiring; choose one of {', '.join(WIRINGS)}.")
        seed = whole_number(seed, "The seed")
        if not (_real(kappa) and 0 <= kappa < np.inf):
            raise InputError(f"The stability kappa must be a number from 0 up, but is {kappa}.")
        if not (_whole(budget) and 0 <= budget < 2**62):
            raise InputError(f"The budget must be a whole number of swaps from 0 up to 2^62, but is {budget}.")
        count = count_inputs(fan_in, int(n_neurons) - 1)
        self.n_neurons = int(n_neurons)
        self.fan_in = int(fan_in) if _whole(fan_in) else fan_in
        self.rule = Rule(wiring, count, float(kappa), int(budget), int(seed))
        self.report: StorageReport | None = None
        self._couplings: csr_array | None = None

    @property
    def couplings(self) -> csr_array:
        """w_ij, the row i being the receiving neuron; |w_i| = 1 and no diagonal."""
        if self._couplings is None:
            raise InputError("This memory is empty; call store(patterns) first.")
        return self._couplings

    def store(
        self,
        patterns: ArrayLike,
        *,
        workers: int = 1,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> StorageReport:
        """Learn patterns of ±1, shape (P, n_neurons); what was stored before is replaced.

        Neurons are learned one by one, on `workers` processes or in an `executor` (see `chanceline.parallel.run_ordered`), with
        the same result. `progress` is called with (neurons done, neurons). On Ctrl-C KeyboardInterrupt is raised and the
        memory stays as it was before the call: half of a network stores nothing.
        """
        checked = self.checked(patterns, "patterns")
        common = (checked, self.rule)
        neurons = list(
            run_ordered(_learn_one, range(self.n_neurons), common=common, workers=workers, executor=executor, progress=progress)
        )
        unsolved = [i for i, neuron in enumerate(neurons) if not neuron.solved]
        self._couplings = _as_matrix(neurons, self.n_neurons)
        self.report = StorageReport(
            n_neurons=self.n_neurons,
            n_patterns=checked.shape[0],
            wiring=self.rule.wiring,
            kappa=self.rule.kappa,
            fan_ins=np.array([neuron.inputs.size for neuron in neurons]),
            stabilities=np.array([neuron.stability for neuron in neurons]),
            unsolved=np.array(unsolved, dtype=np.int64),
            impossible=np.array([i for i in unsolved if neurons[i].impossible], dtype=np.int64),
        )
        return self.report

    def fields(self, states: ArrayLike) -> NDArray[np.float64]:
        """Local fields h_i = Σ_j w_ij s_j of one state or of many (one in each row)."""
        checked = self.checked(states, "states")
        return self._shaped(self.couplings @ checked.T, states)

    def is_stored(self, patterns: ArrayLike) -> Any:
        """Whether each pattern is a fixed point whose local fields all have its signs (a zero field holds nothing)."""
        checked = self.checked(patterns, "patterns")
        stored = ((self.couplings @ checked.T).T * checked > 0).all(axis=1)
        return bool(stored[0]) if np.ndim(patterns) == 1 else stored

    def recall(self, probe: ArrayLike, steps: int = 50, order: str = "parallel") -> NDArray[np.int8]:
        """Run s_i ← sign(Σ_j w_ij s_j) from one probe or from many (one in each row), until nothing changes.

        A neuron without field keeps its state.

        Parameters
        ----------
        steps : updates of the whole network at most.
        order : "parallel" (all neurons at once) or "sequential" (one after the other, in a new random order each step).
        """
        if order not in ORDERS:
            raise InputError(f"There is no {order!r} order; choose one of {', '.join(ORDERS)}.")
        if not (_whole(steps) and steps >= 0):
            raise InputError(f"The number of steps must be a whole number from 0 up, but is {steps}.")
        state = self.checked(probe, "probe").T
        random = np.random.default_rng(self.rule.seed)
        for _ in range(steps):
            before = state
            if order == "parallel":
                state = _sign(self.couplings @ state, state)
            else:
                state = state.copy()
                for i in random.permutation(self.n_neurons):
                    row = slice(self.couplings.indptr[i], self.couplings.indptr[i + 1])
                    field = self.couplings.data[row] @ state[self.couplings.indices[row]]
                    state[i] = _sign(field, state[i])
            if np.array_equal(state, before):
                break
        return self._shaped(state, probe)

    def save(self, path: str | Path) -> None:
        """Write settings, couplings and report to one .npz file, whole or not at all."""
        couplings, rule, report = self.couplings, self.rule, self.report
        settings = {
            "n_neurons": self.n_neurons,
            "fan_in": self.fan_in if isinstance(self.fan_in, str | int) else float(self.fan_in),
            "wiring": rule.wiring,
            "seed": rule.seed,
            "kappa": rule.kappa,
            "budget": rule.budget,
            "n_patterns": None if report is None else report.n_patterns,
        }
        arrays = {"data": couplings.data, "indices": couplings.indices, "indptr": couplings.indptr}
        if report is not None:
            arrays |= {name: getattr(report, name) for name in REPORTED}
        write_memory(Path(path), settings, arrays)

    @classmethod
    def load(cls, path: str | Path) -> AssociativeMemory:
        """Read what `save` wrote."""
        settings, arrays = read_memory(Path(path))
        try:
            n, n_patterns = settings["n_neurons"], settings.pop("n_patterns")
            matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
            matrix.check_format()
            memory = cls(**settings).with_couplings(matrix)
            if n_patterns is not None:
                reported = [_whole_report(arrays[name], name, n) for name in REPORTED]
                memory.report = StorageReport(n, n_patterns, memory.rule.wiring, memory.rule.kappa, *reported)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is not a memory written by save ({error}).") from error
        return memory

    def with_couplings(self, couplings: csr_array) -> AssociativeMemory:
        """The same network with other couplings, and without a report of how they were learned."""
        if couplings.shape != (self.n_neurons, self.n_neurons) or couplings.diagonal().any():
            raise InputError(
                f"Couplings of {self.n_neurons} neurons are a square matrix of that size with a zero diagonal, "
                f"but were given with shape {couplings.shape}."
            )
        rule = self.rule
        other = AssociativeMemory(self.n_neurons, self.fan_in, rule.wiring, rule.seed, kappa=rule.kappa, budget=rule.budget)
        other._couplings = csr_array(couplings)
        return other

    def checked(self, states: ArrayLike, name: str = "patterns") -> Patterns:
        """States as an int8 matrix, one in each row; or one sentence that says why they cannot be states of this network."""
        try:
            array = np.asarray(states)
        except ValueError as error:
            raise InputError(f"The {name} are not a table: all rows need the same number of entries.") from error
        if array.ndim not in (1, 2) or array.size == 0 or array.shape[-1] != self.n_neurons:
            raise InputError(
                f"The {name} must have {self.n_neurons} entries in each row, one for each neuron, but have shape {array.shape}."
            )
        if array.dtype.kind not in "biuf" or not np.isin(array, (-1, 1)).all():
            wrong = np.atleast_2d(array)
            place = np.argwhere(~np.isin(wrong, (-1, 1)))[0] if array.dtype.kind in "biuf" else (0, 0)
            raise InputError(
                f"The {name} must be +1 or −1 everywhere, but row {place[0] + 1} holds {wrong[tuple(place)]} "
                f"in column {place[1] + 1}; for bits of 0 and 1 pass 2·x − 1."
            )
        return np.atleast_2d(array).astype(np.int8)

    def _shaped(self, columns: NDArray[Any], like: ArrayLike) -> NDArray[Any]:
        return columns[:, 0] if np.ndim(like) == 1 else columns.T

    def __repr__(self) -> str:
        rule = self.rule
        empty = ", empty" if self._couplings is None else ""
        return f"AssociativeMemory({self.n_neurons}, fan_in={self.fan_in!r}, wiring={rule.wiring!r}, seed={rule.seed}{empty})"


def count_inputs(fan_in: float | str, n_inputs: int) -> int | None:
    """Number of inputs from a count, a share of `n_inputs`, or "minimal" (None)."""
    if isinstance(fan_in, str) and fan_in == "minimal":
        return None
    if _whole(fan_in) and 1 <= int(fan_in) <= n_inputs:
        return int(fan_in)
    if _real(fan_in) and not _whole(fan_in) and 0 < float(fan_in) <= 1:
        return max(1, round(float(fan_in) * n_inputs))
    raise InputError(
        f"The fan-in must be a count from 1 to {n_inputs}, a share above 0.0 and up to 1.0, or 'minimal', but is {fan_in}."
    )


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)


def _real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def _whole_report(values: NDArray[Any], name: str, n_neurons: int) -> NDArray[Any]:
    per_neuron = name in ("fan_ins", "stabilities")
    if values.ndim != 1 or (per_neuron and values.size != n_neurons) or values.size > n_neurons:
        raise ValueError(f"{name} has shape {values.shape} for {n_neurons} neurons")
    return values


def _learn_one(neuron: int, patterns: Patterns, rule: Rule) -> Neuron:
    return learn(patterns, neuron, rule)


def _sign(field: Any, present: Any) -> Any:
    return np.where(field == 0, present, np.where(field > 0, 1, -1)).astype(np.int8)


def _as_matrix(neurons: list[Neuron], n_neurons: int) -> csr_array:
    starts = np.concatenate([[0], np.cumsum([neuron.inputs.size for neuron in neurons])])
    inputs = np.concatenate([neuron.inputs for neuron in neurons])
    weights = np.concatenate([neuron.weights for neuron in neurons])
    return csr_array((weights, inputs, starts), shape=(n_neurons, n_neurons))
