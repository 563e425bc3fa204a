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
        """Which sets are not tested, and which lose features."""
        findings = []
        for reason in WhyUntested:
            names = [name for name, why in self.untested.items() if why is reason]
            if not names:
                continue
            sets_have = "set has" if len(names) == 1 else "sets have"
            named = quoted(names, MAX_SETS_NAMED)
            message = f"{len(names)} {sets_have} {reason} and cannot be tested: {named}."
            findings.append(Finding.note(message))
        incomplete = [matched for matched in self.testable if matched.missing]
        if incomplete:
            findings.append(_note_of_missing(incomplete))
        return findings


def _note_of_missing(incomplete: Sequence[MatchedSet]) -> Finding:
    """Which sets name features that the table does not have, those that lose most first."""
    # `'heart' 3 of 40` for the first sets.
    most_missing_first = sorted(incomplete, key=lambda item: len(item.missing), reverse=True)
    losses = [
        f"{item.name!r} {len(item.missing)} of {item.n_named}"
        for item in most_missing_first[:MAX_SETS_NAMED]
    ]
    n_hidden = len(incomplete) - len(losses)
    if n_hidden > 0:
        losses.append(f"and {n_hidden} more")

    # Every missing name once.
    missing_names: dict[str, None] = {}
    for item in most_missing_first:
        missing_names.update(dict.fromkeys(item.missing))
    examples = quoted(list(missing_names), 3)
    return Finding.note(
        f"features that the table does not have are left out of {plural(len(incomplete), 'set')}: "
        f"{', '.join(losses)} (such as {examples})."
    )


def match_sets(
    sets: Mapping[str, Sequence[int | str]],
    X: AnyTable,
    feature_names: Sequence[str],
    varies: Bools,
    *,
    intercept: bool,
) -> MatchedSets:
    """The columns of every set that can be tested, and why the other sets cannot.

    Parameters
    ----------
    sets : the features of every set, by name or by number.
    X : (samples, features)
    feature_names : one for each column of X.
    varies : (features,) which columns vary once blocks and covariates are taken out.
    intercept : whether the rule has a threshold.
    """
    _check_sets(sets)
    column_of_name = {name: column for column, name in enumerate(feature_names)}
    testable = []
    untested = {}
    for name, features in sets.items():
        columns, missing = _find_columns_of_set(name, features, column_of_name)
        if len(columns) == 0:
            untested[name] = WhyUntested.NO_COLUMN
            continue
        varying = columns[varies[columns]]
        if len(varying) == 0:
            untested[name] = WhyUntested.CONSTANT
            continue
        # Of equal columns the first.
        distinct = varying[distinct_columns(X[:, varying], intercept)]
        testable.append(
            MatchedSet(name=name, columns=distinct, n_found=len(columns), missing=missing)
        )

    if not testable:
        if WhyUntested.CONSTANT in untested.values():
            raise InputError("no column of the sets varies, so that there is nothing to test.")
        raise InputError(_nothing_matched(sets, feature_names))
    return MatchedSets(testable=tuple(testable), untested=untested)


def _check_sets(sets: Any) -> None:
    """Refuse what is no mapping from names to features."""
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
    """The sorted columns of X of a set's features, each once, and the names without a column.

    Parameters
    ----------
    set_name : for messages.
    features : names, or numbers of columns counted from 0.
    column_of_name : the column of X of every feature of the table.
    """
    n_columns = len(column_of_name)
    columns = set()
    missing = []
    for feature in features:
        if not isinstance(feature, str):
            what = f"a feature's number in the set {set_name!r}"
            columns.add(whole_number(feature, what, at_most=n_columns - 1))
        elif feature in column_of_name:
            columns.add(column_of_name[feature])
        else:
            missing.append(feature)
    return np.array(sorted(columns), dtype=np.int64), tuple(dict.fromkeys(missing))


def _nothing_matched(sets: Mapping[str, Sequence[int | str]], feature_names: Sequence[str]) -> str:
    """The sentence where no set has a column."""
    features = [str(feature) for members in sets.values() for feature in members]
    return (
        f"no set has a column of the table: the sets name {quoted(features, 3)}, the table has "
        f"{quoted(feature_names, 3)}; use the names of the table's columns."
    )
