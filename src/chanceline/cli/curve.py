"""`chanceline curve`: the capacity diagram's curves as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chanceline.cli.options import Json
from chanceline.cli.output import print_json, say
from chanceline.cli.theory import Balance, ErrorShare, Margin
from chanceline.errors import InputError

MOST_POINTS = 100_000


def register(app: typer.Typer) -> None:
    @app.command()
    def curve(
        points: Annotated[int, typer.Option("--points", help="Number of densities, equally spaced inside (0, 1).")] = 99,
        out: Annotated[Path | None, typer.Option("--out", help="CSV file to write; without it the table goes to stdout.")] = None,
        replicon: Annotated[
            bool, typer.Option("--replicon/--no-replicon", help="Add the load where replica symmetry between supports breaks.")
        ] = False,
        balance: Balance = 0.5,
        margin: Margin = 0.0,
        errors: ErrorShare = 0.0,
        as_json: Json = False,
    ) -> None:
        """α_VS(ρ) and the closed-form curves around it.

        Example: chanceline curve --points 99 --out curve.csv
        """
        if not 1 <= points <= MOST_POINTS:
            raise InputError(f"--points must be between 1 and {MOST_POINTS:,}, but is {points}")
        from chanceline._io import check_target, write_text
        from chanceline.theory.curves import curve_table, evenly_spaced

        if out is not None and out.suffix.lower() in (".png", ".svg", ".pdf"):
            raise InputError(f"--out is a table of numbers (.csv), not a picture; {out.name!r} names one.")
        if out is not None:
            check_target(out)
        table = curve_table(evenly_spaced(points), replicon, balance=balance, margin=margin, errors=errors)
        if out is not None:
            write_text(out, table.to_csv(index=False))
            say(f"wrote {points} rows to {out}")
        if as_json:
            print_json({"rows": table.to_dict(orient="records")})
        elif out is None:
            print(table.to_csv(index=False), end="")
