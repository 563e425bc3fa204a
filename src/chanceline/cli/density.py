"""`chanceline density`: ρ_VS at one load."""

from __future__ import annotations

from pathlib import Path

import typer

from chanceline.cli.output import print_json, say
from chanceline.cli.patterns import Balance, ErrorShare, Margin


def register(app: typer.Typer) -> None:
    @app.command()
    def density(
        alpha: float = typer.Argument(..., help="Load α = P/N: patterns per variable."),
        balance: Balance = 0.5,
        margin: Margin = 0.0,
        errors: ErrorShare = 0.0,
        report: Path | None = typer.Option(None, "--report", help="Write a self-contained HTML page as well."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
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
