"""Reports: verdict first, everything escaped, self-contained, with the result inside."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from browser import run_script

from chanceline._results import visible
from chanceline.chance.bound import format_p
from chanceline.errors import InputError
from chanceline.experiments.run import run
from chanceline.experiments.store import Store
from chanceline.experiments.tasks import make_task
from chanceline.report import (
    read_report,
    write_reproduce_report,
    write_sets_report,
    write_sweep_report,
    write_test_report,
    write_theory_report,
)
from chanceline.report.cells import cells_to_read
from chanceline.report.design_words import NOTHING_DECLARED, design_in_words
from chanceline.report.page import TEMPLATES, Page, hash_arrays, short_number
from chanceline.report.reproduce import FIGURES, rounded
from chanceline.report.separation import separation_page
from chanceline.report.weights import weights_csv
from chanceline.reproduce.folder import Folder
from chanceline.significance import separation_test, set_tests
from chanceline.tables import load_data
from chanceline.tables.examples import load_example
from chanceline.theory.capacity import capacity, density
from chanceline.theory.solve import solve

EVIL = "<script>document.title='owned'</script>"
QUOTES = """"><img src=x onerror="document.title='owned'">"""


class Outline(HTMLParser):
    """Elements in the order they open, with the attributes that could load or run something."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[str] = []
        self.active: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        loading = ("src", "href", "xlink:href")
        self.active += [
            (name, value) for name, value in attributes if name.startswith("on") or name in loading
        ]


def assert_self_contained(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    outline = Outline(text)
    # One script, which is ours: the one that sorts tables.
    assert outline.tags.count("script") == 1
    assert f"<script>{(TEMPLATES / 'sort.js').read_text(encoding='utf-8')}</script>" in text
    assert "link" not in outline.tags
    ours = ("#", "chanceline-explorer.html#", "data:text/csv;")
    outside = [
        value
        for name, value in outline.active
        if not (name in ("href", "xlink:href") and str(value).startswith(ours))
    ]
    assert outside == []
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    return text


@pytest.fixture(scope="module")
def noise():
    data = load_example("noise")
    return data, separation_test(data.X, data.y, permutations=19, feature_names=data.feature_names)


def test_test_report_says_the_verdict_first(noise, tmp_path):
    data, result = noise
    path = write_test_report(result, tmp_path / "report.html", data)
    text = assert_self_contained(path)
    body = text[text.index("<body>") :]
    parts = (
        result.plain_sentence,
        "CHANCE ALLOWS THIS, p",
        "New samples: not clearly better than guessing",
        "Separation: ",
        "<svg",
        "The design",
        "The rule to use",
        "What to expect on new samples",
        "The features",
    )
    places = [
        body.index(words) for words in (*parts, "How the p-value was made", "to paste into a paper")
    ]
    assert places == sorted(places)
    assert (
        f"p\u00a0=\u00a0{format_p(result.log10_pvalue)}" in text
    )  # never broken at the end of a line
    assert "Xu Y., Ohzeki M. and Kabashima Y." in text
    assert hash_arrays(data.X, data.y) in text
    record = read_report(path)
    assert record["verdict"] == result.verdict
    assert record["settings"]["seed"] == 0
    assert record["log10_pvalue"] == result.log10_pvalue
    assert len(record["null_distribution"]) == result.permutation.done


def test_the_page_shows_the_rule_its_features_and_the_samples_it_gets_wrong(tmp_path):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 3)) * [3, 1, 20] + 5
    y = X @ [0.8, -1.7, 0.02] + rng.normal(size=60) > -4
    result = separation_test(X, y.astype(float), ["x0", "x1"], permutations=0)
    text = write_test_report(result, tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<p>{result.rule.text.replace('>', '&gt;')}.</p>" in text
    cells = re.findall(
        r'data-name="feature">([^<]+)</td>\s*<td class="number" data-name="weight">([^<]+)</td>',
        text,
    )
    frame = result.to_frame()
    assert [name for name, _ in cells] == frame["feature"].tolist() == ["x0", "x1"]
    np.testing.assert_allclose(
        [float(value) for _, value in cells],
        np.array(result.rule.weights) * X[:, :2].std(axis=0),
        rtol=5e-3,
    )
    assert ">nan<" not in text
    assert text.count("✓") == frame[["evidence", "rule", "separating"]].to_numpy().sum()
    rows = [int(row) - 1 for row in re.findall(r'data-name="row">(\d+)</td>', text)]
    scores = result.rule.expected_error.predictions.mean(axis=0)
    assert rows == np.flatnonzero((scores > 0) != y).tolist() != []
    assert f"wrong side by cross-validated scores: {len(rows)} of 60" in text
    # Numbers to read, not to compute with: the JSON at the end has those.
    body = text[text.index("<body>") : text.index("The same as CSV")]
    assert not re.search(r"\d\.\d{5,}", re.sub(r"<svg.*?</svg>", "", body, flags=re.DOTALL))


def file_in(text: str, name: str) -> str:
    """The content of a file that the page holds."""
    (encoded,) = re.findall(rf'download="{name}" href="data:text/csv;charset=utf-8;base64,([^"]+)"', text)  # fmt: skip
    return base64.b64decode(encoded).decode()


def test_the_page_holds_the_weights_and_the_features_as_files(noise, tmp_path):
    data, result = noise
    text = write_test_report(result, tmp_path / "page.html", data).read_text(encoding="utf-8")
    assert file_in(text, "weights.csv") == weights_csv(result)
    saved = pd.read_csv(io.StringIO(file_in(text, "features.csv")))
    pd.testing.assert_frame_equal(
        saved[["feature", "weight"]], result.to_frame()[["feature", "weight"]]
    )


def test_scores_of_training_are_called_so(noise, tmp_path):
    _, result = noise
    # Turned round, every score of a rule that fits all samples is on the wrong side.
    assert result.rule.wrong == ()
    unmeasured = replace(
        result, scores=-result.scores, rule=replace(result.rule, expected_error=None)
    )
    text = write_test_report(unmeasured, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Every sample by its training score" in text
    assert "on new ones it will do worse" in text
    assert "What to expect on new samples" not in text
    assert "wrong side by training scores: 40 of 40" in text


def test_the_numbers_of_cross_validation_stand_beside_their_pictures(noise, tmp_path):
    data, result = noise
    text = write_test_report(result, tmp_path / "page.html", data).read_text(encoding="utf-8")
    expected = result.rule.expected_error
    section = text[text.index("What to expect on new samples") : text.index("The features</h2>")]
    cells = re.findall(r'data-name="(?:number|value)">([^<]*)</td>', section)
    numbers = dict(zip(cells[::2], cells[1::2], strict=True))
    assert numbers["error"].startswith(f"{100 * expected.rate:.0f} % (95 % CI ")
    assert numbers["sensitivity"] == f"{100 * expected.sensitivity:.0f} %"
    assert numbers["specificity"] == f"{100 * expected.specificity:.0f} %"
    assert numbers["balanced error"] == f"{100 * expected.balanced_rate:.0f} %"
    assert numbers["error of the larger class"] == "50 %"
    comparison = expected.against_majority
    won_and_lost = f"{comparison.won:.0f} won, {comparison.lost:.0f} lost: not clearly better"
    assert numbers["won and lost against it"] == won_and_lost
    # One number for the area, that within folds; the picture claims no other.
    assert numbers["area under the curve"].startswith(f"{expected.auc:.2f} (95 % CI ")
    assert "need not be that below this line" in section
    assert section.count("<figure>") == 3


def test_every_column_of_the_front_says_whose_it_is(noise, tmp_path):
    data, result = noise
    text = write_test_report(result, tmp_path / "page.html", data).read_text(encoding="utf-8")
    table = text[text.index("The same as a table") : text.index("The rule to use")]
    headings = re.findall(r'<th scope="col">([^<]*)</th>', table)
    assert headings == [
        "features",
        "R² of the path",
        "R² of the path, shuffled labels",
        "adjusted p of the path",
        "fewest errors of any rule found",
    ]
    errors = re.findall(r'data-name="fewest errors of any rule found">(\d+)<', table)
    assert [int(number) for number in errors] == [point.errors for point in result.front]
    printed = str(result)
    heading_lines = printed[: printed.index("R² of shuffled labels")].splitlines()[-2:]
    assert heading_lines[0].split("   ")[-1].strip() == "any rule found"
    assert "stepwise least squares" in heading_lines[0]


def test_the_design_is_said_in_words():
    rng = np.random.default_rng(7)
    y = np.repeat(rng.permutation(30) < 15, 2)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["patient"] = np.repeat(np.arange(30), 2)
    table["site"] = np.repeat(["x", "y"], 30)
    table["age"] = np.repeat(rng.normal(50, 9, size=30), 2)
    table["outcome"] = np.where(y, "ill", "well")
    data = load_data(table, "outcome", groups="patient", blocks="site", adjust=("age",))
    result = separation_test(data, permutations=19, expected_error=False)
    words = " ".join(design_in_words(result, data))
    assert words.startswith("60 samples with 3 features: 30 well and 30 ill. The positive class is")
    for part in (
        "Samples belong to 30 groups (column patient); those of a group have one label",
        "Samples are compared within 2 blocks (column site).",
        "The question is what the features tell beyond age.",
        f"these could change places: {result.exchange}.",
    ):
        assert part in words
    # Without the table the columns' names are not known, but all else is.
    without_names = " ".join(design_in_words(result))
    assert "Samples belong to 30 groups; those" in without_names
    assert "within 2 blocks." in without_names


def test_pairs_categories_and_nothing_are_told_apart():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    table["outcome"] = np.tile(["ill", "well"], 30)
    table["twins"] = np.repeat(np.arange(30), 2)
    table["sex"] = np.repeat(["f", "m"], 30)
    table["site"] = np.repeat(["x", "y", "x", "y"], 15)

    def design(**roles):
        data = load_data(table[["a", "b", "c", "outcome", *said(roles)]], "outcome", **roles)
        return design_in_words(separation_test(data, permutations=0, expected_error=False), data)

    def said(roles):
        return [name for role in roles.values() for name in ([role] if isinstance(role, str) else role)]  # fmt: skip

    assert design()[1] == NOTHING_DECLARED
    assert design(pairs="twins")[1] == "Samples are compared within 30 pairs (column twins)."
    categories = design(adjust=("sex",))
    assert categories[1:3] == [
        "Samples are compared within 2 blocks, which are made of the categories adjusted for.",
        "The question is what the features tell beyond sex.",
    ]
    assert design(adjust=("sex",), blocks="site")[1] == (
        "Samples are compared within 4 blocks, which are made of the categories adjusted for and "
        "of 2 blocks (column site)."
    )


SORTING = """(() => {
  const table = document.querySelector("table.sortable:has([data-name=feature])");
  const cells = (column) => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
  const heads = [...table.tHead.rows[0].cells];
  const column = heads.findIndex((head) => head.textContent === "difference");
  const button = heads[column].querySelector("button");
  const seen = { start: cells(column), names: cells(0) };
  button.focus();
  seen.focused = document.activeElement === button;
  for (const order of ["ascending", "descending", "none"]) {
    button.click();
    seen[order] = cells(column);
    seen[order + " said"] = heads.map((head) => head.getAttribute("aria-sort")).filter(Boolean);
  }
  heads[0].querySelector("button").click();
  seen.byName = cells(0);
  return seen;
})()"""


@pytest.mark.slow
def test_tables_sort_by_their_columns(noise, tmp_path):
    data, result = noise
    path = write_test_report(result, tmp_path / "report.html", data)
    seen = run_script(path.read_text(encoding="utf-8"), SORTING, tmp_path)
    assert "failure" not in seen, seen
    numbers = [float(text) for text in seen["start"]]
    assert numbers != sorted(numbers)
    assert seen["focused"]
    assert [float(text) for text in seen["ascending"]] == sorted(numbers)
    assert [float(text) for text in seen["descending"]] == sorted(numbers, reverse=True)
    assert seen["none"] == seen["start"]
    assert [seen[f"{order} said"] for order in ("ascending", "descending", "none")] == [
        ["ascending"], ["descending"], [],
    ]  # fmt: skip

    # Numbers within names count as numbers: feature 9 comes before feature 10.
    def number_in(name):
        return int(name.split()[1])

    assert seen["byName"] == sorted(seen["names"], key=number_in)


def test_the_methods_name_the_units_and_how_labels_were_drawn(tmp_path):
    rng = np.random.default_rng(9)
    X, y, age = (
        rng.normal(size=(40, 6)),
        np.repeat(np.tile([1.0, -1.0], 10), 2),
        rng.normal(size=40),
    )
    grouped = separation_test(
        X, y, permutations=19, groups=np.repeat(np.arange(20), 2), expected_error=False
    )
    adjusted = separation_test(X, y, permutations=19, adjust=age[:, None], expected_error=False)
    pages = [
        write_test_report(result, tmp_path / f"{number}.html").read_text()
        for number, result in enumerate((grouped, adjusted))
    ]
    methods = [" ".join(page[page.index("to paste into a paper") :].split()) for page in pages]
    assert (
        "the labels of 20 groups, whose rows keep one label, permuted, with the class sizes kept"
        in methods[0]
    )
    assert "on 19 such labellings" in methods[0]
    assert (
        "the labels of 40 samples, drawn from a logistic model of covariate 0, with the number of positives kept"
        in methods[1]
    )
    # The stage that gave the p-value is named, and no bound that says nothing.
    assert all("The p-value is that of the shuffles" in text for text in methods)
    assert not any("at most 1" in text for text in methods)


def test_a_rule_without_features_is_called_none(tmp_path):
    rng = np.random.default_rng(3)
    result = separation_test(
        rng.normal(size=(40, 30)), np.tile(["ill", "well"], 20), permutations=19
    )
    assert not result.rule.features
    text = " ".join(
        write_test_report(result, tmp_path / "page.html").read_text(encoding="utf-8").split()
    )
    assert "None: by cross-validation no set of features clearly improves on" in text
    assert (
        "no set of features clearly improved on the majority class; the whole procedure had a cross-validated error of"
        in text
    )
    assert "AUC" not in result.rule.summary()
    assert "Every sample by its" not in text
    assert "What to expect on new samples" not in text
    assert file_in(text, "weights.csv").startswith(
        "rule,kind,term,weight,meaning\nrule to use,bias"
    )


def test_the_card_of_a_notebook_is_the_short_story(noise):
    _, result = noise
    card = result._repr_html_()
    assert Outline(card).tags.count("svg") == 1
    assert card.index(result.plain_sentence) < card.index("CHANCE ALLOWS THIS")
    assert "not clearly better than guessing" in card
    assert "<style>" not in card.partition("<svg")[0]


def test_names_from_data_are_shown_and_never_run(tmp_path):
    rng = np.random.default_rng(4)
    y = np.repeat(["<b>sick</b>", EVIL], 12)
    values = rng.normal(size=(24, 3))
    values[:, 0] += np.repeat([-9.0, 9.0], 12)
    csv = tmp_path / "a<img src=x onerror=alert(1)>&.csv"
    head = ",".join(
        '"' + name.replace('"', '""') + '"' for name in (EVIL, QUOTES, "$\\alpha_{", "outcome")
    )
    csv.write_text(
        "\n".join(
            [
                head,
                *(
                    ",".join([*map(str, row), f'"{label}"'])
                    for row, label in zip(values, y, strict=True)
                ),
            ]
        )
    )
    data = load_data(csv, "outcome")
    result = separation_test(data.X, data.y, feature_names=data.feature_names, permutations=0)
    assert EVIL in result.separating.features
    path = write_test_report(result, tmp_path / "report.html", data)
    text = assert_self_contained(path)
    assert EVIL not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert EVIL in read_report(path)["separating"]["features"]
    seen = run_script(
        text,
        '[document.title, document.images.length, document.body.innerText.includes("<script>")]',
        tmp_path,
    )
    assert seen == [f"Structure or chance? {csv.name}", 0, True]


READABLE = """(() => {
  const page = document.documentElement;
  const hasWords = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  const words = [...document.querySelectorAll("main *")].filter(hasWords);
  const shown = words.filter((e) => e.checkVisibility() && !e.closest("details, svg"));
  const drawings = [...document.querySelectorAll("figure svg")].filter((drawing) => drawing.checkVisibility());
  return {
    fits: page.scrollWidth <= page.clientWidth,
    small: shown.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 10).map((e) => e.textContent),
    drawings: drawings.length,
  };
})()"""


@pytest.mark.parametrize("width", [390, 1280])
def test_reports_are_readable(noise, tmp_path, width):
    data, result = noise
    path = write_test_report(result, tmp_path / "report.html", data)
    seen = run_script(path.read_text(), READABLE, tmp_path, width=width)
    assert seen == {"fits": True, "small": [], "drawings": 6}


@pytest.fixture
def folder(tmp_path) -> Path:
    """What `reproduce` writes: a figure with small letters, one of an unknown name, one number."""
    made = Folder(tmp_path / "out", "quick", lambda line: None)
    for name in ("panels", "extra"):
        chart, axes = plt.subplots(1, 2, figsize=(10, 4))
        axes[0].plot([1, 2], label="a line")
        axes[0].legend(fontsize=7)
        made.save(name, chart, pd.DataFrame({"x": [1, 2]}))
    made.add_number("capacity at rho=0.5", 1.7352468, error=0.0123, source="RS & <b>")
    made.finish()
    return made.path


@pytest.mark.parametrize(("result", "words"), [
    (lambda: solve(1.2, 0.5), ["Chosen variables separate", "0.66706483"]),
    (lambda: capacity(0.5), ["α_VS(0.5) = 1.7964865", "union bound"]),
    (lambda: solve(1.78, 0.5, "1rsb"), ["Chosen variables separate", "one step of replica symmetry breaking"]),
    (lambda: density(1.0), ["ρ_VS(1) = 0.1623"]),
])  # fmt: skip
def test_theory_reports(result, words, tmp_path):
    found = result()
    path = write_theory_report(found, tmp_path / "theory.html")
    text = assert_self_contained(path)
    for word in words:
        assert word in text
    assert read_report(path)["alpha"] == pytest.approx(found.alpha, rel=1e-15)


def test_sweep_report_has_the_averages_of_the_store(tmp_path):
    store = tmp_path / "<i>runs.sqlite"
    tasks = [
        make_task("smallest", n=12, alpha=alpha, method="omp", trial=k)
        for k in range(4)
        for alpha in (0.5, 1.0)
    ]
    with Store(store, write=True) as results:
        rows = run(tasks, store=results)
    expected = np.mean(
        [row.result["n_selected"] for row in rows if row.task.parameters["alpha"] == 1.0]
    )
    path = write_sweep_report(store, tmp_path / "sweep.html")
    text = assert_self_contained(path)
    assert "<i>runs" not in text
    assert text.count("<svg") >= 2
    record = read_report(path)
    assert record["tasks"] == 8
    (row,) = [row for row in record["averages"]["smallest"] if row["alpha"] == 1.0]
    assert row["n_selected"] == pytest.approx(expected)
    assert row["trials"] == 4


def test_reproduce_report_shows_every_figure(folder):
    path = write_reproduce_report(folder)
    text = assert_self_contained(path)
    assert text.count("<svg") == 2
    for name, heading in (("panels", FIGURES["panels"].heading), ("extra", "extra")):
        assert f'<h2 id="{name}">{heading}</h2>' in text
        assert f'<a href="#{name}">{heading}</a>' in text
    assert "RS &amp; &lt;b&gt;" in text
    assert "capacity at ρ = 0.5" in text
    assert "1.74 ± 0.01" in text
    record = read_report(path)
    assert record["provenance"]["figures"] == ["panels", "extra"]
    assert record["numbers"][0] | {"value": 1.7352468, "paper": None} == record["numbers"][0]


@pytest.mark.parametrize(("file", "content"), [
    ("provenance.json", b"{"),
    ("numbers.csv", b"\xff\xfe\xff"),
    ("panels.svg", b"nothing"),
])  # fmt: skip
def test_a_damaged_folder_is_named(folder, file, content):
    (folder / file).write_bytes(content)
    with pytest.raises(InputError, match=r"out is damaged.*run reproduce again"):
        write_reproduce_report(folder)
    (folder / "provenance.json").unlink()
    with pytest.raises(InputError, match=r"no provenance\.json"):
        write_reproduce_report(folder)


def test_numbers_to_read():
    assert [rounded(*pair) for pair in ((1.7352468, 0.0123), (1.7352468, 1e-9), (0.25, ""), (1234.5, 3.0))] == [
        "1.74 ± 0.01", "1.7352", "0.25", "1234 ± 3",
    ]  # fmt: skip
    assert [short_number(value) for value in (2.5e-8, 1.23456, 1e12, 0.0, -3e-5, 100.0)] == [
        "2.5e-8", "1.235", "1e12", "0", "-3e-5", "100",
    ]  # fmt: skip


def test_cells_to_read_are_known_by_their_type_and_not_by_their_words():
    rows = [("nan", "True", True, np.bool_(False), float("nan"), np.float64(1.23456), 12345)]
    assert cells_to_read(rows) == [["nan", "True", "✓", "", "", 1.23, 12345]]


def test_unseen_characters_are_written_out(noise, tmp_path):
    _, result = noise
    name = "gene\u202e\x1b[31m\u200b"
    page = Page(
        "test.html", name, {"feature": name, "tag": "\U000e0041"}, separation_page(result).values
    )
    path = page.write(tmp_path / "page.html")
    text = path.read_text(encoding="utf-8")
    assert visible(text, keep="\n") == text
    assert "gene\\u202e\\x1b[31m\\u200b" in text
    assert read_report(path) == {"feature": name, "tag": "\U000e0041"}


def test_report_is_whole_or_not_there(noise, tmp_path):
    _, result = noise
    page = separation_page(result)
    with pytest.raises(FileNotFoundError):
        page.write(tmp_path / "no" / "page.html")
    page.record = {"bad": object()}
    with pytest.raises(TypeError):
        page.write(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "other.html").write_text("hello")
    with pytest.raises(InputError, match=r"other\.html is not a report"):
        read_report(tmp_path / "other.html")


def test_a_comma_in_a_name_does_not_make_two_surrogates(tmp_path):
    """Columns that nearly equal the signal stand in for each other; one has a comma in its name."""
    rng = np.random.default_rng(5)
    y = np.arange(80) % 2
    signal = rng.normal(size=80) + 1.5 * y
    names = ["insulin", "glucose, fasting", "lactate", "pyruvate"]
    X = signal[:, None] + 0.001 * rng.normal(size=(80, 4))
    result = separation_test(X, y, ["insulin"], permutations=0, feature_names=names)
    surrogates = result.rule.surrogates["insulin"]
    assert set(surrogates) == {"glucose, fasting", "lactate", "pyruvate"}
    text = write_test_report(result, tmp_path / "page.html").read_text(encoding="utf-8")
    # Three fit into the cell; of more the first three would be there, and how many there are.
    assert re.findall(r'data-name="surrogates">([^<]*)</td>', text) == [", ".join(surrogates)]


@pytest.fixture(scope="module")
def set_results():
    rng = np.random.default_rng(0)
    y = np.repeat([1.0, -1.0], 20)
    X = rng.normal(size=(40, 12))
    X[:, 0] += y
    frame = pd.DataFrame(X, columns=[EVIL, *(f"g{j}" for j in range(1, 12))])
    frame["status"] = np.where(y > 0, "ill", "well")
    data = load_data(frame, "status")
    sets = {QUOTES: [EVIL, "g1"], "A_LONG_NAME_OF_A_GENE_SET_WITHOUT_SPACES": ["g2", "g3"]}
    sets["nothing"] = ["gone"]
    return data, set_tests(data, sets, permutations=39)


def test_the_page_of_sets_has_the_table_the_picture_and_the_methods(set_results, tmp_path):
    data, result = set_results
    path = write_sets_report(result, tmp_path / "sets.html", data)
    text = assert_self_contained(path)
    assert EVIL not in text
    assert "<img" not in text
    body = text[text.index("<body>") :]
    parts = ("1 of 2 sets", "<svg", "The sets", "could not be tested", "to paste into a paper")
    places = [body.index(words) for words in parts]
    assert places == sorted(places)
    assert "step-down" in text
    assert hash_arrays(data.X) in text
    assert read_report(path)["convincing"] == [QUOTES]
    saved = pd.read_csv(io.StringIO(file_in(text, "sets.csv")))
    assert saved["set"].tolist() == [item.name for item in result.sets]


def test_the_page_of_sets_is_readable_on_a_phone(set_results, tmp_path):
    _, result = set_results
    seen = run_script(result.to_html(), READABLE, tmp_path, width=390)
    assert seen == {"fits": True, "small": [], "drawings": 1}
