"""No line of an output contradicts another, whatever the design and whichever stage decided."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from chanceline.report import write_test_report
from chanceline.significance import separation_test
from chanceline.significance.stages import Stage
from chanceline.tables import load_data

DATA = Path(__file__).resolve().parents[2] / ".." / "shared" / "data"
PVALUE = re.compile(r"\bp [=≤] ")


def contradictions(result, page=""):
    """What does not agree, in words."""
    found = []
    errors = [point.errors for point in result.front]
    if any(later > earlier for earlier, later in pairwise(errors)):
        found.append(f"errors rise with the number of features: {errors}")
    for who, k, wrong in (
        ("evidence", result.evidence.k, result.evidence.errors),
        ("separating", result.separating.n_selected, result.separating.errors),
    ):
        if k and wrong is not None and k <= len(errors) and wrong < errors[k - 1]:
            found.append(
                f"{who}: {wrong} errors with {k} features, but {errors[k - 1]} are called the fewest"
            )
    designed = result.n_blocks > 1 or "logistic model" in result.exchange
    plain = not designed and result.settings.search is None and not result.settings.preregistered
    if plain and 0 in errors and not result.separating.separates:
        found.append("the front has no errors, and nothing is said to separate")
    if plain and 0 in errors and errors.index(0) + 1 < result.separating.n_selected:
        found.append(
            f"{errors.index(0) + 1} features separate, and {result.separating.n_selected} are called the smallest"
        )
    same = result.evidence.features == result.separating.features
    if same and result.evidence.errors not in (None, result.separating.errors):
        found.append(f"one set, {result.evidence.errors} and {result.separating.errors} errors")
    explained = [point.explained for point in result.front]
    if any(later < earlier - 1e-9 for earlier, later in pairwise(explained)):
        found.append(f"R² falls with the number of features: {explained}")
    text = str(result)
    first_lines = " ".join(result.story())
    if len(PVALUE.findall(first_lines)) != 1:
        found.append(f"several p-values in front: {first_lines}")
    gave = [
        line
        for line in text.replace("\n             ", " ").splitlines()
        if "it gave the p-value" in line
    ]
    if len(gave) != (result.stage is not Stage.NOTHING):
        found.append(f"{len(gave)} readings gave the p-value of {result.stage}")
    if result.stage.rigorous and gave and result.in_p() not in gave[0]:
        found.append(f"{result.in_p()} is not what {gave[0]} says")
    if re.search(r"at most 1\b(?!\.)|≤ 1\b(?!\.)", page):
        found.append("a bound of 1 is told")
    return found


def simulated(number):
    """Tables of every design in turn, with and without structure."""
    rng = np.random.default_rng([11, number])
    n_samples = 60
    X = rng.normal(size=(n_samples, 12))
    y = rng.permutation(np.arange(n_samples) % 2)
    if number % 3 == 1:
        X[:, 2] += 1.5 * y
        X[:, 3] -= y * rng.standard_exponential(n_samples)
    if number % 3 == 2:
        y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n_samples) > 0).astype(int)
    designs = [
        {},
        {"blocks": np.repeat([0, 1, 2], 20)},
        {"adjust": X[:, :1] + rng.normal(size=(n_samples, 1))},
        {"permutations": 0},
        {"errors": 2},
        {"preregistered": True, "features": [2, 3]},
        {"search": "omp"},
        {"intercept": False},
        {"always_permute": True},
        {"level": 0.5},
    ]
    options = {"permutations": 99, **designs[number % len(designs)]}
    return X, y, options


@pytest.mark.parametrize(
    "number",
    [*range(15), *(pytest.param(k, marks=pytest.mark.slow) for k in range(15, 30))],
)
def test_every_design_agrees_with_itself(number, tmp_path):
    X, y, options = simulated(number)
    result = separation_test(X, y, expected_error=False, **options)
    page = write_test_report(result, tmp_path / "page.html").read_text(encoding="utf-8")
    assert contradictions(result, re.sub(r"<[^>]+>", " ", page)) == []


def test_pairs_and_groups_agree_with_themselves():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(48, 10))
    pairs = np.repeat(np.arange(24), 2)
    y = np.tile([0, 1], 24)
    X[:, 4] += 0.8 * y
    assert (
        contradictions(separation_test(X, y, pairs=pairs, permutations=99, expected_error=False))
        == []
    )
    label_of_group = rng.permutation(np.arange(24) % 2)[pairs]
    grouped = separation_test(
        X, label_of_group, groups=pairs, permutations=99, expected_error=False
    )
    assert contradictions(grouped) == []


@pytest.mark.skipif(not DATA.is_dir(), reason="needs tables that are not part of the repository")
@pytest.mark.parametrize("name", ["golub38", "colon_alon", "sonar", "wdbc"])
def test_published_tables_agree_with_themselves(name):
    path = DATA / f"{name}.csv.gz"
    data = load_data(path, "-1")
    assert contradictions(separation_test(data, permutations=99, expected_error=False)) == []


def test_the_checks_notice_what_was_wrong_before():
    """One table in front of which 22 errors stood below 0, and a set that separates below a row with 3 errors."""
    X, y, options = simulated(2)
    result = separation_test(X, y, expected_error=False, **options)
    worse = [0, *[22] * (len(result.front) - 1)]
    front = tuple(
        replace(point, errors=errors) for point, errors in zip(result.front, worse, strict=True)
    )
    assert any("errors rise" in one for one in contradictions(replace(result, front=front)))
