"""The commands of replica theory: `solve`, `capacity`, `density` and `curve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import chanceline
from chanceline.cli.options import FigureOption, JsonOption, ReportOption
from chanceline.cli.terminal import print_answer, print_json, say, write_figure
from chanceline.errors import InputError

if TYPE_CHECKING:
    from chanceline.report.theory import TheoryResult

MAX_CURVE_POINTS = 100_000  # of a curve, each of which is solved
CURVE_SIZE = (6.5, 4.4)  # of the picture, in inches

LOAD_HELP = "Load α = P/N: patterns per variable."
DENSITY_HELP = "Density ρ = M/N: share of the variables kept."
CapacityAnsatzOption = Annotated[
    str,
    typer.Option(
        "--ansatz",
        help="'rs', replica symmetric, '1rsb', one step of breaking, or 'full', its limit.",
    ),
]
BalanceOption = Annotated[
    float,
    typer.Option(
        "--balance", help="Share of positive patterns; unless 0.5 the rule has a threshold."
    ),
]
MarginOption = Annotated[
    float,
    typer.Option("--margin", help="Margin wanted, in units of |w|, for inputs of unit variance."),
]
ErrorShareOption = Annotated[
    float, typer.Option("--errors", help="Share of the patterns that may be wrong.")
]
InputSignsOption = Annotated[
    str,
    typer.Option(
        "--signs", help="'free', or 'given': the sign of each input's weight is prescribed."
    ),
]


def solve(
    alpha: Annotated[float, typer.Option("--alpha", "-a", help=LOAD_HELP)],
    rho: Annotated[float, typer.Option("--rho", "-r", help=DENSITY_HELP)],
    ansatz: Annotated[
        str,
        typer.Option(
            "--ansatz",
            help="'rs', replica symmetric, or '1rsb', one step of breaking between supports.",
        ),
    ] = "rs",
    balance: BalanceOption = 0.5,
    margin: MarginOption = 0.0,
    errors: ErrorShareOption = 0.0,
    signs: InputSignsOption = "free",
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """Order parameters, entropy of separating choices and stability at a load and a density.

    Example: chanceline solve --alpha 1.2 --rho 0.5
    """
    solution = chanceline.solve(
        alpha, rho, ansatz, balance=balance, margin=margin, errors=errors, signs=signs
    )
    show_theory(solution, json, report)


def capacity(
    rho: Annotated[float, typer.Argument(help=DENSITY_HELP)],
    ansatz: CapacityAnsatzOption = "rs",
    balance: BalanceOption = 0.5,
    margin: MarginOption = 0.0,
    errors: ErrorShareOption = 0.0,
    signs: InputSignsOption = "free",
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """The largest load that a perceptron separates when it may choose a share ρ of its variables.

    Example: chanceline capacity 0.1 --balance 0.3
    """
    result = chanceline.capacity(
        rho, ansatz, balance=balance, margin=margin, errors=errors, signs=signs
    )
    show_theory(result, json, report)


def density(
    alpha: Annotated[float, typer.Argument(help=LOAD_HELP)],
    ansatz: CapacityAnsatzOption = "rs",
    balance: BalanceOption = 0.5,
    margin: MarginOption = 0.0,
    errors: ErrorShareOption = 0.0,
    signs: InputSignsOption = "free",
    report: ReportOption = None,
    json: JsonOption = False,
) -> None:
    """The smallest share of variables that separates random patterns at a load: the inverse of the capacity.

    Example: chanceline density 1.0
    """  # noqa: E501 (the help shows these lines as they are)
    result = chanceline.density(
        alpha, ansatz, balance=balance, margin=margin, errors=errors, signs=signs
    )
    show_theory(result, json, report)


def show_theory(result: TheoryResult, json: bool, report: Path | None) -> None:
    """Write the page of a result if one is wanted, and print it in words or as JSON."""
    if report is not None:
        from chanceline.report import write_theory_report

        say(f"report written to {write_theory_report(result, report)}")
    print_answer(result.to_dict(), str(result), json)


def curve(
    points: Annotated[
        int, typer.Option("--points", help="Number of densities, equally spaced inside (0, 1).")
    ] = 99,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="CSV file to write; without it the table goes to stdout."),
    ] = None,
    figure: FigureOption = None,
    replicon: Annotated[
        bool,
        typer.Option(
            "--replicon/--no-replicon",
            help="Add the load where replica symmetry between supports breaks.",
        ),
    ] = False,
    balance: BalanceOption = 0.5,
    margin: MarginOption = 0.0,
    errors: ErrorShareOption = 0.0,
    signs: InputSignsOption = "free",
    json: JsonOption = False,
) -> None:
    """α_VS(ρ) and the closed-form curves around it.

    Example: chanceline curve --points 99 --out curve.csv --figure curve.svg
    """
    from chanceline._io import check_target, write_text
    from chanceline.theory.capacity import capacity_curve, evenly_spaced

    if not 1 <= points <= MAX_CURVE_POINTS:
        raise InputError(f"--points must be between 1 and {MAX_CURVE_POINTS:,}, but is {points}")
    # A picture's name given as --out is a mistake, because the file of --out is a table.
    if out is not None and check_target(out).suffix.lower() in (".png", ".svg", ".pdf"):
        raise InputError(
            f"--out is a table of numbers (.csv); for the picture {out.name!r} use --figure."
        )

    capacities = capacity_curve(
        evenly_spaced(points),
        replicon=replicon,
        balance=balance,
        margin=margin,
        errors=errors,
        signs=signs,
    )
    table = capacities.to_frame()

    # Write the figure and the file that were asked for; print the table if there is neither.
    write_figure(capacities.plot, figure, size=CURVE_SIZE)
    if out is not None:
        write_text(out, table.to_csv(index=False))
        say(f"wrote {points} rows to {out}")
    if json:
        print_json({"rows": table.to_dict(orient="records")})
    elif out is None and figure is None:
        print(table.to_csv(index=False), end="")
