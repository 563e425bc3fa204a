"""Genotypes of PLINK as a table: copies of each variant's first allele, and what `.fam` says of the
samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from chanceline.columns.plink import MISSING_GENOTYPE, PlinkColumns, fill_with_means
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable
from chanceline.tables.wording import plural

VARIANTS_AT_A_TIME = 4_096  # so that unpacking needs little memory besides the table
SEXES = {"1": "male", "2": "female"}
PHENOTYPES = {"1": "control", "2": "case"}
UNKNOWN_CODES = {"0", "-9"}
ALLELES_COUNTED = Finding.note(
    "genotypes are copies of the allele that stands behind the name of the variant (A1 of .bim)."
)


def read_plink(path: Path, missing: str) -> RawTable:
    """The genotypes of a `.bed` file with the `.bim` and `.fam` beside it.

    Parameters
    ----------
    path : of the `.bed` file.
    missing : what to do about missing genotypes. "error", which nobody has chosen, fills them with
        the mean of their column; with anything else they are left as gaps.
    """
    columns = PlinkColumns(path)
    genotypes = np.empty((columns.n_samples, columns.n_columns), dtype=np.int8)
    for start in range(0, columns.n_columns, VARIANTS_AT_A_TIME):
        stop = min(start + VARIANTS_AT_A_TIME, columns.n_columns)
        genotypes[:, start:stop] = columns.genotypes(start, stop)
    values, findings = _without_missing(genotypes, missing)
    ids = columns.samples["sample"]
    return RawTable(
        values=pd.DataFrame(values, columns=columns.names, index=ids),
        about=_about_samples(columns.samples),
        header_ids=ids,
        names_stand_in=f"{path.stem}.fam",
        index_name="samples",
        findings=(ALLELES_COUNTED, *findings),
    )


def _without_missing(
    genotypes: NDArray[np.int8], missing: str
) -> tuple[NDArray[Any], list[Finding]]:
    """The genotypes with means or gaps for the missing ones, and what was done."""
    is_missing = genotypes == MISSING_GENOTYPE
    n_missing = int(np.count_nonzero(is_missing))
    if n_missing == 0:
        return genotypes, []
    if missing != "error":
        return np.where(is_missing, np.nan, genotypes).astype(np.float32), []
    n_columns = int(np.count_nonzero(is_missing.any(axis=0)))
    finding = Finding.prepared(
        f"{plural(n_missing, 'missing genotype')} in {plural(n_columns, 'column')} filled with the "
        "mean of the column."
    )
    return fill_with_means(genotypes, is_missing), [finding]


def _about_samples(fields: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """What `.fam` says of the samples: families with several members, parents, sex and phenotype.

    Columns that say nothing are left out.
    """
    families = list(fields["family"])
    columns: dict[str, list[Any]] = {
        "family": families,
        "father": _known(fields["father"]),
        "mother": _known(fields["mother"]),
        "sex": [SEXES.get(code) for code in fields["sex"]],
        "phenotype": _phenotypes(fields["phenotype"]),
    }
    if len(set(families)) == len(families):
        del columns["family"]  # nobody is related
    about = pd.DataFrame(columns, index=list(fields["sample"]))
    says_something = about.nunique() > 1
    return about.loc[:, says_something]


def _known(codes: Sequence[str]) -> list[str | None]:
    """The names that are known, None for others."""
    return [None if code in UNKNOWN_CODES else code for code in codes]


def _phenotypes(codes: Sequence[str]) -> list[Any]:
    """`case` and `control`, or the values themselves where these are not the codes of PLINK."""
    if set(codes) <= {*PHENOTYPES, *UNKNOWN_CODES}:
        return [PHENOTYPES.get(code) for code in codes]
    return _known(codes)
