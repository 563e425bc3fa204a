"""The sets of features that a test is asked about: those of a file, or the chromosomes of a file of
genotypes.
"""

from __future__ import annotations

from pathlib import Path

from chanceline.errors import InputError
from chanceline.tables.dataset import Dataset
from chanceline.tables.feature_sets import FeatureSets, read_feature_sets
from chanceline.tables.outcome_table import OutcomeTable

BY_CHROMOSOME = "chromosome"  # instead of a file


def find_feature_sets(sets: str | Path, table: Dataset | OutcomeTable) -> FeatureSets:
    """The names of the features of every set, by the name of the set.

    Parameters
    ----------
    sets : the path of a file of sets; or "chromosome" (unless there is a file of that name) for one
        set for each chromosome of a file of genotypes.
    table : the table to test, which knows the chromosomes of its features.
    """
    if str(sets) != BY_CHROMOSOME or Path(sets).exists():
        return read_feature_sets(sets)
    features_of_chromosome: FeatureSets = {}
    if table.variants is not None:
        features_of_chromosome = table.variants.by_chromosome(table.feature_names)
    if not features_of_chromosome:
        raise InputError(
            f"sets={BY_CHROMOSOME!r} needs genotypes whose chromosomes are known (.bed with .bim); "
            "give a file of sets."
        )
    return features_of_chromosome
