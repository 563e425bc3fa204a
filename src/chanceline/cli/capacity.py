"""`chanceline capacity`: α_VS at one density."""

from __future__ import annotations

from typing import Annotated

import typer

from chanceline.cli.options import Json, Report
from chanceline.cli.theory import Balance, ErrorShare, Margin, show


def register(app: typer.Typer) -> None:
    @app.command()
    def capacity(
        rho: Annotated[float, typer.Argument(help="Density ρ = M/N: share of the variables kept.")],
        ansatz: Annotated[
            str, typer.Option("--ansatz", help="'rs', replica symmetric, '1rsb', one step of breaking, or 'full', its limit.")
        ] = "rs",
        balance: Balance = 0.5,
        margin: Margin = 0.0,
        errors: ErrorShare = 0.0,
        report: Report = None,
        as_json: Json = False,
    ) -> None:
        """The largest load that a perceptron separates when it may choose a share ρ of its variables.

        Example: chanceline capacity 0.1 --balance 0.3
        """
        from chanceline.theory.capacity import capacity as find_capacity

        result = find_capacity(rho, ansatz, balance=balance, margin=margin, errors=errors)
        show(result, as_json, report)
