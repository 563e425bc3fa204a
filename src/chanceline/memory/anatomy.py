"""What anatomy shows of a network: connections, their strengths, and pairs both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chanceline._results import Result
from chanceline.memory.network import AssociativeMemory

N_BINS = 20  # of a histogram of couplings
EMPTY_RANGE = 1e-9  # width of the histogram of no couplings at all


@dataclass(frozen=True, eq=False, repr=False)
class Connectivity(Result):
    """How a network is wired.

    Attributes
    ----------
    excitatory, inhibitory : of the couplings w_ij > 0 and w_ij < 0 the connection `probability`
        (those there are over those there could be), `mean` and `cv` (standard deviation over mean)
        of |w_ij| (nan if there are none), and a `histogram` with its `edges`. Every neuron has
        |w_i| = 1.
    silent : share of the inputs a neuron was given whose weight ended at zero.
    reciprocal : ratio of the pairs of neurons coupled both ways to those expected if as many
        couplings were independent. Under Dale's law among the excitatory neurons, as slice
        recordings have it.
    expected : pairs expected; by chance the ratio has a standard error of about 1/√expected.
    strength : ratio of the mean |w_ij| of couplings that are answered to that of those that are
        not.
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
            f"connection probability {self.excitatory['probability']:.3g} excitatory, "
            f"{self.inhibitory['probability']:.3g} inhibitory; "
            f"{self.reciprocal:.3g} times as many reciprocal pairs as by chance"
        )

    def __str__(self) -> str:
        """Write a table of excitatory and inhibitory couplings, and two lines on inputs and pairs.

        The table has, for each kind, the probability that two neurons are coupled, and the mean and
        the coefficient of variation of the weights |w|.
        """
        lines = ["wiring                connected  mean |w|  CV of |w|"]
        statistics_of_kind = {"excitatory": self.excitatory, "inhibitory": self.inhibitory}
        for kind, statistics in statistics_of_kind.items():
            lines.append(
                f"  {kind:<18}  {statistics['probability']:9.3f}  {statistics['mean']:8.4f}  "
                f"{statistics['cv']:9.3f}"
            )

        # Silent inputs are those that a neuron was given, but whose weights ended at zero.
        lines.append(
            f"  silent inputs       {self.silent:.1%} of those a neuron was given",
        )

        # Reciprocal pairs are neurons coupled both ways. `reciprocal` is their number over the one
        # expected by chance. `strength` is the mean |w| of their couplings over that of couplings
        # in one direction only.
        lines.append(
            f"  reciprocal pairs    {self.reciprocal:.3g} times as many as by chance, "
            f"{self.strength:.3g} times as strong",
        )
        return "\n".join(lines)


def connectivity(memory: AssociativeMemory) -> Connectivity:
    """Statistics of the couplings w_ij of a memory that has stored something.

    Excitatory couplings (w_ij > 0) and inhibitory ones (w_ij < 0) are counted and measured
    separately. Under Dale's law all couplings that a neuron sends have one sign: the neuron is
    either excitatory or inhibitory. Without the law every neuron may send couplings of both signs.
    """
    n_neurons = memory.n_neurons
    couplings = memory.couplings.toarray()  # w_ij, the coupling from neuron j to neuron i

    # Which neurons may send couplings of each sign, (neurons,).
    sender_signs = np.zeros(n_neurons, dtype=np.int8)  # 0: both signs
    if memory.signs is not None:
        sender_signs = memory.signs  # Dale's law: 1 or −1
    may_excite = sender_signs >= 0
    may_inhibit = sender_signs <= 0

    # Couplings of each sign, and how many there could be: one from every neuron that may send the
    # sign to every neuron but itself.
    n_targets = n_neurons - 1
    excitatory = _coupling_statistics(
        strengths=couplings[couplings > 0], n_possible=may_excite.sum() * n_targets
    )
    inhibitory = _coupling_statistics(
        strengths=-couplings[couplings < 0], n_possible=may_inhibit.sum() * n_targets
    )

    # Pairs of neurons coupled both ways: under Dale's law among the excitatory neurons, as in slice
    # recordings; without it among all neurons, because all may excite.
    couplings_among_excitatory = couplings[np.ix_(may_excite, may_excite)]
    reciprocity = _reciprocity(np.abs(couplings_among_excitatory))
    return Connectivity(
        wiring=memory.rule.wiring,
        excitatory=excitatory,
        inhibitory=inhibitory,
        silent=_silent_share(memory),
        reciprocal=reciprocity.pair_ratio,
        expected=reciprocity.n_expected,
        strength=reciprocity.strength_ratio,
    )


