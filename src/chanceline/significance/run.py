"""`separation_test`: is this classification structure, or would noise allow it? The steps, from a plan to its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from chanceline.chance.bound import Bound
from chanceline.errors import ConvergenceError, InputError
from chanceline.perceptron.problem import check_arrays, distinct_columns
from chanceline.perceptron.rule import Rule, consistent_rows, rule_on, separate
from chanceline.prediction.rule import MOST_FEATURES, fit_rule, rule_sentence
from chanceline.prediction.worth import LOOKED_AT, expected_error, firmness, scorecard
from chanceline.select.pareto import front as search_front
from chanceline.significance.config import TestSettings
from chanceline.significance.design import Floats, Ints
from chanceline.significance.permutation import (
    BATCH,
    INTERRUPT,
    FrontDraws,
    FrontReading,
    PermutationReading,
    PermutationRunner,
    Procedure,
    SpreadReading,
    draw_front,
    permutation_reading,
)
from chanceline.significance.plan import LOG10_2, FeatureBound, Plan, feature_bound, make_plan
from chanceline.significance.replica import replica_reading
from chanceline.significance.result import SeparationTest
from chanceline.significance.stepwise import Columns, Paths, fewest_by_threshold, make_columns
from chanceline.significance.text import Evidence, RuleToUse, Separating, Story, card_sentence, unavoidable_errors
from chanceline.tables.dataset import Dataset, TableSettings
from chanceline.tables.read import load_data
from chanceline.tables.subjects import undeclared_design

# Swaps of the search for fewest errors at every number of features: some seconds at most.
FRONT_BUDGET = 4000
# With fewer multiplications than this, starting processes takes longer than the shuffles.
WORTH_PROCESSES = 1e11
# The column of y beside a DataFrame whose blocks, groups or pairs are named.
LABEL = "y (given beside the table)"


def separation_test(
    X: Any,
    y: ArrayLike | None = None,
    features: Sequence[int | str] | None = None,
    *,
    label: str | None = None,
    blocks: ArrayLike | str | None = None,
    groups: ArrayLike | str | None = None,
    pairs: ArrayLike | str | None = None,
    adjust: Any = None,
    independent: Sequence[str] = (),
    feature_names: Sequence[str] | None = None,
    settings: TestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **changes: Any,
) -> SeparationTest:
    """Test whether a few features that classify the samples linearly are more than chance allows.

    Parameters
    ----------
    X
        Array or DataFrame, samples × features, finite numbers; or a `Dataset` that `load_data` or `load_example` gave, which has
        labels, names, blocks and groups of its own; with `label` a DataFrame or a file.
    y
        Two classes, one value for each sample.
    features
        Names or indices of the features in question; by default the smallest set is searched.
    label
        Column of the classes, by name, instead of `y`. Then blocks, groups and pairs are names of columns too, and everything
        that `load_data` knows may be said: ``separation_test(df, label="outcome", groups="patient", missing="median")``.
    blocks, groups, pairs
        One value for each sample; labels are exchanged within blocks only, move with whole groups, and swap within pairs.
    adjust
        Covariates, a DataFrame (or an array, samples × covariates): is there structure beyond what they explain?
    independent
        Columns that look like subjects or pairs though rows are independent.
    feature_names
        Names of the columns.
    settings
        How to test; `TestSettings` documents every field.
    progress
        Called with (shuffles done, shuffles at most).
    **changes
        Those of `TestSettings` by name: level, permutations, seed, null, intercept, errors, method, budget, restarts, search,
        stop_after, n_jobs, largest, preregistered, candidates, always_permute, expected_error, integer, time_limit.

    Returns
    -------
    SeparationTest
        After Ctrl-C during the shuffles: what the shuffles done so far say, with `permutation.interrupted` set.
    """
    roles = {"blocks": blocks, "groups": groups, "pairs": pairs, "adjust": adjust}
    roles = {role: values for role, values in roles.items() if values is not None}
    if y is not None and (independent or any(isinstance(values, str) for values in roles.values())):
        X = X if hasattr(X, "columns") else pd.DataFrame(X).add_prefix("x")
        X, y, label = X.assign(**{LABEL: np.asarray(y)}), None, LABEL
    if label is not None:
        table = {item.name: changes.pop(item.name) for item in fields(TableSettings) if item.name in changes}
        X, roles = load_data(X, label, **roles, independent=independent, **table), {}
    settings = replace(settings or TestSettings(), **changes)
    if isinstance(X, Dataset):
        if roles or any(given is not None for given in (y, feature_names)):
            raise InputError("a Dataset has labels, names, blocks and groups of its own; pass nothing but the Dataset.")
        return run(make_plan(X, features, settings), progress)
    if y is None:
        raise InputError("y is needed: two classes, one value for each row of X.")
    # A view that nobody can write to needs no copy.
    data, labels, names = check_arrays(np.broadcast_to(X, X.shape) if type(X) is np.ndarray else X, y, feature_names)
    negative, positive = np.unique(np.asarray(y)).tolist()
    covariates = pd.DataFrame(roles.pop("adjust", None)).add_prefix("covariate " * (not hasattr(adjust, "columns")))
    given: dict[str, Any] = {role: np.asarray(values) for role, values in roles.items()}
    if not roles.keys() & {"groups", "pairs"}:
        numbers = pd.DataFrame(data, columns=list(names), copy=False)
        given["undeclared"] = undeclared_design(numbers[[]], numbers, labels)
    given["covariates"] = {str(name): column.to_numpy() for name, column in covariates.items()} or None
    return run(make_plan(Dataset(data, labels, names, (negative, positive), **given), features, settings), progress)


def judge(dataset: Dataset, features: Sequence[int | str] | None = None, **options: Any) -> SeparationTest:
    """`separation_test` of a table that `load_data` read, with its classes, blocks, groups and findings."""
    return separation_test(dataset, features=features, **options)


@dataclass(frozen=True, eq=False)
class Found:
    """What the observed labels allow: the rule reported if it convinces or separates, the best rule for every K, the bound for
    one feature (where it was looked at), and the p-value (log₁₀) of the second stage.
    """

    rule: Rule
    bound: Bound
    points: tuple[Rule, ...]
    feature: FeatureBound | None
    later: float


def run(plan: Plan, progress: Callable[[int, int], None] | None = None) -> SeparationTest:
    """Search, bound, shuffle, decide."""
    settings, scheme, X, shuffles = plan.settings, plan.scheme, plan.data.X, plan.settings.permutations or 0
    named, index = plan.features if settings.preregistered else None, plan.distinct
    if named is not None:
        index = named[distinct_columns(X[:, named], settings.intercept)]
    columns = make_columns(X, scheme, settings.intercept, index)
    steps = max(1, min(settings.largest, len(columns.index), len(scheme.y) - 2))
    own = settings.search is not None and not settings.preregistered
    # One batch of shuffles comes first: it has the observed path, and shows what the front is to be compared with.
    draws, paths = draw_front(
        columns, scheme, permutations=0 if own else min(BATCH - 1, shuffles), steps=steps, seed=settings.seed
    )
    found = find_rules(plan, columns, paths.errors[0])
    convinced = plan.spending.convinces(found.bound.log10_p) or plan.spending.later_convinces(found.later)
    wanted = shuffles > 0 and (settings.always_permute or not convinced)
    runner = PermutationRunner(settings.n_jobs, settings.time_limit, progress)
    permutation = None
    if wanted and own:
        search = procedure(plan)
        permutation = permutation_reading(
            search,
            X,
            scheme,
            search(X, plan.data.y),
            permutations=shuffles,
            seed=settings.seed,
            allowed=search.errors,
            stop_after=settings.stop_after,
            runner=runner,
        )
    elif wanted:
        few = replace(runner, n_jobs=settings.n_jobs if columns.fitted.size * steps * shuffles > WORTH_PROCESSES else 1)
        draws, _ = draw_front(columns, scheme, permutations=shuffles, steps=steps, seed=settings.seed, runner=few, first=paths)
    spread, alone = None, {}
    if wanted and draws.done:
        permutation, spread = draws.reading(), draws.spread()
        alone = dict(zip(columns.index.tolist(), draws.alone(columns, scheme.y).tolist(), strict=True))
    if permutation is not None and scheme.model is not None:
        permutation = replace(permutation, kind=scheme.model.kind)
    front = front_readings(plan, paths, draws, adjusted=permutation is not None)
    interrupted = INTERRUPT in (draws.stopped_by, permutation and permutation.stopped_by)
    rule = None
    if settings.expected_error and settings.search is None and not interrupted:
        try:
            rule = usable_rule(plan)
        except KeyboardInterrupt:
            interrupted = True
    return conclude(plan, found, front, spread, permutation, rule, alone, interrupted=interrupted)


def find_rules(plan: Plan, columns: Columns, path_errors: Ints) -> Found:
    """The rule for the features named, or the smallest set; and where that does not convince one feature alone, and the fewest
    errors for every K.
    """
    X, y, settings, bounds, spending = plan.data.X, plan.data.y, plan.settings, plan.bounds, plan.spending
    if plan.features is not None:
        rule = rule_on(X, y, plan.features, settings.intercept)
    else:
        rule = smallest_rule(plan) if settings.search is None else procedure(plan).find(X, y)
    bound = bounds.bound(rule)
    if plan.settings.preregistered or spending.convinces(bound.log10_p):
        return Found(rule, bound, (), None, 0.0)
    feature = best_feature(plan, columns) if spending.later > 0 else None
    proven = 0.0 if feature is None else min(0.0, feature.log10_p + LOG10_2)
    # Swaps are worth while if half the errors of the path would convince, and one feature does not already.
    worth = any(spending.convinces(bounds.at_front(k, e // 2)) for k, e in enumerate(path_errors.tolist(), 1))
    most = FRONT_BUDGET if worth and not spending.later_convinces(proven) else 0
    budget = most if settings.budget is None else min(settings.budget, most)
    front = search_front(X, y, intercept=settings.intercept, max_features=len(path_errors), budget=budget, seed=settings.seed)
    points, allowed = tuple(point.rule for point in front.points[1:]), plan.declared or 0
    enough = [point for point in points if point.errors <= allowed]
    if plan.features is None and settings.search is None and enough:
        rule = rule if rule.errors <= allowed and rule.n_selected <= enough[0].n_selected else enough[0]
        bound = bounds.bound(rule)
    if settings.errors is None:
        proven = min(proven, *(bounds.afterwards(point.n_selected, point.errors) + LOG10_2 for point in (rule, *points)))
    return Found(rule, bound, points, feature, bounds.beside_first(min(0.0, proven)) if spending.later > 0 else 0.0)


def best_feature(plan: Plan, columns: Columns) -> FeatureBound:
    """The bound for one feature, on the columns that the path is made of, summed over groups."""
    scheme, values = plan.scheme, columns.fitted
    if len(scheme.unit_labels) < len(values):
        order = np.argsort(scheme.unit_of, kind="stable")
        values = np.add.reduceat(values[order], np.flatnonzero(np.diff(scheme.unit_of[order], prepend=-1)), axis=0)
    found = feature_bound(values, scheme.unit_labels, scheme.block_of, among=plan.bounds.n_features)
    feature = int(columns.index[found.feature])
    return replace(found, feature=feature, name=plan.data.feature_names[feature])


def procedure(plan: Plan) -> Procedure:
    """The search for the smallest set, by a method of ours or the user's own."""
    settings = plan.settings
    search = settings.method if settings.search is None else settings.search
    return Procedure(search, settings.budget, settings.seed, settings.intercept, settings.errors or 0)


