"""What the p-value rests on: the features of the stage that gave it, the front beside the shuffles, and every proof by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chanceline._results import Result, listed
from chanceline.chance.bound import Bound
from chanceline.perceptron.rule import Rule
from chanceline.prediction.worth import effect
from chanceline.significance.observed import ObservedFit, fewest_errors_known, fewest_errors_on
from chanceline.significance.permutation import Band, FrontDraws, FrontReading, SpreadReading
from chanceline.significance.plan import FeatureBound, Plan
from chanceline.significance.stages import LOG10_2, OverallP, Stage
from chanceline.significance.stepwise import Columns, Paths, errors_with_design
from chanceline.tables.dataset import plural


@dataclass(frozen=True, repr=False, kw_only=True)
class Evidence(Result):
    """What the p-value rests on.

    Attributes
    ----------
    k, features : how many features, and which; None and none where the evidence is spread.
    errors : the fewest errors known of a rule on these features (with blocks or covariates: and on those besides); None where
        the evidence is spread.
    explained, shuffled : R² of least squares on these features, and of the same procedure on shuffled labels; None where the
        features come from elsewhere.
    auc, higher_in : area under the curve of the one feature that is proven alone (for the positive class: below one half where
        that has the lower values), and the class with the higher values; None otherwise.
    pvalue : of these features (or the spread) alone, adjusted for the choice; None without shuffles of that kind.
    spread : many features hold it, each a little, and no small set does.
    by : what made the p-value: "shuffles", "bound" or "search" (one's own, run again on every shuffle).
    """

    k: int | None
    features: tuple[str, ...]
    errors: int | None
    explained: float | None = None
    shuffled: Band | None = None
    auc: float | None = None
    higher_in: str | None = None
    pvalue: float | None = None
    spread: bool = False
    by: str = "shuffles"

    kind = "observed and shuffled labels, same procedure"

    def summary(self) -> str:
        if self.spread:
            return "Spread over many features"
        who = f"K = {self.k} ({listed(self.features)})"
        if self.auc is not None:
            return f"{who}: higher in {self.higher_in}, area under the curve {max(self.auc, 1 - self.auc):.2f}"
        text = f"{who}: {plural(self.errors or 0, 'error')}"
        if self.shuffled is not None:
            text += f"; R² {self.explained:.2f}, shuffled labels {self.shuffled}"
        return text


@dataclass(frozen=True)
class Proof:
    """A rigorous bound, whether it gave the p-value or not.

    Attributes
    ----------
    stage : which proof it is.
    log10_p : log₁₀ of the bound with everything that is paid for: errors counted after looking, two proofs in one stage.
    features, errors : what it is about; errors None for one feature alone.
    share : the p-value at which it decides.
    """

    stage: Stage
    log10_p: float
    features: tuple[str, ...]
    errors: int | None
    share: float

    def about(self) -> str:
        """`2 features with 3 errors, counted after looking`."""
        if self.errors is None:
            return f"{self.features[0]} alone"
        errors = plural(self.errors, "error") if self.errors else "no error"
        text = f"{plural(len(self.features), 'feature')} with {errors}"
        if self.stage is Stage.COUNTED_ERRORS:
            text += ", counted after looking"
        return text


def proofs(plan: Plan, found: ObservedFit, overall: OverallP) -> tuple[Proof, ...]:
    """The proofs that say something, in the order of the stages."""
    spending = plan.spending
    names = plan.names_of(found.rule.support)
    made = [Proof(Stage.DECLARED_ERRORS, found.first.log10_p, names, found.rule.errors, spending.stage1_level)]
    if found.second is not None and found.counted is not None:
        counted = found.counted
        log10_p = found.second.log10_counted + LOG10_2
        names = plan.names_of(counted.support)
        made.append(Proof(Stage.COUNTED_ERRORS, log10_p, names, counted.errors, spending.stage2_level))
    if found.second is not None and found.feature is not None:
        log10_p = found.second.log10_feature + LOG10_2
        made.append(Proof(Stage.ONE_FEATURE, log10_p, (found.feature.name,), None, spending.stage2_level))
    # The one that decided also carries what the stage before it could have spent.
    made = [replace(one, log10_p=overall.log10_p) if one.stage is overall.stage else one for one in made]
    return tuple(one for one in made if one.log10_p < 0)


def front_readings(
    plan: Plan, found: ObservedFit, columns: Columns, paths: Paths, draws: FrontDraws, *, adjusted: bool
) -> tuple[FrontReading, ...]:
    """For every number of features the fewest errors known, and what least squares explains beside the shuffles."""
    errors = fewest_errors_known(plan, columns, paths, found.rules)
    bands = draws.bands()
    pvalues: list[float | None] = [None] * len(bands)
    if adjusted and draws.done:
        pvalues = draws.adjusted().tolist()
    readings = []
    for place, loss in enumerate(paths.losses[0].tolist()):
        readings.append(
            FrontReading(
                k=place + 1,
                errors=errors[place],
                features=plan.names_of(paths.support(0, place + 1)),
                explained=1.0 - loss,
                shuffled=bands[place],
                pvalue=pvalues[place],
            )
        )
    return tuple(readings)


def evidence_of(
    plan: Plan,
    found: ObservedFit,
    stage: Stage,
    front: tuple[FrontReading, ...],
    spread: SpreadReading | None,
    columns: Columns,
    paths: Paths,
) -> Evidence:
    """The features of the stage that gave the p-value."""
    if plan.settings.search is not None and not plan.settings.preregistered:
        return replace(_of_rule(plan, found.rule, front), by="search")
    if stage is Stage.ONE_FEATURE and found.feature is not None:
        return _of_feature(plan, found.feature, front)
    if stage is Stage.COUNTED_ERRORS and found.counted is not None:
        return _of_rule(plan, found.counted, front)
    if stage is Stage.SHUFFLES:
        point = least_pvalue(front)
        # Of equal p-values a set of features counts first: it says more; and what shows nothing is not spread.
        if spread is not None and spread.pvalue < min(point.pvalue or 0.0, plan.settings.level):
            return Evidence(k=None, features=(), errors=None, pvalue=spread.pvalue, spread=True)
        return _of_point(plan, found, point, columns, paths)
    if stage is Stage.DECLARED_ERRORS:
        return _of_rule(plan, found.rule, front)
    # Nothing convinced and nothing was shuffled.
    rule, _ = rule_to_show(plan, found)
    return _of_rule(plan, rule, front)


def _of_rule(plan: Plan, rule: Rule, front: tuple[FrontReading, ...]) -> Evidence:
    """A rule that was found; beside the shuffles, if the path has the same features."""
    features = plan.names_of(rule.support)
    made = Evidence(k=rule.n_selected, features=features, errors=rule.errors, by="bound")
    return _beside_the_path(made, front)


def _of_feature(plan: Plan, one: FeatureBound, front: tuple[FrontReading, ...]) -> Evidence:
    """The one feature that is proven, by its values or ranks and not by its errors."""
    _, auc = effect(plan.data.X[:, one.feature].astype(float), plan.data.y > 0)
    negative, positive = plan.class_names
    higher_in = positive if auc >= 0.5 else negative
    made = Evidence(k=1, features=(one.name,), errors=None, auc=auc, higher_in=higher_in, by="bound")
    return _beside_the_path(made, front)


def _beside_the_path(made: Evidence, front: tuple[FrontReading, ...]) -> Evidence:
    for point in front:
        if point.features == made.features:
            return replace(made, explained=point.explained, shuffled=point.shuffled)
    return made


def least_pvalue(front: tuple[FrontReading, ...]) -> FrontReading:
    """Of the front's points with the least adjusted p-value the one with the fewest features."""
    return min(front, key=lambda point: (point.pvalue, point.k))


def _of_point(plan: Plan, found: ObservedFit, point: FrontReading, columns: Columns, paths: Paths) -> Evidence:
    """A point of the front, with the fewest errors known of a rule on its own features."""
    support = paths.support(0, point.k)
    errors = errors_with_design(columns, plan.data.X, plan.data.y, support)
    by_a_rule = fewest_errors_on(support.tolist(), found.rules)
    if by_a_rule is not None:
        errors = min(errors, by_a_rule)
    return Evidence(
        k=len(point.features),
        features=point.features,
        errors=errors,
        explained=point.explained,
        shuffled=point.shuffled,
        pvalue=point.pvalue,
    )


def rule_to_show(plan: Plan, found: ObservedFit) -> tuple[Rule, Bound]:
    """The rule found and its bound; where it makes too many errors the one about which the bound says most.

    The bound returned belongs into words, not into the p-value: errors counted after looking are of the second stage.
    """
    enough = found.rule.errors <= (plan.declared or 0)
    if plan.features is not None or plan.settings.search is not None or enough:
        return found.rule, found.bound
    bounds = plan.bounds
    candidates = [rule for rule in found.rules if rule.n_selected]
    rule = min(candidates, key=lambda one: (bounds.at_front(one.n_selected, one.errors), one.errors, one.n_selected))
    bound = bounds.bound(rule)
    if plan.settings.errors is None:
        bound = replace(bound, errors=rule.errors, log10_p=bounds.at_front(rule.n_selected, rule.errors))
    return rule, bound
