"""Genotypes of PLINK: a `.bed` file with the samples in `.fam` and the variants in `.bim`.

A genotype is the number of copies of the variant's first allele (A1 in `.bim`), 0, 1 or 2, kept in
two bits. Every variant begins with a byte of its own, four samples in each byte, the first in the
lowest bits.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from chanceline.columns.names import PackedNames
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
# Fields of which nearly every line has its own; of the others a few texts serve all lines.
MOSTLY_DIFFERENT = frozenset({"variant", "centimorgans", "position"})
FIELDS_OF_NAME = ("variant", "chromosome", "position", "A1", "A2")
UNNAMED_VARIANT = "."
BITS_OF_MISSING = 1
VARIANTS_COUNTED_AT_ONCE = 16_384


class MissingGenotypes(NamedTuple):
    """How many genotypes are missing, and in how many columns."""

    n_genotypes: int
    n_columns: int


def _genotypes_of_bytes() -> NDArray[np.int8]:
    """The four genotypes of every byte: (256, 4)."""
    byte = np.arange(256)[:, None]
    shift = 2 * np.arange(SAMPLES_IN_BYTE)
    return COPIES_OF_BITS[(byte >> shift) & 3]


def _missing_in_bytes() -> NDArray[np.uint8]:
    """How many of the four genotypes of every byte are missing: (256,)."""
    byte = np.arange(256)[:, None]
    shift = 2 * np.arange(SAMPLES_IN_BYTE)
    return np.count_nonzero((byte >> shift) & 3 == BITS_OF_MISSING, axis=1).astype(np.uint8)


GENOTYPES_OF_BYTE = _genotypes_of_bytes()
MISSING_IN_BYTE = _missing_in_bytes()


class PlinkNames(Sequence[str]):
    """`rs123_G` for every column, as PLINK writes it: the variant, and the allele counted.

    A variant without a name, or with one that another has too, is called by its place.

    Parameters
    ----------
    variants : the lines of `.bim`, by the names in `BIM_FIELDS`.
    """

    def __init__(self, variants: dict[str, Sequence[str]]) -> None:
        self._variants = variants
        frequency = Counter(variants["variant"])
        self._ambiguous = {name for name, lines in frequency.items() if lines > 1}
        self._ambiguous.add(UNNAMED_VARIANT)

    def __len__(self) -> int:
        return len(self._variants["variant"])

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
        fields = (self._variants[name] for name in FIELDS_OF_NAME)
        return map(self._name_of_line, *fields)

    def _name(self, number: int) -> str:
        return self._name_of_line(*(self._variants[name][number] for name in FIELDS_OF_NAME))

    def _name_of_line(self, variant: str, chromosome: str, position: str, *alleles: str) -> str:
        """The name of the variant with these fields of its line, two alleles at the end."""
        first_allele, second_allele = alleles
        name = variant
        if variant in self._ambiguous:
            name = f"{chromosome}:{position}:{first_allele}:{second_allele}"
        return f"{name}_{first_allele}"


class PlinkColumns:
    """The genotypes of a `.bed` file as columns.

    Parameters
    ----------
    path : of the `.bed` file; those beside it end in `.bim` and `.fam`.
    fills_missing : whether missing genotypes are the mean of their column; else they are NaN.

    Attributes
    ----------
    variants : a row of `.bim` for every column, by the names in `BIM_FIELDS`.
    samples : a row of `.fam` for every sample, by the names in `FAM_FIELDS`.
    """

    def __init__(self, path: Path, *, fills_missing: bool = True) -> None:
        self._path = path
        self._fills_missing = fills_missing
        self.variants = _read_fields(path.with_suffix(".bim"), BIM_FIELDS)
        self.samples = _read_fields(path.with_suffix(".fam"), FAM_FIELDS)
        self._n_samples = len(self.samples["sample"])
        self._n_columns = len(self.variants["variant"])
        self._bytes_per_variant = -(-self.n_samples // SAMPLES_IN_BYTE)
        self._check_file()

    @property
    def n_samples(self) -> int:
        return self._n_samples

    @property
    def n_columns(self) -> int:
        return self._n_columns

    @property
    def files(self) -> tuple[Path, ...]:
        return (self._path,)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: what genotypes are read with, without the texts."""
        state = self.__dict__ | {"_path": self._path.absolute()}
        for texts in ("variants", "samples"):
            state.pop(texts, None)
        return state

    @property
    def dtype(self) -> np.dtype[np.int8]:
        """That of whole genotypes; columns with missing ones are read as floats."""
        return np.dtype(np.int8)

    @property
    def names(self) -> PlinkNames:
        """One for every column."""
        return PlinkNames(self.variants)

    def genotypes(self, start: int, stop: int) -> NDArray[np.int8]:
        """Copies of A1, or `MISSING_GENOTYPE`, of these variants: (samples, stop − start)."""
        rows = self._packed(start, stop)
        # (variants, bytes, 4), of which the last byte may have more than there are samples.
        genotypes = GENOTYPES_OF_BYTE[rows].reshape(len(rows), -1)[:, : self.n_samples]
        return np.ascontiguousarray(genotypes.T)

    def read(self, start: int, stop: int) -> NDArray[np.int8] | NDArray[np.float32]:
        """Read the genotypes of variants `start` … `stop` − 1: (samples, stop − start).

        A genotype is the number of copies of an allele, 0, 1 or 2. If none is missing, these are
        integers. Otherwise they are floating-point numbers, and a missing genotype is the mean of
        its variant or NaN, as was chosen for this file.
        """
        genotypes = self.genotypes(start, stop)
        is_missing = genotypes == MISSING_GENOTYPE
        if not is_missing.any():
            return genotypes
        if self._fills_missing:
            return fill_with_means(genotypes, is_missing)
        genotypes_with_nan = genotypes.astype(np.float32)
        genotypes_with_nan[is_missing] = np.nan
        return genotypes_with_nan

    def count_missing(self) -> MissingGenotypes:
        """How many genotypes of the whole file are missing."""
        n_genotypes = 0
        n_columns = 0
        for start in range(0, self.n_columns, VARIANTS_COUNTED_AT_ONCE):
            stop = min(start + VARIANTS_COUNTED_AT_ONCE, self.n_columns)
            n_missing = MISSING_IN_BYTE[self._packed(start, stop)].sum(axis=1, dtype=np.int64)
            n_genotypes += int(n_missing.sum())
            n_columns += int(np.count_nonzero(n_missing))
        return MissingGenotypes(n_genotypes, n_columns)

    def _packed(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Read the bytes of variants `start` … `stop` − 1: (variants, bytes of a variant).

        A byte holds the genotypes of four samples, two bits each, the first in the lowest bits. The
        bits behind the last sample are set to zero.
        """
        n_variants = stop - start
        with self._path.open("rb") as file:
            file.seek(N_HEADER_BYTES + start * self._bytes_per_variant)
            content = bytearray(file.read(n_variants * self._bytes_per_variant))
        packed = np.frombuffer(content, dtype=np.uint8).reshape(n_variants, -1)

        # If the last byte has fewer than four samples, keep only their bits, the lowest ones.
        n_in_last_byte = self.n_samples % SAMPLES_IN_BYTE
        if n_in_last_byte > 0:
            mask_of_samples = (1 << (2 * n_in_last_byte)) - 1
            packed[:, -1] &= mask_of_samples
        return packed

    def _check_file(self) -> None:
        """Refuse a file that is no `.bed`, or whose size does not fit to `.bim` and `.fam`.

        The header is two bytes that mark the format, and one for the order of the genotypes: all
        samples of a variant together, or all variants of a sample (very old files).
        """
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


def _read_fields(path: Path, names: tuple[str, ...]) -> dict[str, Sequence[str]]:
    """Read a text file with these fields in every line, separated by white space.

    Returns a dictionary from the name of a field to its values, one for each line. The values of
    fields that differ in nearly every line (`MOSTLY_DIFFERENT`) are packed into a sequence that
    takes less memory than a list.
    """
    values_of_field: dict[str, list[str]] = {name: [] for name in names}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line_number, line in enumerate(file, start=1):
            fields = line.split()
            if len(fields) != len(names):
                raise InputError(
                    f"line {line_number} of {path.name} has {len(fields)} fields and not "
                    f"{len(names)}."
                )
            for name, field in zip(names, fields, strict=True):
                # Intern the text, so that equal texts are in memory once.
                values_of_field[name].append(sys.intern(field))

    packed: dict[str, Sequence[str]] = {}
    for name, values in values_of_field.items():
        packed[name] = values
        if name in MOSTLY_DIFFERENT:
            packed[name] = PackedNames(values)
    return packed
