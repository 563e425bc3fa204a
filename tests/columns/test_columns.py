"""Tables by their columns: the same digits from memory, a memory map, Parquet, PLINK and Dask; damaged files are one sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from chanceline.columns.parquet import ParquetColumns
from chanceline.columns.plink import PlinkColumns
from chanceline.columns.precision import single_if_exact
from chanceline.columns.source import SlicedColumns, open_npy
from chanceline.columns.table import ColumnTable
from chanceline.columns.wide import available_memory, in_memory
from chanceline.errors import InputError
from chanceline.tables import load_data

N_SAMPLES, N_COLUMNS, TILE_WIDTH = 30, 1400, 512
BITS = {2: 0b00, -1: 0b01, 1: 0b10, 0: 0b11}
# The example of PLINK's description of the format.
EXAMPLE_BED = bytes.fromhex("6c1b01dc0fe70f6b01")
EXAMPLE_BIM = "1 snp1 0 1 G A\n1 snp2 0 2 1 2\n1 snp3 0 3 A C\n"
EXAMPLE_FAM = "1 1 0 0 1 0\n1 2 0 0 1 0\n1 3 1 2 1 2\n2 1 0 0 1 0\n2 2 0 0 1 2\n2 3 1 2 1 2\n"


def write_plink(folder, genotypes, phenotypes):
    """A .bed written two bits at a time, with its .bim and .fam."""
    n_samples, n_variants = genotypes.shape
    content = bytearray([0x6C, 0x1B, 0x01])
    for variant in genotypes.T:
        for start in range(0, n_samples, 4):
            byte = 0
            for place, genotype in enumerate(variant[start : start + 4].tolist()):
                byte |= BITS[genotype] << (2 * place)
            content.append(byte)
    path = folder / "study.bed"
    path.write_bytes(bytes(content))
    variants = [f"1\trs{j}\t0\t{j}\tG\tA\n" for j in range(n_variants)]
    path.with_suffix(".bim").write_text("".join(variants))
    people = [f"F{i} s{i} 0 0 {1 + i % 2} {code}\n" for i, code in enumerate(phenotypes)]
    path.with_suffix(".fam").write_text("".join(people))
    return path


@pytest.fixture(autouse=True)
def narrow_tiles(monkeypatch):
    """Several tiles in small tables, the last of them not full."""
    monkeypatch.setattr("chanceline.columns.table.TILE_WIDTH", TILE_WIDTH)


@pytest.fixture(scope="module")
def genotypes():
    rng = np.random.default_rng(1)
    shares = rng.uniform(0.05, 0.5, N_COLUMNS)
    return rng.binomial(2, shares, size=(N_SAMPLES, N_COLUMNS)).astype(np.int8)


def npy_source(folder, genotypes):
    np.save(folder / "X.npy", genotypes)
    return open_npy(folder / "X.npy")


def parquet_source(folder, genotypes):
    names = [f"x{j}" for j in range(N_COLUMNS)]
    pd.DataFrame(genotypes, columns=names).to_parquet(folder / "X.parquet")
    return ParquetColumns(folder / "X.parquet")


def plink_source(folder, genotypes):
    return PlinkColumns(write_plink(folder, genotypes, [1] * N_SAMPLES))


def dask_source(chunk):
    def make(folder, genotypes):
        array = pytest.importorskip("dask.array")
        return SlicedColumns(array.from_array(genotypes, chunks=(-1, chunk)))

    return make


@pytest.mark.parametrize(
    "make",
    [npy_source, parquet_source, plink_source, *(dask_source(chunk) for chunk in (100, 512, -1))],
    ids=["npy", "parquet", "plink", "dask 100", "dask 512", "dask all"],
)
def test_every_source_gives_the_same_digits(tmp_path, genotypes, make):
    in_memory = ColumnTable(SlicedColumns(genotypes))
    table = ColumnTable(make(tmp_path, genotypes))
    vectors = np.random.default_rng(2).normal(size=(5, N_SAMPLES))
    indices = np.array([N_COLUMNS - 1, 3, TILE_WIDTH, 17, 3])
    assert table.shape == genotypes.shape
    assert (table.dtype, len(table), table.ndim) == (np.int8, N_SAMPLES, 2)
    assert table.source.read(5, 9).dtype == np.int8
    assert np.array_equal(table.products(vectors), in_memory.products(vectors))
    assert np.array_equal(table.gram(), in_memory.gram())
    assert np.array_equal(table.take(indices), genotypes[:, indices])
    for ours, expected in zip(table.moments(), in_memory.moments(), strict=True):
        assert np.array_equal(ours, expected)


def test_products_and_moments_are_those_of_the_whole_array(genotypes):
    rng = np.random.default_rng(3)
    X = 100 + rng.normal(size=genotypes.shape)
    table = ColumnTable(SlicedColumns(X))
    vectors = rng.normal(size=(4, N_SAMPLES))
    np.testing.assert_allclose(table.products(vectors), vectors @ X, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(table.gram(), X @ X.T, rtol=1e-12)
    means, lengths = table.moments()
    np.testing.assert_allclose(means, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(lengths, X.std(axis=0) * np.sqrt(N_SAMPLES), rtol=1e-12)
    assert table.take(np.zeros(0, dtype=np.int64)).shape == (N_SAMPLES, 0)


def test_a_table_is_indexed_by_its_columns_as_an_array_is(genotypes):
    table = ColumnTable(SlicedColumns(genotypes), tile_width=100)
    chosen = np.zeros(N_COLUMNS, dtype=bool)
    chosen[[0, 99, 100, 1399]] = True
    for indices in ([5, 1399, 5], chosen, slice(90, 310, 7), -1, np.array([-2, 0])):
        columns = table[:, indices]
        assert columns.dtype == np.float64
        assert np.array_equal(columns, genotypes[:, indices])
    assert table.take(np.array([5, 1399])).dtype == np.int8
    some_columns = table.select(np.array([0, 99, 100, 700, 1399]))
    assert np.array_equal(some_columns[:, :], genotypes[:, [0, 99, 100, 700, 1399]])
    rows = np.array([4, 0, 29, 4])
    some_samples = table.rows(rows)
    assert some_samples.shape == (4, N_COLUMNS)
    assert np.array_equal(some_samples[:, 95:105], genotypes[rows, 95:105])
    assert np.array_equal(some_samples.gram(), (genotypes[rows] @ genotypes[rows].T.astype(int)))


def test_single_precision_is_for_numbers_that_it_holds(genotypes):
    for dtype in (np.int8, np.int32, np.float64, np.float32, bool):
        exact = single_if_exact(genotypes.astype(dtype))
        assert exact.dtype == np.float32
        assert np.array_equal(exact, genotypes.astype(dtype))
    for numbers in (np.array([0.1]), np.array([2**24 + 1])):
        assert single_if_exact(numbers).dtype == np.float64
        assert np.array_equal(single_if_exact(numbers), numbers)


@pytest.mark.parametrize("key", [0, [1, 2], (0, 1), (slice(0, 5), [1]), (slice(None),)])
def test_other_indices_are_refused_and_so_is_the_whole_table(genotypes, key):
    table = ColumnTable(SlicedColumns(genotypes))
    with pytest.raises(TypeError, match="indexed by its columns alone"):
        table[key]
    with pytest.raises(TypeError, match="not turned into one array"):
        np.asarray(table)


def write_example(folder, bed=EXAMPLE_BED, bim=EXAMPLE_BIM, fam=EXAMPLE_FAM):
    path = folder / "example.bed"
    path.write_bytes(bed)
    path.with_suffix(".bim").write_text(bim)
    path.with_suffix(".fam").write_text(fam)
    return path


def test_the_example_of_the_format(tmp_path):
    columns = PlinkColumns(write_example(tmp_path))
    missing = -1
    expected = [
        [2, 0, 0],
        [0, missing, 1],
        [missing, 1, 1],
        [0, 0, missing],
        [0, 0, missing],
        [0, 0, 2],
    ]
    assert columns.genotypes(0, 3).tolist() == expected
    assert columns.genotypes(1, 2)[:, 0].tolist() == [0, missing, 1, 0, 0, 0]
    assert list(columns.names) == ["snp1_G", "snp2_1", "snp3_A"]
    filled = columns.read(0, 3)
    np.testing.assert_allclose(filled[2, 0], 2 / 5)
    np.testing.assert_allclose(filled[3:5, 2], 1)


def test_variants_without_a_name_of_their_own_are_called_by_their_place(tmp_path):
    bim = "1 . 0 10 G A\nX rs7 0 20 C T\nX rs7 0 30 C G\n"
    names = PlinkColumns(write_example(tmp_path, bim=bim)).names
    assert list(names) == ["1:10:G:A_G", "X:20:C:T_C", "X:30:C:G_C"]


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"bed": EXAMPLE_BED[:-1]}, "has 8 bytes, but 3 variants in .bim and 6 samples in .fam make 9"),
    ({"fam": EXAMPLE_FAM[:-12] * 2}, "must belong together"),
    ({"bim": "1 snp1 0 1 G\n"}, "line 1 of example.bim has 5 fields and not 6"),
    ({"bed": b"PK" + EXAMPLE_BED[2:]}, "is no .bed file of PLINK"),
    ({"bed": EXAMPLE_BED[:2] + b"\0" + EXAMPLE_BED[3:]}, "PLINK 1.9 or later"),
])  # fmt: skip
def test_files_that_do_not_fit_are_one_sentence(tmp_path, changes, sentence):
    with pytest.raises(InputError, match=sentence):
        load_data(write_example(tmp_path, **changes), "phenotype")


def test_other_sources_that_do_not_fit_are_one_sentence(tmp_path):
    whole = tmp_path / "X.npy"
    np.save(whole, np.zeros((3, 4)))
    whole.write_bytes(whole.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"no whole \.npy file"):
        open_npy(whole)
    with pytest.raises(InputError, match="two dimensions"):
        SlicedColumns(np.zeros(3))
    with pytest.raises(InputError, match="must hold numbers"):
        SlicedColumns(np.array([["a"]]))
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [1.0, None]}).to_parquet(
        tmp_path / "t.parquet"
    )
    columns = ParquetColumns(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"column 'b' of t\.parquet holds no numbers"):
        columns.read(0, 2)
    with pytest.raises(InputError, match="has no column 'd'"):
        ParquetColumns(tmp_path / "t.parquet", ["d"])


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(4)
    genotypes = rng.binomial(2, 0.3, size=(20, 12)).astype(np.int8)
    genotypes[3, 5] = genotypes[8, 5] = -1
    return write_plink(tmp_path, genotypes, [1, 2] * 9 + [-9, 0]), genotypes


def test_a_study_of_plink_is_a_table(study):
    path, genotypes = study
    dataset = load_data(path, "phenotype", unlabelled="drop", adjust="sex")
    assert dataset.classes == ("control", "case")
    assert dataset.y.tolist() == [-1, 1] * 9
    assert dataset.feature_names[:2] == ("rs0_G", "rs1_G")
    others = np.delete(np.arange(12), 5)
    assert np.array_equal(dataset.X[:, others], genotypes[:18, others])
    known = genotypes[genotypes[:, 5] >= 0, 5]
    np.testing.assert_allclose(dataset.X[[3, 8], 5], known.mean(), rtol=1e-6)
    sentences = " ".join(finding.message for finding in dataset.findings)
    assert "2 missing genotypes in 1 column filled with the mean" in sentences
    assert "copies of the allele that stands behind the name" in sentences
    assert set(dataset.covariates) == {"sex"}
    assert load_data(path, "phenotype", unlabelled="drop", missing="columns").X.shape == (18, 11)


def test_a_second_file_stands_beside_the_phenotype(study, tmp_path):
    path, _ = study
    components = tmp_path / "pca.csv"
    rows = [f"s{i},{np.sin(i)}\n" for i in reversed(range(20))]
    components.write_text("sample,PC1\n" + "".join(rows))
    dataset = load_data(path, "phenotype", labels=components, adjust="PC1", unlabelled="drop")
    np.testing.assert_allclose(dataset.covariates["PC1"], np.sin(np.arange(18)))


def test_an_array_with_labels_in_a_file_of_their_own(tmp_path):
    X = np.random.default_rng(5).integers(0, 9, size=(10, 4)).astype(np.int16)
    path, labels = tmp_path / "X.npy", tmp_path / "y.txt"
    np.save(path, X)
    labels.write_text("group\n" + "case\ncontrol\n" * 5)
    dataset = load_data(path, labels=labels)
    assert np.array_equal(dataset.X, X)
    assert dataset.y.tolist() == [1, -1] * 5
    np.save(path, X.T)
    assert np.array_equal(load_data(path, labels=labels, transpose=True).X, X)
    with pytest.raises(InputError, match="labels=FILE"):
        load_data(Path(path), "y")


@pytest.mark.slow
def test_genotypes_of_a_very_wide_array_keep_their_type(tmp_path):
    X = np.random.default_rng(6).integers(0, 3, size=(10, 40_001)).astype(np.int8)
    path, labels = tmp_path / "X.npy", tmp_path / "y.txt"
    np.save(path, X)
    labels.write_text("group\n" + "case\ncontrol\n" * 5)
    dataset = load_data(path, labels=labels)
    assert dataset.X.dtype == np.int8
    names = [int(name[1:]) for name in dataset.feature_names]
    assert len(names) > 39_000
    assert np.array_equal(dataset.X[:, :], X[:, names])


def test_a_table_for_which_there_is_no_memory_is_refused_with_the_size_needed(
    monkeypatch, tmp_path, genotypes
):
    table = ColumnTable(SlicedColumns(genotypes))
    n_bytes = 8 * genotypes.size
    report = tmp_path / "meminfo"
    monkeypatch.setattr("chanceline.columns.wide.MEMORY_OF_MACHINE", report)

    report.write_text(f"MemTotal: 9999999 kB\nMemAvailable:  {-(-n_bytes // 1024)} kB\n")
    assert np.array_equal(in_memory(table), genotypes)

    report.write_text(f"MemTotal: 9999999 kB\nMemAvailable:  {n_bytes // 1024 - 1} kB\n")
    with pytest.raises(InputError, match=r"needs the whole table of .* in memory, at least .* GB"):
        in_memory(table)


def test_the_memory_that_is_free_is_less_than_the_machine_has():
    free = available_memory()
    if free is None:
        pytest.skip("this system does not say")
    assert 0 < free < psutil.virtual_memory().total