def _silent_share(memory: AssociativeMemory) -> float:
    """The share of silent inputs: those that neurons were given, but whose weight ended at zero.

    Every neuron was given `fan_in` inputs. If no fan-in was given, no inputs count as silent.
    """
    fan_in = memory.rule.fan_in
    if fan_in is None:
        return 0.0
    n_given = memory.n_neurons * fan_in
    n_not_silent = memory.couplings.nnz  # the sparse matrix stores no zeros
    return 1 - n_not_silent / n_given


class _Reciprocity(NamedTuple):
    """Pairs of neurons coupled both ways.

    Attributes
    ----------
    n_expected : how many pairs there would be if as many couplings were placed independently.
    pair_ratio : how many there are, over `n_expected`; nan if none is expected.
    strength_ratio : mean strength of their couplings over that of all others.
    """

    n_expected: float
    pair_ratio: float
    strength_ratio: float


def _reciprocity(strengths: NDArray[np.float64]) -> _Reciprocity:
    """How often neurons are coupled both ways, compared with chance, and how strongly.

    `strengths` are the |w_ij| among some neurons, (neurons, neurons), 0 where there is no coupling.
    """
    is_coupled = strengths > 0
    is_mutual = is_coupled & is_coupled.T  # w_ij and w_ji are both there
    n_couplings = is_coupled.sum()
    n_pairs = is_mutual.sum() / 2  # each pair has two couplings

    # By chance each of the n(n − 1) places w_ij, i ≠ j, holds a coupling with the probability
    # p = n_couplings / n_places. A pair of neurons is coupled both ways with probability p², and
    # there are n_places / 2 pairs. So p² n_places / 2 = n_couplings² / (2 n_places) are expected.
    n_neurons = strengths.shape[0]
    n_places = max(n_neurons * (n_neurons - 1), 1)
    n_expected = float(n_couplings**2 / (2 * n_places))
    pair_ratio = float("nan")
    if n_expected > 0:
        pair_ratio = float(n_pairs / n_expected)

    mean_mutual = _mean(strengths[is_mutual])  # NaN if there are none
    mean_one_way = _mean(strengths[is_coupled & ~is_mutual])
    return _Reciprocity(
        n_expected=n_expected,
        pair_ratio=pair_ratio,
        strength_ratio=mean_mutual / mean_one_way,
    )


def _coupling_statistics(strengths: NDArray[np.float64], n_possible: int) -> dict[str, Any]:
    """Statistics of all couplings of one sign: how many there are, and how strong.

    `strengths` are their |w_ij|, (couplings,), and `n_possible` is how many couplings there could
    be. The result has the probability of a coupling, the mean and the coefficient of variation of
    the strengths (NaN if there are no couplings), and a histogram with its edges.
    """
    mean = _mean(strengths)
    cv = float("nan")
    if strengths.size:
        cv = float(strengths.std()) / mean
    # EMPTY_RANGE is far below any real coupling. Without couplings it keeps the histogram from
    # having a range of width zero.
    largest = strengths.max(initial=EMPTY_RANGE)
    counts, edges = np.histogram(strengths, bins=N_BINS, range=(0.0, largest))
    return {
        "probability": strengths.size / max(float(n_possible), 1),
        "mean": mean,
        "cv": cv,
        "histogram": counts,
        "edges": edges,
    }


def _mean(values: NDArray[np.float64]) -> float:
    """The mean of an array, nan if it is empty."""
    if values.size == 0:
        return float("nan")
    return float(values.mean())
