"""`chanceline density`: ρ_VS at one load."""

from __future__ import annotations

from typing import Annotated

import typer

from chanceline.cli.options import Json, Report
from chanceline.cli.theory import Balance, ErrorShare, Margin, show


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
        show(result, as_json, report)
