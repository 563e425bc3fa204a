"""The commands as people call them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def planted(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 30)), columns=[f"g{j}" for j in range(30)])
    frame["status"] = np.where(frame["g1"] - frame["g2"] > 0, "ill", "well")
    path = tmp_path / "planted.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_a_cluster_gives_the_same_result(command, planted):
    from distributed import LocalCluster

    arguments = [
        "test",
        planted,
        "--label",
        "status",
        "--always-permute",
        "--permutations",
        199,
        "--json",
        "--quiet",
    ]
    _, alone, _ = command(*arguments)
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        _, together, _ = command(*arguments, "--scheduler", cluster.scheduler_address)
    assert json.loads(alone) == json.loads(together)


def test_figure(command, planted, tmp_path):
    figure = tmp_path / "picture.svg"
    _, _, err = command("test", planted, "--label", "status", "--figure", figure)
    assert "<svg" in figure.read_text()
    assert "picture.svg" in err
    code, _, err = command(
        "test", planted, "--label", "status", "--figure", tmp_path / "picture.doc"
    )
    assert code == 2
    assert ".svg" in err


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["nowhere.csv", "--label", "y"], "nowhere.csv"),
        (["{planted}", "--label", "statu"], "did you mean 'status'"),
        (["{planted}", "--label", "status", "--features", "g1,g77"], "no feature 'g77'"),
        (["{planted}", "--label", "status", "--search", "magic"], "magic"),
    ],
)
def test_mistakes_get_one_sentence(command, planted, arguments, match):
    code, out, err = command("test", *(a.replace("{planted}", str(planted)) for a in arguments))
    assert code == 2
    assert out == ""
    assert match in err
    assert err.count("\n") == 1


def test_time_limit_keeps_what_is_done(command, planted):
    _, out, _ = command(
        "test",
        planted,
        "--label",
        "status",
        "--always-permute",
        "--time-limit",
        1e-9,
        "--json",
        "--quiet",
    )
    permutation = json.loads(out)["permutation"]
    assert permutation["stopped_by"] == "time limit"
    assert permutation["done"] == 255
    assert permutation["pvalue"] == 1 / 256
