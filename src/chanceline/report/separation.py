"""The chance test as a page: verdict, picture, the rule to use, its features, what separates, what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from chanceline._results import listed
from chanceline.chance.bound import format_p
from chanceline.figures.significance import draw_features, draw_samples, draw_test
from chanceline.report.page import ENVIRONMENT, PAPER, Page, drawn, hash_arrays
from chanceline.significance.features_table import stand_ins_of
from chanceline.significance.result import SeparationTest
from chanceline.significance.stages import Stage
from chanceline.significance.text_output import readings
from chanceline.significance.verdict import Verdict
from chanceline.tables.dataset import Dataset
from chanceline.tables.wording import plural

# Verdict → the name of its colour in the style sheets.
KINDS = {
    Verdict.STRUCTURE: "structure",
    Verdict.CHANCE: "chance",
    Verdict.NOT_SHOWN: "unclear",
    Verdict.UNDECIDED: "unclear",
}
COVER = (
    "Cover T. M., “Geometrical and statistical properties of systems of linear inequalities with applications in "
    "pattern recognition”, IEEE Transactions on Electronic Computers EC-14:326 (1965)."
)
# What a p-value of the shuffles rests on: over the numbers of features, or over repeated searches.
SHUFFLES = {
    "front": "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993).",
    "search": "Besag J. and Clifford P., “Sequential Monte Carlo p-values”, Biometrika 78:301 (1991).",
}
ENVIRONMENT.filters["pvalue"] = format_p
# Stand-ins that a cell of the table holds.
MAX_LISTED = 3
# Of standard deviations, from which on a feature is named as wider in one class.
WIDE = 2.0


def write_test_report(
    result: SeparationTest, path: str | Path, data: Dataset | None = None
) -> Path:
    """Write the result of `separation_test` as one HTML file.

    Parameters
    ----------
    result
        What the test gave.
    path
        The file to write.
    data
        The data tested; with it the page names the file and holds a hash of the numbers.
    """
    return separation_page(result, data).write(path)


def separation_page(result: SeparationTest, data: Dataset | None = None) -> Page:
    """The page before it is written."""
    name = f"{result.n_samples} samples × {result.n_features} features"
    record = result.to_dict()
    given, usual = result.settings.to_dict(), type(result.settings)().to_dict()
    changed = ", ".join(
        f"{key} = {value}" for key, value in given.items() if value != usual[key] and key != "seed"
    )
    provenance: dict[str, object] = {
        "seed": result.settings.seed,
        "settings": changed or "the defaults",
    }
    if data is not None:
        name, digest = data.source, hash_arrays(data.X, data.y)
        record = {"source": name, "sha256": digest, **record}
        provenance = {"data": name, "SHA-256 of the numbers and labels": digest, **provenance}
    shuffles = () if result.permutation is None else (SHUFFLES[result.permutation.statistic],)
    return Page(
        "test.html",
        f"Structure or chance? {name}",
        record,
        _values(result, data),
        provenance,
        (PAPER, COVER, *shuffles),
    )


def notebook_card(result: SeparationTest) -> str:
    """The verdict, what to expect, what separates, the picture: for a notebook."""
    values = {
        "front": drawn(lambda ax: draw_test(ax, result), "front")["wide"],
        "result": result,
        "kind": KINDS[result.verdict],
    }
    return ENVIRONMENT.get_template("card.html").render(values)


def _values(result: SeparationTest, data: Dataset | None) -> dict[str, object]:
    """What the template shows."""
    used, frame = result.rule or result.separating, result.to_frame()
    stand_ins = [_short_list(stand_ins_of(result, name)) for name in frame["feature"]]
    sides = [result.class_names[int(label > 0)] for label in result.labels]
    names, wrong = (
        (data and data.rows) or range(1, len(sides) + 1),
        result.rule.wrong if result.rule else (),
    )
    return {
        "result": result,
        "kind": KINDS[result.verdict],
        "wrong": _short((names[row], sides[row], abs(float(result.scores[row]))) for row in wrong),
        "features": (
            tuple(frame.columns.str.replace("_", " ")),
            _short(frame.assign(stand_ins=stand_ins).itertuples(index=False)),
        ),
        "csv": frame.to_csv(index=False),
        "wider": _wider(result),
        "readings": readings(result),
        "stage": stage_sentence(result),
        "shuffled": any(point.shuffled is not None for point in result.front),
        "front": drawn(lambda ax: draw_test(ax, result), "front"),
        "samples": drawn(lambda ax: draw_samples(ax, result), "samples", (7.5, 2.8)),
        "boxes": drawn(lambda ax: draw_features(ax, result), "boxes", (7.5, 3.6))
        if used.features
        else {},
    }


def _short_list(names: Sequence[str]) -> str:
    """The first names, and how many there are if these are not all."""
    text = listed(names, MAX_LISTED)
    if len(names) > MAX_LISTED:
        text += f" ({len(names)})"
    return text


def stage_sentence(result: SeparationTest) -> str:
    """For the methods paragraph: which stage gave the p-value, for which features, by what argument."""
    p = format_p(result.log10_pvalue)
    evidence = result.evidence
    who = f"{plural(len(evidence.features), 'feature')} ({listed(evidence.features)})"
    if result.stage is Stage.SHUFFLES:
        about = (
            f"The p-value is that of the shuffles, {p} with what the proofs before them may spend"
        )
        if evidence.spread:
            return f"{about}; the evidence is spread over many features."
        return f"{about}; the evidence is largest for {who}."
    if result.stage is Stage.ONE_FEATURE:
        return (
            f"The p-value, at most {p}, is a rigorous bound for one feature, {evidence.features[0]}: an exponential bound on the "
            "tail of its sum over the positives, by values and by ranks, and a union over all features."
        )
    if result.stage is Stage.NOTHING:
        return f"No bound convinced and no labels were shuffled; p ≤ {p} is all that can be said."
    errors = f"with {plural(evidence.errors, 'error')}" if evidence.errors else "without error"
    paid = ""
    if result.stage is Stage.COUNTED_ERRORS:
        paid = ", errors counted after looking included (a factor 2 each)"
    return (
        f"The p-value, at most {p}, is a rigorous bound for {who} {errors}: the probability that any set of that size does as "
        f"well, by Cover's count of separable labellings and the union over all sets{paid}, whatever the dependence between "
        "features and however the set was found."
    )


def _short(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Numbers with few digits and marks for yes, for a table to read."""
    marks = {"True": "✓", "False": "", "nan": ""}
    return [
        [marks.get(str(one), float(f"{one:.3g}") if isinstance(one, float) else one) for one in row]
        for row in rows
    ]


def _wider(result: SeparationTest) -> list[str]:
    """Features of the evidence that vary much more in one class than in the other."""
    sides = [result.labels < 0, result.labels > 0]
    spread = {
        name: [result.columns[name][side].std() for side in sides]
        for name in result.evidence.features
    }
    return [
        f"{name} varies {max(pair) / min(pair):.1f} times as much in {result.class_names[int(pair[1] > pair[0])]}"
        for name, pair in spread.items()
        if 0 < WIDE * min(pair) < max(pair)
    ]