def smallest_rule(plan: Plan) -> Rule:
    """The smallest set found that makes no more errors than allowed; where nothing separates, nothing is searched."""
    X, y, settings = plan.data.X, plan.data.y, plan.settings
    rows = consistent_rows(X, y)
    few = not settings.errors and len(plan.distinct) < len(rows)
    if few and not all_separate(X[rows], y[rows], plan.distinct, settings.intercept):
        return rule_on(X, y, np.zeros(0, dtype=np.int64), settings.intercept)
    search = procedure(plan)
    found, largest = search.find(X, y), plan.bounds.largest(plan.spending.gate)
    if settings.permutations == 0 and found.errors <= search.errors and found.n_selected == largest + 1 > 1:
        # The bound would accept one feature less. It covers every set at once, so that searching the observed labels again from
        # other seeds costs nothing.
        for number in range(1, settings.restarts + 1):
            again = replace(search, seed=search.seed + number, target=largest).find(X, y)
            if again.errors <= search.errors and again.n_selected <= largest:
                return again
    return found


def all_separate(X: Floats, y: Floats, distinct: Ints, intercept: bool) -> bool:
    """Whether all features together separate."""
    if intercept and np.all(y == y[0]):
        return True
    try:
        return separate(X, y, distinct, intercept).separates
    except ConvergenceError:
        # Not settled in floating point: the search may try.
        return True


