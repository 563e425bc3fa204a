"""What storing patterns in a network achieved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result, listed
from chanceline.memory.learning import LearnedNeuron, LearningRule

MAX_NEURONS_NAMED = 10  # unsolved neurons named in a report


@dataclass(frozen=True, eq=False, repr=False)
class StorageReport(Result):
    """What `store` achieved.

    Attributes
    ----------
    n_patterns, load : P and α = P/N, N = n_neurons − 1 being the inputs each neuron could have.
    fan_ins : couplings of each neuron, (neurons,).
    stabilities : κ_i = min_μ ξ_iμ h_iμ of each neuron, (neurons,), h the local field, |w_i| = 1.
    unsolved : numbers of the neurons that do not hold all patterns with κ_i ≥ κ (> 0 if κ = 0);
        they keep their best weights.
    impossible : the unsolved neurons that are proven unable to do so with this wiring.
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
        """Couplings for each of the P·n stored bits; all of them at α = 2 are 1/2 (Gardner)."""
        return float(self.fan_ins.sum() / (self.n_patterns * self.n_neurons))

    @property
    def dense_couplings_per_bit(self) -> float:
        """The same with all couplings kept, 1/α."""
        return 1.0 / self.load

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data for JSON.

        `fan_ins` and `stabilities`, arrays by neuron, become their mean, extreme, median or sum.
        """
        return {
            "kind": self.kind,
            "neurons": self.n_neurons,
            "patterns": self.n_patterns,
            "load": self.load,
            "wiring": str(self.wiring),
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
        n_solved = self.n_neurons - self.unsolved.size
        return (
            f"{n_solved} of {self.n_neurons} neurons hold all {self.n_patterns} patterns "
            f"(load {self.load:.3g}, {self.wiring} wiring, κ ≥ {self.kappa:g})"
        )

    def __str__(self) -> str:
        """The summary, a table of statistics over the neurons, and the unsolved neurons, if any.

        A neuron's stability κ is its smallest margin over the patterns, with weights scaled to
        length 1. Couplings per bit are the couplings of the network over the bits stored, one bit
        for each neuron and pattern.
        """
        median = np.median(self.stabilities)
        lines = [
            self.summary(),
            f"  inputs per neuron   {self.fan_ins.mean():.4g} on average, "
            f"at most {self.fan_ins.max()} of {self.n_neurons - 1}",
            f"  stability κ         {self.stabilities.min():.4g} at worst, median {median:.4g}",
            f"  couplings per bit   {self.couplings_per_bit:.4g} (with all couplings at this load "
            f"{self.dense_couplings_per_bit:.4g}, Gardner's dense limit 0.5)",
        ]
        if not self.complete:
            neurons = listed([str(neuron) for neuron in self.unsolved], MAX_NEURONS_NAMED)
            lines.append(
                f"  unsolved neurons    {neurons} "
                f"({self.impossible.size} proven impossible with this wiring)"
            )
        return "\n".join(lines)


def make_report(
    neurons: Sequence[LearnedNeuron], n_patterns: int, rule: LearningRule
) -> StorageReport:
    """Collect what each neuron of a network has learned, in the order of the neurons.

    A neuron is unsolved if it does not hold all `n_patterns` patterns with the stability that the
    rule requires. It is also impossible if this is proven to be out of reach with its wiring.
    """
    unsolved = [number for number, neuron in enumerate(neurons) if not neuron.solved]
    impossible = [number for number in unsolved if neurons[number].impossible]
    return StorageReport(
        n_neurons=len(neurons),
        n_patterns=n_patterns,
        wiring=rule.wiring,
        kappa=rule.kappa,
        fan_ins=np.array([neuron.inputs.size for neuron in neurons]),
        stabilities=np.array([neuron.stability for neuron in neurons]),
        unsolved=np.array(unsolved, dtype=np.int64),
        impossible=np.array(impossible, dtype=np.int64),
    )
