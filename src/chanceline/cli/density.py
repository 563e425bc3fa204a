"""`chanceline density`: ρ_VS at one load."""

from __future__ import annotations

from typing import Annotated

import typer

from chanceline.cli.options import Json, Report
from chanceline.cli.output import print_json, say
from chanceline.cli.patterns import Balance, ErrorShare, Margin


def register(app: typer.Typer) -> None:
    @app.command()
    def density(
        alpha: Annotated[float, typer.Argument(help="Load α = P/N: patterns per variable.")],
        balance: Balance = 0.5,
        margin: Margin = 0.0,
        errors: ErrorShare = 0.0,
        report: Report = None,
        as_json: Json = False,
    ) -> None:
        """The smallest share of variables that separates random patterns at a load: the inverse of the capacity.

        Example: chanceline density 1.0
        """
        from chanceline.theory.capacity import density as find_density

        result = find_density(alpha, balance=balance, margin=margin, errors=errors)
        if as_json:
            print_json(result.to_dict())
        else:
            print(result)
        if report is not None:
            from chanceline.report import write_theory_report

            say(f"report written to {write_theory_report(result, report)}")