def front_readings(plan: Plan, paths: Paths, draws: FrontDraws, *, adjusted: bool) -> tuple[FrontReading, ...]:
    """For every number of features what was found, beside the shuffles."""
    bands = draws.bands()
    pvalues = draws.adjusted().tolist() if adjusted and draws.done else [None] * len(bands)
    plain = plan.scheme.sizes.blocks is None and plan.scheme.basis is None
    return tuple(
        FrontReading(
            k=k,
            errors=errors,
            shuffled=bands[k - 1],
            pvalue=pvalues[k - 1],
            log10_bound=plan.bounds.at_front(k, errors) if plain else 0.0,
            features=plan.names_of(paths.support(0, k)),
        )
        for k, errors in enumerate(paths.errors[0].tolist(), 1)
    )


def usable_rule(plan: Plan) -> RuleToUse:
    """The rule for new samples on all features, or on those named, and its cross-validated error."""
    data, settings, blocks = plan.data, plan.settings, plan.data.blocks if plan.data.pairs is None else plan.data.pairs
    design: dict[str, Any] = {"groups": data.groups, "blocks": blocks, "covariates": plan.scheme.terms, "seed": settings.seed}
    wanted: dict[str, Any] = {"features": plan.features, "max_features": MOST_FEATURES if settings.integer else None}
    made = fit_rule(data.X, data.y, **design, **wanted)
    text = rule_sentence(made, data.X, data.feature_names, plan.class_names)
    text += " (threshold of the average block)" * (blocks is not None) + " (besides the covariates)" * bool(data.covariates)
    along = made.scores(data.X, blocks, plan.scheme.terms)
    heavy = np.argsort(-np.abs(made.weights) * data.X[:, made.support].std(axis=0))[: LOOKED_AT if made.dense else None]
    firm = firmness(data.X, data.y, made.support[heavy], **design, penalty=made.penalty, kind=made.kind)
    card = scorecard(data.X, data.y, made) if settings.integer and made.support.size else None
    return RuleToUse(
        **vars(made),
        features=plan.names_of(made.support),
        text=text,
        along=along,
        wrong=tuple(np.flatnonzero(data.y * along <= 0).tolist()),
        expected_error=expected_error(data.X, data.y, **design, **wanted, n_jobs=settings.n_jobs),
        firmness=firm,
        stand_ins={data.feature_names[one.feature]: plan.names_of(one.stand_ins) for one in firm.readings},
        alternatives=tuple(plan.names_of(support) for support in firm.alternatives),
        scorecard=card,
        card_text="" if card is None else card_sentence(card, data.feature_names, plan.class_names[1]),
    )


