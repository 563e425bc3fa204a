"""Genotypes of PLINK: a `.bed` file with the samples in `.fam` and the variants in `.bim`.

A genotype is the number of copies of the variant's first allele (A1 in `.bim`), 0, 1 or 2, kept in
two bits. Every variant begins with a byte of its own, four samples in each byte, the first in the
lowest bits.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chanceline.errors import InputError

MAGIC = bytes([0x6C, 0x1B])
VARIANTS_IN_ROWS = 1  # the third byte: all samples of a variant stand together
N_HEADER_BYTES = 3
SAMPLES_IN_BYTE = 4
MISSING_GENOTYPE = -1
# What the four pairs of bits mean: two copies of A1, missing, one copy, none.
COPIES_OF_BITS = np.array([2, MISSING_GENOTYPE, 1, 0], dtype=np.int8)
BIM_FIELDS = ("chromosome", "variant", "centimorgans", "position", "A1", "A2")
FAM_FIELDS = ("family", "sample", "father", "mother", "sex", "phenotype")
UNNAMED_VARIANT = "."


def _genotypes_of_bytes() -> NDArray[np.int8]:
    """The four genotypes of every byte: (256, 4)."""
    byte = np.arange(256)[:, None]
    shift = 2 * np.arange(SAMPLES_IN_BYTE)
    return COPIES_OF_BITS[(byte >> shift) & 3]


GENOTYPES_OF_BYTE = _genotypes_of_bytes()


class PlinkColumns:
    """The genotypes of a `.bed` file as columns; missing ones are the mean of their column.

    Parameters
    ----------
    path : of the `.bed` file; those beside it end in `.bim` and `.fam`.

    Attributes
    ----------
    variants : a row of `.bim` for every column, by the names in `BIM_FIELDS`.
    samples : a row of `.fam` for every sample, by the names in `FAM_FIELDS`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.variants = _read_fields(path.with_suffix(".bim"), BIM_FIELDS)
        self.samples = _read_fields(path.with_suffix(".fam"), FAM_FIELDS)
        self._bytes_per_variant = -(-self.n_samples // SAMPLES_IN_BYTE)
        self._check_file()

    @property
    def n_samples(self) -> int:
        return len(self.samples["sample"])

    @property
    def n_columns(self) -> int:
        return len(self.variants["variant"])

    @property
    def dtype(self) -> np.dtype[np.int8]:
        """That of whole genotypes; columns with missing ones are read as floats."""
        return np.dtype(np.int8)

    @property
    def names(self) -> list[str]:
        """`rs123_G` for every column, as PLINK writes it: the variant, and the allele counted.

        A variant without a name, or with one that another has too, is called by its place.
        """
        fields = self.variants
        frequency = Counter(fields["variant"])
        names = []
        for variant, chromosome, position, first, second in zip(
            fields["variant"],
            fields["chromosome"],
            fields["position"],
            fields["A1"],
            fields["A2"],
            strict=True,
        ):
            name = variant
            if variant == UNNAMED_VARIANT or frequency[variant] > 1:
                name = f"{chromosome}:{position}:{first}:{second}"
            names.append(f"{name}_{first}")
        return names

    def genotypes(self, start: int, stop: int) -> NDArray[np.int8]:
        """Copies of A1, or `MISSING_GENOTYPE`, of these variants: (samples, stop − start)."""
        n_variants = stop - start
        offset = N_HEADER_BYTES + start * self._bytes_per_variant
        with self._path.open("rb") as file:
            file.seek(offset)
            packed = file.read(n_variants * self._bytes_per_variant)
        rows = np.frombuffer(packed, dtype=np.uint8).reshape(n_variants, self._bytes_per_variant)
        # (variants, bytes, 4), of which the last byte may have more than there are samples.
        genotypes = GENOTYPES_OF_BYTE[rows].reshape(n_variants, -1)[:, : self.n_samples]
        return np.ascontiguousarray(genotypes.T)

    def read(self, start: int, stop: int) -> NDArray[np.int8] | NDArray[np.float32]:
        """As whole numbers; as floats where some are missing and have the mean of their column."""
        genotypes = self.genotypes(start, stop)
        is_missing = genotypes == MISSING_GENOTYPE
        if not is_missing.any():
            return genotypes
        return fill_with_means(genotypes, is_missing)

    def _check_file(self) -> None:
        """Refuse a file that is no `.bed`, or does not fit to the other two."""
        with self._path.open("rb") as file:
            header = file.read(N_HEADER_BYTES)
        if header[:2] != MAGIC:
            raise InputError(f"{self._path.name} is no .bed file of PLINK.")
        if header[2:] != bytes([VARIANTS_IN_ROWS]):
            raise InputError(
                f"{self._path.name} keeps genotypes by samples, as very old files do; write it "
                "anew with PLINK 1.9 or later."
            )
        expected_size = N_HEADER_BYTES + self.n_columns * self._bytes_per_variant
        size = self._path.stat().st_size
        if size != expected_size:
            raise InputError(
                f"{self._path.name} has {size:,} bytes, but {self.n_columns:,} variants in .bim "
                f"and {self.n_samples:,} samples in .fam make {expected_size:,}; the three files "
                "must belong together."
            )


def fill_with_means(
    genotypes: NDArray[np.int8], is_missing: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The genotypes (samples, variants) with the mean of its column for every missing one.

    A column in which all are missing becomes 0.
    """
    n_known = np.count_nonzero(~is_missing, axis=0)
    totals = np.where(is_missing, 0, genotypes).sum(axis=0, dtype=np.int64)
    means = totals / np.maximum(n_known, 1)
    filled: NDArray[np.float32] = np.where(is_missing, means, genotypes).astype(np.float32)
    return filled


def _read_fields(path: Path, names: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of a text file with these fields in every line, separated by white space."""
    columns: dict[str, list[str]] = {name: [] for name in names}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if len(fields) != len(names):
                raise InputError(
                    f"line {number} of {path.name} has {len(fields)} fields and not {len(names)}."
                )
            for name, field in zip(names, fields, strict=True):
                columns[name].append(field)
    return columns
