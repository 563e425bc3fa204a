"""The result in words: verdict first, then the three readings, then what would change it."""

from __future__ import annotations

from chanceline.chance.bound import format_p
from chanceline.significance.result import SeparationTest
from chanceline.significance.verdict import STRUCTURE


def render(result: SeparationTest) -> str:
    lines = [f"{result.verdict.upper()}: {result.reason}", ""]
    rows = readings(result)
    width = max(len(value) for _, value, _ in rows)
    lines += [f"  {name:<12} {value:<{width}}   {kind}" for name, value, kind in rows]
    names = ", ".join(result.features[:6]) + (", …" if len(result.features) > 6 else "")
    if names:
        lines += ["", f"  features     {names}"]
    if result.advice:
        lines += ["", "Before relying on it:" if result.verdict == STRUCTURE else "What would change this:"] + [
            f"  - {sentence}" for sentence in result.advice
        ]
    if result.findings:
        lines += ["", "About the data:"] + [f"  - {finding}" for finding in result.findings]
    return "\n".join(lines)


def readings(result: SeparationTest) -> list[tuple[str, str, str]]:
    """Name, value and kind of the overall p-value and the three readings."""
    rows = [("p-value", format_p(result.log10_pvalue), "valid whatever the search")]
    bound = f"p ≤ {format_p(result.bound.log10_p)}"
    declared = result.settings["errors"]
    if declared is not None and result.errors > declared:
        bound += f" (silent about {result.errors} errors where {declared} were allowed)"
    elif result.bound.log10_p == 0:
        bound += f" (silent; speaks up to M = {result.largest_convincing})"
    rows.append(("bound", bound, "rigorous"))
    if result.permutation is None:
        why = "not needed" if result.settings["permutations"] else "not run"
        rows.append(("permutation", why, "Monte Carlo"))
    else:
        reading = result.permutation
        low, high = reading.interval
        text = f"p = {reading.pvalue:.2g} [{low:.2g}, {high:.2g}], floor {reading.floor:.2g}"
        rows.append(("permutation", text, f"Monte Carlo, {reading.exceedances} of {reading.done} as good"))
        sizes = sorted(size for size in reading.null_sizes if size is not None)
        if sizes:
            middle = sizes[len(sizes) // 2]
            rows.append(
                (
                    "  shuffled",
                    f"M = {middle} [{sizes[0]}–{sizes[-1]}]",
                    "median and range where it separates",
                )
            )
    if result.replica is not None:
        replica = result.replica
        line = "not known here" if replica.alpha_chosen is None else f"{replica.alpha_chosen:.3g}"
        text = f"α = {replica.alpha:.3g}, 2ρ = {replica.alpha_typical:.3g}, α_VS = {line}"
        rows.append(("replica", text, f"asymptotic: {replica.position}"))
    return rows
