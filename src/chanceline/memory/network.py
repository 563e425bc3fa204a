"""The associative memory: binary neurons, each with few asymmetric couplings, whose fixed points are the patterns."""

from __future__ import annotations

import io
import json
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from chanceline._io import write_bytes
from chanceline._parallel import Progress, run_ordered
from chanceline._results import Result
from chanceline.errors import InputError, real_number, whole_number
from chanceline.memory.wiring import WIRINGS, Neuron, Patterns, Rule, learn

ORDERS = ("parallel", "sequential")
DEFAULT_BUDGET = 2000
FORMAT = "chanceline memory 1"  # of a saved memory: plain arrays and a line of JSON, nothing that could run code when read
REPORTED = ("fan_ins", "stabilities", "unsolved", "impossible")


@dataclass(frozen=True, eq=False, repr=False)
class StorageReport(Result):
    """What `store` achieved.

    Attributes
    ----------
    n_patterns, load : P and α = P/N, N = n_neurons − 1 being the inputs each neuron could have.
    fan_ins : couplings of each neuron.
    stabilities : κ_i = min_μ ξ_iμ h_iμ of each neuron, h the local field with |w_i| = 1.
    unsolved : neurons that do not hold all patterns with κ_i ≥ κ (> 0 if κ = 0); they keep their best weights.
    impossible : those of them for which it is proven that this wiring cannot do it.
    """

    n_neurons: int
    n_patterns: int
    wiring: str
    kappa: float
    fan_ins: NDArray[np.int64]
    stabilities: NDArray[np.float64]
    unsolved: NDArray[np.int64]
    impossible: NDArray[np.int64]
    kind = "exact for this network"

    @property
    def load(self) -> float:
        return self.n_patterns / (self.n_neurons - 1)

    @property
    def complete(self) -> bool:
        return self.unsolved.size == 0

    @property
    def couplings_per_bit(self) -> float:
        """Couplings for each of the P·n stored bits; 1/2 is the least that dense couplings reach (Gardner, α = 2)."""
        return float(self.fan_ins.sum() / (self.n_patterns * self.n_neurons))

    @property
    def dense_couplings_per_bit(self) -> float:
        """The same with all couplings kept, 1/α."""
        return 1.0 / self.load

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "neurons": self.n_neurons,
            "patterns": self.n_patterns,
            "load": self.load,
            "wiring": self.wiring,
            "kappa": self.kappa,
            "complete": self.complete,
            "unsolved": self.unsolved,
            "impossible": self.impossible,
            "fan_in_mean": float(self.fan_ins.mean()),
            "fan_in_max": int(self.fan_ins.max()),
            "stability_min": float(self.stabilities.min()),
            "stability_median": float(np.median(self.stabilities)),
            "couplings": int(self.fan_ins.sum()),
            "couplings_per_bit": self.couplings_per_bit,
            "dense_couplings_per_bit": self.dense_couplings_per_bit,
        }

    def summary(self) -> str:
        return (
            f"{self.n_neurons - self.unsolved.size} of {self.n_neurons} neurons hold all {self.n_patterns} patterns "
            f"(load {self.load:.3g}, {self.wiring} wiring, κ ≥ {self.kappa:g})"
        )

    def __str__(self) -> str:
        lines = [
            self.summary(),
            f"  inputs per neuron   {self.fan_ins.mean():.4g} on average, at most {self.fan_ins.max()} of {self.n_neurons - 1}",
            f"  stability κ         {self.stabilities.min():.4g} at worst, median {np.median(self.stabilities):.4g}",
            f"  couplings per bit   {self.couplings_per_bit:.4g} "
            f"(with all couplings at this load {self.dense_couplings_per_bit:.4g}, Gardner's dense limit 0.5)",
        ]
        if not self.complete:
            shown = ", ".join(map(str, self.unsolved[:10])) + (
                ", …" if self.unsolved.size > 10 else ""
            )
            lines.append(
                f"  unsolved neurons    {shown} ({self.impossible.size} proven impossible with this wiring)"
            )
        return "\n".join(lines)


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
    excitatory : share of the neurons whose outgoing couplings are all positive; those of the others are all negative
        (Dale's law). Who is which is drawn with the seed, see `signs`. Without it couplings have any sign.

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
        excitatory: float | None = None,
    ) -> None:
        self.n_neurons = whole_number(n_neurons, "The number of neurons", at_least=2)
        self.fan_in = fan_in
        if wiring not in WIRINGS:
            raise InputError(f"There is no {wiring!r} wiring; choose one of {', '.join(WIRINGS)}.")
        if real_number(kappa, "The stability kappa") < 0:
            raise InputError(f"The stability kappa must be a number from 0 up, but is {kappa}.")
        self.excitatory, seed = excitatory, whole_number(seed, "The seed")
        # The sign of every neuron's outgoing couplings, +1 excitatory, −1 inhibitory; None without Dale's law.
        self.signs = draw_signs(excitatory, self.n_neurons, seed)
        self.rule = Rule(
            wiring,
            count_inputs(fan_in, self.n_neurons - 1),
            float(kappa),
            whole_number(budget, "The budget", at_most=2**62),
            seed,
            self.signs,
        )
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
        n_jobs: int | None = 1,
        progress: Progress | None = None,
    ) -> StorageReport:
        """Learn patterns of ±1, shape (P, n_neurons); what was stored before is replaced.

        Neurons are learned one by one, in `n_jobs` processes (as in joblib) with the same result. `progress` is called with
        (neurons done, neurons). On Ctrl-C the memory stays as it was before the call: half of a network stores nothing.
        """
        checked = self.checked(patterns, "patterns")
        common, last = (checked, self.rule), self.n_neurons
        neurons: list[Neuron] = []
        # The first neuron is learned here: what it compiles, the workers find in the cache.
        for some, jobs in ((range(1), 1), (range(1, last), n_jobs)):
            for neuron in run_ordered(learn, some, common=common, n_jobs=jobs):
                neurons.append(neuron)
                if progress is not None:
                    progress(len(neurons), last)
        unsolved = [i for i, neuron in enumerate(neurons) if not neuron.solved]
        starts = np.concatenate([[0], np.cumsum([neuron.inputs.size for neuron in neurons])])
        inputs, weights = (
            np.concatenate([getattr(neuron, part) for neuron in neurons])
            for part in ("inputs", "weights")
        )
        self._couplings = csr_array(
            (weights, inputs, starts), shape=(self.n_neurons, self.n_neurons)
        )
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
        return self._shaped(self.couplings @ self.checked(states, "states").T, states)

    def is_stored(self, patterns: ArrayLike) -> Any:
        """Whether each pattern is a fixed point whose local fields all have its signs (a zero field holds nothing)."""
        checked = self.checked(patterns, "patterns")
        stored = ((self.couplings @ checked.T).T * checked > 0).all(axis=1)
        return bool(stored[0]) if np.ndim(patterns) == 1 else stored

    def recall(
        self, probe: ArrayLike, steps: int = 50, order: str = "parallel"
    ) -> NDArray[np.int8]:
        """Run s_i ← sign(Σ_j w_ij s_j) from one probe or from many (one in each row), until nothing changes.

        A neuron without field keeps its state.

        Parameters
        ----------
        steps : updates of the whole network at most.
        order : "parallel" (all neurons at once) or "sequential" (one after the other, in a new random order each step).
        """
        if order not in ORDERS:
            raise InputError(f"There is no {order!r} order; choose one of {', '.join(ORDERS)}.")
        state = self.checked(probe, "probe").T
        random = np.random.default_rng(self.rule.seed)
        for _ in range(whole_number(steps, "The number of steps")):
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
            "format": FORMAT,
            "n_neurons": self.n_neurons,
            "fan_in": self.fan_in if isinstance(self.fan_in, str | int) else float(self.fan_in),
            "wiring": rule.wiring,
            "seed": rule.seed,
            "kappa": rule.kappa,
            "budget": rule.budget,
            "excitatory": self.excitatory,
            "n_patterns": None if report is None else report.n_patterns,
        }
        arrays = {"data": couplings.data, "indices": couplings.indices, "indptr": couplings.indptr}
        arrays |= {} if report is None else {name: getattr(report, name) for name in REPORTED}
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
                settings = json.loads(str(arrays.pop("settings")))
                if settings.pop("format") != FORMAT:
                    raise ValueError("another format")
                n, n_patterns = settings["n_neurons"], settings.pop("n_patterns")
                couplings = csr_array(
                    (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n)
                )
                memory = cls(**settings).with_couplings(couplings)
                if n_patterns is not None:
                    reported = [arrays[name] for name in REPORTED]
                    memory.report = StorageReport(
                        n, n_patterns, memory.rule.wiring, memory.rule.kappa, *reported
                    )
            except Exception as error:  # whatever NumPy, zipfile and JSON raise for a damaged file
                raise InputError(f"{path} is not a memory written by save ({error}).") from error
        return memory

    def with_couplings(self, couplings: csr_array) -> AssociativeMemory:
        """The same network with other couplings, and without a report of how they were learned."""
        if couplings.shape != (self.n_neurons, self.n_neurons) or couplings.diagonal().any():
            raise InputError(
                f"Couplings of {self.n_neurons} neurons are a square matrix of that size with a zero diagonal, "
                f"but were given with shape {couplings.shape}."
            )
        other = copy(self)
        other._couplings, other.report = csr_array(couplings), None
        return other

    def checked(self, states: ArrayLike, name: str = "patterns") -> Patterns:
        """States as an int8 matrix, one in each row; or one sentence that says why they cannot be states of this network."""
        array = np.asarray(states)
        if array.ndim not in (1, 2) or array.size == 0 or array.shape[-1] != self.n_neurons:
            raise InputError(
                f"The {name} must have {self.n_neurons} entries in each row, one for each neuron, but have shape {array.shape}."
            )
        rows = np.atleast_2d(array)
        wrong = ~np.isin(rows, (-1, 1))
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise InputError(
                f"The {name} must be +1 or −1 everywhere, but row {row + 1} holds {rows[row, column]} in column {column + 1}; "
                "for bits of 0 and 1 pass 2·x − 1."
            )
        return rows.astype(np.int8)

    def _shaped(self, columns: NDArray[Any], like: ArrayLike) -> NDArray[Any]:
        return columns[:, 0] if np.ndim(like) == 1 else columns.T

    def __repr__(self) -> str:
        return (
            f"AssociativeMemory({self.n_neurons}, fan_in={self.fan_in!r}, wiring={self.rule.wiring!r}, "
            f"seed={self.rule.seed}{', empty' if self._couplings is None else ''})"
        )


