"""What slices and anatomy can measure of a network: how often neurons connect, how strongly, and how often both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.memory.network import AssociativeMemory

BINS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Connectivity(Result):
    """How a network is wired.

    Attributes
    ----------
    excitatory, inhibitory : of the couplings w_ij > 0 and w_ij < 0 the connection `probability` (those there are over those there
        could be), `mean` and `cv` (standard deviation over mean) of |w_ij| (nan if there are none), and a `histogram` with its
        `edges`. Every neuron has |w_i| = 1.
    silent : share of the inputs a neuron was given whose weight ended at zero.
    reciprocal : pairs of neurons coupled both ways over those expected if as many couplings were independent. Under Dale's law
        among the excitatory neurons, as slice recordings have it.
    expected : pairs expected; by chance the ratio has a standard error of about 1/√expected.
    strength : mean |w_ij| of couplings that are answered over that of those that are not.
    """

    wiring: str
    excitatory: dict[str, Any]
    inhibitory: dict[str, Any]
    silent: float
    reciprocal: float
    expected: float
    strength: float
    kind = "exact for this network"

    def summary(self) -> str:
        return (
            f"connection probability {self.excitatory['probability']:.3g} excitatory, {self.inhibitory['probability']:.3g} "
            f"inhibitory; {self.reciprocal:.3g} times as many reciprocal pairs as by chance"
        )

    def __str__(self) -> str:
        return "\n".join(
            [
                "wiring                connected  mean |w|  CV of |w|",
                *(
                    f"  {name:<18}  {those['probability']:9.3f}  {those['mean']:8.4f}  {those['cv']:9.3f}"
                    for name, those in (("excitatory", self.excitatory), ("inhibitory", self.inhibitory))
                ),
                f"  silent inputs       {self.silent:.1%} of those a neuron was given",
                f"  reciprocal pairs    {self.reciprocal:.3g} times as many as by chance, {self.strength:.3g} times as strong",
            ]
        )


def connectivity(memory: AssociativeMemory) -> Connectivity:
    """Read the wiring of a memory that has stored something."""
    couplings, n = memory.couplings.toarray(), memory.n_neurons
    signs = np.zeros(n) if memory.signs is None else memory.signs
    among = np.flatnonzero(signs >= 0)
    sizes = np.abs(couplings[np.ix_(among, among)])
    there, answered = sizes > 0, (sizes > 0) & (sizes.T > 0)
    expected = float(there.sum() ** 2 / max(2 * among.size * (among.size - 1), 1))
    return Connectivity(
        wiring=memory.rule.wiring,
        excitatory=_synapses(couplings[couplings > 0], float(np.sum(signs >= 0) * (n - 1))),
        inhibitory=_synapses(-couplings[couplings < 0], float(np.sum(signs <= 0) * (n - 1))),
        silent=1 - memory.couplings.nnz / (n * memory.rule.fan_in) if memory.rule.fan_in else 0.0,
        reciprocal=float(answered.sum() / 2 / expected) if expected else float("nan"),
        expected=expected,
        strength=_mean(sizes[answered]) / _mean(sizes[there & ~answered]),
    )


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if values.size else float("nan")


def _synapses(sizes: NDArray[np.float64], possible: float) -> dict[str, Any]:
    mean = _mean(sizes)
    counts, edges = np.histogram(sizes, BINS, (0.0, sizes.max(initial=1e-9)))
    cv = float(sizes.std()) / mean if sizes.size else float("nan")
    return {"probability": sizes.size / max(possible, 1), "mean": mean, "cv": cv, "histogram": counts, "edges": edges}
