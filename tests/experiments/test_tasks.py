import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from chanceline.errors import InputError
from chanceline.experiments.tasks import Task, canonical, derive_seed, find_kind, make_task


def test_defaults_are_written_out():
    task = make_task("toy_kinds:walk", n=5)
    assert task.parameters == {"n": 5, "step": 1.0, "trial": 0, "pause": 0.0}


def test_id_does_not_depend_on_order_or_on_int_for_float():
    one = Task("toy", {"a": 1.5, "b": "x"})
    other = Task("toy", {"b": "x", "a": 1.5})
    assert one.id == other.id
    assert one == other
    assert len({one, other}) == 1
    assert make_task("toy_kinds:walk", n=5, step=1) == make_task("toy_kinds:walk", step=1.0, n=5)
    assert make_task("toy_kinds:walk", n=5, step=-0.0) == make_task("toy_kinds:walk", n=5, step=0.0)


def test_id_and_seed_are_those_of_the_format():
    """A change here would orphan every stored result: the schema version must change with it."""
    task = Task("toy", {"alpha": 1.0, "n": 64})
    assert task.id == "d502c0fa2a480c37ac94f37fb7c71c66"
    assert derive_seed("problem", 64, 1.0, "binary", 0) == 2088625874213354908


numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
tables = st.dictionaries(st.text(min_size=1), numbers | st.text() | st.none(), max_size=4)


@settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tables, tables)
def test_ids_agree_exactly_when_canonical_json_agrees(first, second):
    same = canonical(first) == canonical(second)
    assert (Task("t", first).id == Task("t", second).id) == same
    assert Task("t", json.loads(canonical(first))).id == Task("t", first).id


def test_seeds_differ_between_tasks():
    seeds = {make_task("toy_kinds:walk", n=5, trial=k).seed for k in range(2000)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"n": 5.5}, "n of"),
        ({"n": True}, "n of"),
        ({"n": 5, "step": "big"}, "step"),
        ({"n": 5, "step": float("nan")}, "step"),
        ({"n": 5, "colour": "red"}, "colour"),
        ({}, "n, step, trial, pause"),
    ],
)
def test_bad_parameters_are_named(parameters, culprit):
    with pytest.raises(InputError, match=culprit):
        make_task("toy_kinds:walk", **parameters)


def test_unknown_kinds_are_named():
    with pytest.raises(InputError, match="no kind of task 'walk'"):
        find_kind("walk")
    with pytest.raises(InputError, match="cannot be imported"):
        find_kind("toy_kinds:nothing")
