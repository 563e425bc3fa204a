"""The result in words: verdict first, then the readings, then what would change it."""

from __future__ import annotations

from chanceline.chance.bound import format_p
from chanceline.significance.record import TestRecord
from chanceline.significance.words import STRUCTURE, counted


def render(result: TestRecord) -> str:
    lines = [f"{result.verdict.upper()}: {result.reason}", ""]
    rows = readings(result)
    width = min(max(len(value) for _, value, _ in rows), 70)
    lines += [f"  {name:<12} {value:<{width}}   {kind}" for name, value, kind in rows]
    if result.features:
        names = ", ".join(result.features[:6]) + (", …" if len(result.features) > 6 else "")
        lines += ["", f"  features     {names}"]
        if len(result.features) <= 6:
            lines += [f"  rule         {result.rule_text}"]
    fewer = fewer_features(result)
    if fewer is not None:
        lines += ["  {:<12} {}".format(*fewer)]
    if result.front:
        lines += ["", *_front_lines(result)]
    if result.advice:
        lines += ["", "Before relying on it:" if result.verdict == STRUCTURE else "What would change this:"] + [
            f"  - {sentence}" for sentence in result.advice
        ]
    if result.findings:
        lines += ["", "About the data:"] + [f"  - {finding}" for finding in result.findings]
    return "\n".join(lines)


def fewer_features(result: TestRecord) -> tuple[str, str] | None:
    """How many features the p-value rests on, and which, if they are fewer than those of the rule reported."""
    point = result.decisive
    if point is None or point.k >= result.n_selected:
        return None
    return f"with {point.k}", f"{', '.join(point.features)} ({counted(point.fewest, 'error')})"


def readings(result: TestRecord) -> list[tuple[str, str, str]]:
    """Name, value and kind of the overall p-value and of every reading."""
    rows = [("p-value", format_p(result.log10_pvalue), "valid whatever the search")]
    rows.append(("bound", _bound_words(result), "rigorous"))
    if result.permutation is None:
        why = "not needed" if result.settings.permutations and result.settings.candidates is None else "not run"
        rows.append(("permutation", why, "Monte Carlo"))
    else:
        reading = result.permutation
        low, high = reading.interval
        text = f"p = {reading.pvalue:.2g} [{low:.2g}, {high:.2g}], at least {reading.floor:.2g} with {reading.requested} shuffles"
        text = "void: the search does not look at the labels" if reading.void else text
        rows.append(("permutation", text, f"Monte Carlo, {reading.exceedances} of {reading.done} as good"))
        sizes = sorted(size for size in reading.null_sizes if size is not None)
        if sizes and reading.statistic == "search":
            middle = sizes[len(sizes) // 2]
            rows.append(("  shuffled", f"M = {middle} [{sizes[0]}–{sizes[-1]}]", "median and range where it separates"))
    if result.expected_error is not None:
        rows.append(("new samples", result.expected_error.summary(), result.expected_error.kind))
    if result.replica is not None:
        rows.append(("replica", result.replica.summary(), f"{result.replica.kind}, never decides"))
    return rows


def _bound_words(result: TestRecord) -> str:
    text = f"p ≤ {format_p(result.bound.log10_p)}"
    declared = result.errors_declared
    if result.bound.log10_p < 0:
        return text
    if declared is not None and result.errors > declared:
        return f"{text} (says nothing about {counted(result.errors, 'error')} where {declared} were allowed)"
    if result.largest_convincing == 0:
        return f"{text} (no set would convince by itself)"
    return f"{text} (would convince for {counted(result.largest_convincing, 'feature')} at most)"


def _front_lines(result: TestRecord) -> list[str]:
    """The front as a small table."""
    lines = ["  features   errors   on shuffled labels   adjusted p"]
    for point in result.front:
        band = "" if point.shuffled is None else f"{point.shuffled.median} ({point.shuffled.low} to {point.shuffled.high})"
        pvalue = "" if point.pvalue is None else f"{point.pvalue:.2g}"
        lines.append(f"  {point.k:>8}   {point.errors:>6}   {band:<18}   {pvalue}".rstrip())
    return lines
