import pytest

from chanceline.errors import InputError
from chanceline.experiments.sweeps import load_sweep

GOOD = """
description = "two sizes"
batch = 4
[[block]]
kind = "toy_kinds:walk"
trials = 3
grid = {n = [5, 6], step = [1, 2.5]}
fixed = {pause = 0.0}
[[block]]
kind = "toy_kinds:walk"
grid = {n = [5]}
"""


def test_grid_is_the_product_and_repetitions_fall_away(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    sweep = load_sweep(path)
    assert (sweep.name, sweep.batch) == ("mine", 4)
    # The second block's only task (n = 5, step = 1, trial 0) is already in the first.
    assert len(sweep.tasks) == 2 * 2 * 3
    assert {(t.parameters["n"], t.parameters["step"]) for t in sweep.tasks} == {
        (5, 1.0),
        (5, 2.5),
        (6, 1.0),
        (6, 2.5),
    }
    assert [t.parameters["trial"] for t in sweep.tasks] == [0] * 4 + [1] * 4 + [2] * 4
    assert str(sweep) == "mine: 12 tasks (two sizes)"


def test_fewer_trials_are_a_part_of_the_whole(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert set(load_sweep(path, trials=2).tasks) < set(load_sweep(path).tasks)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = 'x'", r"no \[\[block\]\]"),
        ("colour = 1", "unknown key 'colour'"),
        ("[[block]]\ngrid = {n = [1]}", "has no kind"),
        ("[[block]]\nkind = 'toy_kinds:walk'\ngrid = {n = 1}", "must be a list"),
        ("[[block]]\nkind = 'nothing'\ngrid = {n = [1]}", "no kind of task 'nothing'"),
        ("[[block", "not valid TOML"),
        (
            "name = '../escaped'\n[[block]]\nkind = 'toy_kinds:walk'\ngrid = {n = [1]}",
            "the sweep's name is '../escaped'",
        ),
        ("[[block]]\nkind = 'toy_kinds:walk'\ngrid = {n = [1]}\nfixed = {n = 1}", "'n' .* twice"),
        ("[[block]]\nkind = 'toy_kinds:walk'\ngrid = {n = [1], step = [inf]}", "finite"),
    ],
)
def test_bad_sweeps_are_explained(tmp_path, text, sentence):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_sweep(path)


def test_files_that_cannot_be_read_are_explained(tmp_path):
    (tmp_path / "latin.toml").write_bytes("name = 'é'".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin\.toml is not valid TOML"):
        load_sweep(tmp_path / "latin.toml")
    for path in (tmp_path, tmp_path / "nothing.toml", "fig4"):
        with pytest.raises(InputError, match="there is no sweep"):
            load_sweep(path)
