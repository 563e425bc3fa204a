"""What is fixed before the labels are looked at: the checked table, the design of the null, the
settings with their defaults, the bound under the freedoms that are used, and how the level is
spent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from chanceline._arrays import Ints
from chanceline.columns.wide import WIDE_FROM
from chanceline.errors import InputError
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.perceptron.validation import find_features
from chanceline.significance.adjustment_words import adjustment_findings
from chanceline.significance.config import TestSettings
from chanceline.significance.declared_roles import DeclaredRoles
from chanceline.significance.design import NullDesign, make_design
from chanceline.significance.stages import AlphaSpending
from chanceline.significance.union_bound import UnionBound
from chanceline.significance.wide_table import array_for_search, table_for_test
from chanceline.tables.dataset import Dataset, Finding
from chanceline.tables.spelling import plain_text

# Shuffles by default, most first: the most that take no longer than `MAX_SECONDS`, and the fewest
# whatever they take.
SHUFFLE_COUNTS = (9999, 4999, 1999, 999)
FEWEST_SHUFFLES = SHUFFLE_COUNTS[-1]
MAX_SECONDS = 5.0
MICROSECOND = 1e-6
# What a shuffle costs on one core, measured once on one machine: in microseconds, for each
# labelling; and at every step for each sample, column, and number of the table.
COST_OF_LABELLING = 50
COST_OF_SAMPLE = 0.022
COST_OF_COLUMN = 0.006
COST_OF_NUMBER = 6.3e-5


@dataclass(frozen=True, eq=False)
class Plan:
    """A checked table and everything that is fixed before its labels are looked at.

    Attributes
    ----------
    data : the table.
    settings : with the defaults that depend on the table.
    design : the null hypothesis.
    features : indices of the features named, None if the smallest set is searched.
    declared_errors : errors allowed beforehand, None if they are counted after looking.
    distinct_features : one column of every set of equal ones, constants left out.
    findings : what is worth knowing about the table.
    bounds, spending : the bound under the freedoms that are used, and what it may spend.
    """

    data: Dataset
    settings: TestSettings
    design: NullDesign
    features: Ints | None
    declared_errors: int | None
    distinct_features: Ints
    findings: tuple[Finding, ...]
    bounds: UnionBound
    spending: AlphaSpending

    @property
    def named_after(self) -> bool:
        """The features were named after looking."""
        return self.features is not None and not self.settings.preregistered

    @property
    def features_are_given(self) -> bool:
        """The features were named, or come from a search of the user's own."""
        return self.features is not None or self.settings.search is not None

    @property
    def class_names(self) -> tuple[str, str]:
        """The classes in words: `1` for 1.0."""
        negative, positive = self.data.classes
        return plain_text(negative), plain_text(positive)

    def names_of(self, support: Iterable[int]) -> tuple[str, ...]:
        """The names of some features."""
        return tuple(self.data.feature_names[j] for j in support)


def make_plan(
    data: Dataset,
    features: Sequence[int | str] | None,
    settings: TestSettings,
    max_columns_in_memory: int = WIDE_FROM,
) -> Plan:
    """Make the plan of a test: check the request, and fix what the labels must not influence.

    Parameters
    ----------
    data : the table.
    features : names or indices of the features in question; None to search the smallest set that
        separates the classes.
    settings : as the user gave them.
    max_columns_in_memory : a table with more columns is processed in tiles, some columns at a time.
    """
    if data.undeclared:
        # A message: a column looks like blocks or groups that the user did not declare.
        raise InputError(data.undeclared)

    # The table in the form that the test works on.
    if settings.search is None:
        X = table_for_test(data.X, max_columns_in_memory, settings.n_jobs)
        data = replace(data, X=X)
    else:
        # A search of the user's own takes an array, whatever its size.
        data = replace(data, X=array_for_search(data.X))

    # The null hypothesis: how labels may be shuffled.
    declared = DeclaredRoles(
        blocks=data.blocks, groups=data.groups, pairs=data.pairs, covariates=data.covariates
    )
    design = make_design(data.y, declared, settings.null, data.X)

    # The features in question, and whether the settings fit the table.
    named_features = None if features is None else find_features(features, data.feature_names)
    _check_request(data, design, named_features, settings)

    # The columns that a rule may need: the first of equal columns, and no constant columns. The
    # default number of shuffles depends on how many there are.
    distinct_features = distinct_columns(data.X, settings.intercept)
    n_distinct = len(distinct_features)
    if n_distinct == 0:
        raise InputError("every feature is constant, so that there is nothing to separate with.")
    settings = _with_default_shuffles(settings, n_samples=len(data.y), n_columns=n_distinct)

    # The rigorous bound for the p-value, and the part of the level that each stage of the test may
    # spend.
    bounds = _make_bounds(design, named_features, n_distinct, settings)
    return Plan(
        data=data,
        settings=settings,
        design=design,
        features=named_features,
        declared_errors=bounds.errors,
        distinct_features=distinct_features,
        findings=(*data.findings, *_design_findings(design)),
        bounds=bounds,
        spending=_spend_level(bounds, named_features, settings),
    )


def _design_findings(design: NullDesign) -> list[Finding]:
    """What is worth knowing about the adjustment for covariates."""
    if design.adjustment is None:
        return []
    return adjustment_findings(design.adjustment)


