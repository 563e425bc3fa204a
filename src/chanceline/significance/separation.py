"""`separation_test`: is this perfect classification structure, or would noise allow it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log10
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chanceline.chance.planning import check_level, samples_needed
from chanceline.errors import InputError
from chanceline.perceptron.data import check_arrays, contradictions, distinct_columns, find_features
from chanceline.perceptron.rule import Rule, rule_on
from chanceline.significance.advice import advise
from chanceline.significance.null import make_scheme
from chanceline.significance.permutation import permutation_reading
from chanceline.significance.price import Price, check_candidates
from chanceline.significance.procedure import Procedure
from chanceline.significance.replica import replica_reading
from chanceline.significance.result import SeparationTest
from chanceline.significance.verdict import Evidence, bound_share, decide, overall_log10_p
from chanceline.tables.doctor import Finding, examine

Floats = NDArray[np.float64]
# Searching the observed labels again is worth while if the bound would accept a set smaller by this much.
WITHIN_REACH = 1


def separation_test(
    X: ArrayLike,
    y: ArrayLike,
    features: Sequence[int | str] | None = None,
    *,
    null: str = "fixed",
    level: float = 0.05,
    permutations: int = 199,
    search: Any = "auto",
    seed: int = 0,
    errors: int | None = None,
    intercept: bool = True,
    budget: int | None = None,
    restarts: int = 8,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    preregistered: bool = False,
    candidates: int | None = None,
    always_permute: bool = False,
    stop_after: int | None = 10,
    workers: int = 1,
    feature_names: Sequence[str] | None = None,
    findings: Sequence[Finding] = (),
    progress: Callable[[int, int], None] | None = None,
) -> SeparationTest:
    """Test whether a few features that classify the samples linearly are more than chance allows.

    Parameters
    ----------
    X
        Array or DataFrame, samples × features, finite numbers.
    y
        Two classes, one value a sample.
    features
        Names or indices of the features in question; by default the smallest set is searched.
    null
        "fixed" permutes the labels (class sizes kept), "coin" draws each label by a fair coin.
    level
        p-value that convinces.
    permutations
        At most so many shuffled labellings, only run where the bound does not convince; 0 for none.
    search
        Method name of `chanceline.search`, a scikit-learn feature selector, or a function (X, y) → indices.
    seed
        Of the search and of the permutations.
    errors
        Errors allowed, fixed beforehand. By default 0 when searching; with `features` as many as they make, for which the
        bound pays a factor 2^(e+1) (none if the features were preregistered).
    intercept
        Whether the rule has a free threshold.
    budget
        Iterations of one search, the same for observed and shuffled labels.
    restarts
        Further searches of the observed labels when a slightly smaller set would convince by the bound.
    blocks, groups
        One value a sample; labels are exchanged within blocks only, and move with whole groups.
    preregistered
        The `features` were fixed before the labels were seen.
    candidates
        Number of features the selection could choose from, if X holds fewer; only the bound speaks then.
    always_permute
        Run the permutations even if the bound convinces.
    stop_after
        Stop drawing after so many shuffled labellings did as well (None: never).
    workers
        Processes that share the permutations; the result does not depend on it. Scripts that use more than one need the
        usual ``if __name__ == "__main__":`` guard.
    feature_names, findings
        Names of the columns, and what the loader already noticed.
    progress
        Called with (permutations done, permutations at most).

    Returns
    -------
    SeparationTest
    """
    check_level(level)
    data, labels, names = check_arrays(X, y, feature_names)
    n_samples, n_features = data.shape
    scheme = make_scheme(labels, null, blocks, groups)
    indices = None if features is None else find_features(features, names)
    _check_options(permutations, errors, seed, n_samples)
    check_candidates(candidates, n_features)
    if preregistered and indices is None:
        raise InputError("preregistered features have to be named; give them, or leave out preregistered.")
    distinct = len(distinct_columns(data, intercept))
    if distinct == 0:
        raise InputError("every feature is constant, so that there is nothing to separate with.")
    if candidates is not None:
        # Shuffling cannot repeat a selection whose other candidates are not here.
        permutations = 0
    fixed = tuple(indices.tolist()) if preregistered and indices is not None else None
    declared = 0 if errors is None and indices is None else errors
    procedure = Procedure(search, budget, seed, intercept, errors or 0, fixed)
    price = Price(scheme, candidates or distinct, intercept, declared, len(fixed) if fixed else None)
    gate = bound_share(level, permutations)
    largest, spent = price.largest(gate), price.spent(gate)

    rule = standard = None
    if indices is not None:
        rule = rule_on(data, labels, indices, intercept)
    else:
        standard = procedure.find(data, labels)
        rule = search_longer(procedure, data, labels, standard, largest, restarts)
    bound = price.bound(rule)
    permutation = None
    if permutations > 0 and (always_permute or bound.log10_p > log10(gate)):
        standard = standard or procedure.find(data, labels)
        permutation = permutation_reading(
            procedure,
            data,
            scheme,
            procedure.value(standard, n_features),
            permutations=permutations,
            seed=seed,
            allowed=procedure.errors,
            stop_after=stop_after,
            workers=workers,
            progress=progress,
        )
    log10_p = overall_log10_p(bound.log10_p, spent, gate, permutation)
    replica = None
    if rule.errors == 0 and rule.n_selected > 0:
        total = max(price.n_features, rule.n_selected)
        replica = replica_reading(scheme.n_units, total, rule.n_selected)
    evidence = Evidence(rule, n_samples, n_features, bound, gate, permutation, replica, indices is not None, fixed is not None)
    verdict = decide(evidence, level, log10_p, _trouble(data, labels, declared))
    needed = _samples(price, rule, level) if price.covers(rule) else None
    return SeparationTest(
        verdict=verdict.word,
        pvalue=float(max(10.0**log10_p, np.finfo(float).tiny)),
        log10_pvalue=log10_p,
        reason=verdict.reason,
        n_samples=n_samples,
        n_features=n_features,
        n_distinct=distinct,
        positives=int(np.sum(labels > 0)),
        n_selected=rule.n_selected,
        features=tuple(names[j] for j in rule.support),
        support=tuple(int(j) for j in rule.support),
        weights=tuple(float(w) for w in rule.weights),
        bias=rule.bias,
        errors=rule.errors,
        separates=rule.errors == 0,
        bound=bound,
        permutation=permutation,
        replica=replica,
        largest_convincing=largest,
        samples_needed=needed,
        advice=advise(
            verdict.word,
            rule,
            covered=price.covers(rule),
            level=level,
            spent=spent,
            largest=largest,
            needed=needed,
            n_samples=n_samples,
            permutation=permutation,
            candidates=candidates,
        ),
        findings=(*findings, *examine(data, labels, names, intercept=intercept, level=level)),
        settings={
            "null": null,
            "level": level,
            "permutations": permutations,
            "search": search if isinstance(search, str) else repr(search),
            "seed": seed,
            "errors": declared,
            "intercept": intercept,
            "budget": budget,
            "restarts": restarts,
            "stop_after": stop_after,
            "preregistered": preregistered,
            "candidates": candidates,
            "units": scheme.n_units,
            "blocks": len(scheme.blocks) if scheme.blocks else 1,
            "bound_share": gate,
            "bound_spent": spent,
        },
    )


def search_longer(procedure: Procedure, X: Floats, y: Floats, found: Rule, largest: int, restarts: int) -> Rule:
    """Search again from other seeds while a set that the bound would accept is within reach.

    The bound covers every set at once, so that effort spent on the observed labels alone costs nothing.
    """
    reach = found.errors <= procedure.errors and 0 < found.n_selected - largest <= WITHIN_REACH and largest > 0
    if not (reach and isinstance(procedure.search, str)):
        return found
    best = found
    for number in range(1, restarts + 1):
        again = replace(procedure, seed=procedure.seed + number, options={"target": largest}).find(X, y)
        if again.errors <= procedure.errors and again.n_selected < best.n_selected:
            best = again
        if best.n_selected <= largest:
            break
    return best


def _trouble(X: Floats, y: Floats, errors: int | None) -> str | None:
    """Why nothing can separate these samples, if that is plain to see."""
    pairs = contradictions(X, y)
    if not pairs or errors is None or len(pairs) <= errors:
        return None
    first, second = pairs[0]
    return (
        f"rows {first + 1} and {second + 1} are equal but have opposite labels, so that no rule separates "
        "these "
        "samples; allow errors or remove one."
    )


def _samples(price: Price, rule: Rule, level: float) -> int | None:
    """Samples with which as many features would convince by the bound, None if out of any reach."""
    scheme = price.scheme
    try:
        return samples_needed(
            price.n_features,
            min(max(rule.n_selected, 1), price.n_features),
            balance=scheme.positives / scheme.n_units,
            level=level,
            errors=rule.errors if price.errors is None else price.errors,
            null=scheme.null,
            intercept=price.intercept,
        ).n_samples
    except InputError:
        return None


def _check_options(permutations: int, errors: int | None, seed: int, n_samples: int) -> None:
    if permutations < 0:
        raise InputError(f"the number of permutations cannot be negative, but is {permutations}.")
    if errors is not None and not 0 <= errors < n_samples:
        raise InputError(f"the errors allowed must be between 0 and {n_samples - 1}, not {errors}.")
    if seed < 0:
        raise InputError(f"the seed must be a whole number from 0, not {seed}.")
