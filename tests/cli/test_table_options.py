"""The settings of the library are the options of the command line, under one set of names."""

from __future__ import annotations

from dataclasses import fields

import pytest
import typer
from typer.testing import CliRunner

from chanceline.cli.flags import PARAMETERS
from chanceline.cli.main import main
from chanceline.cli.settings_options import options_from_settings
from chanceline.tables import TableSettings
from chanceline.tables.settings import join_names, split_names


def invoke(*arguments: str, without: tuple[str, ...] = ()) -> tuple[int, TableSettings, int]:
    """Exit code and what a command with the table's options and one of its own gets."""
    seen: list[tuple[TableSettings, int]] = []

    @options_from_settings(table=TableSettings, excluded_fields=without)
    def command(table: TableSettings, seed: int = typer.Option(0, "--seed")) -> None:
        seen.append((table, seed))

    app = typer.Typer()
    app.command()(command)
    outcome = CliRunner().invoke(app, arguments)
    return (outcome.exit_code, *(seen or [(TableSettings(), -1)])[0])


def test_defaults_are_those_of_the_library():
    assert invoke() == (0, TableSettings(), 0)


def test_every_setting_is_an_option_that_sentences_name():
    assert {field.name for field in fields(TableSettings)} <= set(PARAMETERS)
    words = {bool: [], tuple: ["a,b"]}
    for field in fields(TableSettings):
        number = field.name == "split_at"
        value = words.get(
            type(field.default), [field.metadata.get("choices", ("2.5" if number else "file",))[-1]]
        )
        extra = ["--labels", "file"] if field.name == "id" else []
        code, table, _ = invoke(f"--{field.name.replace('_', '-')}", *value, *extra)
        assert code == 0
        arrived = getattr(table, field.name)
        assert (str(arrived) if number else arrived) == {bool: True, tuple: ("a", "b")}.get(
            type(field.default), *value[:1] or [None]
        )


def test_values_arrive():
    code, table, seed = invoke(
        "--transpose", "--decimal", ",", "--na", "?,<LOD", "--drop", '"odd, one",g2', "--seed", "3"
    )
    wanted = TableSettings(transpose=True, decimal=",", na=("?", "<LOD"), drop=("odd, one", "g2"))
    assert (code, table, seed) == (0, wanted, 3)


def test_some_options_can_be_left_out():
    assert invoke("--blocks", "a")[0] == 0
    assert invoke("--blocks", "a", without=("blocks", "groups"))[0] == 2


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


@pytest.mark.parametrize(
    "command", [["test", "--permutations", "0"], ["search", "--intercept"], ["front"]]
)
def test_every_command_that_reads_a_table_takes_the_options(genes, command, capsys):
    table = [str(genes / "genes.tsv"), "--label", "outcome"]
    with pytest.raises(SystemExit) as stopped:
        main([*command[:1], *table])
    assert stopped.value.code == 2
    assert "--transpose (and --labels FILE" in capsys.readouterr().err
    with pytest.raises(SystemExit) as done:
        main(
            [
                *command,
                *table,
                "--transpose",
                "--labels",
                str(genes / "clinic.csv"),
                "--id",
                "sample",
                "--json",
                "--quiet",
            ]
        )
    assert done.value.code == 0
    assert '"g3"' in capsys.readouterr().out


def test_names_are_separated_by_commas_and_kept_by_quotes():
    assert split_names(None) == ()
    assert split_names('a, "b, c",, d ') == ("a", "b, c", "d")
    assert split_names("a\nb") == ("a", "b")
    names = ("a", "b, c", 'd "e"')
    assert split_names(join_names(names)) == names
