"""Damaged files of every format end in a table or in one sentence."""

from __future__ import annotations

import gzip
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.tables import load_data

TEXT = "a,b,c,outcome\n" + "".join(f"{i / 3:.3f},{i * i},x{i},{'case' if i % 2 else 'control'}\n" for i in range(12))
TURNED = "g1\t1.5\t2\t3\ng2\t4\t5\t6.5\n"
WORDS = (b",", b"\t", b";", b'"', b"\n", b"#", b"!", b"NA", b"inf", b"1e999", b"-", b"\x00", b"\xff", b"?", b"0,5", b"case", b" ")
CASES = 120


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    table = pd.DataFrame({"a": np.arange(8) / 3, "b": list("xyxyxyxy"), "outcome": list("pqqpqppq")})
    table.to_parquet(folder / "t.parquet")
    if find_spec("openpyxl"):
        table.to_excel(folder / "t.xlsx", index=False)
    np.savez(folder / "t.npz", X=np.eye(4), y=[0, 1, 0, 1])
    (folder / "t.csv").write_text(TEXT)
    (folder / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode(), mtime=0))
    (folder / "t.gct").write_text("#1.2\n2\t3\nName\tDescription\ts1\ts2\ts3\n" + TURNED.replace("\t", "\td\t", 1))
    matrix = '!Sample_characteristics_ch1\t"d: t"\t"d: n"\t"d: t"\n!series_matrix_table_begin\n"ID_REF"\t"a"\t"b"\t"c"\n'
    (folder / "t.txt").write_text(matrix + TURNED + "!series_matrix_table_end\n")
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    broken = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(broken) + 1))
        kind = int(rng.integers(4))
        if kind == 0:
            broken[place:place] = WORDS[int(rng.integers(len(WORDS)))]
        elif kind == 1:
            del broken[place : place + int(rng.integers(1, 9))]
        elif kind == 2 and place < len(broken):
            broken[place] = int(rng.integers(256))
        else:
            del broken[place:]
    return bytes(broken)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.gct", "t.npz", "t.parquet", "t.txt", "t.xlsx"])
def test_damaged_files(files, name, tmp_path):
    if name not in files:
        pytest.skip("openpyxl is not installed")
    rng = np.random.default_rng([ord(letter) for letter in name])
    sentences, read = [], 0
    for case in range(CASES):
        path = Path(tmp_path / f"{case}-{name}")
        path.write_bytes(damaged(files[name], rng))
        settings = {"transpose": bool(case % 5 == 0), "one_hot": bool(case % 3 == 0), "missing": ("error", "median")[case % 2]}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                dataset = load_data(path, {"t.txt": "d", "t.npz": None}.get(name, "outcome"), **settings)
        except InputError as error:
            sentences.append(str(error))
        else:
            assert np.isfinite(dataset.X).all()
            assert set(dataset.y) == {-1.0, 1.0}
            read += 1
    assert len(sentences) + read == CASES
    assert sentences
    assert [sentence for sentence in sentences if "\n" in sentence or not sentence.endswith((".", "?"))] == []
