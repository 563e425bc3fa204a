"""What would change the verdict: a smaller set, more shuffles, more samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from chanceline.perceptron.rule import Rule
from chanceline.significance.config import TestSettings
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.verdict import Shares
from chanceline.significance.words import CHANCE, STRUCTURE, counted


@dataclass(frozen=True)
class Outlook:
    """What else could be had: the largest set that the bound would accept, the units that this one needs.

    `given`: the features were named after looking, so that shuffles say nothing about them.
    """

    largest: int
    needed: int | None
    n_units: int
    units: str
    given: bool = False


def advise(
    word: str,
    rule: Rule,
    settings: TestSettings,
    shares: Shares,
    outlook: Outlook,
    permutation: PermutationReading | None,
) -> tuple[str, ...]:
    """Sentences, the most useful first."""
    if word == STRUCTURE:
        return (
            "structure need not be what you look for: rule out batch effects, confounders and leakage "
            "(order, site, date, preprocessing that saw the labels).",
        )
    advice: list[str] = []
    if outlook.given:
        advice.append("features fixed beforehand (preregistered) and tested on new samples need less.")
    elif settings.candidates is not None:
        advice.append("permutations need all candidate features, so give the full table rather than the selected part.")
    elif permutation is None:
        advice.append(f"shuffled labels would decide (permutations={max(999, ceil(10 / settings.level) - 1)}).")
    elif permutation.void:
        advice.append("give a search that selects features for the labels it is handed, or name the features.")
    else:
        advice += _more_permutations(permutation, word, settings.level, shares)
    return (*advice, *_by_the_bound(rule, settings, outlook))


def _by_the_bound(rule: Rule, settings: TestSettings, outlook: Outlook) -> list[str]:
    advice = []
    separates = rule.errors == 0
    if separates and not settings.preregistered and rule.n_selected > outlook.largest:
        if outlook.largest > 0:
            features = counted(outlook.largest, "feature")
            advice.append(f"a set of at most {features} would convince by the bound: a longer search may find one.")
        else:
            advice.append(f"no set, however small, would convince by the bound with {outlook.n_units} {outlook.units}.")
    if outlook.needed is not None and outlook.needed > outlook.n_units:
        errors = "" if separates else f" with as many errors ({rule.errors})"
        which = f"{counted(rule.n_selected, 'feature')}{errors}"
        advice.append(f"with {outlook.needed} {outlook.units} of the same kind, {which} would convince by the bound alone.")
    return advice


def _more_permutations(reading: PermutationReading, word: str, level: float, shares: Shares) -> list[str]:
    if reading.interrupted:
        return [f"drawing was stopped after {reading.done} of {reading.requested} permutations; let it finish."]
    if word == CHANCE:
        return []
    spent = shares.spent + shares.later
    if spent >= level:
        return ["no number of permutations can help: the level is spent on the bound already."]
    if 1 / (1 + reading.requested) + spent > level:
        return [f"at least {ceil(1 / (level - spent))} permutations are needed to reach level {level:g}."]
    if reading.interval[0] <= level <= reading.interval[1]:
        distance = max(abs(reading.pvalue - level), 0.1 * level)
        enough = max(2 * reading.requested, 100 * ceil(4 * level * (1 - level) / distance**2 / 100))
        return [f"more permutations would narrow the interval (permutations={enough - 1})."]
    return []
