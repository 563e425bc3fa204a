"""The features that the first line of the result names, and how well they do.

How these features are chosen: `naming`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from chanceline._results import Result, listed
from chanceline.perceptron.rule import Rule
from chanceline.prediction.metrics import area_under_curve
from chanceline.significance.additions import Addition
from chanceline.significance.observed_rules import fewest_errors_on
from chanceline.significance.plan import Plan
from chanceline.significance.readings import Band, SizeReading, SpreadReading
from chanceline.significance.single_feature import FeatureBound
from chanceline.significance.stage_results import StageResults
from chanceline.tables.wording import plural


class EvidenceSource(StrEnum):
    """The kind of evidence for the features named."""

    SHUFFLES = "shuffles"
    BOUND = "bound"
    SEARCH = "search"  # the user's own, run again on every shuffle


@dataclass(frozen=True, repr=False, kw_only=True)
class Evidence(Result):
    """The features that the first line of the result names, and how well they do.

    Attributes
    ----------
    k : how many features the set has; None where the evidence is spread.
    features : those features of the set that are named.
    unsettled : the other features of the set, any of which may be there by chance.
    errors : the fewest errors of any known rule on the features of the set (with blocks or
        covariates, the rule may use these as well); None where the evidence is spread, or one
        feature is proven alone and no rule on it was made.
    explained, shuffled : R² of least squares on these features, and of the same procedure on
        shuffled labels; None where the features come from elsewhere.
    auc, higher_in : area under the curve of the one feature that is proven alone (for the positive
        class: below one half where that has the lower values), and the class with the higher
        values; None otherwise.
    pvalue : of these features (or the spread) alone, by shuffles, adjusted for the choice; None
        without shuffles of that kind.
    spread : many features hold it together, and no small set does.
    by : what speaks for them: "shuffles", "bound" or "search" (one's own, run again on every
        shuffle).
    convinces : whether the test would say structure by these features alone.
    log10_p_alone : log₁₀ of the p-value that the test would then give, with what it spends on
        other stages; None where they do not convince.
    additions : features that add to these, each to those before it.
    """

    k: int | None
    features: tuple[str, ...]
    errors: int | None
    unsettled: tuple[str, ...] = ()
    explained: float | None = None
    shuffled: Band | None = None
    auc: float | None = None
    higher_in: str | None = None
    pvalue: float | None = None
    spread: bool = False
    by: EvidenceSource = EvidenceSource.SHUFFLES
    convinces: bool = False
    log10_p_alone: float | None = None
    additions: tuple[Addition, ...] = ()

    kind = "observed and shuffled labels, same procedure"

    @property
    def is_proven_alone(self) -> bool:
        """Whether one feature is proven by its values or ranks, and not by a rule's errors."""
        return self.auc is not None

    @property
    def names_in_line(self) -> tuple[str, ...]:
        """Every feature that the first line may name: those of the set, and what adds to them."""
        return (*self.features, *(addition.feature for addition in self.additions))

    def summary(self) -> str:
        """The evidence in one line, in one of three forms, and what other features add.

        * `Spread over many features`, if no small set holds the evidence;
        * `K = 1 (g1): higher in ill, area under the curve 0.91`, for one feature that is proven
          alone;
        * `K = 2 (g1, g7): 3 errors; R² 0.70, shuffled labels 0.37 (0.29–0.48)`, for any other set.
          R² is left out if there are no shuffled labels to compare it with.
        """
        if self.spread:  # then there is no set, and K is None
            return "Spread over many features"
        text = f"K = {self.k} ({self._members()}): "
        if self.auc is not None:  # one feature that is proven alone
            area = max(self.auc, 1 - self.auc)  # below 1/2 the negative class has higher values
            text += f"higher in {self.higher_in}, area under the curve {area:.2f}"
        else:
            text += plural(self.errors or 0, "error")
            if self.shuffled is not None:
                text += f"; R² {self.explained:.2f}, shuffled labels {self.shuffled}"
        if self.additions:
            text += f"; {self._additions_in_words()}"
        return text

    def _members(self) -> str:
        """The features in words: `g1, g7`; or `g1 and 1 more` if one of them is not settled."""
        if not self.unsettled:
            return listed(self.features)
        if not self.features:
            return "not settled which"
        return f"{listed(self.features)} and {len(self.unsettled)} more"

    def _additions_in_words(self) -> str:
        """`with g7, g9 as well 0 errors instead of 8`; R² if the errors do not become fewer."""
        names = listed([addition.feature for addition in self.additions])
        with_all = self.additions[-1]
        if self.errors is not None and with_all.errors < self.errors:
            change = f"{plural(with_all.errors, 'error')} instead of {self.errors}"
        else:
            explained_before = self.additions[0].explained_before
            change = f"R² {with_all.explained:.2f} instead of {explained_before:.2f}"
        return f"with {names} as well {change}"


def rule_evidence(plan: Plan, results: StageResults, rule: Rule) -> Evidence:
    """The evidence of a rule whose p-value is a bound."""
    evidence = Evidence(
        k=rule.n_selected,
        features=plan.names_of(rule.support),
        errors=rule.errors,
        by=EvidenceSource.BOUND,
    )
    return _with_fit_of_path(evidence, results.front)


def feature_evidence(plan: Plan, results: StageResults, bound: FeatureBound) -> Evidence:
    """The evidence of one feature whose relation to the labels is proven by a bound.

    The bound is about the feature's values or ranks, rather than about the errors of a rule.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    bound : the bound, with the feature as a column of X and by name.
    """
    column = bound.feature
    values = plan.data.X[:, column].astype(float)
    is_positive = plan.data.y > 0
    auc = area_under_curve(values, is_positive)
    negative, positive = plan.class_names
    class_with_higher_values = positive if auc >= 0.5 else negative
    evidence = Evidence(
        k=1,
        features=(bound.name,),
        errors=fewest_errors_on([column], results.observed.rules),
        auc=auc,
        higher_in=class_with_higher_values,
        by=EvidenceSource.BOUND,
    )
    # R² is known if the forward stepwise path begins with this feature.
    return _with_fit_of_path(evidence, results.front)


def _with_fit_of_path(evidence: Evidence, front: tuple[SizeReading, ...]) -> Evidence:
    """The evidence with R² of least squares, if the front has a set with the same features.

    The front has the forward path's set of every size. If none has these features, the evidence is
    returned as it is.
    """
    for path_set in front:
        if path_set.features == evidence.features:
            return replace(evidence, explained=path_set.explained, shuffled=path_set.shuffled)
    return evidence


def path_set_evidence(plan: Plan, results: StageResults, path_set: SizeReading) -> Evidence:
    """The evidence of one of the sets that forward stepwise least squares finds, the path.

    Parameters
    ----------
    plan, results : of the test, and of its stages.
    path_set : the path's set of up to k features, with R² and p-value. Its `errors` are not used:
        they are the fewest of any rule on up to k features, which may be other features.
    """
    columns = results.path.support(path_set.k)  # of X
    errors = results.fewest_errors_on(plan, columns)
    return Evidence(
        # Fewer than `path_set.k` if the path ended before it had so many features.
        k=len(path_set.features),
        features=path_set.features,
        errors=errors,
        explained=path_set.explained,
        shuffled=path_set.shuffled,
        pvalue=path_set.pvalue,
    )


def spread_evidence(spread: SpreadReading) -> Evidence:
    """The evidence of all features together, where each contributes a little."""
    return Evidence(k=None, features=(), errors=None, pvalue=spread.pvalue, spread=True)