def conclude(
    plan: Plan,
    found: Found,
    front: tuple[FrontReading, ...],
    spread: SpreadReading | None,
    permutation: PermutationReading | None,
    rule: RuleToUse | None,
    alone: dict[int, float],
    *,
    interrupted: bool,
) -> SeparationTest:
    """One p-value, one word, and everything that goes with them."""
    data, bounds, sizes = plan.data, plan.bounds, plan.scheme.sizes
    reported, bound = _reported(plan, found)
    # About features named after looking shuffles say nothing.
    counts = permutation is not None and permutation.done > 0 and not (permutation.void or plan.named_after)
    log10_p = plan.spending.overall_log10_p(bound.log10_p, found.later, permutation.pvalue if permutation and counts else None)
    separating = separating_set(plan, reported, bound)
    largest, needed = bounds.largest(plan.spending.gate), bounds.samples_needed(reported, plan.settings.level)
    by_bound = plan.spending.convinces(bound.log10_p) or plan.spending.later_convinces(found.later)
    evidence = rests_on(plan, found, front, spread, permutation, separating, by_bound=by_bound)
    better = rule is not None and rule.expected_error is not None and not rule.standing
    story = Story(plan, evidence, separating, permutation, spread, needed, better)
    verdict, reason = story.decide(log10_p)
    interesting = {*evidence.features, *separating.features, *(() if rule is None else rule.stand_ins)}
    shown = {name: j for j, name in enumerate(data.feature_names) if name in interesting}
    scores = data.X[:, reported.support] @ reported.weights + reported.bias
    return SeparationTest(
        verdict=verdict,
        pvalue=float(max(10.0**log10_p, np.finfo(float).tiny)),
        log10_pvalue=log10_p,
        reason=reason,
        evidence=evidence,
        rule=rule,
        separating=separating,
        front=front,
        spread=spread,
        feature_bound=found.feature,
        permutation=permutation,
        n_samples=len(data.y),
        n_features=len(data.feature_names),
        n_distinct=len(plan.distinct),
        positives=int(np.sum(data.y > 0)),
        classes=data.classes,
        scores=scores if rule is None else rule.along,
        labels=data.y,
        columns={name: data.X[:, j].astype(float) for name, j in shown.items()},
        alone={name: alone[j] for name, j in shown.items() if j in alone},
        largest_convincing=largest,
        samples_needed=needed,
        advice=story.advise(verdict),
        findings=plan.findings,
        interrupted=interrupted,
        settings=plan.settings,
        spending=plan.spending,
        errors_declared=plan.declared,
        n_units=sizes.n_units,
        n_blocks=len(sizes.blocks or [None]),
    )


