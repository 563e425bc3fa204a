"""Files of sets of features, and what is wrong with them in one sentence."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from chanceline.errors import InputError
from chanceline.significance import set_tests
from chanceline.tables.dataset import Dataset
from chanceline.tables.feature_sets import read_feature_sets
from chanceline.tables.table_sets import find_feature_sets
from chanceline.tables.variants import VariantPlaces

GMT = "heart\thttp://x\ta\tb\t\tb\nliver\t\tc d\te\n\n"
EXPECTED = {"heart": ("a", "b"), "liver": ("c d", "e")}


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sets.gmt", GMT),
        ("sets.GMT", GMT.replace("\n", "\r\n")),
        ("sets.gmt.gz", gzip.compress(GMT.encode(), mtime=0)),
        ("sets.csv", "set,feature\nheart,a\nliver,c d\nheart,b\nheart,b\nliver,e\n"),
        ("sets.csv", 'Set;Feature\nheart;a\nheart;b\nliver;"c d"\nliver;e\n'),
        ("sets.tsv", "feature\tnote\tset\na\t1\theart\nb\t2\theart\n\nc d\t\tliver\ne\t\tliver"),
    ],
)
def test_formats(tmp_path, name, content):
    assert read_feature_sets(written(tmp_path, name, content)) == EXPECTED


def test_names_stay_as_they_are_written(tmp_path):
    path = written(tmp_path, "sets.csv", "set,feature\n007,NA\n007,1e5\n")
    assert read_feature_sets(path) == {"007": ("NA", "1e5")}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.gmt", "", "a.gmt is empty"),
        ("a.gmt.gz", gzip.compress(b"x", mtime=0)[:-9], "a.gmt.gz could not be unpacked"),
        ("a.gmt", "x\t\tg1\nempty\tno genes\n", "line 2 of a.gmt names the set 'empty' but no"),
        ("a.gmt", "x\t\tg1\nx\t\tg2\n", "a.gmt has the set 'x' twice, again in line 2"),
        ("a.gmt", "\tdescription\tg1\n", "line 1 of a.gmt has no name"),
        ("a.csv", "pathway,gene\nx,g1\n", "have the columns 'set' and 'feature'; its first"),
        ("a.csv", "set,feature\n", "a.csv has a header but no rows"),
        ("a.csv", "set,feature\nx,g1\nx,\n", "row 3 of a.csv must name a set and a feature"),
        ("a.csv", "set,feature\nx\n", "row 2 of a.csv must name a set and a feature"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, name, content, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        read_feature_sets(written(tmp_path, name, content))
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def genotypes_of_two_chromosomes():
    rng = np.random.default_rng(5)
    X = rng.binomial(2, 0.4, size=(40, 12)).astype(float)
    y = np.where(X[:, 9] + rng.normal(0, 0.3, 40) > 0.8, 1.0, -1.0)
    names = tuple(f"rs{j}_G" for j in range(12))
    places = VariantPlaces(names, ["7"] * 8 + ["X"] * 4, np.arange(12))
    return Dataset(X=X, y=y, feature_names=names, classes=("a", "b"), variants=places)


def test_the_chromosomes_of_genotypes_are_sets(tmp_path, monkeypatch):
    table = genotypes_of_two_chromosomes()
    sets = find_feature_sets("chromosome", table)
    assert sets == {
        "chromosome 7": table.feature_names[:8],
        "chromosome X": table.feature_names[8:],
    }
    result = set_tests(table, "chromosome", permutations=99)
    assert {item.name: item.pvalue < 0.05 for item in result.sets} == {
        "chromosome 7": False,
        "chromosome X": True,
    }
    # A file of that name comes first.
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chromosome").write_text("set,feature\nheart,rs1_G\n")
    assert find_feature_sets("chromosome", table) == {"heart": ("rs1_G",)}


def test_chromosomes_of_other_tables_are_one_sentence():
    table = replace(genotypes_of_two_chromosomes(), variants=None)
    with pytest.raises(InputError, match="genotypes whose chromosomes are known"):
        find_feature_sets("chromosome", table)
