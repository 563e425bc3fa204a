"""`chanceline memory` as people call it."""

import json
from pathlib import Path

import numpy as np
import pytest

from chanceline.memory import AssociativeMemory, random_patterns
from chanceline.theory.capacity import capacity

SMALL = ["memory", "--neurons", "30", "--budget", "100", "-j", "1"]


def test_json_is_all_there_is_on_stdout(command, tmp_path):
    path = tmp_path / "memory.npz"
    code, out, _ = command(
        *SMALL, "--load", "0.7", "--fan-in", "0.3", "--seed", "3", "--save", str(path), "--json"
    )
    record = json.loads(out)
    assert code == 0
    assert record["complete"]
    assert record["patterns"] == record["fixed_points"] == record["held_with_positive_fields"] == 20
    assert record["fan_in_max"] == 9
    assert record["couplings_per_bit"] == pytest.approx(9 / 20)
    assert record["retrieval"]["overlap"][0] == 1
    # A finite network at a load within the limit of theory, which the stability lowers.
    assert record["load"] < record["theory"]["alpha_vs"] < capacity(9 / 29).alpha
    assert record["theory"]["margin"] == record["stability_median"]
    assert AssociativeMemory.load(path).is_stored(random_patterns(30, 0.7, 3)).all()


@pytest.mark.parametrize("kind", ["npy", "csv"])
def test_own_patterns(command, tmp_path, kind):
    patterns = random_patterns(12, n_patterns=3, seed=0)
    path = tmp_path / f"patterns.{kind}"
    if kind == "npy":
        np.save(path, patterns)
    else:
        np.savetxt(path, patterns, delimiter=",", fmt="%d")
    code, out, _ = command(
        "memory", "--patterns", str(path), "--fan-in", "minimal", "-j", "1", "--json"
    )
    record = json.loads(out)
    assert code == 0
    assert (record["neurons"], record["patterns"], record["complete"]) == (12, 3, True)
    assert record["fan_in_max"] <= 3


@pytest.mark.parametrize(("options", "words"), [
    ("--fan-in 31", "fan-in must be a count from 1 to 29"), ("--fan-in few", "fan-in"),
    ("--wiring magic", "wiring"), ("--load -1", "number of patterns"), ("--load nan", "load"), ("--kappa -1", "kappa"),
    ("--seed -1", "seed"), ("-j 0", "jobs"), ("--patterns bits.npy", "+1 or −1 everywhere"),
    ("--patterns short.npy", "30 entries in each row"), ("--patterns nothing.npy", "nothing.npy"),
    ("--patterns text.csv", "does not hold a table"), ("--patterns bits.npy --load 1", "not both"),
    ("--save nothing/x.npz", "nothing"),
])  # fmt: skip
def test_bad_input_gets_one_sentence_and_exit_code_2(
    command, tmp_path, monkeypatch, options, words
):
    monkeypatch.chdir(tmp_path)
    np.save("bits.npy", np.random.default_rng(0).integers(0, 2, (5, 30)))
    np.save("short.npy", random_patterns(29, n_patterns=5))
    Path("text.csv").write_text("a,b\n")
    code, out, err = command(*SMALL, *options.split())
    assert code == 2
    assert out == ""
    assert words in err
    assert err.strip().count("\n") == 0
    assert "Traceback" not in err
