"""The test of an outcome other than two classes, from a table to its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from chanceline._arrays import Floats, Ints
from chanceline._parallel import Progress
from chanceline.errors import InputError
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.perceptron.validation import find_features
from chanceline.prediction.crossval import MIN_SIZE_FOR_PROCESSES
from chanceline.prediction.folds import Stream, join_units
from chanceline.prediction.repeats import n_tuning_repeats
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.outcomes.cross_validate import (
    MIN_UNITS_TO_VALIDATE,
    hold_out_predictions,
)
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.make_outcome import outcome_of_table
from chanceline.significance.outcomes.measures import Expectation
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.result import (
    SETTINGS_USED,
    OutcomePvalue,
    OutcomeTest,
    ScoreSizeReading,
)
from chanceline.significance.outcomes.rule_roles import roles_of_design, strata_of_design
from chanceline.significance.outcomes.rule_samples import RuleSamples
from chanceline.significance.outcomes.rule_to_show import OutcomeRule, make_outcome_rule
from chanceline.significance.outcomes.score_design import (
    ScoreDesign,
    exchange_in_words,
    make_score_design,
)
from chanceline.significance.outcomes.score_rule import train_score_rule
from chanceline.significance.outcomes.score_shuffles import (
    ShuffledScores,
    explained_alone,
    shuffle_scores,
)
from chanceline.significance.outcomes.shuffle_contrasts import (
    ContrastReading,
    read_contrasts,
    shuffle_contrasts,
)
from chanceline.significance.outcomes.verdict import OutcomeGrounds, decide_outcome
from chanceline.significance.path_columns import PathColumns, make_path_columns
from chanceline.significance.plan import shuffles_by_size
from chanceline.significance.readings import StopCause
from chanceline.significance.rule_inputs import rule_inputs
from chanceline.significance.shuffle_stage import MIN_MULTIPLICATIONS_FOR_PROCESSES
from chanceline.significance.shuffles import ShufflePlan, ShuffleRunner
from chanceline.tables.checks.outcome_advice import examine_outcome_table
from chanceline.tables.outcome_table import OutcomeTable
from chanceline.tables.roles import Role

# Settings that change how a test runs, and not what it says.
SETTINGS_OF_RUN = ("n_jobs",)


@dataclass(frozen=True, eq=False)
class OutcomePlan:
    """What is fixed before the outcome is looked at.

    Attributes
    ----------
    table : the numbers and what was declared.
    outcome : of every sample.
    declared : blocks, groups, pairs and covariates.
    design : what is permuted.
    columns : those that the path runs over.
    settings : with the number of permutations.
    n_steps : number of features at the end of the path.
    """

    table: OutcomeTable
    outcome: Outcome
    declared: DeclaredRoles
    design: ScoreDesign
    columns: PathColumns
    settings: TestSettings
    n_steps: int

    def shuffle_plan(self, progress: Progress | None = None) -> ShufflePlan:
        """The number of permutations, their seed, and in how many processes they run.

        Parameters
        ----------
        progress : called with (permutations done, permutations at most).
        """
        n_shuffles = self.settings.permutations or 0
        # Each step of a path multiplies every column of the table with every column of scores.
        n_scores = self.design.unit_scores.shape[1]
        n_multiplications = self.columns.normalized.size * n_scores * self.n_steps * n_shuffles
        n_jobs = self.settings.n_jobs
        if n_multiplications <= MIN_MULTIPLICATIONS_FOR_PROCESSES:
            # Starting processes would take longer than the work.
            n_jobs = 1
        runner = ShuffleRunner(n_jobs, self.settings.time_limit, progress)
        return ShufflePlan(n_shuffles, self.settings.seed, runner)

    def names_of(self, support: Ints) -> tuple[str, ...]:
        """The names of some features."""
        return tuple(self.table.feature_names[column] for column in support)


def run_outcome_test(
    table: OutcomeTable,
    features: Sequence[int | str] | None,
    settings: TestSettings,
    progress: Progress | None = None,
) -> OutcomeTest:
    """Test whether features explain an outcome: several classes, a number, or survival.

    The steps are: permute the outcome, compare pairs of classes, and make a rule for new samples.
    Ctrl-C ends the permutations or the rule, and the result has what was done until then.

    Parameters
    ----------
    table : the table, with its outcome as the file or the user has it.
    features : names or indices of preregistered features; None for all.
    settings : how to test.
    progress : called with (permutations done, permutations at most).
    """
    plan = make_outcome_plan(table, features, settings)

    # Permute the outcome, and ask its narrower questions (contrasts), such as A against B.
    shuffled = None
    contrasts: tuple[ContrastReading, ...] = ()
    if plan.settings.permutations:
        shuffled = shuffle_scores(
            plan.columns, plan.design, plan.shuffle_plan(progress), plan.n_steps
        )
        contrasts = pvalues_of_contrasts(plan, shuffled)

    # Make the rule and cross-validate it.
    rule = RuleParts()  # empty: no rule
    interrupted = shuffled is not None and shuffled.stopped_by == StopCause.INTERRUPT
    if plan.settings.expected_error and not interrupted:
        try:
            rule = make_rule_parts(plan)
        except KeyboardInterrupt:
            # The result still has what the permutations gave.
            interrupted = True

    return make_outcome_result(plan, shuffled, contrasts, rule, interrupted=interrupted)


def make_outcome_plan(
    table: OutcomeTable,
    features: Sequence[int | str] | None,
    settings: TestSettings,
) -> OutcomePlan:
    """Check what is asked, and fix everything that a test needs before outcomes are permuted.

    These are the outcome as numbers, the permutations that the null hypothesis allows, the columns,
    the number of steps of the stepwise path, and the number of permutations.

    Parameters
    ----------
    table : the table, with its outcome as the file or the user has it.
    features : names or indices of preregistered features; None for all.
    settings : how to test. In the plan, `permutations` is a number even if the user left it open.

    Raises
    ------
    InputError
        If the table cannot be tested as asked.
    """
    # A message, if a column looks like blocks or groups that the user did not declare.
    if table.undeclared:
        raise InputError(table.undeclared)
    refuse_settings_of_two_classes(features, settings)

    # The outcome of each sample, what the user declared about the samples, and the design that
    # follows from the two: which samples may exchange outcomes in a permutation.
    outcome = outcome_of_table(table)
    declared = DeclaredRoles(
        blocks=table.blocks, groups=table.groups, pairs=table.pairs, covariates=table.covariates
    )
    design = make_score_design(outcome, declared)

    # The features to use, which vary and differ from one another. And the table with findings:
    # sentences of the report about what its numbers show.
    usable_features = _usable_features(table, features)
    all_features_are_tested = features is None
    table_with_findings = with_outcome_findings(
        table, outcome, design, has_all_candidates=all_features_are_tested
    )

    # The columns for the stepwise path: adjusted for blocks and covariates, and of length 1.
    columns = make_path_columns(table.X, design, intercept=True, features=usable_features)

    # The largest number of features that the stepwise path takes. With an intercept and
    # n_samples − 1 features least squares would fit any outcome.
    n_samples, n_columns = columns.normalized.shape
    n_steps = max(1, min(settings.largest, n_columns, n_samples - 2))

    # The number of permutations, if the user left it open.
    settings_in_force = settings
    if settings.permutations is None:
        n_permutations = shuffles_by_size(n_samples, n_columns, n_steps)
        settings_in_force = replace(settings, permutations=n_permutations)
    return OutcomePlan(
        table=table_with_findings,
        outcome=outcome,
        declared=declared,
        design=design,
        columns=columns,
        settings=settings_in_force,
        n_steps=n_steps,
    )


def with_outcome_findings(
    table: OutcomeTable, outcome: Outcome, design: ScoreDesign, *, has_all_candidates: bool
) -> OutcomeTable:
    """The table with what its numbers and its outcome show, behind what reading it found.

    Parameters
    ----------
    table, outcome : with the outcome's scores.
    design : says which rows belong together.
    has_all_candidates : whether no features were chosen.
    """
    # Rows of a group, or of a pair, may be nearly equal.
    related_rows = design.unit_of_sample
    if table.pairs is not None:
        related_rows = design.block_of_sample
    about_table = examine_outcome_table(
        table, outcome.scores, related_rows, has_all_candidates=has_all_candidates
    )
    return replace(table, findings=(*table.findings, *about_table))


def _usable_features(table: OutcomeTable, features: Sequence[int | str] | None) -> Ints:
    """The columns that the test uses: without constant ones, and without copies of other columns.

    Parameters
    ----------
    table : the table, and the names of its features.
    features : names or indices of preregistered features; None for all.

    Returns
    -------
    Their numbers in the table. There is at least one, or `InputError` is raised.
    """
    if features is None:
        usable = distinct_columns(table.X, intercept=True)
    else:
        preregistered = find_features(features, table.feature_names)
        # Indices into `preregistered`.
        distinct = distinct_columns(table.X[:, preregistered], intercept=True)
        usable = preregistered[distinct]
    if len(usable) == 0:
        raise InputError("every feature is constant, so that there is nothing to explain with.")
    return usable


def refuse_settings_of_two_classes(
    features: Sequence[int | str] | None, settings: TestSettings
) -> None:
    """Raise `InputError` for settings that make sense for an outcome of two classes only.

    Parameters
    ----------
    features : names or indices of preregistered features; None for all.
    settings : all settings; those that this test does not use must have their default values.
    """
    defaults = TestSettings()
    for setting in fields(settings):
        is_used = setting.name in SETTINGS_USED or setting.name in SETTINGS_OF_RUN
        is_default = getattr(settings, setting.name) == getattr(defaults, setting.name)
        if not is_used and not is_default:
            raise InputError(
                f"{setting.name} speaks of two classes, which this outcome is not; leave it out."
            )

    # Only features fixed beforehand may be named, and if any were fixed they must be named.
    has_named_features = features is not None
    if settings.preregistered != has_named_features:
        raise InputError(
            "features of an outcome other than two classes are tested if they were fixed "
            "beforehand; name them with features=NAMES together with preregistered=True."
        )


def pvalues_of_contrasts(
    plan: OutcomePlan, shuffled: ShuffledScores
) -> tuple[ContrastReading, ...]:
    """Test the contrasts of the outcome, such as one class against another, by the same shuffles.

    Parameters
    ----------
    plan : what is tested.
    shuffled : the shuffles of the whole outcome.

    Returns
    -------
    For every contrast its p-values and its best feature; empty if the outcome has no contrasts, if
    the shuffles were cut short, or if covariates are adjusted for by regression.
    """
    contrasts = plan.outcome.contrasts
    was_stopped = shuffled.stopped_by is not None
    # Covariates are removed from the scores of the whole outcome only, not from those of contrasts.
    has_covariate_terms = plan.design.covariate_terms is not None
    if not contrasts or was_stopped or has_covariate_terms:
        return ()

    # The features that the test of the whole outcome uses, by their columns in the table.
    tested_features = plan.columns.feature_of_column
    runs = shuffle_contrasts(
        plan.table.X[:, tested_features],
        plan.design,
        contrasts,
        plan.shuffle_plan(),  # the number of shuffles, the seed, and the processes
        n_steps=plan.n_steps,
    )
    feature_names = plan.names_of(tested_features)
    return read_contrasts(runs, feature_names, overall_pvalue=shuffled.pvalue)


class RuleParts(NamedTuple):
    """The rule, what to expect of it, and the predictions of samples left out."""

    rule: OutcomeRule | None = None
    expected: Expectation | None = None
    held_out: HeldOutPredictions | None = None


def make_rule_parts(plan: OutcomePlan) -> RuleParts:
    """Make the rule for new samples from all samples, and cross-validate it.

    The result is empty if there are too few units (samples, or groups of samples that belong
    together) to cross-validate.
    """
    samples = samples_for_rule(plan)
    n_units = len(np.unique(samples.unit_of_sample))
    if n_units < MIN_UNITS_TO_VALIDATE:
        return RuleParts()

    # The rule itself, as a function of numbers.
    seed = plan.settings.seed
    all_samples = np.ones(len(samples.X), dtype=bool)
    score_rule = train_score_rule(
        samples,
        training=all_samples,
        seed=[seed, Stream.INNER_FOLDS],
        n_repeats=n_tuning_repeats(samples.X.size),
    )

    # Predictions for cross-validation, by rules that are trained anew without each fold. For a
    # small table, starting processes would take longer than the work.
    n_jobs = plan.settings.n_jobs if samples.X.size >= MIN_SIZE_FOR_PROCESSES else 1
    held_out = hold_out_predictions(samples, seed, n_jobs=n_jobs)

    # To use the rule on new samples, blocks and covariates must be found by the names that the user
    # gave them. `roles` says which of them the rule takes. `strata` says, for each numbered block
    # of the design, which named block and which categories of covariates it stands for.
    roles = roles_of_design(plan.design, plan.declared, block_column(plan.table))
    strata = strata_of_design(roles, plan.declared, plan.design.block_of_sample)
    named_rule = make_outcome_rule(score_rule, samples, plan.table.feature_names, roles, strata)
    return RuleParts(
        rule=named_rule,
        expected=plan.outcome.expectation(held_out),
        held_out=held_out,
    )


def samples_for_rule(plan: OutcomePlan) -> RuleSamples:
    """All samples of the table, as a rule is trained on them: features, outcome and design.

    If features were preregistered, the columns of all other features are set to 0.
    """
    design = plan.design
    X = plan.table.X
    if plan.settings.preregistered:
        # No rule takes a constant column. The columns stay, so that their numbers remain the same.
        tested_features = plan.columns.feature_of_column
        X = np.zeros_like(plan.table.X)
        X[:, tested_features] = plan.table.X[:, tested_features]
    terms = design.covariate_terms  # (samples, terms) covariates as numbers
    if terms is None:
        terms = np.zeros((len(X), 0))
    return RuleSamples(
        X=X,
        outcome=plan.outcome,
        terms=terms,
        # Samples of a group stay together in a fold, and so do those of a small block.
        unit_of_sample=join_units(design.unit_of_sample, design.block_of_sample),
        block_of_sample=design.block_of_sample,
    )


def block_column(table: OutcomeTable) -> str:
    """The column that told blocks or pairs; empty if there is none, or it had no name."""
    role = Role.BLOCKS if table.pairs is None else Role.PAIRS
    return table.role_columns.get(role, "")


def make_outcome_result(
    plan: OutcomePlan,
    shuffled: ShuffledScores | None,
    contrasts: tuple[ContrastReading, ...],
    rule: RuleParts,
    *,
    interrupted: bool,
) -> OutcomeTest:
    """Put everything together; parameters are what the steps gave."""
    front = size_readings_of_scores(plan, shuffled)
    grounds = OutcomeGrounds(
        shuffled=shuffled,
        design=plan.design,
        names_of_size=[reading.features for reading in front],
        level=plan.settings.level,
        n_columns=len(plan.columns.feature_of_column),
        rule_helps=rule.expected is not None and rule.expected.better_than_guessing,
    )
    verdict = decide_outcome(grounds)
    named: tuple[str, ...] = ()
    if verdict.n_named > 0:
        named = front[verdict.n_named - 1].features
    alone = features_alone(plan, shuffled)
    inputs = None
    if rule.rule is not None:
        features = rule.rule.features
        inputs = rule_inputs(plan.table, features, of_first_rule=features)
    return OutcomeTest(
        outcome=plan.outcome,
        verdict=verdict.verdict,
        reason=verdict.reason,
        permutation=pvalue_of_outcome(plan, shuffled),
        named=named,
        is_spread=verdict.is_spread,
        front=front,
        contrasts=contrasts,
        rule=rule.rule,
        expected=rule.expected,
        exchange=exchange_in_words(plan.outcome, plan.design, plan.declared),
        n_samples=len(plan.table.X),
        n_units=plan.design.n_units,
        n_blocks=plan.design.n_blocks,
        n_features=plan.table.X.shape[1],
        feature_names=plan.table.feature_names,
        explained_alone=alone.explained,
        pvalues_alone=alone.pvalues,
        covariates=plan.design.covariate_names,
        settings=plan.settings,
        findings=plan.table.findings,
        held_out=rule.held_out,
        interrupted=interrupted,
        kind=plan.design.kind,
        source=plan.table.source,
        inputs=inputs,
    )


def size_readings_of_scores(
    plan: OutcomePlan, shuffled: ShuffledScores | None
) -> tuple[ScoreSizeReading, ...]:
    """What 1, 2, … features explain of the outcome: R², compared with R² of permuted outcomes.

    Empty without permutations.
    """
    if shuffled is None or shuffled.done == 0:
        return ()
    # For every size: the adjusted p-value, and R² = 1 − loss, where row 0 is the observed outcome.
    pvalues = shuffled.adjusted_pvalues().path.tolist()
    observed_losses = shuffled.losses.path[0]
    explained = (1 - observed_losses).tolist()
    readings = []
    # A band is the range of R² in permuted outcomes.
    for step, band in enumerate(shuffled.bands()):
        size = step + 1
        support = shuffled.observed.support(row=0, size=size)
        reading = ScoreSizeReading(
            k=size,
            features=plan.names_of(support),
            explained=explained[step],
            shuffled=band,
            pvalue=pvalues[step],
        )
        readings.append(reading)
    return tuple(readings)


def pvalue_of_outcome(plan: OutcomePlan, shuffled: ShuffledScores | None) -> OutcomePvalue | None:
    """The p-value of the permutations, its interval, and how many permutations it rests on.

    None without permutations.
    """
    if shuffled is None or shuffled.done == 0:
        return None
    return OutcomePvalue(
        pvalue=shuffled.pvalue,
        interval=shuffled.interval,
        done=shuffled.done,
        requested=shuffled.requested,
        stopped_by=shuffled.stopped_by,
        kind=plan.design.kind,
    )


class FeaturesAlone(NamedTuple):
    """R² and adjusted p-value of every feature alone, (features,); nan for those not looked at."""

    explained: Floats
    pvalues: Floats


def features_alone(plan: OutcomePlan, shuffled: ShuffledScores | None) -> FeaturesAlone:
    """R² and adjusted p-value of every feature by itself, each (features,).

    Both are NaN for features that are not tested (constant ones, copies, those not preregistered),
    and p-values also without permutations.
    """
    n_features = plan.table.X.shape[1]
    explained = np.full(n_features, np.nan)
    pvalues = np.full(n_features, np.nan)
    columns = plan.columns
    tested_features = columns.feature_of_column  # indices into the arrays of all features
    explained[tested_features] = explained_alone(columns, plan.design)
    if shuffled is not None and shuffled.done > 0:
        pvalues[tested_features] = shuffled.marginal_pvalues(columns, plan.design)
    return FeaturesAlone(explained, pvalues)
