"""The set of features that separates all samples, or leaves the fewest errors.

It is shown beside the p-value and has no part in it: the stages of the p-value are `stages`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chanceline._arrays import Floats
from chanceline._results import Result
from chanceline.chance.bound import Bound
from chanceline.columns.table import AnyTable
from chanceline.perceptron.duplicates import consistent_rows, contradicting_rows
from chanceline.perceptron.rule import Rule
from chanceline.significance.noise_size import ChanceSize
from chanceline.significance.observed import ObservedFit
from chanceline.significance.plan import Plan
from chanceline.significance.replica import ReplicaReading, replica_reading
from chanceline.significance.sentences import rule_sentence
from chanceline.tables.wording import plural


@dataclass(frozen=True, eq=False, repr=False)
class Separating(Result):
    """The smallest set found that separates all samples.

    Where features were named it is these; where nothing separates, the set with the fewest errors.

    Attributes
    ----------
    features, support : names and columns of its features.
    weights, bias, text : its rule, the second class where x·w + b > 0; and the rule as a sentence.
    errors : samples on the wrong side of it.
    bound : rigorous bound for this rule, its `log10_p` including the factor for errors counted
        after looking.
    replica : where the set lies on the paper's diagram, None where that has no meaning;
        asymptotic, it never decides.
    n_samples, n_features : shape of the table.
    unavoidable : how many errors no rule avoids, in words; empty if there are none.
    noise_needs : how many features separate pure noise of this shape, by the same theory.
    """

    features: tuple[str, ...]
    support: tuple[int, ...]
    weights: tuple[float, ...]
    bias: float
    errors: int
    text: str
    bound: Bound
    replica: ReplicaReading | None
    n_samples: int
    n_features: int
    unavoidable: str

    kind = "rigorous bound; noise_needs asymptotic"
    _derived = ("n_selected", "separates", "noise_needs")

    @property
    def n_selected(self) -> int:
        return len(self.features)

    @property
    def separates(self) -> bool:
        return self.errors == 0

    @property
    def noise_needs(self) -> ChanceSize | None:
        if self.replica is None:
            return None
        return self.replica.noise

    def summary(self) -> str:
        """`3 of 200 features separate all 60 samples; in pure noise of this size about 6 …`."""
        features = f"{self.n_selected} of {plural(self.n_features, 'feature')}"
        is_one = self.n_selected == 1
        if self.separates:
            verb = "separates" if is_one else "separate"
            text = f"{features} {verb} all {self.n_samples} samples"
        else:
            verb = "leaves" if is_one else "leave"
            errors = f"{plural(self.errors, 'error')} among {self.n_samples} samples"
            # `unavoidable` is empty, or `, 2 of which cannot be avoided (…)`.
            text = f"{features} {verb} {errors}{self.unavoidable}"
        # What theory says about noise; None if it does not apply to this set.
        if self.noise_needs is not None:
            text += f"; {self.noise_needs.in_words()} (theory, for orientation)"
        return text


@dataclass(frozen=True, eq=False)
class ShownRule:
    """A rule and its bound for words, tables and figures; no stage of the p-value."""

    rule: Rule
    bound: Bound


def rule_to_show(plan: Plan, observed: ObservedFit) -> ShownRule:
    """The rule that is shown beside the p-value, and the bound that is shown with it.

    1. The features were given, or the rule of stage 1 makes no more errors than declared (none by
       default): that rule, with the bound of stage 1.
    2. It makes more, and the user declared no number of errors: the most surprising rule, with the
       bound that pays for counting its errors after looking.
    3. It makes more than the user declared: the most surprising rule. Its bound says nothing
       (p ≤ 1), because no other number of errors may take the place of the one declared.

    The p-value does not use this bound: it has its own account of errors counted after looking.
    """
    is_within_declared = observed.rule.errors <= (plan.declared_errors or 0)
    if plan.features_are_given or is_within_declared:
        return ShownRule(observed.rule, observed.bound)

    rule = most_surprising_rule(plan, observed.rules)
    if plan.settings.errors is None:
        return ShownRule(rule, plan.bounds.bound_after_looking(rule))
    return ShownRule(rule, plan.bounds.bound(rule))


def most_surprising_rule(plan: Plan, rules: Iterable[Rule]) -> Rule:
    """The rule with features for which the bound at its size and its errors is smallest.

    Of equal ones it is the rule with the fewest errors, then with the fewest features.
    """

    def most_surprising_first(rule: Rule) -> tuple[float, int, int]:
        log10_p = plan.bounds.log10_p_at(rule.n_selected, rule.errors)
        return log10_p, rule.errors, rule.n_selected

    with_features = [rule for rule in rules if rule.n_selected > 0]
    return min(with_features, key=most_surprising_first)


def separating_set(plan: Plan, shown: ShownRule) -> Separating:
    """Describe the set of features that separates the classes, or makes the fewest errors.

    Parameters
    ----------
    plan : the table.
    shown : the rule on the set, and the rigorous bound for its p-value.

    Returns
    -------
    The set with its rule in words, its errors and its bound, and with the number of features that
    pure noise would need (`replica`, None if the theory does not apply).
    """
    data = plan.data
    rule = shown.rule
    return Separating(
        features=plan.names_of(rule.support),
        support=tuple(rule.support.tolist()),
        weights=tuple(rule.weights.tolist()),
        bias=rule.bias,
        errors=rule.errors,
        text=rule_sentence(rule, data.X, data.feature_names, plan.class_names),
        bound=shown.bound,
        replica=compare_with_noise_theory(plan, rule),
        n_samples=len(data.y),
        n_features=len(data.feature_names),
        unavoidable=unavoidable_errors(data.X, data.y),
    )


def compare_with_noise_theory(plan: Plan, rule: Rule) -> ReplicaReading | None:
    """Compare a separating set with theory: would the best set of its size also separate noise?

    Noise means random labels on a table of the same shape. The theory is for sets of features that
    make no errors, on independent samples, and were chosen after looking at the labels.

    Parameters
    ----------
    plan : the table and the design of the test.
    rule : the rule on the set.

    Returns
    -------
    What theory says; None if the theory is not for sets like this one.
    """
    if not rule.separates or rule.n_selected == 0:
        return None
    features_were_fixed_beforehand = plan.settings.preregistered
    if features_were_fixed_beforehand:
        return None
    if plan.design.has_groups:
        # Rows of a group are not independent: neither the number of rows nor the number of groups
        # is the number of independent samples.
        return None

    # The number of features to choose from. `plan.bounds` counts equal columns once, and so may
    # count fewer than the set has, because the user may have named several equal columns.
    n_features = max(plan.bounds.n_features, rule.n_selected)
    sizes = plan.design.sizes
    return replica_reading(
        n_samples=sizes.n_units,  # without groups, units are samples
        n_features=n_features,
        n_selected=rule.n_selected,
        positives=sizes.positives,
        intercept=plan.settings.intercept,
    )


def unavoidable_errors(X: AnyTable, y: Floats) -> str:
    """How many errors equal rows with opposite labels force on any rule; empty if none.

    Parameters
    ----------
    X : (samples, features).
    y : (samples,) labels ±1.
    """
    contradictions = contradicting_rows(X, y)
    if not contradictions:
        return ""
    first, second = contradictions[0]
    n_errors = len(y) - len(consistent_rows(X, y))
    rows = f"rows {first + 1} and {second + 1} are equal but have opposite labels"
    return f", {n_errors} of which cannot be avoided ({rows})"
