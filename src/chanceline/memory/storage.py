"""What a memory holds after learning: couplings, stabilities, and the neurons that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result


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
        solved = self.n_neurons - self.unsolved.size
        return (
            f"{solved} of {self.n_neurons} neurons hold all {self.n_patterns} patterns "
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
            shown = ", ".join(map(str, self.unsolved[:10])) + (", …" if self.unsolved.size > 10 else "")
            lines.append(f"  unsolved neurons    {shown} ({self.impossible.size} proven impossible with this wiring)")
        return "\n".join(lines)
