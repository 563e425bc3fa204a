"""solve, capacity, density, curve and reproduce, as a user meets them."""

import pytest


def test_curve_writes_a_table(command, tmp_path):
    target = tmp_path / "curve.csv"
    code, out, err = command("curve", "--points", 3, "--out", target)
    assert (code, out) == (0, "")
    assert "wrote 3 rows" in err
    lines = target.read_text().splitlines()
    assert lines[0].startswith("rho,vc,cover_gardner,alpha_vs,error")
    assert len(lines) == 4
    _, out, _ = command("curve", "--points", 3)
    assert out.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("solve", "--alpha", "nan", "--rho", 0.5), "alpha"),
        (("solve", "--alpha", 1.9, "--rho", 0.5), "l0-Gardner"),
        (("solve", "--alpha", "many", "--rho", 0.5), "--alpha"),
        (("capacity", 1.5), "rho"),
        (("capacity", 0.1, "--balance", 1), "balance"),
        (("solve", "--alpha", 1, "--rho", 0.2, "--balance", 0.1, "--errors", 0.2), "constant rule"),
        (("curve", "--points", 2, "--out", "curve.png"), "curve.png"),
        (("reproduce", "--out", "x", "--quick", "--full"), "--quick"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(command, arguments, culprit):
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("chanceline: ")
    assert err.count("\n") == 1
    assert culprit in err
    assert "Traceback" not in err


def test_curve_with_errors(command):
    _, out, _ = command("curve", "--points", 3, "--errors", 0.05)
    assert out.splitlines()[0].endswith("balance,margin,errors,signs,threshold")
    assert len(out.splitlines()) == 4


def test_version(command):
    from chanceline import __version__

    assert command("--version")[1] == f"chanceline {__version__}\n"
