"""Replica theory as a page: a point of the diagram, or the capacity at one density."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chanceline import __version__
from chanceline.errors import InputError
from chanceline.figures.style import COLOURS
from chanceline.figures.theory import draw_capacity
from chanceline.report.diagram import interpolated_lines
from chanceline.report.page import PAPER, Page, figure, table, tiles, verdict
from chanceline.theory.curves import curve_table, evenly_spaced
from chanceline.theory.gardner import gardner
from chanceline.theory.kernels import binary_entropy
from chanceline.theory.patterns import PLAIN, Patterns
from chanceline.theory.rs import Branch

if TYPE_CHECKING:
    import pandas as pd

REGIMES = {
    "typical": ("chance", "Typical choices separate", "random patterns are separated by typical choices of variables."),
    "selected": (
        "chance",
        "Chosen variables separate",
        "typical choices fail, but exponentially many rare ones separate random patterns.",
    ),
    "beyond": ("structure", "Beyond capacity", "no choice of variables separates random patterns at this load."),
}
ANSATZ = {
    "rs": "replica symmetry",
    "1rsb": "one step of replica symmetry breaking between supports",
    "full": "full replica symmetry breaking between supports (the limit of more and more steps)",
}


class TheoryResult(Protocol):
    """What `solve`, `capacity` and `density` give: every one of them lies somewhere on the diagram."""

    kind: str

    @property
    def alpha(self) -> float: ...

    @property
    def rho(self) -> float: ...

    def to_dict(self) -> dict[str, Any]: ...


def write_theory_report(result: TheoryResult, path: str | Path) -> Path:
    """Write the result of `solve`, `capacity` or `density` as one HTML file."""
    return theory_page(result).write(path)


def theory_page(result: TheoryResult) -> Page:
    """The page before it is written."""
    record = result.to_dict()
    ansatz = str(record.get("ansatz", "rs"))
    name = ANSATZ.get(ansatz, ansatz)
    if "regime" in record:
        page = _solution_page(result, record, name)
    elif "error" in record:
        page = _line_page(result, record, name)
    else:
        raise InputError("a theory report needs the result of solve, capacity or density.")
    caption = f"Where ρ = {result.rho:.5g}, α = {result.alpha:.6g} lies on the capacity diagram."
    page.add(figure(lambda ax: _draw_position(ax, result.rho, result.alpha, _patterns(record)), caption, (7.5, 5.2)))
    rows = [(key, value) for key, value in _flat(record) if value is not None]
    page.section("All numbers", table(("quantity", "value"), rows))
    return page


def _solution_page(result: TheoryResult, record: dict[str, Any], name: str) -> Page:
    kind, word, sentence = REGIMES[record["regime"]]
    methods = (
        f"The saddle-point equations of the perceptron with variable selection were solved at load α = {result.alpha:g} and "
        f"density ρ = {result.rho:g} with {name} (chanceline {__version__}): entropy of separating choices "
        f"Σ = {record['entropy']:.10g}, residual {record['residual']:.1e}, quadrature error {record['quadrature_error']:.1e}."
    )
    page = Page(f"Replica solution at α = {result.alpha:g}, ρ = {result.rho:g}", record, methods, references=(PAPER,))
    page.add(verdict(kind, word, f"At ρ = {result.rho:g}, α = {result.alpha:g}: {sentence}"))
    stability = record["stability"]
    page.add(
        tiles(
            [
                ("entropy Σ", f"{record['entropy']:.8g}", result.kind),
                ("within a support", f"{stability['within']:.6g}", "replicon; 1 is marginal"),
                ("between supports", f"{stability['between']:.6g}", "replicon; stable below 1"),
            ]
        )
    )
    caption = f"Entropy of separating choices against the load at ρ = {result.rho:g}, replica symmetric."
    page.add(figure(lambda ax: _draw_entropy(ax, result, record["entropy"], _patterns(record)), caption))
    return page


def _line_page(result: TheoryResult, record: dict[str, Any], name: str) -> Page:
    given = "alpha" if "bounds" not in record else "rho"
    found = f"α_VS({result.rho:g}) = {result.alpha:.8g}" if given == "rho" else f"ρ_VS({result.alpha:g}) = {result.rho:.8g}"
    methods = (
        f"The capacity under variable selection was computed with {name} (chanceline {__version__}): {found} "
        f"± {record['error']:.1e} (numerical error)."
    )
    page = Page(f"The chance line: {found}", record, methods, references=(PAPER,))
    sentence = (
        f"At density ρ = {result.rho:.6g}, the share of variables that a perceptron may choose, it separates random patterns "
        f"up to the load α = {result.alpha:.6g}, so many patterns for each variable."
    )
    page.add(verdict("unclear", found, sentence))
    if "bounds" in record:
        bounds = record["bounds"]
        page.add(
            tiles(
                [
                    ("every choice, α_VC", "none" if bounds["vc"] is None else f"{bounds['vc']:.6g}", "rigorous"),
                    ("typical choice, α_CG", f"{bounds['cover_gardner']:.6g}", "N → ∞"),
                    ("ℓ₀-Gardner", f"{bounds['l0_gardner']:.6g}", "upper bound, asymptotic"),
                    ("union bound", f"{bounds['union']:.6g}", "upper bound, rigorous"),
                ]
            )
        )
    return page


def _flat(record: dict[str, Any], before: str = "") -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for key, value in record.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{before}{key}.")
        else:
            rows.append((before + key, value))
    return rows


def _patterns(record: dict[str, Any]) -> Patterns:
    return Patterns(record["balance"], record["margin"], record["errors"])


def diagram_frame(patterns: Patterns = PLAIN) -> pd.DataFrame:
    """The lines as `figures.theory.draw_capacity` wants them: from the shipped table, or solved for other patterns."""
    import pandas as pd

    if not patterns.plain:
        p = patterns
        return curve_table(evenly_spaced(59), balance=p.balance, margin=p.margin, errors=p.errors).astype(float)
    lines = interpolated_lines([k / 200 for k in range(1, 200)])
    frame = pd.DataFrame(lines).rename(columns={"alpha_rs": "alpha_vs"})
    return frame.assign(vc=frame["rho"], cover_gardner=2 * frame["rho"])


def _draw_position(ax: Any, rho: float, alpha: float, patterns: Patterns) -> None:
    draw_capacity(ax, diagram_frame(patterns))
    ax.plot([rho], [alpha], "o", color=COLOURS["here"], markersize=9, zorder=5)
    ax.annotate("here", (rho, alpha), xytext=(9, 7), textcoords="offset points", color=COLOURS["here"], weight="bold")


def _draw_entropy(ax: Any, result: TheoryResult, entropy: float, patterns: Patterns) -> None:
    import numpy as np
    from scipy.interpolate import CubicHermiteSpline

    rho = result.rho
    all_choices = binary_entropy(rho)
    branch = [point.state for point in Branch(rho, patterns).follow(lambda state: state.entropy < 0)]
    typical = rho * gardner(patterns).load
    if patterns.errors:
        # It counts from where there are fewer choices than all of them.
        branch = [state for state in branch if state.entropy < all_choices]
        typical = min(typical, 0.98 * branch[0].alpha)
    # The branch is followed in long steps; its slope is known at each of them.
    loads = [0.0, typical, *(state.alpha for state in branch)]
    values = [all_choices] * 2 + [state.entropy for state in branch]
    slopes = [0.0, 0.0, *(state.entropy_by_alpha for state in branch)]
    dense = np.linspace(0, loads[-1], 400)
    ax.plot(dense, CubicHermiteSpline(loads, values, slopes)(dense), color=COLOURS["rs"])
    ax.axhline(0, color="0.5", linewidth=0.8)
    ax.axvline(typical, color=COLOURS["cover-gardner"], linewidth=1, linestyle=":")
    ax.plot([result.alpha], [entropy], "o", color=COLOURS["here"], markersize=9)
    ax.set(xlabel="load α", ylabel="entropy of separating choices Σ")
