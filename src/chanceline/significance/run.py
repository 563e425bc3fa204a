"""`separation_test`: is this classification structure, or would noise allow it? The steps, from a plan to its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from chanceline.chance.bound import Bound
from chanceline.errors import InputError
from chanceline.perceptron.problem import check_arrays, distinct_columns
from chanceline.perceptron.rule import Rule
from chanceline.prediction.rule import MOST_FEATURES, fit_rule
from chanceline.prediction.worth import LOOKED_AT, expected_error, firmness, scorecard
from chanceline.significance.config import TestSettings
from chanceline.significance.evidence import evidence_of, front_readings, proofs, rule_to_show
from chanceline.significance.observed import ObservedFit, fit_observed, procedure
from chanceline.significance.outcome_column import ask_about_outcome, outcome_columns, plan_without
from chanceline.significance.permutation import (
    BATCH,
    INTERRUPT,
    FrontReading,
    PermutationReading,
    PermutationRunner,
    SpreadReading,
    draw_front,
    permutation_reading,
)
from chanceline.significance.plan import Plan, make_plan
from chanceline.significance.replica import replica_reading
from chanceline.significance.result import SeparationTest
from chanceline.significance.sentences import card_sentence, rule_sentence
from chanceline.significance.spreadsheet import spreadsheet_formula
from chanceline.significance.stepwise import Columns, Paths, make_columns
from chanceline.significance.text import RuleToUse, Separating, Story, exchange, unavoidable_errors
from chanceline.tables.columns import classes_of_array
from chanceline.tables.dataset import Dataset, TableSettings
from chanceline.tables.read import load_data
from chanceline.tables.subjects import check_declared, named_index, undeclared_design

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
    positive: Any = None,
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
    positive
        The positive class: rules predict it, and signs of weights, AUC and sensitivity speak of it. By default the class that is
        not called like a control (control, normal, healthy, no, 0, negative and alike); if both or neither are, the rarer one;
        if they are equally frequent, the last in order.
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
        if positive is not None:
            table["positive"] = str(positive)
            positive = None
        X, roles = load_data(X, label, **roles, independent=independent, **table), {}
    settings = replace(settings or TestSettings(), **changes)
    if isinstance(X, Dataset):
        if roles or any(given is not None for given in (y, feature_names, positive)):
            raise InputError("a Dataset has labels, names, blocks and groups of its own; pass nothing but the Dataset.")
        return run(make_plan(X, features, settings), progress)
    if y is None:
        raise InputError("y is needed: two classes, one value for each row of X.")
    # A view that nobody can write to needs no copy.
    data, labels, names = check_arrays(np.broadcast_to(X, X.shape) if type(X) is np.ndarray else X, y, feature_names)
    labels, classes = classes_of_array(y, labels, positive)
    covariates = pd.DataFrame(roles.pop("adjust", None)).add_prefix("covariate " * (not hasattr(adjust, "columns")))
    given: dict[str, Any] = {role: np.asarray(values) for role, values in roles.items()}
    if not roles.keys() & {"groups", "pairs"}:
        numbers = pd.DataFrame(data, columns=list(names), copy=False)
        given["undeclared"] = undeclared_design(numbers[[]], numbers, labels, names=named_index(X), names_are="the index")
    given["findings"] = tuple(
        finding
        for role in ("groups", "pairs", "blocks")
        if role in given
        for finding in check_declared(role, pd.Series(given[role]), labels)
    )
    given["covariates"] = {str(name): column.to_numpy() for name, column in covariates.items()} or None
    return run(make_plan(Dataset(data, labels, names, classes, **given), features, settings), progress)


def judge(dataset: Dataset, features: Sequence[int | str] | None = None, **options: Any) -> SeparationTest:
    """`separation_test` of a table that `load_data` read, with its classes, blocks, groups and findings."""
    return separation_test(dataset, features=features, **options)


def run(plan: Plan, progress: Callable[[int, int], None] | None = None) -> SeparationTest:
    """The test; and where a column looks like the outcome itself, what the verdict is without it."""
    result = run_stages(plan, progress)
    if plan.features is not None or plan.settings.search is not None or result.interrupted:
        return result
    columns, next_best = outcome_columns(plan.data.X, plan.data.y)
    if len(columns) == 0:
        return result
    other_plan = plan_without(plan, columns)
    without = None if other_plan is None else run_stages(other_plan, progress)
    question = ask_about_outcome(plan, without, columns, next_best)
    return replace(result, findings=(question, *result.findings))


def run_stages(plan: Plan, progress: Callable[[int, int], None] | None = None) -> SeparationTest:
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
    found = fit_observed(plan, columns, paths)
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
    front = front_readings(plan, found, columns, paths, draws, adjusted=permutation is not None)
    interrupted = INTERRUPT in (draws.stopped_by, permutation and permutation.stopped_by)
    rule = None
    if settings.expected_error and settings.search is None and not interrupted:
        try:
            rule = usable_rule(plan)
        except KeyboardInterrupt:
            interrupted = True
    return conclude(plan, found, columns, paths, front, spread, permutation, rule, alone, interrupted=interrupted)


def usable_rule(plan: Plan) -> RuleToUse:
    """The rule for new samples on all features, or on those named, and its cross-validated error."""
    data, settings, blocks = plan.data, plan.settings, plan.data.blocks if plan.data.pairs is None else plan.data.pairs
    design: dict[str, Any] = {
        "groups": data.groups,
        "blocks": blocks,
        "covariates": data.covariates,
        "encoder": plan.scheme.encoder,
        "seed": settings.seed,
    }
    wanted: dict[str, Any] = {"features": plan.features, "max_features": MOST_FEATURES if settings.integer else None}
    made = fit_rule(data.X, data.y, **design, **wanted)
    block_column = data.role_columns.get("blocks" if data.pairs is None else "pairs", "")
    made = replace(made, features=plan.names_of(made.support), block_column=block_column)
    text = rule_sentence(made, data.X, data.feature_names, plan.class_names)
    text += " (threshold of the average block)" * (blocks is not None) + " (besides the covariates)" * bool(data.covariates)
    along = made.scores(data.X, blocks, data.covariates)
    heavy = np.argsort(-np.abs(made.weights) * data.X[:, made.support].std(axis=0))[: LOOKED_AT if made.dense else None]
    firm = firmness(data.X, data.y, made.support[heavy], **design, penalty=made.penalty, kind=made.kind)
    card = scorecard(data.X, data.y, made) if settings.integer and made.support.size else None
    return RuleToUse(
        **vars(made),
        text=text,
        along=along,
        wrong=tuple(np.flatnonzero((along > 0) != (data.y > 0)).tolist()),
        expected_error=expected_error(data.X, data.y, **design, **wanted, n_jobs=settings.n_jobs),
        firmness=firm,
        stand_ins={data.feature_names[one.feature]: plan.names_of(one.stand_ins) for one in firm.readings},
        alternatives=tuple(plan.names_of(support) for support in firm.alternatives),
        scorecard=card,
        card_text="" if card is None else card_sentence(card, data.X, data.feature_names, plan.class_names[1]),
        formula=spreadsheet_formula(made, data.X, data.feature_names, plan.class_names),
    )


def conclude(
    plan: Plan,
    found: ObservedFit,
    columns: Columns,
    paths: Paths,
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
    evidence = evidence_of(plan, found, overall.stage, front, spread, columns, paths)
    better = rule is not None and rule.expected_error is not None and not rule.standing
    proven = proofs(plan, found, overall)
    story = Story(plan, evidence, separating, permutation, spread, proven, needed, better)
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
        proofs=proven,
        exchange=exchange(plan),
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
