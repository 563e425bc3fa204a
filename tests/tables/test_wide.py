"""Very wide tables stay where they are kept, and reading and checks say of them what they say of tables in memory."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from chanceline.columns.source import SlicedColumns
from chanceline.columns.table import ColumnTable
from chanceline.columns.views import ChosenColumns
from chanceline.errors import InputError
from chanceline.significance import separation_test
from chanceline.tables import load_data
from chanceline.tables.array_input import dataset_of_arrays
from chanceline.tables.checks.advice import examine_dataset
from chanceline.tables.dataset import Dataset
from chanceline.tables.labelled import read_table
from chanceline.tables.outcome_table import OutcomeNames, load_any_outcome
from chanceline.tables.settings import TableSettings

N_SAMPLES, N_COLUMNS = 40, 700
TILE_WIDTH = 128
IN_MEMORY = 100_000
CLASSES = np.array(["case", "control"] * (N_SAMPLES // 2))
LABELS = np.where(CLASSES == "case", 1.0, -1.0)
HALVES = np.repeat([1.0, -1.0], N_SAMPLES // 2)


def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def narrow_tiles(monkeypatch):
    """Several tiles in small tables, the last of them not full."""
    monkeypatch.setattr("chanceline.columns.table.TILE_WIDTH", TILE_WIDTH)


@pytest.fixture
def wide_from(monkeypatch):
    def set_limit(n_columns):
        monkeypatch.setattr("chanceline.columns.wide.WIDE_FROM", n_columns)

    set_limit(N_COLUMNS // 2)
    return set_limit


@pytest.fixture(scope="module")
def genotypes():
    return rng(0).binomial(2, 0.3, size=(N_SAMPLES, N_COLUMNS)).astype(np.int8)


def write_labels(folder):
    path = folder / "classes.txt"
    path.write_text("group\n" + "\n".join(CLASSES) + "\n")
    return path


def npy_file(folder, X):
    np.save(folder / "X.npy", X)
    return folder / "X.npy", None, {"labels": write_labels(folder)}


def transposed_npy(folder, X):
    np.save(folder / "X.npy", X.T)
    return folder / "X.npy", None, {"labels": write_labels(folder), "transpose": True}


def zarr_array(version):
    def make(folder, X):
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array(
            folder / "X.zarr", shape=X.shape, chunks=(30, 200), dtype=X.dtype, zarr_format=version
        )
        array[:] = X
        return folder / "X.zarr", None, {"labels": write_labels(folder)}

    return make


def zarr_group(folder, X):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(folder / "study.zarr")
    group.create_array("X", data=X.T, chunks=(200, 30))
    group.create_array("y", data=(CLASSES == "case").astype(np.int8))
    return folder / "study.zarr", None, {"transpose": True}


def parquet_file(folder, X):
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pd.DataFrame(X, columns=names)
    table.insert(3, "group", CLASSES)
    table.to_parquet(folder / "X.parquet")
    return folder / "X.parquet", "group", {}


def anndata_object(folder, X):
    about = pd.DataFrame({"group": CLASSES}, index=[f"cell{i}" for i in range(len(X))])
    data = SimpleNamespace(
        X=csr_array(X),
        layers={},
        obs=about,
        obs_names=about.index,
        var_names=pd.Index([f"x{j}" for j in range(X.shape[1])]),
    )
    return data, "group", {"independent": "obs_names"}


@pytest.mark.parametrize(
    "make",
    [npy_file, transposed_npy, zarr_array(2), zarr_array(3), zarr_group, parquet_file, anndata_object],
    ids=["npy", "npy transposed", "zarr 2", "zarr 3", "zarr group", "parquet", "anndata"],
)  # fmt: skip
def test_every_format_is_the_same_table_where_it_is_kept_and_in_memory(
    tmp_path, genotypes, wide_from, make
):
    path, label, settings = make(tmp_path, genotypes)
    wide = load_data(path, label, **settings)
    wide_from(IN_MEMORY)
    in_memory = load_data(path, label, **settings)
    assert isinstance(wide.X, ColumnTable)
    assert wide.X.dtype == np.int8
    assert np.array_equal(wide.X[:, :], in_memory.X)
    assert np.array_equal(wide.X[:, :], genotypes)
    assert np.array_equal(wide.y, in_memory.y)
    assert tuple(wide.feature_names) == tuple(in_memory.feature_names)
    assert wide.findings == in_memory.findings
    assert wide.rows == in_memory.rows
    assert wide.summary() == in_memory.summary()


def genes(X):
    return pd.DataFrame(X).add_prefix("gene ").assign(outcome=CLASSES)


def plain_table():
    return genes(rng(1).normal(size=(N_SAMPLES, N_COLUMNS)))


def with_identifiers():
    days = 20210301 + np.arange(N_SAMPLES) % 28
    return plain_table().assign(
        **{"patient id": np.arange(N_SAMPLES) + 5, "visit date": days, "count of days": days}
    )


def with_subjects():
    subject = np.arange(N_SAMPLES) // 4 * 2 + (LABELS > 0)
    return plain_table().assign(mouse=subject.astype(float))


def with_batches():
    batch = np.where(rng(2).uniform(size=N_SAMPLES) < 0.15, LABELS < 0, LABELS > 0)
    shifts = 0.8 * batch[:, None] * rng(3).normal(size=N_COLUMNS)
    return genes(rng(1).normal(size=(N_SAMPLES, N_COLUMNS)) + shifts).assign(
        machine=batch + 1, kit=np.where(batch, "a", "b")
    )


def with_counts():
    depth = np.where(LABELS > 0, 60, 25)[:, None]
    counts = rng(4).poisson(depth, size=(N_SAMPLES, N_COLUMNS))
    return genes(counts)


def with_shifted_rows():
    shifts = 1.5 * LABELS + rng(5).normal(size=N_SAMPLES)
    return genes(rng(1).normal(size=(N_SAMPLES, N_COLUMNS)) + shifts[:, None])


def with_class_fills():
    X = rng(1).normal(size=(N_SAMPLES, N_COLUMNS))
    for column in (3, 600, 601):
        for label in (-1, 1):
            rows = np.flatnonzero(label == LABELS)
            X[rows[:6], column] = X[rows[6:], column].mean()
    return genes(X)


def with_gaps():
    X = rng(1).normal(size=(N_SAMPLES, N_COLUMNS))
    stretch = X[25:, 200:230]
    X[:, 200:230] = np.abs(X[:, 200:230])
    stretch[rng(6).uniform(size=stretch.shape) < 0.1] = np.nan
    return genes(X)


CONSPICUOUS = {
    "plain": (plain_table, {}, ""),
    "identifiers": (with_identifiers, {}, "left out as identifiers or dates"),
    "kept identifiers": (with_identifiers, {"keep_identifiers": True}, ""),
    "a dropped gene": (plain_table, {"drop": "gene 12"}, ""),
    "batches": (with_batches, {}, "within the classes the features go with it"),
    "a covariate": (with_batches, {"adjust": "machine"}, ""),
    "counts": (with_counts, {}, "the totals of its rows alone tell the classes apart"),
    "shifted rows": (with_shifted_rows, {}, "rise and fall together"),
    "class fills": (with_class_fills, {}, "as if gaps had been filled class by class"),
    "gaps, rows": (with_gaps, {"missing": "rows"}, "rows with missing values left out"),
    "gaps, columns": (with_gaps, {"missing": "columns"}, "left out: 'gene 2"),
    "gaps, median": (with_gaps, {"missing": "median"}, "filled with the column's median"),
    "gaps, half-min": (with_gaps, {"missing": "half-min"}, "half the column's smallest"),
    "cpm": (with_counts, {"transform": "cpm"}, "counts per million"),
    "clr": (with_counts, {"transform": "clr"}, "centred log-ratios"),
    "log": (with_counts, {"transform": "log"}, "logarithms to base 2"),
    "centre": (plain_table, {"transform": "centre"}, "less the mean of its row"),
    "rank": (with_gaps, {"transform": "rank", "missing": "median"}, "ranks within the column"),
    "two of three": (plain_table, {"classes": "case,control"}, ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CONSPICUOUS)
def test_reading_says_of_a_wide_table_what_it_says_of_one_in_memory(tmp_path, wide_from, case):
    make, settings, expected = CONSPICUOUS[case]
    path = tmp_path / "table.parquet"
    make().to_parquet(path)
    wide = load_data(path, "outcome", **settings)
    wide_from(IN_MEMORY)
    in_memory = load_data(path, "outcome", **settings)
    assert isinstance(wide.X, ColumnTable)
    assert not isinstance(in_memory.X, ColumnTable)
    assert wide.findings == in_memory.findings
    assert expected in " ".join(finding.message for finding in wide.findings)
    assert tuple(wide.feature_names) == tuple(in_memory.feature_names)
    assert wide.rows == in_memory.rows
    np.testing.assert_allclose(wide.X[:, :], in_memory.X, rtol=1e-12, atol=1e-12)
    some_names = [wide.feature_names[j] for j in (0, 205, len(wide.feature_names) - 1)]
    wide_recipe = wide.recipe.for_features(some_names)
    memory_recipe = in_memory.recipe.for_features(some_names)
    assert tuple(wide_recipe.columns) == memory_recipe.columns
    assert wide_recipe.added == memory_recipe.added


def test_subjects_nothing_was_said_about_stop_a_wide_table_too(tmp_path, wide_from):
    path = tmp_path / "table.parquet"
    with_subjects().to_parquet(path)
    wide = load_data(path, "outcome")
    wide_from(IN_MEMORY)
    in_memory = load_data(path, "outcome")
    assert "column 'mouse' has 20 values" in wide.undeclared
    assert (wide.undeclared, wide.proposed) == (in_memory.undeclared, in_memory.proposed)


@pytest.mark.parametrize(("make", "settings"), [
    (with_gaps, {}),
    (lambda: plain_table().assign(**{"gene 4": -1.0}), {"transform": "log"}),
    (lambda: with_gaps().assign(**{"gene 650": np.r_[np.nan, -np.ones(39)]}), {"missing": "half-min"}),
])  # fmt: skip
def test_errors_about_a_wide_table_are_those_of_one_in_memory(tmp_path, wide_from, make, settings):
    path = tmp_path / "table.parquet"
    make().to_parquet(path)
    with pytest.raises(InputError) as wide:
        load_data(path, "outcome", **settings)
    wide_from(IN_MEMORY)
    with pytest.raises(InputError) as in_memory:
        load_data(path, "outcome", **settings)
    assert str(wide.value) == str(in_memory.value)


def noise(seed=7, n_columns=N_COLUMNS):
    return rng(seed).normal(size=(N_SAMPLES, n_columns))


def near_rows():
    X = noise()
    X[5] = X[4] + 0.6 * rng(8).normal(size=N_COLUMNS)
    X[9] = X[7]
    return X, LABELS


def contradicting():
    X = noise()
    X[[4, 21]] = X[[5, 6]]
    X[30] = X[5]
    return X, LABELS


def rows_equal_in_most_columns():
    X = noise()
    X[5, :-1] = X[4, :-1]
    return X, LABELS


def lone_column():
    X = noise()
    X[:, 333] = HALVES + 0.75 * X[:, 333]
    return X, HALVES


def filtered():
    X = noise(n_columns=60_000)
    differences = np.abs(HALVES @ X)
    return X[:, np.argsort(-differences)[:N_COLUMNS]], HALVES


def label_copy():
    X = noise()
    X[:, 130] = np.where(LABELS > 0, 3, 2)
    return X, LABELS


def drift():
    time = np.linspace(-1, 1, N_SAMPLES)[:, None]
    return noise() + 2 * time * rng(9).normal(size=N_COLUMNS), HALVES


def corrected():
    batch = np.arange(N_SAMPLES) % 2
    y = np.where(rng(10).uniform(size=N_SAMPLES) < 0.25 + 0.5 * batch, 1.0, -1.0)
    design = np.column_stack([np.ones(N_SAMPLES), batch, y])
    X = noise()
    coefficients, *_ = np.linalg.lstsq(design, X, rcond=None)
    return X - np.outer(batch, coefficients[1]), y


def identifiers_in_array():
    X = noise()
    X[:, 200] = np.arange(N_SAMPLES)
    return X, LABELS


@pytest.mark.parametrize(("make", "expected"), [
    (near_rows, "are far more alike than independent rows"),
    (contradicting, "rows 5 and 6; 7 and 22 are equal but have opposite labels"),
    (rows_equal_in_most_columns, "as if samples were in both"),
    (lone_column, "column 'x333' alone tells"),
    (filtered, "hardly any of the 700 columns looks like noise"),
    (label_copy, "column 'x130' is the label over again"),
    (drift, "the features drift along the rows"),
    (corrected, "taken out with the labels kept"),
    (identifiers_in_array, "column 'x200' looks like an identifier"),
])  # fmt: skip
@pytest.mark.parametrize("with_groups", [False, True])
def test_a_wide_table_shows_what_an_array_shows(wide_from, make, expected, with_groups):
    X, y = make()
    groups = np.arange(N_SAMPLES)
    data = Dataset(
        X=X,
        y=y,
        feature_names=tuple(f"x{j}" for j in range(X.shape[1])),
        classes=("a", "b"),
        groups=groups if with_groups else None,
    )
    wide = examine_dataset(data, groups)
    wide_from(IN_MEMORY)
    assert wide == examine_dataset(data, groups)
    assert expected in " ".join(finding.message for finding in wide)


def test_arrays_are_checked_where_they_are(tmp_path, genotypes, wide_from):
    zarr = pytest.importorskip("zarr")
    dask_array = pytest.importorskip("dask.array")
    np.save(tmp_path / "X.npy", genotypes)
    arrays = [
        genotypes,
        np.load(tmp_path / "X.npy", mmap_mode="r"),
        zarr.array(genotypes, chunks=(40, 90)),
        dask_array.from_array(genotypes, chunks=(-1, 90)),
        csr_array(genotypes),
        ColumnTable(SlicedColumns(genotypes)),
    ]
    for X in arrays:
        data = dataset_of_arrays(X, CLASSES, {}, feature_names=None, positive=None)
        assert isinstance(data.X, ColumnTable)
        assert np.array_equal(data.X[:, :], genotypes)
        assert data.classes == ("control", "case")
        assert data.feature_names[-1] == f"x{N_COLUMNS - 1}"
    wide_from(IN_MEMORY)
    data = dataset_of_arrays(arrays[2], CLASSES, {}, feature_names=None, positive=None)
    assert np.array_equal(data.X, genotypes)


def test_what_is_wrong_with_wide_arrays_is_one_sentence(wide_from):
    def check(X, y=CLASSES, names=None):
        dataset_of_arrays(X, y, {}, feature_names=names, positive=None)

    X = noise()
    X[3, 600] = np.nan
    with pytest.raises(InputError, match="missing or infinite value in row 4, column 'x600'"):
        check(X)
    X[3, 600] = 1e120
    with pytest.raises(InputError, match="column 'x600' of X is 1e\\+120"):
        check(X)
    with pytest.raises(InputError, match="one label for each of the 40 rows"):
        check(noise(), CLASSES[:-1])
    with pytest.raises(InputError, match="3 feature names for 700 columns"):
        check(noise(), names=["a", "b", "c"])


def test_subjects_in_a_wide_array_are_seen(wide_from):
    X = noise()
    X[:, 650] = np.arange(N_SAMPLES) // 4 * 2 + (LABELS > 0)
    names = [f"gene {j}" for j in range(N_COLUMNS)]
    names[650] = "mouse"
    data = dataset_of_arrays(X, CLASSES, {}, feature_names=names, positive=None)
    assert "column 'mouse' has 20 values" in data.undeclared


def damaged_zarr(folder, genotypes, damage):
    path, _, settings = zarr_array(3)(folder, genotypes)
    chunks = sorted(file for file in (path / "c").rglob("*") if file.is_file())
    damage(chunks[-1])
    return path, settings


def cut_in_half(file):
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def test_a_zarr_that_is_cut_off_is_one_sentence(tmp_path, genotypes, wide_from):
    path, settings = damaged_zarr(tmp_path, genotypes, lambda file: file.unlink())
    for limit in (N_COLUMNS // 2, IN_MEMORY):
        wide_from(limit)
        with pytest.raises(
            InputError, match=r"1 of 8 chunks of X\.zarr are not there and would read as 0"
        ):
            load_data(path, **settings)  # fmt: skip
    shutil.rmtree(path)
    path, settings = damaged_zarr(tmp_path, genotypes, cut_in_half)
    with pytest.raises(InputError, match=r"of X\.zarr cannot be read .* write it anew"):
        load_data(path, **settings)
    (path / "zarr.json").unlink()
    with pytest.raises(InputError, match=r"X\.zarr is no array of Zarr"):
        load_data(path, **settings)


def test_arrays_of_zarr_that_do_not_fit_are_one_sentence(tmp_path, genotypes, wide_from):
    zarr = pytest.importorskip("zarr")
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    with pytest.raises(InputError, match="must hold an array X, but holds no arrays"):
        load_data(tmp_path / "a.zarr")
    group.create_array("X", data=genotypes)
    with pytest.raises(InputError, match=r"holds no labels.*labels=FILE"):
        load_data(tmp_path / "a.zarr")
    group.create_array("y", data=np.zeros(3))
    with pytest.raises(InputError, match="needs a label in y for each of 40 samples"):
        load_data(tmp_path / "a.zarr")
    group.create_array("feature_names", data=np.array(["a", "b"]))
    with pytest.raises(InputError, match="2 feature names for 700 columns"):
        load_data(tmp_path / "a.zarr")


def test_two_columns_of_one_name_are_one_sentence(tmp_path, genotypes, wide_from):
    zarr = pytest.importorskip("zarr")
    names = np.array([f"g{min(j, 698)}" for j in range(N_COLUMNS)])
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=2)
    for name, values in (("X", genotypes), ("y", CLASSES == "case"), ("feature_names", names)):
        group.create_array(name, data=values)
    with pytest.raises(InputError, match="two columns are called 'g698'"):
        load_data(tmp_path / "a.zarr")


def test_a_column_of_text_beside_very_many_numbers_is_left_out_and_said(tmp_path, wide_from):
    path = tmp_path / "table.parquet"
    kinds = np.array(["a", "b", "c", "d"] * 10)
    plain_table().assign(kind=kinds).to_parquet(path)
    data = load_data(path, "outcome")
    assert "1 text column left out: 'kind'" in str(data)
    with pytest.raises(InputError, match="there is no drop"):
        load_data(path, "outcome", drop="nothing like it")
    # Indicators are made in memory.
    assert load_data(path, "outcome", one_hot=True).X.shape == (N_SAMPLES, N_COLUMNS + 4)


def test_a_number_is_read_into_memory(tmp_path, genotypes, wide_from):
    path = tmp_path / "table.parquet"
    plain_table().assign(weight=np.linspace(50, 90, N_SAMPLES)).to_parquet(path)
    table = load_any_outcome(path, OutcomeNames(label="weight"), TableSettings(drop=("outcome",)))
    assert table.X.shape == (N_SAMPLES, N_COLUMNS)


def test_the_test_of_a_wide_file_is_that_of_the_table_in_memory(tmp_path, genotypes, wide_from):
    path, label, settings = zarr_array(3)(tmp_path, genotypes)
    options = {"permutations": 49, "expected_error": False, "always_permute": True}
    wide = separation_test(load_data(path, label, **settings), **options)
    wide_from(IN_MEMORY)
    in_memory = separation_test(load_data(path, label, **settings), **options)
    assert wide.to_dict() == in_memory.to_dict()


def test_some_columns_are_brought_into_memory_by_name(tmp_path, genotypes, wide_from):
    path, label, settings = parquet_file(tmp_path, genotypes)
    raw = read_table(path, label, TableSettings(**settings))
    some = raw.in_memory({"x5", "x699", "nothing"})
    assert some.wide is None
    assert [*some.values.columns] == ["group", "x5", "x699"]
    assert np.array_equal(some.values[["x5", "x699"]], genotypes[:, [5, 699]])
    assert raw.in_memory().values.shape == (N_SAMPLES, 1 + N_COLUMNS)


def test_chosen_columns_are_those_of_the_source(genotypes, monkeypatch):
    monkeypatch.setattr("chanceline.columns.views.LONGEST_STRETCH", 50)
    indices = np.sort(rng(11).choice(N_COLUMNS, size=200, replace=False))
    chosen = ColumnTable(ChosenColumns(SlicedColumns(genotypes), indices))
    assert chosen.shape == (N_SAMPLES, 200)
    assert np.array_equal(chosen[:, :], genotypes[:, indices])
    assert np.array_equal(chosen.take(np.array([150, 3])), genotypes[:, indices[[150, 3]]])
