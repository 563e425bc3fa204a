"""Sets of features and numbers, several classes or survival: each set has the p-value of its own table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from chanceline import separation_test, set_tests
from chanceline.errors import InputError

SETS = {
    "first": ["g0", "g1", "g2"],
    "second": ["g3", "g4"],
    "wide": [f"g{j}" for j in range(2, 16)],
}
OUTCOMES = {
    "number": {"label": "dose"},
    "classes": {"label": "diagnosis"},
    "survival": {"time": "months", "event": "relapse"},
}


def make_table(kind, seed=0):
    """Sixteen features; the first goes with the outcome, of whatever kind it is."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((48, 16))
    signal = 1.5 * X[:, 0] + rng.standard_normal(48)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(16)])
    if kind == "number":
        frame["dose"] = signal.round(3)
    elif kind == "classes":
        frame["diagnosis"] = pd.cut(
            signal, [-np.inf, -0.6, 0.6, np.inf], labels=["a", "b", "c"]
        ).astype(str)
    else:
        frame["months"] = (10 * np.exp(-signal)).round(3)
        frame["relapse"] = (rng.random(48) < 0.7).astype(int)
    return frame


@pytest.mark.parametrize("kind", OUTCOMES)
def test_p_of_a_set_is_that_of_its_columns_alone(kind):
    frame = make_table(kind)
    options = {**OUTCOMES[kind], "permutations": 99, "seed": 4}
    outcome_columns = list(OUTCOMES[kind].values())
    result = set_tests(frame, SETS, **options)
    for name, features in SETS.items():
        alone = separation_test(
            frame[[*features, *outcome_columns]], expected_error=False, **options
        )
        assert result[name].pvalue == alone.permutation.pvalue
    assert result.sets[0].name == "first"
    assert result.sets[0].carriers[0].feature == "g0"
    assert result.outcome.taken_for in str(result)


def test_correlations_have_the_sign_of_the_outcome():
    frame = make_table("number")
    result = set_tests(frame, {"one": ["g0"], "turned": ["g1"]}, label="dose", permutations=19)
    shown = frame.assign(g1=-frame["g0"])
    turned = set_tests(shown, {"turned": ["g1"]}, label="dose", permutations=19)
    (carrier,) = result["one"].carriers
    assert carrier.correlation == pytest.approx(
        np.corrcoef(frame["g0"], frame["dose"])[0, 1], abs=0.02
    )
    assert turned["turned"].carriers[0].correlation == pytest.approx(-carrier.correlation)
    # Early events are high risk.
    survival = set_tests(
        make_table("survival"), {"one": ["g0"]}, time="months", event="relapse", permutations=19
    )
    assert survival["one"].carriers[0].correlation > 0.2
    assert "risk of relapse" in survival.outcome.correlation


def test_multiple_correlation_is_that_of_a_regression_on_the_classes():
    frame = make_table("classes")
    frame["g0"] = np.clip(frame["g0"], -1, 1)  # nothing is far out
    result = set_tests(frame, {"one": ["g0"]}, label="diagnosis", permutations=19)
    means = frame.groupby("diagnosis")["g0"].transform("mean")
    explained = ((means - frame["g0"].mean()) ** 2).sum() / (
        (frame["g0"] - frame["g0"].mean()) ** 2
    ).sum()
    assert result["one"].carriers[0].correlation == pytest.approx(np.sqrt(explained))


def test_settings_of_two_classes_are_refused():
    with pytest.raises(InputError, match="two classes"):
        set_tests(make_table("number"), SETS, label="dose", null="coin")


def test_command(command, tmp_path):
    make_table("survival").to_csv(tmp_path / "data.csv", index=False)
    lines = [f"{name}\t\t" + "\t".join(features) for name, features in SETS.items()]
    (tmp_path / "sets.gmt").write_text("\n".join(lines))
    words = ["test", tmp_path / "data.csv", "--time", "months", "--event", "relapse", "--quiet"]
    words += [
        "--sets",
        tmp_path / "sets.gmt",
        "--permutations",
        39,
        "--report",
        tmp_path / "r.html",
    ]
    code, out, _ = command(*words, "--json")
    assert code == 0
    record = json.loads(out)
    assert len(record["sets"]) == 3
    assert "relapse" in record["outcome"]["taken_for"]
    assert "is taken for the time to" in (tmp_path / "r.html").read_text()