def rests_on(
    plan: Plan,
    found: Found,
    front: tuple[FrontReading, ...],
    spread: SpreadReading | None,
    permutation: PermutationReading | None,
    separating: Separating,
    *,
    by_bound: bool,
) -> Evidence:
    """The features that the p-value rests on: the one that is proven alone; of the front's points with the least p-value (by the
    shuffles, or by the bound where that decides) the one with the fewest; the rule of the search if the bound says more of it."""
    own, shuffled = plan.settings.search is not None, permutation is not None and permutation.statistic == "front"
    if own or plan.named_after or (plan.settings.preregistered and not shuffled):
        return Evidence(separating.n_selected, separating.features, separating.errors, None, by="search" if own else "bound")
    one = found.feature
    if one is not None and by_bound and one.log10_p + LOG10_2 <= found.later:
        side = 1 if one.higher else -1
        errors = int(fewest_by_threshold(side * plan.data.X[None, :, one.feature], plan.data.y[None], plan.settings.intercept)[0])
        return Evidence(1, (one.name,), errors, front[0].shuffled if front[0].features == (one.name,) else None, by="bound")

    def place(at: FrontReading) -> tuple[float, ...]:
        beyond = at.errors - (at.shuffled.median if at.shuffled else 0)
        return (at.pvalue, at.k) if shuffled and not by_bound and at.pvalue is not None else (at.log10_bound, beyond, at.k)

    at = min(front, key=place)
    if by_bound and at.log10_bound > min(found.bound.log10_p, found.later):
        later = () if plan.spending.convinces(found.bound.log10_p) else found.points
        rule = min((found.rule, *later), key=lambda rule: plan.bounds.at_front(rule.n_selected, rule.errors))
        return Evidence(rule.n_selected, plan.names_of(rule.support), rule.errors, None, by="bound")
    # Of equal p-values a set of features counts first: it says more; and what shows nothing is not spread.
    if spread is not None and not by_bound and spread.pvalue < min(at.pvalue or 0.0, plan.settings.level):
        return Evidence(None, (), None, None, spread.pvalue, spread=True)
    return Evidence(
        len(at.features), at.features, at.errors, at.shuffled, *((None, False, "bound") if by_bound else (at.pvalue,))
    )


def separating_set(plan: Plan, rule: Rule, bound: Bound) -> Separating:
    """The rule that separates, or makes the fewest errors found, with its bound and what noise would need."""
    data, sizes, replica = plan.data, plan.scheme.sizes, None
    if rule.separates and rule.n_selected and not plan.settings.preregistered:
        among = max(plan.bounds.n_features, rule.n_selected)
        replica = replica_reading(sizes.n_units, among, rule.n_selected, sizes.positives, plan.settings.intercept)
    return Separating(
        features=plan.names_of(rule.support),
        support=tuple(rule.support.tolist()),
        weights=tuple(rule.weights.tolist()),
        bias=rule.bias,
        errors=rule.errors,
        text=rule_sentence(rule, data.X, data.feature_names, plan.class_names),
        bound=bound,
        replica=replica,
        n_samples=len(data.y),
        n_features=len(data.feature_names),
        unavoidable=unavoidable_errors(data.X, data.y),
    )


def _reported(plan: Plan, found: Found) -> tuple[Rule, Bound]:
    """The rule found, or where it makes too many errors the point of the front about which the bound says most."""
    enough = found.rule.errors <= (plan.declared or 0)
    if plan.features is not None or plan.settings.search is not None or enough or not found.points:
        return found.rule, found.bound
    bounds = plan.bounds
    rule = min(found.points, key=lambda rule: (bounds.at_front(rule.n_selected, rule.errors), rule.errors, rule.n_selected))
    bound = bounds.bound(rule)
    if plan.settings.errors is None:
        bound = replace(bound, errors=rule.errors, log10_p=bounds.at_front(rule.n_selected, rule.errors))
    return rule, bound
