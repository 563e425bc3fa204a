"""The largest load a network holds, measured on random patterns; in theory for Hebb's choice.

Where the formula of `hebbian_capacity` comes from: row μ of a neuron's problem, a_μ, is pattern μ
times the neuron's own bit. The Hebbian coupling h_j = Σ_μ a_μj/√P of input j is a standard
Gaussian, and inputs with |h| > θ are kept (as in Kuhlmann et al., "A dilution algorithm for neural
networks", J. Phys. A 25, 1992). Given h, the rows are a_μj = h_j/√P plus noise that sums to zero
over the patterns. Gordon's comparison of Gaussian processes, which is exact here as the problem is
convex, turns the largest load into a minimum over one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri

from chanceline._parallel import Progress, run_ordered
from chanceline._results import Result
from chanceline.errors import InputError, whole_number
from chanceline.memory.choices import Wiring
from chanceline.memory.learning import LearningRule, can_learn
from chanceline.memory.network import DEFAULT_SWAP_BUDGET, AssociativeMemory
from chanceline.memory.patterns import Patterns, random_patterns

# Between these the shift b of `hebbian_capacity` is looked for. It is κ with all inputs, and less
# with fewer: so κ may be up to 8.
SHIFTS = (-6.0, 8.0)


@dataclass(frozen=True, eq=False, repr=False)
class LargestLoads(Result):
    """How many of a sequence of random patterns each neuron of a network holds at one fan-in.

    `held` is the number of patterns, (neurons measured,). For random wiring the numbers are exact;
    for the others they are reached loads, hence lower bounds.
    """

    n_neurons: int
    fan_in: int
    wiring: str
    held: NDArray[np.int64]
    excitatory: float | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        if self.wiring == Wiring.RANDOM:
            return "exact for the sample"
        return "reached, a lower bound for the sample"

    def summary(self) -> str:
        return (
            f"with {self.fan_in} {self.wiring} inputs of {self.n_neurons - 1} half of the neurons "
            f"hold a load of {self.typical:.3g}, all of them {self.network:.3g}"
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
        """Plain data for JSON: the settings of the measurement, and the two loads measured.

        The load of a neuron is the number of patterns that it holds, divided by the number of its
        possible inputs. The property `network` is the load that all neurons hold, and `typical` the
        load that half of them hold.
        """
        return {
            "neurons": self.n_neurons,
            "fan_in": self.fan_in,  # how many inputs a neuron keeps
            "rho": self.rho,  # the same as a share of the possible inputs
            "wiring": str(self.wiring),  # how the inputs are chosen
            "load_network": self.network,
            "load_typical": self.typical,
            "excitatory": self.excitatory,  # share of excitatory neurons; None without Dale's law
            "kind": self.kind,  # whether the loads are exact or lower bounds
        }


def load_curve(  # noqa: PLR0913
    n_neurons: int,
    fan_ins: Sequence[float | str],
    wirings: Sequence[str] = tuple(Wiring),
    seed: int = 0,
    *,
    budget: int = DEFAULT_SWAP_BUDGET,
    neurons: int | None = None,
    excitatory: float | None = None,
    n_jobs: int | None = 1,
    progress: Progress | None = None,
) -> list[LargestLoads]:
    """The largest load that neurons hold, for each fan-in (number of inputs) and wiring.

    The load is measured as the largest number of random patterns, from the first on, that each
    neuron can learn. With the same seed all fan-ins and wirings see the same patterns.

    Parameters
    ----------
    n_neurons, budget, excitatory
        As in `AssociativeMemory`.
    fan_ins, wirings
        Every combination is measured; a fan-in is a count or a share of the other neurons.
    seed
        For the patterns and all random choices.
    neurons
        How many neurons are measured, the first ones; all by default.
    n_jobs
        As in joblib, with the same result.
    progress
        Called with (neurons done, neurons in all), over all fan-ins and wirings.
    """
    # Check the arguments.
    n_measured = n_neurons
    if neurons is not None:
        n_measured = whole_number(neurons, "neurons", at_least=1, at_most=n_neurons)
    if "minimal" in fan_ins:
        raise InputError("The largest load needs a given fan-in; 'minimal' has none.")

    # The learning rule for each fan-in and wiring. It is taken from a network made for the purpose,
    # because making a network checks the settings.
    rules = []
    for fan_in in fan_ins:
        for wiring in wirings:
            network = AssociativeMemory(
                n_neurons,
                fan_in=fan_in,
                wiring=wiring,
                seed=seed,
                budget=budget,
                excitatory=excitatory,
            )
            rules.append(network.rule)

    # Draw more patterns than a neuron is likely to hold. With all N inputs a neuron holds 2N random
    # patterns on average, with a standard deviation of √(2N) (Cover). Four standard deviations are
    # less than 6√N; the last 6 patterns are for very small N.
    n_patterns = 2 * n_neurons + 6 * int(np.sqrt(n_neurons)) + 6
    patterns = random_patterns(n_neurons, n_patterns=n_patterns, seed=seed)

    # How many of these patterns each neuron holds with each rule, (rules, neurons measured).
    jobs = [(neuron, rule) for rule in rules for neuron in range(n_measured)]
    n_held_of_jobs = run_ordered(
        _largest_number_held, jobs, common=(patterns,), n_jobs=n_jobs, progress=progress
    )
    n_held = np.array(list(n_held_of_jobs)).reshape(len(rules), n_measured)

    curve = []
    for rule, n_held_with_rule in zip(rules, n_held, strict=True):
        assert rule.fan_in is not None  # "minimal" was refused
        loads = LargestLoads(
            n_neurons=n_neurons,
            fan_in=rule.fan_in,
            wiring=rule.wiring,
            held=n_held_with_rule,
            excitatory=excitatory,
        )
        curve.append(loads)
    return curve


def largest_loads(
    n_neurons: int, fan_in: float, wiring: str = "selected", seed: int = 0, **options: Any
) -> LargestLoads:
    """`load_curve` at one fan-in and with one wiring; the options are those of `load_curve`."""
    return load_curve(n_neurons, fan_ins=[fan_in], wirings=[wiring], seed=seed, **options)[0]


def _largest_number_held(job: tuple[int, LearningRule], patterns: Patterns) -> int:
    """How many of the patterns, from the first on, a neuron can learn.

    `job` is the neuron's number and the rule by which it learns; `patterns` has the shape
    (patterns, neurons). The number is found by bisection, because a neuron that can learn some
    patterns can also learn fewer of them. (Where the inputs are found by a search, this is nearly
    always true.)
    """
    neuron, rule = job
    n_learned = 0  # the largest number known to be learned
    n_failed = len(patterns) + 1  # the smallest number taken to be too many
    while n_failed - n_learned > 1:
        n_tried = (n_learned + n_failed) // 2
        if can_learn(neuron, patterns[:n_tried], rule):
            n_learned = n_tried
        else:
            n_failed = n_tried
    return n_learned


def hebbian_capacity(rho: float, kappa: float = 0.0) -> float:
    """The largest load at which a neuron holds its patterns, on inputs of large Hebbian coupling.

    The neuron keeps a share ρ of its possible inputs, those of largest |Hebbian coupling|. The load
    α is the number of random patterns divided by the number of possible inputs, in the limit of
    infinitely many inputs; κ is the stability required of the neuron. The largest load is

        α = min_b [ρ I₂ + ρ (⟨h²⟩ − 1) I₁²] / (κ I₁ + Φ(b))².

    Here ⟨h²⟩ is the mean squared Hebbian coupling of the inputs that are kept. I₁ and I₂ are the
    means of (z + b)₊ and (z + b)₊² over a standard Gaussian z, whose distribution function is Φ.
    With all inputs (ρ = 1) the minimum is at b = κ, and α is Gardner's 1/I₂(κ).
    """
    # Hebbian couplings h are standard Gaussian. The inputs that are kept, a share ρ, are those with
    # |h| > θ.
    threshold = -ndtri(rho / 2)  # θ
    # ρ ⟨h²⟩ is the integral of h² φ(h) over |h| > θ, with the Gaussian density φ. Integrated by
    # parts it is ρ + 2θφ(θ), so that ρ (⟨h²⟩ − 1) = 2θφ(θ).
    rho_times_excess = 2 * threshold * _normal_density(threshold)

    def load_at_shift(b: float) -> float:
        """The expression to be minimised over the shift b."""
        Phi = ndtr(b)
        I1 = b * Phi + _normal_density(b)
        I2 = Phi + b * I1
        numerator = rho * I2 + rho_times_excess * I1**2
        return float(numerator / (kappa * I1 + Phi) ** 2)

    minimum = minimize_scalar(
        load_at_shift, bounds=SHIFTS, method="bounded", options={"xatol": 1e-9}
    )
    return float(minimum.fun)


def _normal_density(x: float) -> float:
    """φ(x), the density of the standard normal distribution."""
    return float(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi))
