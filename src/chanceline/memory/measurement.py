"""What can be measured of a memory: the largest load it holds, from how far it recalls, how it fares when couplings are cut; and
what slices and anatomy show of it: how often neurons connect, how strongly, and how often both ways.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

from chanceline._parallel import Progress, run_ordered
from chanceline._results import Result
from chanceline.errors import InputError, real_number, whole_number
from chanceline.memory.network import DEFAULT_BUDGET, AssociativeMemory
from chanceline.memory.wiring import WIRINGS, Patterns, Rule, can_learn

CUTS = ("random", "weakest")
BINS = 20  # of a histogram of couplings


def random_patterns(
    n_neurons: int, load: float | None = None, seed: int = 0, *, n_patterns: int | None = None
) -> Patterns:
    """Patterns of fair coins ±1, P = `n_patterns` or round(load · (n_neurons − 1)); more of them extend fewer."""
    if (load is None) == (n_patterns is None):
        raise InputError("Give the number of patterns either as load or as n_patterns, not both.")
    n_neurons = whole_number(n_neurons, "The number of neurons", at_least=1)
    if n_patterns is None:
        n_patterns = round(real_number(load, "The load") * (n_neurons - 1))
    random = np.random.default_rng(whole_number(seed, "The seed"))
    shape = (whole_number(n_patterns, "The number of patterns", at_least=1), n_neurons)
    return (2 * random.integers(0, 2, shape) - 1).astype(np.int8)


@dataclass(frozen=True, eq=False, repr=False)
class LargestLoads(Result):
    """How many of a sequence of random patterns each neuron of a network holds at one fan-in.

    For random wiring the numbers are exact; for the others they are reached loads, hence lower bounds.
    """

    n_neurons: int
    fan_in: int
    wiring: str
    held: NDArray[np.int64]
    excitatory: float | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        return (
            "exact for the sample"
            if self.wiring == "random"
            else "reached, a lower bound for the sample"
        )

    def summary(self) -> str:
        return (
            f"with {self.fan_in} {self.wiring} inputs of {self.n_neurons - 1} half of the neurons hold a load of "
            f"{self.typical:.3g}, all of them {self.network:.3g}"
        )

    @property
    def rho(self) -> float:
        return self.fan_in / (self.n_neurons - 1)

    @property
    def network(self) -> float:
        """The load that every neuron holds."""
        return float(self.held.min() / (self.n_neurons - 1))

    @property
    def typical(self) -> float:
        """The load that half of the neurons hold: what the theory of N → ∞ speaks of."""
        return float(np.median(self.held) / (self.n_neurons - 1))

    def to_dict(self) -> dict[str, Any]:
        return {
            "neurons": self.n_neurons,
            "fan_in": self.fan_in,
            "rho": self.rho,
            "wiring": self.wiring,
            "load_network": self.network,
            "load_typical": self.typical,
            "excitatory": self.excitatory,
            "kind": self.kind,
        }


def load_curve(
    n_neurons: int,
    fan_ins: Sequence[float | str],
    wirings: Sequence[str] = WIRINGS,
    seed: int = 0,
    *,
    budget: int = DEFAULT_BUDGET,
    neurons: int | None = None,
    excitatory: float | None = None,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> list[LargestLoads]:
    """The largest load held against fan-in, by halving the number of patterns, for every neuron (or the first few).

    All fan-ins and wirings see the same patterns for the same seed; `n_jobs` as in joblib, with the same result.
    """
    measured = (
        n_neurons
        if neurons is None
        else whole_number(neurons, "neurons", at_least=1, at_most=n_neurons)
    )
    if "minimal" in fan_ins:
        raise InputError("The largest load needs a given fan-in; 'minimal' has none.")
    options: dict[str, Any] = {"budget": budget, "excitatory": excitatory}
    rules = [
        AssociativeMemory(n_neurons, fan_in, wiring, seed, **options).rule
        for fan_in in fan_ins
        for wiring in wirings
    ]
    # No neuron holds more than twice as many random patterns as it has inputs, up to fluctuations of order √N.
    patterns = random_patterns(
        n_neurons, n_patterns=2 * n_neurons + 6 * int(np.sqrt(n_neurons)) + 6, seed=seed
    )
    jobs = [(neuron, rule) for rule in rules for neuron in range(measured)]
    held = np.array(
        list(run_ordered(_held, jobs, common=(patterns,), n_jobs=n_jobs, progress=progress))
    )
    return [
        LargestLoads(n_neurons, count, rule.wiring, of_rule, excitatory)
        for rule, of_rule in zip(rules, held.reshape(len(rules), measured), strict=True)
        if (count := rule.fan_in) is not None
    ]


def largest_loads(
    n_neurons: int, fan_in: float, wiring: str = "selected", seed: int = 0, **options: Any
) -> LargestLoads:
    """`load_curve` at one fan-in and with one wiring."""
    return load_curve(n_neurons, [fan_in], [wiring], seed, **options)[0]


def hebbian_capacity(rho: float, kappa: float = 0.0) -> float:
    """The load up to which a share ρ of the inputs, those of largest Hebbian coupling, holds random patterns; N → ∞.

    Given h_j = Σ_μ a_μj/√P the rows are a_μj = h_j/√P and noise that sums to zero over μ. Gordon's comparison of Gaussian
    processes (exact here, the problem being convex) then gives, with I_n(b) = ∫ Dz (z + b)ⁿ₊ over the patterns,

        α = min_b ρ [I₂ − I₁² + ⟨h²⟩ I₁²] / (κ I₁ + Φ(b))²,    ⟨h²⟩ = 1 + 2θφ(θ)/ρ the mean over the chosen, |h| > θ.

    Inputs are picked so in Kuhlmann et al., "A dilution algorithm for neural networks" (J. Phys. A 25, 1992). All inputs give
    Gardner's 1/I₂(κ).
    """
    theta, root = -ndtri(rho / 2), np.sqrt(2 * np.pi)

    def load(b: float) -> float:
        one = b * ndtr(b) + np.exp(-(b**2) / 2) / root
        two = ndtr(b) + b * one
        return float(
            (rho * two + 2 * theta * np.exp(-(theta**2) / 2) / root * one**2)
            / (kappa * one + ndtr(b)) ** 2
        )

    return float(
        minimize_scalar(load, bounds=(-6.0, 8.0), method="bounded", options={"xatol": 1e-9}).fun
    )


def _held(job: tuple[int, Rule], patterns: Patterns) -> int:
    neuron, rule = job
    # The largest number first, as the first that can be learned is looked for.
    numbers = range(len(patterns), -1, -1)
    return numbers[
        bisect_left(
            numbers[:-1], True, key=lambda number: can_learn(neuron, patterns[:number], rule)
        )
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Retrieval(Result):
    """Overlap m = Σ_i ξ_i s_i / n with the pattern after recall from noisy probes; Monte Carlo, one standard error."""

    noises: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    errors: NDArray[np.float64]
    recalled: NDArray[np.float64]
    probes: int
    kind = "Monte Carlo"

    def summary(self) -> str:
        return "overlap after recall " + ", ".join(
            f"{overlap:.3f} at {noise:.0%} noise"
            for noise, overlap in zip(self.noises, self.overlaps, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "noise": self.noises,
            "overlap": self.overlaps,
            "standard_error": self.errors,
            "recalled_exactly": self.recalled,
            "probes": self.probes,
            "kind": self.kind,
        }


def retrieval(
    memory: AssociativeMemory,
    patterns: ArrayLike,
    noises: Sequence[float],
    *,
    probes: int = 200,
    steps: int = 50,
    order: str = "parallel",
    seed: int = 0,
) -> Retrieval:
    """Flip a share of the bits of stored patterns (exactly that share, at random places), recall, and compare."""
    probes = whole_number(probes, "probes", at_least=1)
    stored = memory.checked(patterns)
    random = np.random.default_rng(seed)
    measured = []
    for noise in noises:
        if not 0 <= noise <= 1:
            raise InputError(
                f"The noise is the share of flipped bits, between 0 and 1, but is {noise}."
            )
        wanted = stored[random.integers(0, stored.shape[0], probes)]
        found = memory.recall(add_noise(wanted, noise, random), steps, order)
        agreement = (wanted * found).mean(axis=1)
        error = agreement.std(ddof=1) / np.sqrt(probes) if probes > 1 else np.nan
        measured.append((agreement.mean(), error, (agreement == 1).mean()))
    overlaps, errors, recalled = np.reshape(measured, (-1, 3)).T
    return Retrieval(np.array(noises, dtype=float), overlaps, errors, recalled, probes)


def add_noise(patterns: ArrayLike, noise: float, random: np.random.Generator) -> NDArray[np.int8]:
    """Patterns (one in each row) with round(noise · n) bits of each flipped."""
    noisy = np.array(patterns, dtype=np.int8)
    flips = round(noise * noisy.shape[1])
    for row in noisy:
        row[random.permutation(row.size)[:flips]] *= -1
    return noisy


@dataclass(frozen=True, eq=False, repr=False)
class Cutting(Result):
    """Storage after a share of each neuron's couplings was cut, without further learning.

    `bits` is the share of (neuron, pattern) pairs whose local field still has the right sign, `patterns` the share of
    patterns that still are fixed points, `overlaps` the mean overlap after recall from the patterns themselves.
    """

    how: str
    shares: NDArray[np.float64]
    bits: NDArray[np.float64]
    patterns: NDArray[np.float64]
    overlaps: NDArray[np.float64]
    kind = "exact for this network"

    def summary(self) -> str:
        held = ", ".join(
            f"{bits:.3f} after {share:.0%}"
            for share, bits in zip(self.shares, self.bits, strict=True)
        )
        return f"share of bits held when {self.how} couplings are cut: {held}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "cut": self.how,
            "share": self.shares,
            "bits_held": self.bits,
            "patterns_held": self.patterns,
            "overlap": self.overlaps,
        }


def cut(
    memory: AssociativeMemory, share: float, how: str = "random", seed: int = 0
) -> AssociativeMemory:
    """The memory without round(share · fan-in) couplings of every neuron, taken at random or the weakest first."""
    if how not in CUTS:
        raise InputError(f"There is no {how!r} cut; choose one of {', '.join(CUTS)}.")
    if not 0 <= share <= 1:
        raise InputError(f"The share of cut couplings must be between 0 and 1, but is {share}.")
    whole = memory.couplings
    random = np.random.default_rng(seed)
    weights = whole.data.copy()
    for begin, end in zip(whole.indptr[:-1], whole.indptr[1:], strict=True):
        ranks = (
            random.permutation(end - begin)
            if how == "random"
            else np.argsort(np.abs(weights[begin:end]))
        )
        weights[begin + ranks[: round(share * (end - begin))]] = 0.0
    rest = csr_array((weights, whole.indices.copy(), whole.indptr.copy()), shape=whole.shape)
    rest.eliminate_zeros()
    return memory.with_couplings(rest)


def cutting(
    memory: AssociativeMemory,
    patterns: ArrayLike,
    shares: Sequence[float],
    how: str = "random",
    seed: int = 0,
) -> Cutting:
    """Cut more and more couplings of a memory and see what it still holds."""
    stored = memory.checked(patterns)
    held = []
    for share in shares:
        rest = cut(memory, share, how, seed)
        right = rest.fields(stored) * stored > 0
        held.append((right.mean(), right.all(axis=1).mean(), (rest.recall(stored) * stored).mean()))
    return Cutting(how, np.array(shares, dtype=float), *np.reshape(held, (-1, 3)).T)


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
                    for name, those in (
                        ("excitatory", self.excitatory),
                        ("inhibitory", self.inhibitory),
                    )
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
    return {
        "probability": sizes.size / max(possible, 1),
        "mean": mean,
        "cv": cv,
        "histogram": counts,
        "edges": edges,
    }