def count_inputs(fan_in: float | str, n_inputs: int) -> int | None:
    """Number of inputs from a count, a share of `n_inputs`, or "minimal" (None)."""
    if fan_in == "minimal":
        return None
    if isinstance(fan_in, Integral) and 1 <= fan_in <= n_inputs:
        return int(fan_in)
    if isinstance(fan_in, Real) and 0 < fan_in <= 1:
        return max(1, round(float(fan_in) * n_inputs))
    raise InputError(
        f"The fan-in must be a count from 1 to {n_inputs}, a share above 0.0 and up to 1.0, or 'minimal', but is {fan_in}."
    )


def draw_signs(excitatory: float | None, n_neurons: int, seed: int) -> NDArray[np.int8] | None:
    """+1 for round(excitatory · n) neurons drawn by lot and −1 for the others; None for None."""
    if excitatory is None:
        return None
    if not 0 <= real_number(excitatory, "The share of excitatory neurons") <= 1:
        raise InputError(
            f"The share of excitatory neurons must be between 0 and 1, but is {excitatory}."
        )
    order = np.random.default_rng([n_neurons, seed]).permutation(n_neurons)
    return np.where(order < round(excitatory * n_neurons), 1, -1).astype(np.int8)


def _sign(field: Any, present: Any) -> Any:
    return np.where(field == 0, present, np.where(field > 0, 1, -1)).astype(np.int8)
