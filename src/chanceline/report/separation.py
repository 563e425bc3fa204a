"""The chance test as a page to show: verdict, picture, readings, rule, what would change it."""

from __future__ import annotations

from pathlib import Path

from chanceline import __version__
from chanceline.chance.bound import format_p
from chanceline.figures.significance import draw_samples, draw_test
from chanceline.report.page import COVER, PAPER, Page, bullets, escape, figure, hash_arrays, prose, table, tiles, verdict
from chanceline.significance.permutation import PermutationReading
from chanceline.significance.result import SeparationTest
from chanceline.significance.rule_words import scaled
from chanceline.significance.text import fewer_features, readings
from chanceline.significance.words import CHANCE, STRUCTURE, UNDECIDED
from chanceline.tables.dataset import Dataset

KINDS = {STRUCTURE: "structure", CHANCE: "chance", UNDECIDED: "unclear"}
WESTFALL = "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993)."
SAMPLES_CAPTION = "Every sample along the rule, by class. Samples on the wrong side are ringed."
MEANINGS = {
    "p-value": "How often labels unrelated to the features would do as well, all readings taken together.",
    "bound": "A proof: no set of features, however found, does as well more often than this. At 1 it says nothing.",
    "permutation": "The share of labellings, shuffled and true, that do as well: with B shuffles at least 1/(B + 1).",
    "shuffled": "How many features the same search needs on shuffled labels.",
    "new samples": "The error to expect on samples that had no part in finding the rule; no test, and no substitute for one.",
    "replica": "Where noise of this shape would lie if features were independent and many. It decides nothing.",
}
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
    name = data.source if data is not None else f"{result.n_samples} × {result.n_features} samples and features"
    record = result.to_dict()
    provenance: dict[str, object] = {}
    if data is not None:
        record = {"source": data.source, "sha256": hash_arrays(data.X, data.y), **record}
        provenance = {"data": data.source, "SHA-256 of the numbers and labels": record["sha256"]}
    provenance["seed"] = result.settings.seed
    provenance["settings"] = ", ".join(f"{key} = {value}" for key, value in result.settings.to_dict().items())
    page = Page(f"Structure or chance? {name}", record, methods_text(result), provenance, _references(result))
    page.add(verdict(KINDS[result.verdict], result.verdict.upper(), result.reason))
    page.add(tiles(_tiles(result)))
    page.add(figure(lambda ax: draw_test(ax, result), _front_caption(result)))
    if result.features:
        page.section(*_rule(result))
        page.add(figure(lambda ax: draw_samples(ax, result), SAMPLES_CAPTION, (7.5, 2.8)))
    rows = [(name.strip(), value, kind, MEANINGS.get(name.strip(), "")) for name, value, kind in readings(result)]
    page.section("The readings", table(("reading", "value", "kind", "what it means"), rows, prose))
    if result.advice:
        heading = "Before relying on it" if result.verdict == STRUCTURE else "What would change this"
        page.section(heading, bullets(result.advice))
    if result.findings:
        page.section("About the data", bullets(result.findings))
    return page


def _front_caption(result: SeparationTest) -> str:
    caption = "How many samples the best rule found gets wrong, for every number of features (blue)."
    if any(point.shuffled is not None for point in result.front):
        caption += " Grey: the same procedure on shuffled labels. Structure lies below the grey band; chance lies within it."
    return f"{caption} The star is the rule reported."


def _tiles(result: SeparationTest) -> list[tuple[str, str, str]]:
    negatives = result.n_samples - result.positives
    negative, positive = result.class_names
    classes = f"{negatives} {negative}, {result.positives} {positive}"
    errors = "all separated" if result.errors == 0 else f"{result.errors} wrong"
    rows = [
        ("p-value", format_p(result.log10_pvalue), "valid whatever the search"),
        ("features selected", f"{result.n_selected} of {result.n_features}", errors),
        ("samples", str(result.n_samples), classes),
    ]
    if result.expected_error is not None:
        expected = result.expected_error
        rows.append(("wrong on new samples", f"{expected.error:.0%}", f"cross-validated; guessing: {expected.guess:.0%}"))
    return rows


def _rule(result: SeparationTest) -> tuple[str, str]:
    """The rule as a sentence, and the same weights with more digits."""
    weights, threshold = scaled(result.weights, result.bias)
    rows: list[tuple[object, object]] = [*zip(result.features, weights.tolist(), strict=True)]
    if result.settings.intercept:
        rows.append((f"threshold ({result.class_names[1]} above it)", threshold))
    fewer = fewer_features(result)
    rest = f"<p>The p-value of the shuffles rests on fewer features, {escape(fewer[0])}: {escape(fewer[1])}.</p>" if fewer else ""
    text = f"<p>{escape(result.rule_text)}.</p>{rest}"
    return "The rule that was found", text + table(("feature", "weight, the largest is 1"), rows)


def _references(result: SeparationTest) -> tuple[str, ...]:
    if result.permutation is None:
        return PAPER, COVER
    return PAPER, COVER, WESTFALL if result.permutation.statistic == "front" else BESAG


def methods_text(result: SeparationTest) -> str:
    """A paragraph for a paper: what was asked, what was done, what came out."""
    bound, settings = result.bound, result.settings
    outcome = "without error" if result.errors == 0 else f"with {result.errors} errors"
    threshold = "with" if settings.intercept else "without"
    labels = "random relabelling that keeps the class sizes" if settings.null == "fixed" else "labels drawn by fair coins"
    text = (
        f"We asked whether labels unrelated to the features could be classified as well (chanceline {__version__}). "
        f"A linear rule {threshold} threshold on {result.n_selected} of {result.n_features} features classified "
        f"{result.n_samples} samples ({result.positives} and {result.n_samples - result.positives} in the classes) {outcome}. "
        f"Under {labels}, the probability that any set of that size does as well is at most {format_p(bound.log10_p)}, by "
        "Cover's count of separable labellings and the union over all sets, whatever the dependence between features and however "
        "the set was found. "
    )
    if result.permutation is not None:
        text += _shuffles_text(result.permutation, len(result.front))
    if result.replica is not None and result.replica.alpha_chosen is not None:
        replica = result.replica
        text += (
            f"For independent features the replica method places the limit of chance for this share of features at a load of "
            f"{replica.alpha_chosen:.3g} samples for each feature; the data have {replica.alpha:.3g}. "
        )
    overall = format_p(result.log10_pvalue)
    return text + f"Overall p = {overall}; the verdict at level {settings.level:g} is “{result.verdict}”."


def _shuffles_text(reading: PermutationReading, largest: int) -> str:
    low, high = reading.interval
    if reading.statistic == "front":
        how = (
            f"Forward stepwise least squares on up to {largest} features, and the best pair of correlated ones, gave a loss for "
            f"every number of features on the observed and on {reading.done} permuted labellings; the smallest p-value over the "
            "numbers of features was calibrated on the same labellings (Westfall and Young)"
        )
    else:
        early = " (stopped early by the rule of Besag and Clifford)" if reading.stopped_early else ""
        how = f"The whole search, with the same iteration budget, was repeated on {reading.done} permuted labellings{early}"
    return f"{how}: p = {reading.pvalue:.3g} (95 % interval {low:.2g} to {high:.2g}). "
