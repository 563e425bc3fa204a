"""`chanceline solve`: the replica solution at one point of the diagram."""

from __future__ import annotations

from typing import Annotated

import typer

from chanceline.cli.options import Json, Report
from chanceline.cli.theory import Balance, ErrorShare, Margin, show


def register(app: typer.Typer) -> None:
    @app.command()
    def solve(
        alpha: Annotated[float, typer.Option("--alpha", "-a", help="Load α = P/N: patterns per variable.")],
        rho: Annotated[float, typer.Option("--rho", "-r", help="Density ρ = M/N: share of the variables kept.")],
        ansatz: Annotated[
            str, typer.Option("--ansatz", help="'rs', replica symmetric, or '1rsb', one step of breaking between supports.")
        ] = "rs",
        balance: Balance = 0.5,
        margin: Margin = 0.0,
        errors: ErrorShare = 0.0,
        report: Report = None,
        as_json: Json = False,
    ) -> None:
        """Order parameters, entropy of separating choices and stability at a load and a density.

        Example: chanceline solve --alpha 1.2 --rho 0.5
        """
        from chanceline.theory.solve import solve as solve_theory

        solution = solve_theory(alpha, rho, ansatz, balance=balance, margin=margin, errors=errors)
        show(solution, as_json, report)
