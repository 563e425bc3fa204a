"""What would change the verdict: search longer, more permutations, more samples."""

from __future__ import annotations

from math import ceil

from chanceline.perceptron.rule import Rule
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.verdict import CHANCE, STRUCTURE


def advise(
    word: str,
    rule: Rule,
    *,
    covered: bool,
    level: float,
    spent: float,
    largest: int,
    needed: int | None,
    n_samples: int,
    permutation: PermutationReading | None,
    candidates: int | None,
) -> tuple[str, ...]:
    """Sentences, the most useful first."""
    advice: list[str] = []
    if word == STRUCTURE:
        advice.append(
            "structure need not be what you look for: rule out batch effects, confounders and leakage "
            "(order, site, date, preprocessing that saw the labels)."
        )
        return tuple(advice)
    if permutation is None and candidates is None:
        advice.append(f"permutations would decide (--permutations {max(199, ceil(10 / level) - 1)}).")
    if candidates is not None:
        advice.append("permutations need all candidate features, so give the full table rather than the selected part.")
    if permutation is not None:
        advice += _more_permutations(permutation, word, level, spent)
    if covered and rule.n_selected > largest:
        if largest > 0:
            advice.append(f"a set of at most {largest} features would convince by the bound: a longer search may find one.")
        else:
            advice.append(f"no set, however small, would convince by the bound with {n_samples} samples.")
    if covered and needed is not None and needed > n_samples:
        advice.append(f"with {needed} samples of the same balance, {rule.n_selected} features would convince by the bound alone.")
    if not covered:
        advice.append("if a few errors are acceptable, fix their number beforehand (--errors) and test again.")
    return tuple(advice)


def _more_permutations(reading: PermutationReading, word: str, level: float, spent: float) -> list[str]:
    if reading.interrupted:
        return [f"drawing was interrupted after {reading.done} of {reading.requested} permutations; let it finish."]
    if word == CHANCE:
        return []
    if 1 / (1 + reading.requested) + spent > level:
        return [f"at least {ceil(1 / (level - spent))} permutations are needed to reach level {level:g}."]
    if reading.interval[0] <= level <= reading.interval[1]:
        distance = max(abs(reading.pvalue - level), 0.1 * level)
        enough = max(2 * reading.requested, 100 * ceil(4 * level * (1 - level) / distance**2 / 100))
        return [f"more permutations would narrow the interval (--permutations {enough - 1})."]
    return []