def _make_bounds(
    design: NullDesign, named_features: Ints | None, n_distinct: int, settings: TestSettings
) -> UnionBound:
    """The rigorous bound: how likely some rule fits shuffled labels as well as the observed ones.

    It must know what was fixed before looking at the labels, and how many sets could be chosen.

    Parameters
    ----------
    design : how labels are shuffled under the null hypothesis.
    named_features : indices; None if the smallest set is searched.
    n_distinct : number of distinct columns of the table.
    settings : the errors that were allowed beforehand, whether the named features were
        preregistered, and the number of candidate features, if the table is only a part of these.
    """
    # The number of errors fixed beforehand; None if errors are counted after looking. If the user
    # fixed none, it is 0 for a search, which looks for a set without errors, and None for named
    # features.
    features_are_searched = named_features is None
    declared_errors = settings.errors
    if declared_errors is None and features_are_searched:
        declared_errors = 0

    # The number of features fixed beforehand; None if any number could have been chosen.
    n_preregistered = None
    if named_features is not None and settings.preregistered:
        n_preregistered = len(named_features)

    # The number of features to choose from: as the user says, else the distinct columns.
    n_candidates = settings.candidates or n_distinct
    # The bound counts labellings, which must be equally likely. It says nothing if labels are drawn
    # from a model of the covariates.
    labels_come_from_model = design.covariate_model is not None
    return UnionBound(
        sizes=design.sizes,
        n_features=n_candidates,
        intercept=settings.intercept,
        errors=declared_errors,
        preregistered=n_preregistered,
        uninformative=labels_come_from_model,
    )


def _check_request(
    data: Dataset, design: NullDesign, named_features: Ints | None, settings: TestSettings
) -> None:
    """Raise `InputError` for settings that contradict the table, the design or the named features.

    Parameters
    ----------
    data : the table.
    design : how labels are shuffled: within blocks, or drawn from a model of the covariates.
    named_features : indices; None if the smallest set is searched.
    settings : as the user gave them.
    """
    # The errors allowed are fewer than the samples.
    n_samples = len(data.y)
    if settings.errors is not None and settings.errors >= n_samples:
        raise InputError(
            f"the errors allowed must be between 0 and {n_samples - 1}, not {settings.errors}."
        )

    # A scorecard (`integer`) has no points for blocks or covariates.
    has_blocks = design.sizes.blocks is not None
    has_model = design.covariate_model is not None
    if settings.integer and (has_model or has_blocks):
        raise InputError(
            "a scorecard needs a rule on features alone; leave out integer, or blocks, pairs and "
            "adjust."
        )

    # Features fixed beforehand are named, and the features of the table are among the candidates.
    if settings.preregistered and named_features is None:
        raise InputError(
            "preregistered features have to be named; give them, or leave out preregistered."
        )
    n_features = data.X.shape[1]
    if settings.candidates is not None and settings.candidates < n_features:
        raise InputError(
            f"the {n_features} features of the table are candidate features, so "
            f"{settings.candidates} are too few."
        )

    # Covariates are regressed out together with a constant.
    if data.covariates and not settings.intercept:
        raise InputError(
            "covariates are taken out together with a threshold; leave out intercept=False."
        )


def _with_default_shuffles(settings: TestSettings, n_samples: int, n_columns: int) -> TestSettings:
    """The settings with a number of shuffles (`permutations`), if the user left it open.

    Parameters
    ----------
    settings : as the user gave them; `permutations` is None if it was left open.
    n_samples, n_columns : size of the table.
    """
    if settings.candidates is not None:
        # The features of the table were chosen from more candidates. Shuffles cannot repeat that
        # choice, because the table does not have the other candidates: do none.
        return replace(settings, permutations=0)
    if settings.permutations is not None:
        return settings
    if settings.search is not None:
        # How long a search of the user's own takes is not known.
        return replace(settings, permutations=FEWEST_SHUFFLES)
    # As many as take a few seconds.
    n_affordable = shuffles_by_size(n_samples, n_columns, settings.largest)
    return replace(settings, permutations=n_affordable)


def shuffles_by_size(n_samples: int, n_columns: int, n_steps: int) -> int:
    """Shuffles by default: fixed by the table's shape, before anything is computed, never timed."""
    return affordable_shuffles(seconds_per_shuffle(n_samples, n_columns, n_steps))


def affordable_shuffles(seconds_per_labelling: float) -> int:
    """The most of `SHUFFLE_COUNTS` that take no longer than `MAX_SECONDS`, or the fewest of them.

    `seconds_per_labelling` is what one shuffle costs on one core.
    """
    for count in SHUFFLE_COUNTS:
        if count * seconds_per_labelling <= MAX_SECONDS:
            return count
    return FEWEST_SHUFFLES


def seconds_per_shuffle(n_samples: int, n_columns: int, n_steps: int) -> float:
    """What one shuffle of a table of this shape costs on one core, roughly."""
    cost_of_step = (
        COST_OF_SAMPLE * n_samples
        + COST_OF_COLUMN * n_columns
        + COST_OF_NUMBER * n_samples * n_columns
    )
    return MICROSECOND * (COST_OF_LABELLING + n_steps * cost_of_step)


def _spend_level(
    bounds: UnionBound, named_features: Ints | None, settings: TestSettings
) -> AlphaSpending:
    """How the level is spent."""
    n_shuffles = settings.permutations or 0
    if named_features is not None and not settings.preregistered:
        # About features named after looking the bound alone speaks, with the whole level.
        n_shuffles = 0
    has_stage2 = named_features is None and not bounds.uninformative
    return bounds.spending(settings.level, n_shuffles, has_stage2=has_stage2)
