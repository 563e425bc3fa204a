"""The chance test as a page to show: verdict, picture, readings, rule, what would change it."""

from __future__ import annotations

from pathlib import Path

from chanceline.chance.bound import format_p
from chanceline.figures.significance import draw_samples, draw_test
from chanceline.report.page import ENVIRONMENT, PAPER, Page, drawn, hash_arrays
from chanceline.significance.result import SeparationTest, fewer_features, readings
from chanceline.significance.text import CHANCE, STRUCTURE, UNDECIDED, scaled
from chanceline.tables.dataset import Dataset

KINDS = {STRUCTURE: "structure", CHANCE: "chance", UNDECIDED: "unclear"}
COVER = (
    "Cover T. M., “Geometrical and statistical properties of systems of linear inequalities with applications in "
    "pattern recognition”, IEEE Transactions on Electronic Computers EC-14:326 (1965)."
)
# What a p-value of the shuffles rests on: over the numbers of features, or over repeated searches.
SHUFFLES = {
    "front": "Westfall P. H. and Young S. S., “Resampling-Based Multiple Testing”, Wiley (1993).",
    "search": "Besag J. and Clifford P., “Sequential Monte Carlo p-values”, Biometrika 78:301 (1991).",
}
MEANINGS = {
    "p-value": "How often labels unrelated to the features would do as well, all readings taken together.",
    "bound": "A proof: no set of features, however found, does as well more often than this. At 1 it says nothing.",
    "permutation": "The share of labellings, shuffled and true, that do as well: with B shuffles at least 1/(B + 1).",
    "shuffled": "How many features the same search needs on shuffled labels.",
    "new samples": "The error to expect on samples that had no part in finding the rule; no test, and no substitute for one.",
    "replica": "Where noise of this shape would lie if features were independent and many. It decides nothing.",
}
ENVIRONMENT.filters["pvalue"] = format_p


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
    name = f"{result.n_samples} × {result.n_features} samples and features"
    record = result.to_dict()
    settings = ", ".join(f"{key} = {value}" for key, value in result.settings.to_dict().items())
    provenance: dict[str, object] = {"seed": result.settings.seed, "settings": settings}
    if data is not None:
        name, digest = data.source, hash_arrays(data.X, data.y)
        record = {"source": name, "sha256": digest, **record}
        provenance = {"data": name, "SHA-256 of the numbers and labels": digest, **provenance}
    weights, threshold = scaled(result.weights, result.bias)
    rows: list[tuple[str, float]] = [*zip(result.features, weights.tolist(), strict=True)]
    if result.settings.intercept:
        rows.append((f"threshold ({result.class_names[1]} above it)", threshold))
    values = {
        "result": result,
        "kind": KINDS[result.verdict],
        "readings": [(name.strip(), *rest, MEANINGS.get(name.strip(), "")) for name, *rest in readings(result)],
        "fewer": fewer_features(result),
        "weights": rows,
        "shuffled": any(point.shuffled is not None for point in result.front),
        "front": drawn(lambda ax: draw_test(ax, result), "front"),
        "samples": drawn(lambda ax: draw_samples(ax, result), "samples", (7.5, 2.8)) if result.features else {},
    }
    shuffles = () if result.permutation is None else (SHUFFLES[result.permutation.statistic],)
    return Page("test.html", f"Structure or chance? {name}", record, values, provenance, (PAPER, COVER, *shuffles))
