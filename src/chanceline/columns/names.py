"""Names of very many columns, without a Python string for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, pairwise
from typing import overload

import numpy as np

from chanceline._arrays import Ints


class NumberedNames(Sequence[str]):
    """x0, x1, x2, …: names that are made when they are asked for.

    Parameters
    ----------
    n_names : how many there are.
    prefix : what stands before the number.
    """

    def __init__(self, n_names: int, prefix: str = "x") -> None:
        self._numbers = range(n_names)
        self._prefix = prefix

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._name(number) for number in self._numbers[index]]
        return self._name(self._numbers[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._name, self._numbers)

    def __contains__(self, name: object) -> bool:
        return self.place(name) is not None

    def place(self, name: object) -> int | None:
        """The number of the column with this name; None if there is none."""
        if not isinstance(name, str) or not name.startswith(self._prefix):
            return None
        digits = name.removeprefix(self._prefix)
        if not digits.isdecimal() or int(digits) not in self._numbers:
            return None
        # x007 is no name of column 7.
        number = int(digits)
        return number if self._name(number) == name else None

    def _name(self, number: int) -> str:
        return f"{self._prefix}{number}"


class PackedNames(Sequence[str]):
    """Names side by side in one stretch of bytes: eight bytes each, besides their letters.

    Parameters
    ----------
    names : any texts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        letters = bytearray()
        ends = [0]
        for name in names:
            letters += name.encode("utf-8", errors="surrogatepass")
            ends.append(len(letters))
        self._letters = bytes(letters)
        # Name j stands between ends j and j + 1.
        self._ends = np.array(ends, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._name(number) for number in numbers]
        return self._name(numbers)

    def __iter__(self) -> Iterator[str]:
        for begin, end in pairwise(self._ends.tolist()):
            yield self._letters[begin:end].decode("utf-8", errors="surrogatepass")

    def _name(self, number: int) -> str:
        begin, end = self._ends[number : number + 2].tolist()
        return self._letters[begin:end].decode("utf-8", errors="surrogatepass")


class ChosenNames(Sequence[str]):
    """Some of many names.

    Parameters
    ----------
    names : all of them.
    indices : (chosen names,) where these stand, rising.
    """

    def __init__(self, names: Sequence[str], indices: Ints) -> None:
        self._names = names
        self._indices = indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        chosen = self._indices[index]
        if isinstance(index, slice):
            return [self._names[number] for number in chosen.tolist()]
        return self._names[int(chosen)]

    def __iter__(self) -> Iterator[str]:
        # Most names are chosen, and one after the other they come faster.
        is_chosen = np.zeros(len(self._names), dtype=bool)
        is_chosen[self._indices] = True
        return compress(self._names, is_chosen.tolist())


def place_of_name(names: Sequence[str], name: str) -> int | None:
    """The number of the first column with this name; None if there is none."""
    if isinstance(names, NumberedNames):
        return names.place(name)
    for number, other in enumerate(names):
        if other == name:
            return number
    return None


def first_repeated_name(names: Sequence[str]) -> str | None:
    """Find a name that two columns share; None if all names are different.

    Names are first compared by their hashes, of eight bytes each, because a set of all names could
    take much more memory: `names` may make each name only when it is asked for.
    """
    if isinstance(names, NumberedNames):
        return None  # x0, x1, x2, … are different
    hashes = np.fromiter((hash(name) for name in names), dtype=np.int64, count=len(names))
    distinct_hashes, counts = np.unique(hashes, return_counts=True)
    repeated_hashes = distinct_hashes[counts > 1]

    # Different names may have the same hash, so compare the few names with a repeated hash.
    may_be_repeated = np.isin(hashes, repeated_hashes)  # (columns,)
    names_seen: set[str] = set()
    for column in np.flatnonzero(may_be_repeated).tolist():
        name = names[column]
        if name in names_seen:
            return name
        names_seen.add(name)
    return None
