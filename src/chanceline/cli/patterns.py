"""What the theory's commands ask of the patterns: balance, margin and errors."""

from __future__ import annotations

from typing import Annotated

import typer

Balance = Annotated[float, typer.Option("--balance", help="Share of positive patterns; unless 0.5 the rule has a threshold.")]
Margin = Annotated[float, typer.Option("--margin", help="Margin wanted, in units of |w|, for inputs of unit variance.")]
ErrorShare = Annotated[float, typer.Option("--errors", help="Share of the patterns that may be wrong.")]
