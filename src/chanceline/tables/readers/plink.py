"""Genotypes of PLINK as a table: copies of each variant's first allele, and what `.fam` says of the
samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from chanceline.columns.plink import MissingGenotypes, PlinkColumns
from chanceline.tables.dataset import Finding
from chanceline.tables.raw_table import RawTable
from chanceline.tables.readers.columns import table_of_columns
from chanceline.tables.variants import VariantPlaces, read_positions
from chanceline.tables.wording import plural

SEXES = {"1": "male", "2": "female"}
PHENOTYPES = {"1": "control", "2": "case"}
UNKNOWN_CODES = {"0", "-9"}
ALLELES_COUNTED = Finding.note(
    "genotypes are copies of the allele that stands behind the name of the variant (A1 of .bim)."
)


def read_plink(path: Path, missing: str) -> RawTable:
    """Read the genotypes of a PLINK `.bed` file, with the `.bim` and `.fam` files beside it.

    A genotype is the number of copies of the variant's first allele. `.bim` names the variants,
    `.fam` describes the samples.

    Parameters
    ----------
    path : the path of the `.bed` file.
    missing : the setting that says what to do about gaps. With its default, "error", missing
        genotypes are filled with the mean of their column, while gaps of other tables are an error.
        With any other value they stay gaps, which are treated later.
    """
    # The genotypes.
    missing_is_default = missing == "error"
    columns = PlinkColumns(path, fills_missing=missing_is_default)
    findings = [ALLELES_COUNTED]
    if missing_is_default:
        findings += _note_filled(columns.count_missing())

    # The samples (`.fam`) and the variants (`.bim`).
    sample_ids = list(columns.samples["sample"])
    descriptions = _sample_descriptions(columns.samples)
    variant_names = columns.names
    table = table_of_columns(columns, variant_names, sample_ids, descriptions)
    variant_places = VariantPlaces(
        names=variant_names,
        chromosomes=columns.variants["chromosome"],
        positions=read_positions(columns.variants["position"]),
    )
    return replace(
        table,
        header_ids=sample_ids,  # the samples' names, which are in no column of the table
        names_stand_in=f"{path.stem}.fam",  # where messages say that these names are
        index_name="samples",
        findings=tuple(findings),
        variants=variant_places,
    )


def _note_filled(missing: MissingGenotypes) -> list[Finding]:
    """The note that missing genotypes were filled with the mean of their column, if any were."""
    if missing.n_genotypes == 0:
        return []
    genotypes = plural(missing.n_genotypes, "missing genotype")
    columns = plural(missing.n_columns, "column")
    return [Finding.prepared(f"{genotypes} in {columns} filled with the mean of the column.")]


def _sample_descriptions(fields: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The columns of a `.fam` file that describe the samples: family, parents, sex, phenotype.

    Columns with the same value in every row are left out, and so are families if each has only one
    member.

    Parameters
    ----------
    fields : the fields of the file by name, one text for each sample.
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
        del columns["family"]  # every sample has a family of its own
    descriptions = pd.DataFrame(columns, index=list(fields["sample"]))
    varies = descriptions.nunique() > 1
    return descriptions.loc[:, varies]


def _known(codes: Sequence[str]) -> list[str | None]:
    """The names that are known, None for others."""
    return [None if code in UNKNOWN_CODES else code for code in codes]


def _phenotypes(codes: Sequence[str]) -> list[Any]:
    """`case` and `control`, or the values themselves where these are not the codes of PLINK."""
    if set(codes) <= {*PHENOTYPES, *UNKNOWN_CODES}:
        return [PHENOTYPES.get(code) for code in codes]
    return _known(codes)
