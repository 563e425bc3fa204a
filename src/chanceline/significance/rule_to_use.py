"""The rule for new samples, what to expect of it, and what few features would give.

It is made by `prediction` on all features, or on those named, and has no part in the p-value.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Floats, Ints
from chanceline.columns.table import AnyTable
from chanceline.prediction.candidates import MAX_SMALL_FEATURES
from chanceline.prediction.crossval import ExpectedError, expected_error
from chanceline.prediction.rule import FittedRules, PredictionRule, fit_rules
from chanceline.prediction.scorecard import Scorecard, scorecard
from chanceline.prediction.stability import (
    N_LARGEST_WEIGHTS,
    SelectionStability,
    selection_stability,
)
from chanceline.significance.expectation import (
    knowledge_in_words,
    other_size_in_words,
    worth_in_words,
)
from chanceline.significance.plan import Plan
from chanceline.significance.sentences import card_sentence, rule_sentence
from chanceline.significance.spreadsheet import spreadsheet_formula
from chanceline.tables.dataset import Dataset
from chanceline.tables.wording import plural


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RuleToUse(PredictionRule):
    """The rule for new samples, and what to expect of it.

    It predicts the positive class where x·w > threshold, and the negative one else.

    Attributes
    ----------
    features : their names.
    text : the rule as a sentence, rounded so that it classifies every sample of the table the same
        way.
    formula : the same to paste into a spreadsheet with the features' names in row 1; empty where
        no formula says the same, as with blocks or covariates
        (`chanceline.significance.spreadsheet`).
    sample_scores : x·w + b of every sample of the table, (samples,).
    wrong : samples of the table (counted from 0) that the rule takes for the other class.
    expected_error : of this rule on new samples, cross-validated; None if a class is too small.
    stability : how stable the choice of every feature is; of a rule on more than thirty, of the ten
        with the largest weights, alone.
    surrogates : for every feature those that replace it with at most one error more.
    alternatives : other sets of the same size that make no more errors on the table (one feature
        exchanged).
    features_named : whether the user named the features, so that none were chosen.
    few : beside a rule on many features the one on few; None else.
    few_text : that rule as a sentence.
    scorecard, card_text : the same with small whole weights, and in words, if asked for.
    """

    features: tuple[str, ...]
    text: str
    sample_scores: Floats
    wrong: tuple[int, ...]
    expected_error: ExpectedError | None
    stability: SelectionStability
    surrogates: dict[str, tuple[str, ...]]
    alternatives: tuple[tuple[str, ...], ...]
    features_named: bool = False
    few: PredictionRule | None = None
    few_text: str = ""
    scorecard: Scorecard | None = None
    card_text: str = ""
    formula: str = ""

    _hidden = ("sample_scores", "stability", "alternatives", "features_named")
    _former = MappingProxyType(
        {"along": "sample_scores", "firmness": "stability", "stand_ins": "surrogates"}
    )

    @property
    def may_be_useful(self) -> bool:
        """Whether the rule is worth showing.

        It is not if it neither ranks samples clearly better than guessing nor makes fewer errors
        than the larger class.
        """
        expected = self.expected_error
        if expected is None:
            return True
        return expected.knows_something or expected.rate < expected.majority_error

    def summary(self) -> str:
        """What to expect of the rule on new samples, in one line.

        `better than guessing, AUC 0.98 (…); CV error 16 % (…), … (rule of 1 feature)`.
        """
        expected = self.expected_error  # None if the rule was not cross-validated
        size = self._size_in_words()
        if expected is None:
            return f"{size}, not cross-validated (too few samples of a class)"
        if not self.features:
            # A rule without features always names the same class: it has no AUC.
            return f"not clearly better than guessing; {expected.summary()} ({size})"
        text = f"{knowledge_in_words(expected)}; {worth_in_words(expected)}"
        if expected.covariates_rate is not None:
            text += f"; covariates alone {100 * expected.covariates_rate:.0f} %"
        return f"{text} ({size})"

    def _size_in_words(self) -> str:
        """How many features the rule has, and how a rule of the other kind compares.

        There are two kinds of rules: on few features, or on all of them (dense). The text is, for
        example, `rule of 3 features; with many features 1 ± 2 points worse`. The comparison is left
        out if cross-validation did not compare the two kinds, or if this rule is not useful.
        """
        n_features = len(self.features)
        if n_features == 0:
            return "no feature helps"
        text = f"rule of {plural(n_features, 'feature')}"
        if self.dense:
            text = f"rule of all {n_features} features"

        cross_validated = self.expected_error
        if cross_validated is None or not self.may_be_useful:
            return text
        # The cross-validated error with few features, minus the one with many; None if the two
        # kinds were not compared.
        error_difference = cross_validated.few_minus_many
        if error_difference is None:
            return text

        # A rule on many features has the rule on few features beside it, in `few`. A rule on few
        # features has None there.
        rule_on_few = self.few
        rule_has_many = rule_on_few is not None
        n_few = n_features if rule_on_few is None else len(rule_on_few.support)
        comparison = other_size_in_words(n_few, error_difference, rule_has_many=rule_has_many)
        return f"{text}; {comparison}"


def usable_rule(plan: Plan) -> RuleToUse:
    """Make the rule for new samples: fitted to all samples, cross-validated, and put into words.

    If the rule uses many features, there is a second rule on few, for users who want to measure
    less.

    Parameters
    ----------
    plan : the table and the settings.
    """
    # Fit the rule to all samples. The second rule is None if the first has few features.
    data = plan.data
    fitted, rule_of_few_features = _fitted_rules(plan)
    scores = fitted.scores(data.X, _blocks_or_pairs(data), data.covariates)  # (samples,)
    is_called_positive = scores > 0
    is_positive = data.y > 0
    wrong_samples = np.flatnonzero(is_called_positive != is_positive)

    # Cross-validate, to know what to expect on new samples.
    expected = expected_error(
        data.X,
        data.y,
        **sample_roles(plan),  # groups, blocks, covariates, encoder, seed
        **_feature_choice(plan),  # features, max_features
        n_jobs=plan.settings.n_jobs,
    )

    # How stable the choice of features is, and which other features could replace each of them.
    stability = _selection_stability(plan, fitted)
    surrogates = {}
    for reading in stability.readings:
        name = data.feature_names[reading.feature]
        surrogates[name] = plan.names_of(reading.surrogates)
    alternatives = tuple(plan.names_of(support) for support in stability.alternatives)

    # The rule in words and as a formula for spreadsheets, and with small whole weights (a
    # scorecard) if the user asked for it.
    few_text = ""
    if rule_of_few_features is not None:
        few_text = _sentence(plan, rule_of_few_features)
    rule = RuleToUse(
        **_fields_of_rule(fitted),
        text=_sentence(plan, fitted),
        formula=spreadsheet_formula(fitted, data.X, data.feature_names, plan.class_names),
        sample_scores=scores,
        wrong=tuple(wrong_samples.tolist()),
        expected_error=expected,
        stability=stability,
        surrogates=surrogates,
        alternatives=alternatives,
        features_named=plan.features is not None,
        few=rule_of_few_features,
        few_text=few_text,
    )
    if plan.settings.integer:
        return _with_scorecard(plan, rule)
    return rule


def _fields_of_rule(rule: PredictionRule) -> dict[str, Any]:
    """What a rule to use has in common with the fitted one: support, weights, bias and so on."""
    return {field.name: getattr(rule, field.name) for field in fields(PredictionRule)}


def _fitted_rules(plan: Plan) -> FittedRules:
    """Fit the rule to all samples. If it uses many features, there can be a second one on few.

    Both rules know the names of their features and of their blocks.
    """
    data = plan.data
    fitted = fit_rules(data.X, data.y, **sample_roles(plan), **_feature_choice(plan))
    rule_of_few_features = None
    if fitted.few is not None and fitted.to_use.dense:
        rule_of_few_features = _with_names(plan, fitted.few)
    return FittedRules(to_use=_with_names(plan, fitted.to_use), few=rule_of_few_features)


def _with_names(plan: Plan, rule: PredictionRule) -> PredictionRule:
    """The rule with the names of its features, and of the column that its blocks come from."""
    return replace(
        rule,
        features=plan.names_of(rule.support),
        block_column=_block_column(plan.data),
    )


def _selection_stability(plan: Plan, rule: PredictionRule) -> SelectionStability:
    """How often rules made from random halves of the samples select the features of this rule.

    The result also names features that could replace them. If the rule uses all features, only
    those with the largest weights are examined.
    """
    data = plan.data
    return selection_stability(
        data.X,
        data.y,
        _heaviest_features(rule, data.X),
        **sample_roles(plan),  # groups, blocks, covariates, encoder, seed
        # Halves are fitted as the rule itself was.
        penalty=rule.penalty,
        family=rule.family,
    )


def sample_roles(plan: Plan) -> dict[str, Any]:
    """The arguments about samples that everything in `prediction` takes, and the seed."""
    return {
        "groups": plan.data.groups,
        "blocks": _blocks_or_pairs(plan.data),
        "covariates": plan.data.covariates,
        "encoder": plan.design.encoder,
        "seed": plan.settings.seed,
    }


def _feature_choice(plan: Plan) -> dict[str, Any]:
    """The arguments about features: those named, and how many there may be."""
    # A scorecard is for a rule that people can add up.
    max_features = MAX_SMALL_FEATURES if plan.settings.integer else None
    return {"features": plan.features, "max_features": max_features}


def _blocks_or_pairs(data: Dataset) -> NDArray[Any] | None:
    """What every sample is compared within: its pair, or else its block; None without either."""
    if data.pairs is not None:
        return data.pairs
    return data.blocks


def _block_column(data: Dataset) -> str:
    """The column that `_blocks_or_pairs` came from; empty if it had no name."""
    role = "blocks" if data.pairs is None else "pairs"
    return data.role_columns.get(role, "")


def _heaviest_features(rule: PredictionRule, X: AnyTable) -> Ints:
    """The rule's features, the heaviest for one standard deviation first; of a dense rule ten."""
    weight_of_one_sd = np.abs(rule.weights) * X[:, rule.support].std(axis=0)
    heaviest_first = rule.support[np.argsort(-weight_of_one_sd)]
    if rule.dense:
        return heaviest_first[:N_LARGEST_WEIGHTS]
    return heaviest_first


def _sentence(plan: Plan, rule: PredictionRule) -> str:
    """The rule in words, and what it has besides features."""
    data = plan.data
    text = rule_sentence(rule, data.X, data.feature_names, plan.class_names)
    if _blocks_or_pairs(data) is not None:
        text += " (threshold of the average block)"
    if data.covariates:
        text += " (besides the covariates)"
    return text


def _with_scorecard(plan: Plan, rule: RuleToUse) -> RuleToUse:
    """The rule with small whole points as well; as it is if it has no features."""
    if len(rule.support) == 0:
        return rule
    data = plan.data
    _, positive = plan.class_names
    card = scorecard(data.X, data.y, rule)
    card_text = card_sentence(card, data.X, data.feature_names, positive)
    return replace(rule, scorecard=card, card_text=card_text)
