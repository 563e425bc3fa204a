"""The table's options reach the reader under one set of names; sentences of the library come back with flags."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from chanceline.cli.flags import PARAMETERS, in_flags
from chanceline.cli.main import main
from chanceline.cli.table_options import OPTIONS, TableChoice, names_in, with_table_options
from chanceline.errors import InputError
from chanceline.tables import TableSettings


@pytest.fixture
def run():
    seen: list[tuple[TableChoice, int]] = []

    @with_table_options
    def command(table: TableChoice, seed: int = typer.Option(0, "--seed")) -> None:
        seen.append((table, seed))

    app = typer.Typer()
    app.command()(command)

    def invoke(*arguments: str) -> tuple[TableChoice, int]:
        outcome = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert outcome.exit_code == 0, outcome.output
        return seen.pop()

    return invoke


def test_defaults_are_those_of_the_library(run):
    table, seed = run()
    assert (table.path, table.label, seed) == (None, None, 0)
    assert TableSettings(**table.settings) == TableSettings()


def test_every_setting_has_an_option():
    assert {field.name for field in fields(TableSettings)} | {"label"} == set(OPTIONS)
    assert set(OPTIONS) <= set(PARAMETERS)


def test_values_arrive_and_the_file_is_read(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("gene\ts1\ts2\ts3\ng1\t1,5\t?\t3\ng2\t4\t5\t6,5\nodd one\t1\t2\t9\noutcome\tx\ty\tx\n")
    options = ["--label", "outcome", "--transpose", "--decimal", ",", "--na", "?,<LOD", "--drop", '"odd one",g2']
    table, seed = run(str(path), *options, "--missing", "rows", "--seed", "3")
    assert seed == 3
    assert table.settings["na"] == ("?", "<LOD")
    dataset = table.load()
    assert dataset.feature_names == ("g1",)
    assert dataset.X.tolist() == [[1.5], [3]]


def test_some_options_can_be_left_out():
    @with_table_options(without=("blocks", "groups"))
    def command(table: TableChoice) -> None:
        print(sorted(table.settings))

    app = typer.Typer()
    app.command()(command)
    assert "'blocks'" not in CliRunner().invoke(app, []).output
    assert CliRunner().invoke(app, ["--blocks", "a"]).exit_code == 2


@pytest.mark.parametrize(("sentence", "told"), [
    ("choose missing='rows' or missing='median'.", "choose --missing rows or --missing median."),
    ("one_hot=True makes indicators of them.", "--one-hot makes indicators of them."),
    ("set na='<LOD' if that", "set --na '<LOD' if that"),
    ("set decimal=',' if", "set --decimal ',' if"),
    ("set transpose=True (and labels=FILE if", "set --transpose (and --labels FILE if"),
    ("with drop='the \"b\"'.", "with --drop 'the \"b\"'."),
    ('drop="it\'s"', "--drop 'it'\\''s'"),
    ("permutations=199.", "--permutations 199."),
    ("intercept=False", "--no-intercept"),
    ("write N=256,alpha=1,seed=0", "write N=256,alpha=1,seed=0"),
    ("scheduler=tcp://HOST:8786", "--scheduler tcp://HOST:8786"),
])  # fmt: skip
def test_parameters_become_flags(sentence, told):
    assert in_flags(sentence) == told


def test_no_flag_is_made_of_a_word_that_only_ends_alike():
    assert not re.search("--", in_flags("the_level=3 and x.na=4 and grid=5"))


@pytest.fixture
def genes(tmp_path):
    """Genes in rows, classes in a second file; one gene tells the classes apart."""
    rows = ["gene\t" + "\t".join(f"s{i}" for i in range(12))]
    for j in range(20):
        values = [9 * (i % 2) * (j == 3) + (7 * i * (j + 2) % 11) / 3 for i in range(12)]
        rows.append("\t".join([f"g{j}", *(f"{value:.2f}" for value in values)]))
    (tmp_path / "genes.tsv").write_text("\n".join(rows) + "\n")
    labels = [f"s{i},{'ill' if i % 2 else 'well'}" for i in range(12)]
    (tmp_path / "clinic.csv").write_text("\n".join(["sample,outcome", *labels]) + "\n")
    return tmp_path


@pytest.mark.parametrize("command", [["test", "--permutations", "0"], ["search", "--intercept"], ["front"]])
def test_every_command_that_reads_a_table_takes_the_options(genes, command, capsys):
    table = [str(genes / "genes.tsv"), "--label", "outcome"]
    with pytest.raises(SystemExit) as stopped:
        main([*command[:1], *table])
    assert stopped.value.code == 2
    assert "set --transpose (and --labels FILE" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main([*command, *table, "--transpose", "--labels", str(genes / "clinic.csv"), "--id", "sample", "--json", "--quiet"])
    assert done.value.code == 0
    assert '"g3"' in capsys.readouterr().out


def test_names_are_separated_by_commas_and_kept_by_quotes():
    assert names_in(None) == ()
    assert names_in('a, "b, c",, d ') == ("a", "b, c", "d")
    assert names_in('"a\nb"') == ("a\nb",)
    with pytest.raises(InputError, match="cannot be read"):
        names_in("a\nb")
