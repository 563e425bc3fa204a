"""`chanceline density`: ρ_VS at one load."""

from __future__ import annotations

import typer

from chanceline.cli.output import print_json


def register(app: typer.Typer) -> None:
    @app.command()
    def density(
        alpha: float = typer.Argument(..., help="Load α = P/N: patterns per variable."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> None:
        """The smallest share of variables that separates random patterns at a load: the inverse of the capacity.

        Example: chanceline density 1.0
        """
        from chanceline.theory.capacity import density as find_density

        result = find_density(alpha)
        if as_json:
            print_json(result.to_dict())
        else:
            print(result)
