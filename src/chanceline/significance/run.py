"""`separation_test`: is this classification structure, or would noise allow it? The steps, from a plan to its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from math import log10
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
from chanceline.significance.plan import FeatureBound, Plan, feature_bound, make_plan
from chanceline.significance.replica import replica_reading
from chanceline.significance.result import SeparationTest
from chanceline.significance.stages import CountedLater, DeclaredErrors, Stage
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
class ObservedFit:
    """What the observed labels allow.

    Attributes
    ----------
    rule : for the features named, or the smallest set found that makes no more errors than declared.
    bound : the bound of the first stage for that rule.
    first, second : the stages that are proofs; the second None where it was not asked for or is not needed.
    points : the best rule found for K = 1, 2, …; none where the first stage convinces or features were named.
    counted : the rule about which the bound says most when its errors are counted; None without a second stage.
    feature : the bound for one feature, where it was looked at.
    """

    rule: Rule
    bound: Bound
    first: DeclaredErrors
    second: CountedLater | None = None
    points: tuple[Rule, ...] = ()
    counted: Rule | None = None
    feature: FeatureBound | None = None


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
    found = fit_observed(plan, columns, paths.errors[0])
    convinced = plan.spending.first_convinces(found.first) or plan.spending.second_convinces(found.second)
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


def fit_observed(plan: Plan, columns: Columns, path_errors: Ints) -> ObservedFit:
    """The rule for the features named, or the smallest set; and where that does not convince one feature alone, and the fewest
    errors for every K.
    """
    bounds, spending = plan.bounds, plan.spending
    rule = first_rule(plan)
    bound = bounds.bound(rule)
    first = bounds.first_stage(bound)
    if plan.features is not None or spending.first_convinces(first):
        return ObservedFit(rule, bound, first)

    feature = None
    log10_feature = 0.0
    if spending.stage2_level > 0:
        feature = best_feature(plan, columns)
        log10_feature = feature.log10_p
    one_feature_convinces = spending.second_convinces(bounds.second_stage(0.0, log10_feature))
    points = front_points(plan, path_errors, quick=one_feature_convinces)

    # The front may have found a smaller set that makes no more errors than declared. The bound covers every set.
    declared = plan.declared or 0
    enough = [point for point in points if point.errors <= declared]
    if plan.settings.search is None and enough:
        smallest = enough[0]
        if rule.errors > declared or smallest.n_selected < rule.n_selected:
            rule = smallest
        bound = bounds.bound(rule)
        first = bounds.first_stage(bound)
    if spending.stage2_level == 0:
        return ObservedFit(rule, bound, first, points=points)

    # Errors counted after looking, unless they were declared.
    counted = None
    log10_counted = 0.0
    if plan.settings.errors is None:
        counted = min((rule, *points), key=lambda point: bounds.counted_errors(point.n_selected, point.errors))
        log10_counted = bounds.counted_errors(counted.n_selected, counted.errors)
    second = bounds.second_stage(log10_counted, log10_feature)
    return ObservedFit(rule, bound, first, second, points, counted, feature)


def first_rule(plan: Plan) -> Rule:
    """The rule on the features named, or on the smallest set found, by our search or the user's own."""
    if plan.features is not None:
        return rule_on(plan.data.X, plan.data.y, plan.features, plan.settings.intercept)
    if plan.settings.search is not None:
        return procedure(plan).find(plan.data.X, plan.data.y)
    return smallest_rule(plan)


