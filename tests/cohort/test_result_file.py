"""The file of a result: versioned, plain, and refused in one sentence if it is anything else."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from cohorts import ABOUT, cohort

from chanceline import load_result, separation_test
from chanceline.cohort.result_file import result_to_record
from chanceline.errors import InputError


@pytest.fixture
def written(tmp_path):
    """A file, and the values in it."""
    result = separation_test(
        cohort(), label="outcome", features=["g0", "g1"], drop=ABOUT, permutations=0, expected_error=False
    )  # fmt: skip
    path = tmp_path / "result.json"
    result.save(path)
    return path, json.loads(path.read_text(encoding="utf-8"))


def test_what_was_written_is_read(written):
    path, record = written
    assert record["format"] == "chanceline result, format 1"
    assert result_to_record(load_result(path)) == record


def places(values, path=()):
    """Every place in nested objects, and the first one of lists."""
    children = []
    if isinstance(values, dict):
        children = list(values.items())
    elif isinstance(values, list):
        children = list(enumerate(values[:1]))
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def refusal(path) -> str:
    """The sentence with which a file is refused; empty if it is read."""
    try:
        load_result(path)
    except InputError as error:
        return str(error)
    return ""


def test_whatever_is_broken_is_one_sentence(written):
    """Every value of the file taken out, or replaced by others: it is read, or refused in a sentence."""
    path, record = written
    refusals = []
    for place in list(places(record)):
        for replacement in ("", None, 3, {}, "missing"):
            broken = copy.deepcopy(record)
            parent = broken
            for key in place[:-1]:
                parent = parent[key]
            if replacement == "missing":
                del parent[place[-1]]
            else:
                parent[place[-1]] = replacement
            path.write_text(json.dumps(broken), encoding="utf-8")
            refusals.append(refusal(path))
    sentences = [sentence for sentence in refusals if sentence]
    assert len(sentences) > 100
    assert all(sentence.startswith("result.json is ") for sentence in sentences)
    assert not any("\n" in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "or it is damaged"),
        (b'{"format": "chanceline res', "or it is damaged"),
        (b"\xff\xfe{", "or it is damaged"),
        (b"[" * 100_000, "or it is damaged"),
        (b'{"format": NaN}', "NaN is no number"),
        (b"[]", "must be an object"),
        (b"{}", "format is missing"),
        (b'{"format": "a recipe"}', "is no result of chanceline"),
        (b'{"format": "chanceline result, format 2"}', "reads 'chanceline result, format 1'"),
    ],
)
def test_other_files_are_refused(content, said, tmp_path):
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        load_result(path)


def test_equal_names_cannot_be_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.arange(30) % 2
    result = separation_test(
        X, y, feature_names=["a", "a"], features=[0, 1], permutations=0, expected_error=False
    )
    with pytest.raises(InputError, match="two features are called 'a'"):
        result.save(tmp_path / "result.json")
