"""Subjects hidden in names: `309_1 … 309_15`, `P07-a` and `P07-b`, `NETL_005_V1`, `P07` and
`P07.1`.

A name is cut into a *stem* and a *tail*, the running number, letter or visit. The stems group the
rows if most rows share theirs with another row and the tails run: most of them occur with several
stems, as visits 1, 2, 3 do with every patient, or they are numbers that rise from row to row. The
codes of `TCGA-AB-1234` do neither, and `S001 … S100` have one stem. None of this looks at the
labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from chanceline.tables.spelling import is_date, is_number

BETWEEN = r"\s_.:/|()#~–-"  # letters that separate the parts of a name
# 309_1, NETL_005_V1, P07 (2)
SEPARATED = re.compile(rf"(.*[^{BETWEEN}])[{BETWEEN}]+([^{BETWEEN}]+)\)?")
LETTER_BEHIND_NUMBER = re.compile(r"(.*\d)([A-Za-z])")  # P07a
NUMBER_BEHIND_LETTERS = re.compile(r"(.*[A-Za-z])(\d+)")  # A12, a well
CUTS = (SEPARATED, LETTER_BEHIND_NUMBER, NUMBER_BEHIND_LETTERS)
FEWEST_STEMS = 3
FEWEST_RISING_TAILS = 10  # so many will not rise from row to row by chance


@dataclass(frozen=True)
class Stems:
    """Names cut in two.

    Attributes
    ----------
    stems, tails : one of each for every name; a name that could not be cut is a stem with an empty
        tail.
    separated : whether a separator stands between them.
    """

    stems: tuple[str, ...]
    tails: tuple[str, ...]
    separated: bool

    @cached_property
    def sizes(self) -> Counter[str]:
        """The number of rows of every stem."""
        return Counter(self.stems)

    def group_rows(self) -> bool:
        """Whether most rows share their stem with another row, there are several stems, and the
        tails run.
        """
        n_sharing = sum(size for size in self.sizes.values() if size > 1)
        most_rows_share = 2 * n_sharing > len(self.stems)
        return len(self.sizes) >= FEWEST_STEMS and most_rows_share and self._tails_run()

    def _tails_run(self) -> bool:
        """Whether most tails occur with several stems, or all are numbers that rise."""
        stem_and_tail = set(zip(self.stems, self.tails, strict=True))
        n_stems_of_tail = Counter(tail for _, tail in stem_and_tail)
        n_recurring = sum(n_stems_of_tail[tail] > 1 for tail in self.tails)
        if 2 * n_recurring >= len(self.tails):
            return True
        are_numbers = all(tail.isdecimal() for tail in self.tails)
        if len(self.tails) < FEWEST_RISING_TAILS or not are_numbers:
            return False
        numbers = [int(tail) for tail in self.tails]
        return all(later > earlier for earlier, later in pairwise(numbers))

    def described(self, rows: str = "rows") -> str:
        """How many stems there are with how many rows (or what these are): `72 stems with 15 rows
        each`.
        """
        fewest = min(self.sizes.values())
        largest = max(self.sizes.values())
        n_rows = f"{fewest} to {largest}"
        if fewest == largest:
            n_rows = str(largest)
        return f"{len(self.sizes)} stems with {n_rows} {rows} each"

    def example(self, names: Sequence[Any]) -> str:
        """A name and its stem in words: one that was cut and shares its stem, if there is any."""
        example = 0
        for row, stem in enumerate(self.stems):
            if self.sizes[stem] > 1 and stem != str(names[row]):
                example = row
                break
        return f"{str(names[example])!r} has the stem {self.stems[example]!r}"


def find_stems(names: Sequence[Any]) -> Stems | None:
    """The names cut so that their stems group the rows, None if no cut does."""
    for pattern in CUTS:
        stems = _cut(names, pattern)
        if stems is not None and stems.group_rows():
            return stems
    return None


def find_any_stems(names: Sequence[Any]) -> Stems | None:
    """As `find_stems`, but where stems were asked for, one that two rows share is enough."""
    grouping = find_stems(names)
    if grouping is not None:
        return grouping
    for pattern in CUTS:
        stems = _cut(names, pattern)
        if stems is not None and 1 < len(stems.sizes) < len(stems.stems):
            return stems
    return None


def _cut(names: Sequence[Any], pattern: re.Pattern[str]) -> Stems | None:
    """The names cut in one way; endings that all names have, as `.CEL`, are taken off before."""
    texts = [str(name).strip() for name in names]
    while True:
        parts = [pattern.fullmatch(text) for text in texts]
        if not any(parts):
            return None
        tails = tuple("" if part is None else part[2] for part in parts)
        stems = []
        for text, part in zip(texts, parts, strict=True):
            stems.append(text if part is None else part[1])
        if len(set(tails)) > 1:
            return Stems(tuple(stems), tails, separated=pattern is SEPARATED)
        texts = stems


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