def front_points(plan: Plan, path_errors: Ints, *, quick: bool) -> tuple[Rule, ...]:
    """The best rule found for K = 1, 2, …; without swaps if `quick`, or if they are not worth while.

    Swaps are worth while if half the errors of the path would convince.
    """
    settings = plan.settings
    halves = [(k, errors // 2) for k, errors in enumerate(path_errors.tolist(), 1)]
    hopeful = any(plan.bounds.at_front(k, errors) <= log10(plan.spending.stage1_level) for k, errors in halves)
    budget = FRONT_BUDGET if hopeful and not quick else 0
    if settings.budget is not None:
        budget = min(settings.budget, budget)
    front = search_front(
        plan.data.X,
        plan.data.y,
        intercept=settings.intercept,
        max_features=len(path_errors),
        budget=budget,
        seed=settings.seed,
    )
    return tuple(point.rule for point in front.points[1:])


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
    found, largest = search.find(X, y), plan.bounds.largest(plan.spending.stage1_level)
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
    found: ObservedFit,
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
    # About features named after looking shuffles say nothing.
    counts = permutation is not None and permutation.done > 0 and not (permutation.void or plan.named_after)
    overall = plan.spending.overall(found.first, found.second, permutation.pvalue if permutation and counts else None)
    # For the words only: no number of the rule that is shown is part of the p-value.
    reported, shown_bound = rule_to_show(plan, found)
    separating = separating_set(plan, reported, shown_bound)
    largest, needed = bounds.largest(plan.spending.stage1_level), bounds.samples_needed(reported, plan.settings.level)
    evidence = evidence_of(plan, found, overall.stage, front, spread, separating)
    better = rule is not None and rule.expected_error is not None and not rule.standing
    story = Story(plan, evidence, separating, permutation, spread, needed, better)
    verdict, reason = story.decide(overall)
    interesting = {*evidence.features, *separating.features, *(() if rule is None else rule.stand_ins)}
    shown = {name: j for j, name in enumerate(data.feature_names) if name in interesting}
    scores = data.X[:, reported.support] @ reported.weights + reported.bias
    return SeparationTest(
        verdict=verdict,
        pvalue=float(max(10.0**overall.log10_p, np.finfo(float).tiny)),
        log10_pvalue=overall.log10_p,
        stage=overall.stage,
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


def evidence_of(
    plan: Plan,
    found: ObservedFit,
    stage: Stage,
    front: tuple[FrontReading, ...],
    spread: SpreadReading | None,
    separating: Separating,
) -> Evidence:
    """The features that the p-value rests on: those of the stage that gave it."""
    if plan.settings.search is not None and not plan.settings.preregistered:
        return Evidence(separating.n_selected, separating.features, separating.errors, None, by="search")
    if stage is Stage.ONE_FEATURE and found.feature is not None:
        return evidence_of_feature(plan, found.feature, front)
    if stage is Stage.COUNTED_ERRORS and found.counted is not None:
        return evidence_of_rule(plan, found.counted, front)
    if stage is Stage.SHUFFLES:
        return evidence_of_shuffles(plan, front, spread)
    if stage is Stage.DECLARED_ERRORS:
        return evidence_of_rule(plan, found.rule, front)
    # Nothing convinced and nothing was shuffled: the rule that is shown.
    return Evidence(separating.n_selected, separating.features, separating.errors, None, by="bound")


def evidence_of_rule(plan: Plan, rule: Rule, front: tuple[FrontReading, ...]) -> Evidence:
    """A rule that was found, beside the shuffles if the path has the same features and errors."""
    features = plan.names_of(rule.support)
    alike = [at for at in front if at.features == features and at.errors == rule.errors]
    band = alike[0].shuffled if alike else None
    return Evidence(rule.n_selected, features, rule.errors, band, by="bound")


def evidence_of_feature(plan: Plan, one: FeatureBound, front: tuple[FrontReading, ...]) -> Evidence:
    """The one feature that is proven."""
    side = 1 if one.higher else -1
    scores = side * plan.data.X[None, :, one.feature]
    errors = int(fewest_by_threshold(scores, plan.data.y[None], plan.settings.intercept)[0])
    band = front[0].shuffled if front[0].features == (one.name,) else None
    return Evidence(1, (one.name,), errors, band, by="bound")


def evidence_of_shuffles(plan: Plan, front: tuple[FrontReading, ...], spread: SpreadReading | None) -> Evidence:
    """Of the front's points with the least p-value the one with the fewest features; or all features, each a little."""
    at = min(front, key=lambda point: (point.pvalue, point.k))
    # Of equal p-values a set of features counts first: it says more; and what shows nothing is not spread.
    if spread is not None and at.pvalue is not None and spread.pvalue < min(at.pvalue, plan.settings.level):
        return Evidence(None, (), None, None, spread.pvalue, spread=True)
    return Evidence(len(at.features), at.features, at.errors, at.shuffled, at.pvalue)


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


def rule_to_show(plan: Plan, found: ObservedFit) -> tuple[Rule, Bound]:
    """The rule found and its bound; where it makes too many errors the point of the front about which the bound says most.

    The bound returned belongs into words, not into the p-value: errors counted after looking are of the second stage.
    """
    enough = found.rule.errors <= (plan.declared or 0)
    if plan.features is not None or plan.settings.search is not None or enough or not found.points:
        return found.rule, found.bound
    bounds = plan.bounds
    rule = min(found.points, key=lambda rule: (bounds.at_front(rule.n_selected, rule.errors), rule.errors, rule.n_selected))
    bound = bounds.bound(rule)
    if plan.settings.errors is None:
        bound = replace(bound, errors=rule.errors, log10_p=bounds.at_front(rule.n_selected, rule.errors))
    return rule, bound
