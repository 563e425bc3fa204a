"""The sets of features that a user names, and the columns of the table that they have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from chanceline._arrays import Bools, Ints
from chanceline.columns.table import AnyTable
from chanceline.errors import InputError, whole_number
from chanceline.perceptron.duplicates import distinct_columns
from chanceline.tables.dataset import Finding
from chanceline.tables.wording import plural, quoted

MAX_SETS_NAMED = 6  # that a sentence names


class WhyUntested(StrEnum):
    """Why a set is not tested."""

    NO_COLUMN = "no column of the table"
    CONSTANT = "nothing but columns that do not vary"


@dataclass(frozen=True, eq=False)
class MatchedSet:
    """A set that can be tested: the table has some of its columns, and they vary.

    Attributes
    ----------
    name : of the set.
    columns : columns of X, equal ones once, constants left out.
    n_found : features of the set that the table has, equal and constant ones included.
    missing : names of the features that the table does not have.
    """

    name: str
    columns: Ints
    n_found: int
    missing: tuple[str, ...]

    @property
    def n_named(self) -> int:
        """Features that the set names."""
        return self.n_found + len(self.missing)


@dataclass(frozen=True, eq=False)
class MatchedSets:
    """All sets of the user beside the table.

    Attributes
    ----------
    testable : those that can be tested, in the order given.
    untested : why each of the others is not, by its name.
    """

    testable: tuple[MatchedSet, ...]
    untested: dict[str, WhyUntested]

    def findings(self) -> list[Finding]:
        """Notes for the report: which sets cannot be tested, and which miss some features."""
        findings = []
        # A note for each reason, with the sets that cannot be tested for this reason.
        for reason in WhyUntested:
            names = [name for name, why in self.untested.items() if why is reason]
            if not names:
                continue
            sets_have = "set has" if len(names) == 1 else "sets have"
            quoted_names = quoted(names, MAX_SETS_NAMED)
            message = f"{len(names)} {sets_have} {reason} and cannot be tested: {quoted_names}."
            findings.append(Finding.note(message))

        # A note about the sets of which the table has only some features.
        incomplete = [matched for matched in self.testable if matched.missing]
        if incomplete:
            findings.append(_note_of_missing_features(incomplete))
        return findings


def _note_of_missing_features(incomplete: Sequence[MatchedSet]) -> Finding:
    """A note about sets that name features which the table does not have.

    Parameters
    ----------
    incomplete : such sets. Those that miss most features are named first.
    """
    # `'heart' 3 of 40`: the set, its missing features, and all features that it names.
    most_missing_first = sorted(
        incomplete, key=lambda feature_set: len(feature_set.missing), reverse=True
    )
    clauses = []
    for feature_set in most_missing_first[:MAX_SETS_NAMED]:
        n_missing = len(feature_set.missing)
        clauses.append(f"{feature_set.name!r} {n_missing} of {feature_set.n_named}")
    n_hidden = len(incomplete) - len(clauses)
    if n_hidden > 0:
        clauses.append(f"and {n_hidden} more")

    # Three of the missing names. The keys of a dictionary keep their order, each name once.
    missing_names: dict[str, None] = {}
    for feature_set in most_missing_first:
        missing_names.update(dict.fromkeys(feature_set.missing))
    examples = quoted(list(missing_names), 3)
    return Finding.note(
        f"features that the table does not have are left out of {plural(len(incomplete), 'set')}: "
        f"{', '.join(clauses)} (such as {examples})."
    )


def match_sets(
    sets: Mapping[str, Sequence[int | str]],
    X: AnyTable,
    feature_names: Sequence[str],
    varies: Bools,
    *,
    intercept: bool,
) -> MatchedSets:
    """Find the columns of every set of features, and tell which sets cannot be tested, and why.

    Parameters
    ----------
    sets : by the name of a set, its features: their names or the numbers of their columns.
    X : (samples, features)
    feature_names : the name of each column of X.
    varies : (features,) which columns vary once blocks and covariates are regressed out.
    intercept : whether the rule has a threshold, so that constant columns are useless.

    Raises
    ------
    InputError
        If no set can be tested.
    """
    _check_sets(sets)
    column_of_name = {name: column for column, name in enumerate(feature_names)}
    testable = []
    untested = {}
    for name, features in sets.items():
        columns, missing_names = _find_columns_of_set(name, features, column_of_name)
        if len(columns) == 0:
            untested[name] = WhyUntested.NO_COLUMN
            continue
        varying_columns = columns[varies[columns]]
        if len(varying_columns) == 0:
            untested[name] = WhyUntested.CONSTANT
            continue
        # Of equal columns only the first is kept: indices into `varying_columns`.
        distinct = distinct_columns(X[:, varying_columns], intercept)
        tested_columns = varying_columns[distinct]
        testable.append(
            MatchedSet(
                name=name, columns=tested_columns, n_found=len(columns), missing=missing_names
            )
        )

    if not testable:
        if WhyUntested.CONSTANT in untested.values():
            raise InputError("no column of the sets varies, so that there is nothing to test.")
        raise InputError(_nothing_matched(sets, feature_names))
    return MatchedSets(testable=tuple(testable), untested=untested)


def _check_sets(sets: Any) -> None:
    """Raise `InputError` unless `sets` is a mapping from names of sets to lists of features."""
    if not isinstance(sets, Mapping):
        raise InputError(
            "sets must be a file (.gmt, or a table with the columns set and feature) or a mapping "
            f"from names to lists of features, not {type(sets).__name__}."
        )
    if not sets:
        raise InputError("sets must name at least one set of features.")
    for name, features in sets.items():
        if not isinstance(name, str) or not name:
            raise InputError(f"the name of a set must be a text, not {name!r}.")
        is_list = isinstance(features, Collection) and not isinstance(features, str)
        if not is_list or len(features) == 0:
            raise InputError(f"the set {name!r} must be a list of one feature or more.")


def _find_columns_of_set(
    set_name: str, features: Sequence[int | str], column_of_name: Mapping[str, int]
) -> tuple[Ints, tuple[str, ...]]:
    """Find the columns of the table that the features of a set have.

    Parameters
    ----------
    set_name : the name of the set, for messages.
    features : names of features, or numbers of columns counted from 0.
    column_of_name : the number of the column of every feature of the table, by its name.

    Returns
    -------
    The numbers of the columns, sorted, each once; and the names that the table does not have, each
    once.
    """
    n_columns = len(column_of_name)
    columns = set()
    missing_names = []
    for feature in features:
        if not isinstance(feature, str):
            description = f"a feature's number in the set {set_name!r}"
            columns.add(whole_number(feature, description, at_most=n_columns - 1))
        elif feature in column_of_name:
            columns.add(column_of_name[feature])
        else:
            missing_names.append(feature)
    missing_once = tuple(dict.fromkeys(missing_names))  # in the order of the set
    return np.array(sorted(columns), dtype=np.int64), missing_once


def _nothing_matched(sets: Mapping[str, Sequence[int | str]], feature_names: Sequence[str]) -> str:
    """The sentence where no set has a column."""
    features = [str(feature) for members in sets.values() for feature in members]
    return (
        f"no set has a column of the table: the sets name {quoted(features, 3)}, the table has "
        f"{quoted(feature_names, 3)}; use the names of the table's columns."
    )
