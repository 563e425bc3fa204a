"""Every public function with bad arguments: a result that holds, or an error of ours in one sentence."""

from __future__ import annotations

import json
import math
import traceback
import warnings
from contextlib import chdir
from random import Random

import numpy as np
import pytest
from command_cases import make_files
from function_cases import GOOD, Call, mutate
from limits import Hang, limits

import chanceline
from chanceline._results import Result, plain
from chanceline.errors import ChancelineError

QUICK = 12  # batches in every run
LONG = 500
BATCH = 20


@pytest.fixture(scope="session")
def good_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions")
    make_files(folder)
    return folder


def described(arguments: dict[str, object]) -> str:
    return ", ".join(f"{name}={np.array2string(value, threshold=8) if isinstance(value, np.ndarray) else value!r}"[:120]
                     for name, value in arguments.items())  # fmt: skip


def faults(call: Call) -> list[str]:
    """What is wrong with the end of this call; nothing, if all is well."""
    function, arguments = call
    try:
        with limits():
            result = function(**arguments)
            return doubts(result)
    except ChancelineError as error:
        sentence = str(error)
        return [] if sentence and "\n" not in sentence else [f"not one sentence: {sentence!r}"]
    except MemoryError:
        return []
    except (Hang, Exception):
        return [traceback.format_exc()]


def doubts(result: object) -> list[str]:
    """Results that cannot be: nothing to print, weights that are no numbers."""
    found = []
    if isinstance(result, Result):
        if "\n" in repr(result):
            found.append(f"repr has several lines: {result!r}")
        json.dumps(plain(result.to_dict()), allow_nan=False)
        str(result)
    weights = getattr(result, "weights", None)
    if weights is not None and not np.all(np.isfinite(weights)):
        found.append(f"weights {weights}")
    bias = getattr(result, "bias", 0.0)
    if not math.isfinite(bias or 0.0):
        found.append(f"bias {bias}")
    return found


def check_case(number: object) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # spoiling an array may overflow
        call = mutate(Random(f"call {number}"))
    return [f"call {number}: {call[0].__name__}({described(call[1])})\n{fault}" for fault in faults(call)]


def check_batch(batch: int) -> None:
    found = [fault for place in range(BATCH) for fault in check_case(batch * BATCH + place)]
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("place", range(len(GOOD)))
def test_the_good_ones_are_good(place, good_files):
    function, arguments = GOOD[place]
    with chdir(good_files), limits():
        assert doubts(function(**arguments)) == []


def test_every_public_function_is_there():
    called = {function.__name__ for function, _ in GOOD}
    functions = {name for name in chanceline.__all__ if callable(getattr(chanceline, name)) and name[0].islower()}
    assert functions - called == set()


@pytest.mark.parametrize("batch", range(QUICK))
def test_bad_calls(batch, good_files):
    with chdir(good_files):
        check_batch(batch)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(QUICK, LONG))
def test_ten_thousand_bad_calls(batch, good_files):
    with chdir(good_files):
        check_batch(batch)
