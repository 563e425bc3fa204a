"""The commands as people call them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from chanceline.cli.main import main


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    output = capsys.readouterr()
    return exit_.value.code, output.out, output.err


@pytest.fixture
def planted(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 30)), columns=[f"g{j}" for j in range(30)])
    frame["status"] = np.where(frame["g1"] - frame["g2"] > 0, "ill", "well")
    path = tmp_path / "planted.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_cluster_gives_the_same_result(capsys, planted):
    from distributed import LocalCluster

    arguments = ["test", planted, "--label", "status", "--always-permute", "--permutations", 199, "--json", "--quiet"]
    _, alone, _ = call(capsys, *arguments)
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        _, together, _ = call(capsys, *arguments, "--scheduler", cluster.scheduler_address)
    assert json.loads(alone) == json.loads(together)


def test_figure(capsys, planted, tmp_path):
    figure = tmp_path / "picture.svg"
    _, _, err = call(capsys, "test", planted, "--label", "status", "--figure", figure)
    assert "<svg" in figure.read_text()
    assert "picture.svg" in err
    code, _, err = call(capsys, "test", planted, "--label", "status", "--figure", tmp_path / "picture.doc")
    assert code == 2
    assert ".svg" in err


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["nowhere.csv", "--label", "y"], "nowhere.csv"),
        ([], "give a data file"),
        (["{planted}", "--label", "statu"], "did you mean 'status'"),
        (["{planted}", "--label", "status", "--features", "g1,g77"], "no feature 'g77'"),
        (["{planted}", "--label", "status", "--level", "2"], "level"),
        (["{planted}", "--label", "status", "--search", "magic"], "magic"),
        (["{planted}", "--label", "status", "--permutations", "many"], "--permutations"),
    ],
)
def test_mistakes_get_one_sentence(capsys, planted, arguments, match):
    code, out, err = call(capsys, "test", *(a.replace("{planted}", str(planted)) for a in arguments))
    assert code == 2
    assert out == ""
    assert match in err
    assert err.count("\n") == 1


SIGNALLED = """
import os, signal, sys
import chanceline.significance.run as steps
from chanceline.cli.main import main

draw_front, permutation_reading = steps.draw_front, steps.permutation_reading
number, times = int(sys.argv[1]), int(sys.argv[2])

def signalled(function):
    def run(*arguments, **options):
        def progress(done, total):
            try:
                os.kill(os.getpid(), number)
            finally:
                if times == 2:
                    os.kill(os.getpid(), number)
        if "runner" in options:
            options["runner"] = steps.replace(options["runner"], progress=progress)
        return function(*arguments, **options)
    return run

if __name__ == "__main__":
    # A job in the background may have been started with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps.draw_front, steps.permutation_reading = signalled(draw_front), signalled(permutation_reading)
    main(["test", "noise.csv", "--label", "y", "--budget", "20", "--json", *sys.argv[3:]])
"""


def signalled(tmp_path, *arguments):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(20, 12)))
    frame["y"] = [0, 1] * 10
    frame.to_csv(tmp_path / "noise.csv", index=False)
    (tmp_path / "run.py").write_text(SIGNALLED)
    command = [sys.executable, "run.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)


@pytest.mark.parametrize(
    ("number", "extra", "drawn"),
    [(signal.SIGINT, [], 63), (signal.SIGTERM, [], 63), (signal.SIGTERM, ["--search", "auto", "-j", "2"], 1)],
)
def test_the_first_signal_keeps_what_is_done(tmp_path, number, extra, drawn):
    done = signalled(tmp_path, int(number), 1, *extra)
    assert done.returncode == 130, done.stderr
    record = json.loads(done.stdout)
    assert record["interrupted"]
    assert record["permutation"]["interrupted"]
    assert record["permutation"]["done"] == drawn
    assert record["pvalue"] >= 1 / (1 + drawn)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_at_once(tmp_path, number):
    done = signalled(tmp_path, int(number), 2)
    assert done.returncode == -number
    assert done.stdout == ""


def test_time_limit_keeps_what_is_done(capsys, planted):
    _, out, _ = call(
        capsys, "test", planted, "--label", "status", "--always-permute", "--time-limit", 1e-9, "--json", "--quiet",
    )  # fmt: skip
    permutation = json.loads(out)["permutation"]
    assert permutation["stopped_by"] == "time limit"
    assert permutation["done"] == 63
    assert permutation["pvalue"] == 1 / 64
