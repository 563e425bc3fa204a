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

from chanceline.tables.formats import DATE, is_number

BETWEEN = r"\s_.:/|()#~–-"  # letters that separate the parts of a name
SEPARATED = re.compile(rf"(.*[^{BETWEEN}])[{BETWEEN}]+([^{BETWEEN}]+)\)?")  # 309_1, NETL_005_V1, P07 (2)
LETTER_BEHIND_NUMBER = re.compile(r"(.*\d)([A-Za-z])")  # P07a
NUMBER_BEHIND_LETTERS = re.compile(r"(.*[A-Za-z])(\d+)")  # A12, a well
CUTS = (SEPARATED, LETTER_BEHIND_NUMBER, NUMBER_BEHIND_LETTERS)
FEWEST_STEMS = 3
FEWEST_RISING = 10  # tails that will not rise from row to row by chance


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
        sizes = self.sizes
        shared = sum(size for size in sizes.values() if size > 1)
        return len(sizes) >= FEWEST_STEMS and 2 * shared > len(self.stems) and self._tails_run()

    def _tails_run(self) -> bool:
        stems_of_tail = Counter(tail for _, tail in {*zip(self.stems, self.tails, strict=True)})
        recurring = sum(stems_of_tail[tail] > 1 for tail in self.tails)
        if 2 * recurring >= len(self.tails):
            return True
        if len(self.tails) < FEWEST_RISING or not all(tail.isdecimal() for tail in self.tails):
            return False
        numbers = [int(tail) for tail in self.tails]
        return all(later > earlier for earlier, later in pairwise(numbers))

    def described(self, rows: str = "rows") -> str:
        """How many stems there are with how many rows (or what these are): `72 stems with 15 rows
        each`.
        """
        sizes = self.sizes
        fewest, most = min(sizes.values()), max(sizes.values())
        count = str(most) if fewest == most else f"{fewest} to {most}"
        return f"{len(sizes)} stems with {count} {rows} each"

    def example(self, names: Sequence[Any]) -> str:
        """A name and its stem in words."""
        sizes = self.sizes
        cut = (k for k, stem in enumerate(self.stems) if sizes[stem] > 1 and stem != str(names[k]))
        place = next(cut, 0)
        return f"{str(names[place])!r} has the stem {self.stems[place]!r}"


def find_stems(names: Sequence[Any]) -> Stems | None:
    """The names cut so that their stems group the rows, None if no cut does."""
    for cut in CUTS:
        found = _cut(names, cut)
        if found is not None and found.group_rows():
            return found
    return None


def find_any_stems(names: Sequence[Any]) -> Stems | None:
    """As `find_stems`, but where stems were asked for, one that two rows share is enough."""
    grouping = find_stems(names)
    if grouping is not None:
        return grouping
    for cut in CUTS:
        found = _cut(names, cut)
        if found is not None and 1 < len(found.sizes) < len(found.stems):
            return found
    return None


def _cut(names: Sequence[Any], cut: re.Pattern[str]) -> Stems | None:
    """The names cut in one way; endings that all names have, as `.CEL`, are taken off before."""
    texts = [str(name).strip() for name in names]
    while True:
        parts = [cut.fullmatch(text) for text in texts]
        if not any(parts):
            return None
        tails = tuple("" if part is None else part[2] for part in parts)
        stems = tuple(text if part is None else part[1] for text, part in zip(texts, parts, strict=True))
        if len({*tails}) > 1:
            return Stems(stems, tails, separated=cut is SEPARATED)
        texts = [*stems]


def are_names(values: Sequence[Any], *, numbers_too: bool = False) -> bool:
    """Whether values may be names of rows: text, mostly different, no dates, and no numbers unless
    they stand where names do.
    """
    if not all(isinstance(value, str) for value in values):
        return False
    different = {*values}
    if 2 * len(different) <= len(values) or all(DATE.fullmatch(text.strip()) for text in different):
        return False
    return numbers_too or not all(is_number(text) for text in different)
