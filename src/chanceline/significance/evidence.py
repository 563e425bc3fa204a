"""What the p-value rests on: the features of the stage that gave it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from chanceline._results import Result, listed
from chanceline.perceptron.rule import Rule
from chanceline.prediction.metrics import area_under_curve
from chanceline.significance.observed_rules import fewest_errors_on
from chanceline.significance.plan import Plan
from chanceline.significance.readings import Band, SizeReading
from chanceline.significance.shuffle_stage import repeats_own_search
from chanceline.significance.single_feature import FeatureBound
from chanceline.significance.stage_results import StageResults
from chanceline.significance.stages import Stage
from chanceline.tables.wording import plural


class EvidenceSource(StrEnum):
    """What made the p-value."""

    SHUFFLES = "shuffles"
    BOUND = "bound"
    SEARCH = "search"  # the user's own, run again on every shuffle


@dataclass(frozen=True, repr=False, kw_only=True)
class Evidence(Result):
    """What the p-value rests on.

    Attributes
    ----------
    k, features : how many features, and which; None and none where the evidence is spread.
    errors : the fewest errors known of a rule on these features (with blocks or covariates: and on
        those besides); None where the evidence is spread, or one feature is proven alone.
    explained, shuffled : R² of least squares on these features, and of the same procedure on
        shuffled labels; None where the features come from elsewhere.
    auc, higher_in : area under the curve of the one feature that is proven alone (for the positive
        class: below one half where that has the lower values), and the class with the higher
        values; None otherwise.
    pvalue : of these features (or the spread) alone, adjusted for the choice; None without
        shuffles of that kind.
    spread : many features hold it together, and no small set does.
    by : what made the p-value: "shuffles", "bound" or "search" (one's own, run again on every
        shuffle).
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
    by: EvidenceSource = EvidenceSource.SHUFFLES

    kind = "observed and shuffled labels, same procedure"

    def summary(self) -> str:
        """One of three forms.

        * `Spread over many features`;
        * of one feature that is proven alone, `K = 1 (g1): higher in ill, area under the curve
          0.91`;
        * else `K = 2 (g1, g7): 3 errors; R² 0.70, shuffled labels 0.37 (0.29–0.48)`. Errors are
          known here; R² is left out without shuffled labels to compare with.
        """
        if self.spread:
            return "Spread over many features"
        features = f"K = {self.k} ({listed(self.features)})"
        if self.auc is not None:
            area = max(self.auc, 1 - self.auc)
            return f"{features}: higher in {self.higher_in}, area under the curve {area:.2f}"
        text = f"{features}: {plural(self.errors or 0, 'error')}"
        if self.shuffled is not None:
            text += f"; R² {self.explained:.2f}, shuffled labels {self.shuffled}"
        return text


def evidence_of(plan: Plan, results: StageResults, stage: Stage) -> Evidence:
    """The features of the stage that gave the p-value.

    Where no stage did, they are those of the rule that is shown beside the p-value: that of stage 1
    unless it makes more errors than declared, and then the most surprising rule found.
    """
    observed = results.observed
    front = results.front
    if repeats_own_search(plan):
        return replace(_rule_evidence(plan, observed.rule, front), by=EvidenceSource.SEARCH)
    if stage is Stage.ONE_FEATURE and observed.feature is not None:
        return _feature_evidence(plan, observed.feature, front)
    if stage is Stage.COUNTED_ERRORS and observed.counted_rule is not None:
        return _rule_evidence(plan, observed.counted_rule, front)
    if stage is Stage.SHUFFLES:
        return _shuffle_evidence(plan, results)
    if stage is Stage.DECLARED_ERRORS:
        return _rule_evidence(plan, observed.rule, front)
    # Nothing convinced and nothing was shuffled.
    return _rule_evidence(plan, results.shown.rule, front)


def _rule_evidence(plan: Plan, rule: Rule, front: tuple[SizeReading, ...]) -> Evidence:
    """A rule that the bound is about."""
    evidence = Evidence(
        k=rule.n_selected,
        features=plan.names_of(rule.support),
        errors=rule.errors,
        by=EvidenceSource.BOUND,
    )
    return _with_fit_of_path(evidence, front)


def _feature_evidence(plan: Plan, bound: FeatureBound, front: tuple[SizeReading, ...]) -> Evidence:
    """The one feature that is proven, by its values or ranks and not by its errors."""
    column_index = bound.feature
    values = plan.data.X[:, column_index].astype(float)
    auc = area_under_curve(values, plan.data.y > 0)
    negative, positive = plan.class_names
    evidence = Evidence(
        k=1,
        features=(bound.name,),
        errors=None,
        auc=auc,
        higher_in=positive if auc >= 0.5 else negative,
        by=EvidenceSource.BOUND,
    )
    return _with_fit_of_path(evidence, front)


def _with_fit_of_path(evidence: Evidence, front: tuple[SizeReading, ...]) -> Evidence:
    """R² of the path, where it has the same features; else the evidence as it is."""
    for point in front:
        if point.features == evidence.features:
            return replace(evidence, explained=point.explained, shuffled=point.shuffled)
    return evidence


def _shuffle_evidence(plan: Plan, results: StageResults) -> Evidence:
    """A point of the front, or the spread over all features if its p-value is smaller.

    Of equal p-values a set of features counts first, and the smallest of these: it says more. And
    what shows nothing is not called spread.
    """
    best_point = min(results.front, key=lambda point: (point.pvalue, point.k))
    spread = results.shuffles.spread
    largest_pvalue_of_spread = min(best_point.pvalue or 0.0, plan.settings.level)
    if spread is not None and spread.pvalue < largest_pvalue_of_spread:
        return Evidence(k=None, features=(), errors=None, pvalue=spread.pvalue, spread=True)
    return _point_evidence(plan, results, best_point)


def _point_evidence(plan: Plan, results: StageResults, point: SizeReading) -> Evidence:
    """A point of the front, with the fewest errors known of a rule on its own features.

    These are the errors of least squares on the features of the path, or those of a rule that the
    searches found on the same features, if it makes fewer.
    """
    support = results.path.support(point.k)
    errors = results.path.least_squares_errors(plan, support)
    errors_of_rules = fewest_errors_on(support.tolist(), results.observed.rules)
    if errors_of_rules is not None:
        errors = min(errors, errors_of_rules)
    return Evidence(
        # Fewer than `point.k` where the path ended before.
        k=len(point.features),
        features=point.features,
        errors=errors,
        explained=point.explained,
        shuffled=point.shuffled,
        pvalue=point.pvalue,
    )
