"""The chance test as a page to show: verdict, picture, readings, rule, what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chanceline.chance.bound import format_p
from chanceline.report.page import COVER, PAPER, Page, bullets, figure, hash_arrays, prose, table, tiles, verdict

if TYPE_CHECKING:
    from chanceline.significance.result import SeparationTest
    from chanceline.tables.dataset import Dataset

KINDS = {"structure": "structure", "chance allows this": "chance", "cannot tell": "unclear"}
BESAG = "Besag J. and Clifford P., “Sequential Monte Carlo p-values”, Biometrika 78:301 (1991)."


def write_test_report(result: SeparationTest, path: str | Path, data: Dataset | None = None) -> Path:
    """Write the result of `separation_test` as one HTML file.

    Parameters
    ----------
    result
        What the test gave.
    path
        The file to write.
    data
        The data tested; with it the page names the file and the classes and holds a hash of the numbers.
    """
    return separation_page(result, data).write(path)


def separation_page(result: SeparationTest, data: Dataset | None = None) -> Page:
    """The page before it is written."""
    from chanceline.figures.significance import draw_test
    from chanceline.significance.text import readings

    name = data.source if data is not None else f"{result.n_samples} × {result.n_features} samples and features"
    record = result.to_dict()
    provenance: dict[str, object] = {}
    if data is not None:
        record = {"source": data.source, "classes": list(data.classes), "sha256": hash_arrays(data.X, data.y), **record}
        provenance = {"data": data.source, "SHA-256 of the numbers and labels": record["sha256"]}
    provenance["seed"] = result.settings["seed"]
    provenance["settings"] = ", ".join(f"{key} = {value}" for key, value in result.settings.items())
    page = Page(f"Structure or chance? {name}", record, methods_text(result), provenance, _references(result))
    page.add(verdict(KINDS[result.verdict], result.verdict.upper(), result.reason))
    page.add(tiles(_tiles(result, data)))
    caption = (
        "Number of selected features M against the rigorous bound (blue). In the grey zone the bound is silent and only "
        "permutation can speak."
    )
    if result.permutation is not None:
        caption += " Red bars are the set sizes that the same search found on shuffled labels."
    page.add(figure(lambda ax: draw_test(ax, result), caption))
    rows = [(name.strip(), value, kind) for name, value, kind in readings(result)]
    page.section("The readings", table(("reading", "value", "kind"), rows, prose))
    if result.features:
        page.section(*_rule(result))
    if result.advice:
        heading = "Before relying on it" if result.verdict == "structure" else "What would change this"
        page.section(heading, bullets(result.advice))
    if result.findings:
        page.section("About the data", bullets(result.findings))
    return page


def _tiles(result: SeparationTest, data: Dataset | None) -> list[tuple[str, str, str]]:
    negatives = result.n_samples - result.positives
    negative, positive = data.classes if data is not None else ("negative", "positive")
    classes = f"{negatives} {negative}, {result.positives} {positive}"
    errors = "all separated" if result.errors == 0 else f"{result.errors} wrong"
    rows = [
        ("p-value", format_p(result.log10_pvalue), "valid whatever the search"),
        ("features selected", f"{result.n_selected} of {result.n_features}", errors),
        ("samples", str(result.n_samples), classes),
    ]
    if result.samples_needed is not None:
        rows.append(("samples needed", str(result.samples_needed), f"rigorous, for M = {result.n_selected}"))
    return rows


def _rule(result: SeparationTest) -> tuple[str, str]:
    rows: list[tuple[object, object]] = [
        (name, float(weight)) for name, weight in zip(result.features, result.weights, strict=True)
    ]
    if result.settings["intercept"]:
        rows.append(("(threshold)", float(result.bias)))
    return "The rule that was found", table(("feature", "weight"), rows)


def _references(result: SeparationTest) -> tuple[str, ...]:
    return (PAPER, COVER) if result.permutation is None else (PAPER, COVER, BESAG)


def methods_text(result: SeparationTest) -> str:
    """A paragraph for a paper: what was asked, what was done, what came out."""
    from chanceline import __version__

    bound, settings = result.bound, result.settings
    outcome = "without error" if result.errors == 0 else f"with {result.errors} errors"
    threshold = "with" if settings["intercept"] else "without"
    labels = "random relabelling that keeps the class sizes" if settings["null"] == "fixed" else "labels drawn by fair coins"
    text = (
        f"We asked whether labels unrelated to the features could be classified as well (chanceline {__version__}). "
        f"A linear rule {threshold} threshold on {result.n_selected} of {result.n_features} features classified "
        f"{result.n_samples} samples ({result.positives} and {result.n_samples - result.positives} in the classes) {outcome}. "
        f"Under {labels}, the probability that any set of that size does as well is at most {format_p(bound.log10_p)}, by "
        "Cover's count of separable labellings and the union over all sets, whatever the dependence between features and however "
        "the set was found. "
    )
    if result.permutation is not None:
        reading = result.permutation
        low, high = reading.interval
        early = " (stopped early by the rule of Besag and Clifford)" if reading.stopped_early else ""
        text += (
            f"The whole search, with the same iteration budget, was repeated on {reading.done} permuted labellings{early}: "
            f"p = {reading.pvalue:.3g} (95 % interval {low:.2g} to {high:.2g}). "
        )
    if result.replica is not None and result.replica.alpha_chosen is not None:
        replica = result.replica
        text += (
            f"For independent features the replica method places the limit of chance at {replica.alpha_chosen:.3g} samples a "
            f"feature for this share of features; the data have {replica.alpha:.3g}. "
        )
    overall = format_p(result.log10_pvalue)
    return text + f"Overall p = {overall}; the verdict at level {settings['level']:g} is “{result.verdict}”."
