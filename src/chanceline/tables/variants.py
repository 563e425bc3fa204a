"""Where the variants of a file of genotypes stand: chromosomes and positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Ints


@dataclass(frozen=True, eq=False)
class VariantPlaces:
    """Places of variants, in the order of their file.

    Attributes
    ----------
    names : of the columns.
    chromosomes : one for each column.
    positions : (columns,) on the chromosome.
    """

    names: Sequence[str]
    chromosomes: Sequence[str]
    positions: Ints

    def of_features(self, feature_names: Sequence[str]) -> VariantPlaces | None:
        """The places of these features, which must be in the order of the file; None if some of
        them are no variants of the file.
        """
        lines = self._lines_of(feature_names)
        if len(lines) < len(feature_names):
            return None
        return VariantPlaces(
            names=feature_names,
            chromosomes=[self.chromosomes[line] for line in lines],
            positions=self.positions[lines],
        )

    def _lines_of(self, feature_names: Sequence[str]) -> list[int]:
        """The positions in the file of these features, up to the first that is not found.

        The features must be in the order of the file: each is searched behind the one before.
        """
        lines = []
        rest_of_file = enumerate(self.names)
        for feature in feature_names:
            line = next((number for number, name in rest_of_file if name == feature), None)
            if line is None:
                break
            lines.append(line)
        return lines

    def by_chromosome(self, feature_names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The names of features on every chromosome, in the order of the file; nothing if some of
        them are no variants of it.
        """
        places = self.of_features(feature_names)
        if places is None:
            return {}
        names_of_chromosome: dict[str, list[str]] = {}
        for name, chromosome in zip(places.names, places.chromosomes, strict=True):
            names_of_chromosome.setdefault(f"chromosome {chromosome}", []).append(name)
        return {chromosome: tuple(names) for chromosome, names in names_of_chromosome.items()}


def read_positions(texts: Sequence[str]) -> Ints:
    """Positions as numbers, 0 for one that is no whole number."""
    numbers = (int(text) if text.isdecimal() else 0 for text in texts)
    return np.fromiter(numbers, dtype=np.int64, count=len(texts))
