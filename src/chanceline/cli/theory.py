"""What the theory's commands share: the patterns asked for (balance, margin and errors), and how a result is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from chanceline.cli.output import print_json, say

if TYPE_CHECKING:
    from chanceline.report.theory import TheoryResult

Balance = Annotated[float, typer.Option("--balance", help="Share of positive patterns; unless 0.5 the rule has a threshold.")]
Margin = Annotated[float, typer.Option("--margin", help="Margin wanted, in units of |w|, for inputs of unit variance.")]
ErrorShare = Annotated[float, typer.Option("--errors", help="Share of the patterns that may be wrong.")]


def show(result: TheoryResult, as_json: bool, report: Path | None) -> None:
    """In words or as JSON, and as a page if one is wanted."""
    if as_json:
        print_json(result.to_dict())
    else:
        print(result)
    if report is not None:
        from chanceline.report import write_theory_report

        say(f"report written to {write_theory_report(result, report)}")
