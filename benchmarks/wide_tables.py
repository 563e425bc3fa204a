"""Very wide tables for `cost.py`: genotypes and methylation without any structure, written a block of columns at a time.

Their size on disk: a byte for each genotype before Zarr packs it, two bits in a .bed, four bytes for a number of single precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 1
BLOCK = 4_096  # columns
N_CHROMOSOMES = 22
# What a .bed keeps for 0, 1 and 2 copies.
BITS_OF_COPIES = np.array([3, 2, 0], dtype=np.uint8)
BEGIN_OF_BED = bytes([0x6C, 0x1B, 0x01])


@dataclass(frozen=True)
class WideCase:
    """A table that is tested where it is kept.

    Attributes
    ----------
    n_samples, n_columns : its shape.
    kind : of file: zarr, bed or npy.
    permutations : shuffles asked for.
    jobs : processes.
    """

    n_samples: int
    n_columns: int
    kind: str
    permutations: int
    jobs: int = 1

    def write(self, folder: Path) -> WideFile:
        """Write the table and its labels."""
        labels = np.random.default_rng(SEED).permutation(np.arange(self.n_samples) % 2)
        path = folder / f"table.{self.kind}"
        if self.kind == "zarr":
            size = write_zarr(path, self.genotypes(), self.shape)
        elif self.kind == "bed":
            size = write_bed(path, self.genotypes(), labels)
        else:
            size = write_npy(path, self.methylation(), self.shape)
        if self.kind == "bed":
            return WideFile(path, size, label="phenotype")
        names = np.array(["control", "case"])[labels]
        labels_path = folder / "classes.txt"
        labels_path.write_text("\n".join(["group", *names]) + "\n", encoding="utf-8")
        return WideFile(path, size, labels=labels_path)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, self.n_columns

    def blocks(self) -> Iterator[tuple[np.random.Generator, int]]:
        """A generator and a number of columns for each block."""
        rng = np.random.default_rng(SEED + 1)
        for start in range(0, self.n_columns, BLOCK):
            yield rng, min(BLOCK, self.n_columns - start)

    def genotypes(self) -> Iterator[NDArray[np.int8]]:
        """Copies of alleles in equilibrium, with frequencies from 0.05 to 0.5: (samples, block)."""
        for rng, width in self.blocks():
            frequency = rng.uniform(0.05, 0.5, width).astype(np.float32)
            draws = rng.random((2, self.n_samples, width), dtype=np.float32)
            yield (draws < frequency).sum(axis=0, dtype=np.int8)

    def methylation(self) -> Iterator[NDArray[np.float32]]:
        """Shares between 0 and 1, each probe about a level of its own: (samples, block)."""
        for rng, width in self.blocks():
            level = rng.normal(0, 2, width).astype(np.float32)
            noise = rng.standard_normal((self.n_samples, width), dtype=np.float32)
            yield 1 / (1 + np.exp(-(level + 0.5 * noise)))


@dataclass(frozen=True)
class WideFile:
    """A table on disk: its path, its size in bytes, and where its labels are."""

    path: Path
    size: int
    label: str | None = None
    labels: Path | None = None


def write_zarr(path: Path, blocks: Iterator[NDArray[Any]], shape: tuple[int, int]) -> int:
    import zarr

    array = zarr.create_array(path, shape=shape, chunks=(shape[0], BLOCK), dtype="i1")
    start = 0
    for block in blocks:
        array[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    return int(array.nbytes_stored())


def write_npy(path: Path, blocks: Iterator[NDArray[Any]], shape: tuple[int, int]) -> int:
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    start = 0
    for block in blocks:
        array[:, start : start + block.shape[1]] = block
        start += block.shape[1]
    array.flush()
    return path.stat().st_size


def write_bed(path: Path, blocks: Iterator[NDArray[np.int8]], labels: NDArray[np.int64]) -> int:
    n_variants = 0
    with path.open("wb") as bed, path.with_suffix(".bim").open("w", encoding="utf-8") as bim:
        bed.write(BEGIN_OF_BED)
        for block in blocks:
            bed.write(packed_genotypes(block))
            for variant in range(n_variants, n_variants + block.shape[1]):
                chromosome = 1 + variant // BLOCK % N_CHROMOSOMES
                bim.write(f"{chromosome}\trs{variant}\t0\t{variant}\tG\tA\n")
            n_variants += block.shape[1]
    sexes = np.random.default_rng(SEED + 2).integers(1, 3, len(labels))
    people = [
        f"F{number} S{number} 0 0 {sex} {1 + label}\n"
        for number, (sex, label) in enumerate(zip(sexes, labels, strict=True))
    ]
    path.with_suffix(".fam").write_text("".join(people), encoding="utf-8")
    return path.stat().st_size


def packed_genotypes(block: NDArray[np.int8]) -> bytes:
    """Four genotypes in a byte, the first in the lowest bits, every variant by itself."""
    n_samples, n_variants = block.shape
    bits = np.zeros((n_variants, -(-n_samples // 4) * 4), dtype=np.uint8)
    bits[:, :n_samples] = BITS_OF_COPIES[block].T
    in_fours = bits.reshape(n_variants, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)
    return np.bitwise_or.reduce(in_fours, axis=2).tobytes()
