"""solve, capacity, density, curve and reproduce, as a user meets them."""

import json

import pytest

from chanceline.cli.main import main


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return stop.value.code, captured.out, captured.err


def test_solve_json(capsys):
    code, out, err = run(capsys, "solve", "--alpha", 1.2, "--rho", 0.5, "--json")
    record = json.loads(out)
    assert (code, err) == (0, "")
    assert {"alpha", "rho", "regime", "entropy", "q0", "q1", "chi", "K", "E", "F1", "F0", "residual"} <= set(record)
    assert set(record["stability"]) >= {"within", "between"}
    assert record["entropy"] == pytest.approx(0.667065, abs=5e-7)
    below = json.loads(run(capsys, "solve", "--alpha", 0.8, "--rho", 0.5, "--json")[1])
    assert (below["regime"], below["chi"]) == ("typical", None)


def test_capacity_and_density_json(capsys):
    record = json.loads(run(capsys, "capacity", 0.5, "--json")[1])
    assert {"rho", "ansatz", "alpha", "error", "bounds", "replicon_alpha"} <= set(record)
    assert set(record["bounds"]) == {"vc", "cover_gardner", "union", "l0_gardner"}
    assert record["alpha"] == pytest.approx(1.79649, abs=5e-6)
    assert json.loads(run(capsys, "density", 1.0, "--json")[1])["rho"] == pytest.approx(0.16233, abs=5e-6)


def test_plain_output_is_for_people(capsys):
    assert "α_VS = 1.7964865468" in run(capsys, "capacity", 0.5)[1]
    assert "entropy" in run(capsys, "solve", "-a", 1.2, "-r", 0.5)[1]


def test_curve_writes_a_table(capsys, tmp_path):
    target = tmp_path / "curve.csv"
    code, out, err = run(capsys, "curve", "--points", 3, "--out", target)
    assert (code, out) == (0, "")
    assert "wrote 3 rows" in err
    lines = target.read_text().splitlines()
    assert lines[0].startswith("rho,vc,cover_gardner,alpha_vs,error")
    assert len(lines) == 4
    _, out, _ = run(capsys, "curve", "--points", 3)
    assert out.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("solve", "--alpha", "nan", "--rho", 0.5), "alpha"),
        (("solve", "--alpha", 1, "--rho", 1), "rho"),
        (("solve", "--alpha", 1.9, "--rho", 0.5), "l0-Gardner"),
        (("solve", "--alpha", "many", "--rho", 0.5), "--alpha"),
        (("solve", "--alpha", 1.2, "--rho", 0.5, "--ansatz", "best"), "best"),
        (("capacity", 1.5), "rho"),
        (("capacity", 0.1, "--balance", 1), "balance"),
        (("capacity", 0.1, "--margin", -1), "margin"),
        (("density", 0.5, "--errors", 0.5), "errors"),
        (("solve", "--alpha", 1, "--rho", 0.2, "--balance", 0.1, "--errors", 0.2), "constant rule"),
        (("curve", "--points", 0), "--points"),
        (("curve", "--points", 2, "--out", "no/such/folder/c.csv"), "no/such/folder"),
        (("curve", "--points", 2, "--out", "curve.png"), "curve.png"),
        (("reproduce", "--out", "x", "--quick", "--full"), "--quick"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(capsys, arguments, culprit):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("chanceline: ")
    assert err.count("\n") == 1
    assert culprit in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", [("capacity", 0.1), ("density", 0.5), ("solve", "-a", 0.7, "-r", 0.1)])
def test_balance_margin_and_errors_reach_the_theory_and_the_json(capsys, command):
    _, out, _ = run(capsys, *command, "--balance", 0.3, "--margin", 0.05, "--json")
    record = json.loads(out)
    assert (record["balance"], record["margin"], record["errors"]) == (0.3, 0.05, 0)
    assert record["threshold"] < 0
    plain = json.loads(run(capsys, *command, "--json")[1])
    assert (plain["balance"], plain["threshold"]) == (0.5, 0)
    assert set(plain) == set(record)


def test_curve_with_errors(capsys):
    _, out, _ = run(capsys, "curve", "--points", 3, "--errors", 0.05)
    assert out.splitlines()[0].endswith("balance,margin,errors,threshold")
    assert len(out.splitlines()) == 4


def test_version(capsys):
    from chanceline import __version__

    assert run(capsys, "--version")[1] == f"chanceline {__version__}\n"
