"""The page of `reproduce`: headings that say what is shown, a sentence made from each table, contents, rounded numbers."""

import json
import re

import pandas as pd
import pytest

from chanceline.errors import InputError
from chanceline.report.reproduce import _rounded, reproduce_page
from chanceline.report.takeaways import SHOWN
from chanceline.reproduce.stages import STAGES

DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10"><rect width="3" height="3"/></svg>'
TABLES = {
    "entropy_breaking": pd.DataFrame(
        {
            "alpha": [1.7, 1.76, 1.8, 1.6, 1.7, 1.8],
            "entropy": [0.2, 0.1, -0.1, 0.4, 0.1, -0.1],
            "ansatz": ["rs", "rs", "rs", "1rsb", "1rsb", "1rsb"],
        }
    ),
    "capacity": pd.DataFrame({"rho": [0.1, 0.25], "alpha_vs": [0.5, 1.2], "cover_gardner": [0.2, 0.5]}),
    "memory_capacity": pd.DataFrame(
        {"rho": [0.25, 0.25, 0.5], "wiring": ["selected", "random", "selected"], "load_typical": [0.9, 0.45, 1.5]}
    ),
    "experiments-capacity": pd.DataFrame({"searched": [0.2, 0.3], "searched_error": [0.01, 0.01], "rsb": [0.205, 0.4]}),
    "memory_pictures": pd.DataFrame({"overlap": [1.0, 1.0, 0.9], "noise": [0.2] * 3}),
}


@pytest.fixture
def folder(tmp_path):
    for name, table in TABLES.items():
        (tmp_path / f"{name}.svg").write_text(DRAWING)
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    numbers = {"quantity": ["capacity at rho=0.5"], "value": [1.7352468], "error": [0.0123], "source": ["1RSB"], "paper": [None]}
    pd.DataFrame(numbers).to_csv(tmp_path / "numbers.csv", index=False)
    made = {"mode": "quick", "figures": list(TABLES), "packages": {"chanceline": "0.1.0"}}
    (tmp_path / "provenance.json").write_text(json.dumps(made))
    return tmp_path


def test_every_figure_has_a_heading_and_what_its_table_says(folder):
    text = reproduce_page(folder).render()
    assert "1.20, 2.4 times" in text
    assert "from α\u00a0=\u00a01.780 to 1.750" in text
    assert "holds 0.90 patterns" in text
    assert "random it holds 0.45" in text
    assert "At 1 of 2 points" in text
    assert "2 of 3 pictures" in text
    for name in TABLES:
        assert f'<h2 id="{name}">{SHOWN[name].heading}</h2>' in text
        assert f'<a href="#{name}">{SHOWN[name].heading}</a>' in text
    assert "capacity at ρ = 0.5" in text
    assert "1.74 ± 0.01" in text
    assert re.findall(r"1\.7352468", text) == ["1.7352468"]  # in the JSON at the end, whole


def test_a_table_of_another_version_has_no_sentence(folder):
    pd.DataFrame({"x": [1]}).to_csv(folder / "capacity.csv", index=False)
    assert "Choosing pays" not in reproduce_page(folder).render()


def test_numbers_are_rounded_to_their_error():
    assert _rounded(1.23456, 0.02) == "1.23 ± 0.02"
    assert _rounded(1.23456, 1e-9) == "1.2346"
    assert _rounded(1234.5, 20.0) == "1234 ± 20"
    assert _rounded(0.5, float("nan")) == "0.5"


def test_every_figure_of_the_stages_has_its_words():
    import inspect
    from importlib import import_module

    sources = "".join(inspect.getsource(import_module(stage.partition(":")[0])) for stage in STAGES)
    saved = set(re.findall(r'folder\.save\(\s*"([^"]+)"', sources))
    assert len(saved) > 5
    assert saved <= set(SHOWN)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("provenance.json", b"{"),
        ("provenance.json", b"[1]"),
        ("provenance.json", b'{"figures": 3, "packages": {}, "mode": 1}'),
        ("provenance.json", b'{"figures": [], "packages": [], "mode": "quick"}'),
        ("provenance.json", b"\xff\xfe"),
        ("numbers.csv", b"\xff\xfe\xff"),
        ("capacity.csv", b'a,b\n1,2,3\n"'),
        ("capacity.svg", b"<svg"),
    ],
)
def test_malformed_folders_end_in_a_sentence(folder, file, content):
    (folder / file).write_bytes(content)
    with pytest.raises(InputError):
        reproduce_page(folder)


@pytest.mark.parametrize("file", ["numbers.csv", "capacity.csv", "capacity.svg"])
def test_missing_files_and_folders_in_their_place_end_in_a_sentence(folder, file):
    (folder / file).unlink()
    with pytest.raises(InputError, match="cannot read"):
        reproduce_page(folder)
    (folder / file).mkdir()
    with pytest.raises(InputError, match="cannot read"):
        reproduce_page(folder)
