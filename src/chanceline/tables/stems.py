"""Subjects hidden in names: `309_1 … 309_15`, `P07-a` and `P07-b`, `NETL_005_V1`, `P07` and
`P07.1`.

A name is cut into a *stem* and a *tail*, the running number, letter or visit. The stems group the
rows if most rows share theirs with another row and the tails recur or rise: most of them occur with
several stems, as visits 1, 2, 3 do with every patient, or they are numbers that rise from row to
row. The codes of `TCGA-AB-1234` do neither, and `S001 … S100` have one stem. None of this looks at
the labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from chanceline.tables.spelling import is_date, is_number

BETWEEN = r"\s_.:/|()#~–-"  # letters that separate the parts of a name
# 309_1, NETL_005_V1, P07 (2)
SEPARATED_TAIL = re.compile(rf"(?P<stem>.*[^{BETWEEN}])[{BETWEEN}]+(?P<tail>[^{BETWEEN}]+)\)?")
LETTER_BEHIND_NUMBER = re.compile(r"(?P<stem>.*\d)(?P<tail>[A-Za-z])")  # P07a
NUMBER_BEHIND_LETTERS = re.compile(r"(?P<stem>.*[A-Za-z])(?P<tail>\d+)")  # A12, a well
NAME_PATTERNS = (SEPARATED_TAIL, LETTER_BEHIND_NUMBER, NUMBER_BEHIND_LETTERS)
FEWEST_STEMS = 3
FEWEST_RISING_TAILS = 10  # so many will not rise from row to row by chance


@dataclass(frozen=True)
class Stems:
    """Names cut in two.

    Attributes
    ----------
    names : as they were before the cut.
    stems, tails : one of each for every name; a name that could not be cut is a stem with an empty
        tail.
    separated : whether a separator stands between them.
    """

    names: tuple[str, ...]
    stems: tuple[str, ...]
    tails: tuple[str, ...]
    separated: bool

    @cached_property
    def sizes(self) -> Counter[str]:
        """The number of rows of every stem."""
        return Counter(self.stems)

    def group_rows(self) -> bool:
        """Whether the stems look like groups of rows: there are several, most rows share their stem
        with another row, and the tails recur with several stems or rise from row to row.
        """
        has_several_stems = len(self.sizes) >= FEWEST_STEMS
        n_sharing = sum(size for size in self.sizes.values() if size > 1)
        most_rows_share = 2 * n_sharing > len(self.stems)
        if not has_several_stems or not most_rows_share:
            return False
        return self._tails_recur() or self._tails_rise()

    def _tails_recur(self) -> bool:
        """Whether most rows have a tail that occurs with several stems, as `V1` of `P07_V1` and
        `P08_V1` does.
        """
        stem_and_tail = set(zip(self.stems, self.tails, strict=True))
        n_stems_of_tail = Counter(tail for _, tail in stem_and_tail)
        n_recurring = sum(n_stems_of_tail[tail] > 1 for tail in self.tails)
        return 2 * n_recurring >= len(self.tails)

    def _tails_rise(self) -> bool:
        """Whether all tails are numbers that rise from row to row, as in `P07_1`, `P07_2`,
        `P08_3`.
        """
        are_numbers = all(tail.isdecimal() for tail in self.tails)
        if len(self.tails) < FEWEST_RISING_TAILS or not are_numbers:
            return False
        numbers = [int(tail) for tail in self.tails]
        return all(later > earlier for earlier, later in pairwise(numbers))

    def described(self, units: str = "rows") -> str:
        """How many stems there are with how many rows (or other units): `72 stems with 15 rows
        each`.
        """
        smallest = min(self.sizes.values())
        largest = max(self.sizes.values())
        n_units = f"{smallest} to {largest}"
        if smallest == largest:
            n_units = str(largest)
        return f"{len(self.sizes)} stems with {n_units} {units} each"

    def example(self) -> str:
        """A name and its stem in words: the first one that was cut and shares its stem, if there
        is any, else the first one.
        """
        example = 0
        for row, stem in enumerate(self.stems):
            if self.sizes[stem] > 1 and stem != self.names[row]:
                example = row
                break
        return f"{self.names[example]!r} has the stem {self.stems[example]!r}"


def find_stems(names: Sequence[Any]) -> Stems | None:
    """The names cut so that their stems group the rows, None if no cut does."""
    for pattern in NAME_PATTERNS:
        stems = _cut_names(names, pattern)
        if stems is not None and stems.group_rows():
            return stems
    return None


def find_any_stems(names: Sequence[Any]) -> Stems | None:
    """The names cut into stems, for stems that the user asked for; None if no two rows share one.

    Cuts whose stems group the rows (`find_stems`) are preferred. Otherwise it is enough that two
    rows share a stem.
    """
    grouping = find_stems(names)
    if grouping is not None:
        return grouping
    for pattern in NAME_PATTERNS:
        stems = _cut_names(names, pattern)
        if stems is not None and 1 < len(stems.sizes) < len(stems.stems):
            return stems
    return None


def cut_repeatedly(names: Sequence[Any]) -> Iterator[Stems]:
    """The stems of the names, then the stems of those, and so on, as long as they group the rows:
    of `P07_V1_R2` first `P07_V1`, then `P07`.
    """
    stems = find_stems(names)
    while stems is not None:
        yield stems
        stems = find_stems(stems.stems)


def _cut_names(names: Sequence[Any], pattern: re.Pattern[str]) -> Stems | None:
    """Cut every name into a stem and a tail, as the pattern says; None if it fits no name.

    An ending that all names share, as `CEL` of `P07_1.CEL`, is no tail: it is removed, and the rest
    is cut again. A name that the pattern does not fit is a stem with an empty tail.

    Parameters
    ----------
    names : names of rows; other values count as the text that stands for them.
    pattern : a regular expression with the groups `stem` and `tail`.
    """
    stems_and_tails = [_stem_and_tail(str(name).strip(), pattern) for name in names]

    # While all names share an ending, remove the ending and cut the stems again. This stops at the
    # latest when no stem can be cut, as all tails are empty then.
    while _all_share_an_ending(stems_and_tails):
        stems_and_tails = [_stem_and_tail(stem, pattern) for stem, _ in stems_and_tails]

    a_name_was_cut = any(tail != "" for _, tail in stems_and_tails)
    if not a_name_was_cut:
        return None
    return Stems(
        names=tuple(str(name) for name in names),
        stems=tuple(stem for stem, _ in stems_and_tails),
        tails=tuple(tail for _, tail in stems_and_tails),
        separated=pattern is SEPARATED_TAIL,
    )


def _all_share_an_ending(stems_and_tails: Sequence[tuple[str, str]]) -> bool:
    """Whether all names have the same tail, and it is not empty."""
    different_tails = {tail for _, tail in stems_and_tails}
    return len(different_tails) == 1 and different_tails != {""}


def _stem_and_tail(name: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """The stem and the tail of a name; the name and an empty tail if the pattern does not fit."""
    parts = pattern.fullmatch(name)
    if parts is None:
        return name, ""
    return parts["stem"], parts["tail"]


def are_names(values: Sequence[Any], *, numbers_too: bool = False) -> bool:
    """Whether values may be names of rows: text, mostly different, no dates, and no numbers unless
    they stand where names do.
    """
    if not all(isinstance(value, str) for value in values):
        return False
    different = set(values)
    are_mostly_different = 2 * len(different) > len(values)
    if not are_mostly_different or all(is_date(text.strip()) for text in different):
        return False
    return numbers_too or not all(is_number(text) for text in different)
