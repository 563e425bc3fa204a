"""The explorer's numbers and behaviour in a real browser, against Python's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from browser import run_chromium, run_script

from chanceline.chance import chance_bound, format_p, largest_convincing, samples_needed
from chanceline.report.diagram_lines import interpolated_lines, unequal_nodes, unequal_table
from chanceline.report.explorer import explorer_page, write_explorer
from chanceline.significance import separation_test
from chanceline.theory.capacity import capacity, capacity_curve


@pytest.fixture(scope="module")
def page() -> str:
    return explorer_page()


def random_queries(count: int) -> list[dict]:
    """Sizes over four decades, both nulls, all balances, with and without intercept and errors."""
    rng = np.random.default_rng(8)
    queries = []
    for _ in range(count):
        N = int(10 ** rng.uniform(0.5, 4.5))
        P = max(2, int(N * 10 ** rng.uniform(-2, 0.7)))
        M = max(1, min(N, int(P * 10 ** rng.uniform(-2.5, 0.3))))
        query = {"N": N, "P": P, "M": M, "positives": int(rng.integers(1, P))}
        query["errors"] = int(rng.choice([0, 0, 0, 1, 5])) if P > 10 else 0
        queries.append(
            {**query, "fixed": bool(rng.random() < 0.7), "intercept": bool(rng.random() < 0.7)}
        )
    # The sharper counts at M = 1 and 2, equal classes, everything selected, more errors than the exact count follows.
    plain = {"errors": 0, "fixed": True, "intercept": True}
    queries += [
        {"N": 3051, "P": 38, "M": 1, "positives": 27, **plain},
        {"N": 7129, "P": 72, "M": 2, "positives": 36, **plain},
        {"N": 30, "P": 100, "M": 30, "positives": 50, **plain},
        {"N": 50, "P": 4000, "M": 3, "positives": 1500, **plain, "errors": 1200},
        {"N": 1_000_000, "P": 300, "M": 20, "positives": 150, **plain},
        {"N": 30, "P": 31, "M": 2, "positives": 3, **plain, "fixed": False},
    ]
    return queries


def close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9


def test_bounds_agree_with_python(page, tmp_path):
    queries = random_queries(200)
    script = f"{json.dumps(queries)}.map((q) => Chance.bound(q)).map((b) => [b, formatP(b.log10P)])"
    for q, (got, printed) in zip(queries, run_script(page, script, tmp_path), strict=True):
        null = {"positives": q["positives"], "null": "fixed"} if q["fixed"] else {"null": "coin"}
        bound = chance_bound(
            q["P"], q["N"], q["M"], errors=q["errors"], intercept=q["intercept"], **null
        )
        assert close(got["log10P"], bound.log10_p), q
        assert printed == format_p(bound.log10_p), q
        assert close(got["log10Union"], bound.log10_union), q
        assert close(got["log10Supports"], bound.log10_supports), q
        assert (got["bestSize"], got["dimension"], got["form"]) == (
            bound.best_size,
            bound.dimension,
            bound.form,
        ), q


def test_planning_agrees_with_python(page, tmp_path):
    queries = [q for q in random_queries(80) if q["P"] < 2000 and q["M"] < 200]
    assert len(queries) > 30
    both = "[Chance.samplesNeeded(q, q.positives / q.P, 0.05), Chance.largestConvincing(q, 0.05)]"
    script = f"{json.dumps(queries)}.map((q) => {both})"
    for q, (samples, largest) in zip(queries, run_script(page, script, tmp_path), strict=True):
        options = {
            "errors": q["errors"],
            "null": "fixed" if q["fixed"] else "coin",
            "intercept": q["intercept"],
            "level": 0.05,
        }
        assert (
            samples
            == samples_needed(q["N"], q["M"], balance=q["positives"] / q["P"], **options).n_samples
        ), q
        positives = q["positives"] if q["fixed"] else None
        assert (
            largest == largest_convincing(q["P"], q["N"], positives=positives, **options).largest
        ), q


@pytest.mark.slow
def test_lines_agree_with_the_solver(page, tmp_path):
    rng = np.random.default_rng(3)
    rhos = [*10 ** rng.uniform(-5.9, -0.5, 8), *rng.uniform(0.1, 0.999, 8)]
    names = ["replicon_alpha", "alpha_rs", "union", "l0_gardner"]
    found = run_script(
        page,
        f"{json.dumps(rhos)}.map((r) => {json.dumps(names)}.map((n) => lines.at(n, r)))",
        tmp_path,
    )
    for point, got in zip(capacity_curve(rhos, replicon=True), found, strict=True):
        expected = (point.replicon_alpha, point.alpha, point.bounds.union, point.bounds.l0_gardner)
        assert got == pytest.approx(expected, rel=1e-9), point.rho
        lines = interpolated_lines([point.rho])
        assert [lines[name][0] for name in names] == pytest.approx(expected, rel=1e-9), point.rho


@pytest.mark.slow
def test_broken_line_lies_on_the_capacity_with_breaking(page, tmp_path):
    rhos = [0.0275, 0.31, 0.5, 0.87]
    *found, below, above = run_script(
        page, f"{json.dumps([*rhos, 0.001, 0.999])}.map(brokenAt)", tmp_path
    )
    expected = [capacity(rho, "1rsb").alpha for rho in rhos]
    assert found == pytest.approx(expected, rel=1e-5)
    assert (below, above) == (None, None)


@pytest.mark.slow
def test_lines_follow_class_sizes_and_errors(page, tmp_path):
    rng = np.random.default_rng(4)
    triples = [
        (float(10 ** rng.uniform(-4.5, -0.05)), float(rng.uniform(0.03, 0.5)), float(share))
        for share in (0, 0, 0.001, 0.05, 0.1, 0.4)
    ]
    asked = json.dumps([(rho, balance, share * balance) for rho, balance, share in triples])
    script = (
        f"{asked}.map((q) => [surface.chance(q[0], q[1])(q[2]), surface.typical(q[0], q[1])(q[2])])"
    )
    for (rho, balance, share), got in zip(triples, run_script(page, script, tmp_path), strict=True):
        (point,) = capacity_curve([rho], balance=balance, errors=share * balance)
        accuracy = 2e-3 if share < 0.1 else 1e-2
        assert got == pytest.approx([point.alpha, point.bounds.cover_gardner], rel=accuracy), (
            rho,
            balance,
            share,
        )


@pytest.mark.slow
def test_a_fixed_number_of_errors_is_a_share_of_the_samples(page, tmp_path):
    rhos = [0.0015, 0.3]
    script = f"{json.dumps(rhos)}.map((r) => [chanceLine(r), typicalLine(r)])"
    seen = run_script(page, script, tmp_path, state="#N=2000&P=100&M=3&positives=20&errors=4")
    for rho, (chance, typical) in zip(rhos, seen, strict=True):
        assert typical < chance
        for alpha, at in (
            (chance, lambda point: point.alpha),
            (typical, lambda point: point.bounds.cover_gardner),
        ):
            (point,) = capacity_curve([rho], balance=0.2, errors=4 / (alpha * 2000))
            assert alpha == pytest.approx(at(point), rel=3e-3), rho


def test_planted_line_is_the_chance_line_at_the_share_of_wrong_labels(page, tmp_path):
    rhos = [0.006, 0.06]
    script = f"""(() => {{
      const shown = () => ({{ curves: [...document.querySelectorAll("[data-curve]")].map((e) => e.dataset.curve),
        row: element("lines").querySelector('[data-row="planted"]').hidden, trouble: element("trouble").textContent,
        values: {json.dumps(rhos)}.map((rho) => lineAt("planted", rho)) }});
      const type = (value) => {{
        element("noise").value = value;
        element("noise").dispatchEvent(new Event("input", {{ bubbles: true }}));
        return shown();
      }};
      return {{ linked: shown(), much: type("0.6"), none: type("") }};
    }})()"""
    seen = run_script(page, script, tmp_path, state="#N=500&P=50&M=3&noise=0.1")
    points = capacity_curve(rhos, errors=0.1)
    assert seen["linked"]["values"] == pytest.approx([point.alpha for point in points], rel=5e-3)
    assert "planted" in seen["linked"]["curves"]
    assert not seen["linked"]["row"]
    assert "share of wrong labels" in seen["much"]["trouble"]
    assert seen["none"]["values"] == [None, None]
    assert "planted" not in seen["none"]["curves"]
    assert seen["none"]["row"]


@pytest.mark.slow
def test_balance_matters_only_with_a_threshold_and_fixed_classes(page, tmp_path):
    changes = [
        {},
        {"positives": 10, "intercept": "no"},
        {"positives": 10, "null": "coin"},
        {"positives": 10},
    ]
    change = "state = { ...START, N: 2000, P: 100, M: 20, ...change };"
    lines_at = f"(change) => {{ {change} return [chanceLine(0.01), typicalLine(0.01)]; }}"
    equal, no_threshold, coin, unequal = run_script(
        page, f"{json.dumps(changes)}.map({lines_at})", tmp_path
    )
    assert equal[1] == pytest.approx(0.02, rel=1e-6)
    assert no_threshold == equal
    assert coin == equal
    assert unequal[0] > 1.5 * equal[0]
    assert unequal[1] == pytest.approx(capacity(0.01, balance=0.1).bounds.cover_gardner, rel=2e-3)


def test_table_of_unequal_classes_is_what_the_solver_gives():
    table = unequal_table()
    densities, balances, shares = unequal_nodes()
    assert np.shape(table["chance"]) == (len(balances), len(shares), len(densities))
    rng = np.random.default_rng(2)
    for _ in range(4):
        i, j, k = (int(rng.integers(len(nodes))) for nodes in (balances, shares, densities))
        rho, balance, errors = densities[k], balances[i], shares[j] * balances[i]
        (point,) = capacity_curve([rho], balance=balance, errors=errors)
        assert table["chance"][i][j][k] == pytest.approx(
            np.log(point.alpha / capacity_curve([rho])[0].alpha), abs=2e-9
        )
        assert table["typical"][i][j] == pytest.approx(
            np.log(point.bounds.cover_gardner / (2 * rho)), abs=2e-9
        )
        assert point.bounds.cover_gardner < point.alpha


def test_typed_numbers_and_pointer_drive_the_page(page, tmp_path):
    script = """(() => {
      const type = (values) => Object.entries(values).forEach(([id, value]) => {
        element(id).value = value;
        element(id).dispatchEvent(new Event("input", { bubbles: true }));
      });
      const seen = () => ({ verdict: element("verdict").className, word: element("verdict").querySelector("strong").textContent,
        facts: Object.fromEntries([...element("facts").querySelectorAll("tr")].map((row) => [row.id, row.cells[1].textContent])),
        trouble: element("trouble").textContent, axes: view.kind, label: element("point").textContent });
      const out = {};
      type({ N: 3051, P: 38, M: 1, positives: 27 });
      out.leukaemia = seen();
      type({ M: 4000 });
      out.impossible = seen();
      type({ N: 100, P: 120, M: 40, positives: "" });
      out.patterns = seen();
      const frame = element("diagram").getBoundingClientRect(), scale = frame.width / view.width;
      const where = { clientX: frame.left + view.x(0.25) * scale, clientY: frame.top + view.y(0.2) * scale, bubbles: true };
      element("diagram").dispatchEvent(new PointerEvent("pointermove", where));
      out.moved = { ...seen(), typed: element("M").value };
      element("diagram").dispatchEvent(new PointerEvent("pointerleave", {}));
      out.left = seen();
      element("diagram").dispatchEvent(new MouseEvent("click", where));
      out.kept = { ...seen(), typed: [element("N").value, element("P").value, element("M").value] };
      type({ N: 500, P: 40, M: 3, positives: 8, errors: 8 });
      out.constant = seen();
      return out;
    })()"""
    seen = run_script(page, script, tmp_path)
    assert "failure" not in seen, seen
    assert seen["leukaemia"]["word"] == "STRUCTURE"
    # Nothing of the numbers before is left beside those that cannot be.
    assert (seen["impossible"]["word"], seen["impossible"]["facts"]) == ("YOUR NUMBERS?", {})
    assert seen["leukaemia"]["axes"] == "log"
    bound = chance_bound(38, 3051, 1, positives=27).log10_p
    assert seen["leukaemia"]["facts"]["fact-p"] == f"p ≤ {format_p(bound)}"
    assert seen["leukaemia"]["facts"]["fact-samples"] == str(
        samples_needed(3051, 1, balance=27 / 38).n_samples
    )
    assert seen["impossible"]["trouble"] == "M must be a whole number from 1 to N = 3051."
    assert seen["patterns"]["word"] == "CANNOT TELL"
    assert seen["patterns"]["axes"] == "linear"
    assert seen["patterns"]["facts"]["fact-largest"] == str(
        largest_convincing(120, 100, positives=60).largest
    )
    assert seen["moved"]["label"] == "M = 25, P = 20"
    assert seen["moved"]["typed"] == "40"
    assert seen["left"] == seen["patterns"]
    assert seen["kept"]["typed"] == ["100", "20", "25"]
    assert seen["kept"]["word"] == "CHANCE ALLOWS THIS"
    assert seen["constant"]["word"] == "CHANCE ALLOWS THIS"


# Everything that could be cut off: text outside the picture or its frame, elements wider than the page, words too small to read.
LOOK = """STATES.map(([address, limit]) => {
  state = { ...START };
  axes = null;
  theory = false;
  history.replaceState(null, "", address);
  readAddress();
  fill();
  refresh();
  limitLine = limit;
  drawDiagram();
  show();
  const page = document.documentElement, frame = element("diagram").getBoundingClientRect();
  const inside = (r, f) => r.left >= f.left - 1 && r.right <= f.right + 1 && r.top >= f.top - 1 && r.bottom <= f.bottom + 1;
  const texts = [...document.querySelectorAll("#diagram text")].filter((t) => t.textContent);
  const names = [...document.querySelectorAll(".zone-name")];
  const boxes = names.filter((n) => n.getAttribute("transform").includes("rotate(0.0")).map((n) => n.getBoundingClientRect());
  const cross = boxes.some((a, i) => boxes.some((b, j) => i < j && overlap(a, b)));
  const all = [...document.querySelectorAll("body *")], right = (e) => e.getBoundingClientRect().right;
  const words = all.filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()));
  const list = element("zones").getBoundingClientRect();
  return {
    width: innerWidth, wider: page.scrollWidth > page.clientWidth, cross,
    outside: texts.filter((t) => !inside(t.getBoundingClientRect(), frame)).map((t) => t.textContent),
    cut: all.filter((e) => right(e) > innerWidth + 1).map((e) => e.tagName + e.id),
    small: words.filter((e) => e.checkVisibility() && parseFloat(getComputedStyle(e).fontSize) < 10).map((e) => e.textContent),
    names: names.map((n) => n.dataset.zone), axes: view.kind,
    listed: [...document.querySelectorAll("#zones li")].every((e) => inside(e.getBoundingClientRect(), list)),
    N: element("N").value,
    curves: all.filter((e) => e.dataset.curve && e.getAttribute("d").length > 20).map((e) => e.dataset.curve),
  };
})"""
# Addresses, and the line of the proof there (by the page itself it would come later).
STATES = [
    ("#theory=on", [[0.0005, 0.01], [0.0015, 0.028], [0.4, 2.3], [1, 2.3]]),
    ("#N=2000&P=62&M=3&theory=on", [[0.0005, 0.01], [0.0015, 0.028], [0.4, 2.3], [1, 2.3]]),
    (
        "#N=2000&P=62&M=3&positives=40&axes=log",
        [[0.0005, 0.01], [0.0015, 0.028], [0.4, 2.3], [1, 2.3]],
    ),
    ("#N=7128&P=60&M=5&positives=6&errors=2&theory=on", [[0.00014, 0.02], [0.4, 12], [1, 12]]),
    ("#N=500&P=50&M=3&noise=0.1", [[0.002, 0.05], [0.4, 2.5], [1, 2.5]]),
    ("#N=5000&P=4500&M=3000&axes=linear", [[0.0002, 0.006], [0.4, 2.1], [1, 2.1]]),
]


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.slow
def test_nothing_is_cut_off(page, tmp_path, width):
    looks = run_script(page, LOOK.replace("STATES", json.dumps(STATES)), tmp_path, width)
    assert "failure" not in looks, looks
    assert [seen["N"] for seen in looks] == ["", "2000", "2000", "7128", "500", "5000"]
    assert [seen["axes"] for seen in looks] == ["log", "log", "log", "log", "log", "linear"]
    wanted = (
        {"settled", "silent", "chosen", "typical", "every"}
        if width == 1280
        else {"settled", "every"}
    )
    for (address, _), seen in zip(STATES, looks, strict=True):
        assert seen["width"] == width
        assert (seen["wider"], seen["cross"], seen["outside"], seen["cut"], seen["small"]) == (
            False,
            False,
            [],
            [],
            [],
        ), address
        assert seen["listed"], address
        assert wanted <= set(seen["names"]), address
        theory = (
            {"l0_gardner", "union", "alpha_rs", "broken", "replicon_alpha", "vc"}
            if "theory=on" in address
            else set()
        )
        planted = {"planted"} if "noise=" in address else set()
        always = {"limit", "chance", "cover_gardner"}
        assert set(seen["curves"]) == always | theory | planted, address


@pytest.mark.slow
def test_a_result_is_shown_by_its_link(page, tmp_path):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 300))
    result = separation_test(
        X,
        np.where(X[:, 3] + X[:, 9] > 0, 1, -1),
        permutations=0,
        expected_error=False,
        intercept=False,
    )
    script = "[element('verdict').textContent, element('fact-p').cells[1].textContent, ...FIELDS.map((name) => state[name])]"
    word, p, *fields = run_script(page, script, tmp_path, state=result.to_dict()["explorer"])
    assert word.startswith("STRUCTURE")
    assert p == f"p ≤ {format_p(result.separating.bound.log10_p)}"
    assert fields == [
        "300", "50", "2", str(result.positives), "0.05", "0", "fixed", "no", "",
    ]  # fmt: skip


SEEN = """({ word: element("verdict").querySelector("strong").textContent, facts: element("facts").textContent,
  fields: Object.fromEntries(FIELDS.map((name) => [name, element(name).value])), point: element("point").textContent,
  origin: element("origin").textContent, address: location.hash, trouble: element("trouble").textContent })"""
NOTHING = {
    "N": "",
    "P": "",
    "M": "",
    "positives": "",
    "level": "0.05",
    "errors": "0",
    "noise": "",
    "null": "fixed",
    "intercept": "yes",
}


@pytest.mark.slow
def test_without_numbers_there_is_no_verdict(page, tmp_path):
    seen = run_script(page, SEEN, tmp_path)
    assert "failure" not in seen, seen
    assert seen["fields"] == NOTHING
    assert (seen["word"], seen["facts"], seen["point"], seen["origin"]) == (
        "YOUR NUMBERS?",
        "",
        "",
        "",
    )
    assert (seen["address"], seen["trouble"]) == ("", "")
    # Typed one by one they are no mistake before all are there.
    typed = """(() => ["N", "P", "M"].map((id, k) => {
      element(id).value = [300, 50, 2][k];
      element(id).dispatchEvent(new Event("input", { bubbles: true }));
      return SEEN;
    }))()""".replace("SEEN", SEEN)
    first, second, third = run_script(page, typed, tmp_path)
    for waiting in (first, second):
        assert (waiting["word"], waiting["facts"], waiting["trouble"]) == ("YOUR NUMBERS?", "", "")
    assert third["word"] == "STRUCTURE"
    assert third["address"] == "#N=300&P=50&M=2"


@pytest.mark.slow
def test_a_file_written_for_a_page_shows_its_numbers_and_says_whose(tmp_path):
    start = "#N=300&P=50&M=2&positives=20&errors=1&level=0.01&null=fixed&intercept=no"
    page = explorer_page(start, "lung <b>.html")
    seen = run_script(page, SEEN, tmp_path)
    assert "failure" not in seen, seen
    assert seen["origin"] == "The numbers of lung <b>.html."
    assert list(seen["fields"].values()) == [
        "300", "50", "2", "20", "0.01", "1", "fixed", "no", "",
    ]  # fmt: skip
    # A link has its own numbers: nothing of the file's own is mixed in, nor of the link before.
    linked = run_script(page, SEEN, tmp_path, state="#N=40&P=60&M=30&positives=25")
    assert linked["fields"] == NOTHING | {"N": "40", "P": "60", "M": "30", "positives": "25"}
    assert linked["word"] == "CHANCE ALLOWS THIS"
    assert linked["origin"] == ""
    again = f"""(() => {{
      history.replaceState(null, "", "#N=3051&P=38&M=1&positives=27");
      dispatchEvent(new Event("hashchange"));
      const first = {SEEN};
      history.replaceState(null, "", "#N=300&P=40&M=5");
      dispatchEvent(new Event("hashchange"));
      return [first, {SEEN}];
    }})()"""
    first, second = run_script(page, again, tmp_path)
    assert first["fields"] == NOTHING | {"N": "3051", "P": "38", "M": "1", "positives": "27"}
    assert (first["word"], first["origin"]) == ("STRUCTURE", "")
    assert second["fields"] == NOTHING | {"N": "300", "P": "40", "M": "5"}
    assert second["word"] == "CANNOT TELL"


def test_explore_writes_the_numbers_of_a_page_into_the_file(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 300))
    result = separation_test(
        X, np.where(X[:, 3] + X[:, 9] > 0, 1, -1), permutations=0, expected_error=False
    )
    result.to_html("mine.html")
    code, out, err = command("explore", "mine.html", "--no-open")
    assert (code, err) == (0, "")
    assert (
        out == "The explorer is chanceline-explorer.html; it begins with the numbers of mine.html\n"
    )
    written = Path("chanceline-explorer.html").read_text(encoding="utf-8")
    seen = run_script(written, SEEN, tmp_path)
    assert seen["origin"] == "The numbers of mine.html."
    assert (seen["fields"]["N"], seen["fields"]["P"], seen["fields"]["M"]) == ("300", "50", "2")
    assert f"p ≤ {format_p(result.separating.bound.log10_p)}" in seen["facts"]


def test_a_link_claims_no_more_than_the_test_does(tmp_path, command, monkeypatch):
    """The errors are those of the set, not those that were allowed; and what the explorer does not know is not shown there."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 30))
    y = np.where(X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=60) > 0, 1, -1)
    fast = {"permutations": 0, "expected_error": False}
    named = separation_test(X, y, [0, 1], errors=0, **fast)
    assert named.separating.errors > 0
    assert named.separating.bound.errors == 0
    assert named.separating.bound.log10_p == 0
    there = chance_bound(
        60, 30, 2, positives=named.positives, errors=named.separating.errors
    ).log10_p
    assert (f"errors={named.separating.errors}&" in named.explorer) == (there > np.log10(0.05))
    # Sites that explain everything: within them nothing is shown, and without them it would be.
    blocks = np.repeat([0, 1], 30)
    by_site = np.where(rng.random(60) < np.where(blocks == 0, 0.1, 0.9), 1, -1)
    site = X.copy()
    site[:, 0] = blocks + 0.01 * rng.normal(size=60)
    inside = separation_test(site, by_site, [0], errors=20, blocks=blocks, **fast)
    assert inside.separating.bound.log10_p > np.log10(0.05)
    assert chance_bound(
        60, 30, 1, positives=inside.positives, errors=inside.separating.errors
    ).log10_p < np.log10(0.05)
    assert inside.explorer == ""
    monkeypatch.chdir(tmp_path)
    assert "chanceline-explorer.html" not in inside.to_html("site.html")
    code, out, err = command("explore", "site.html", "--no-open")
    assert (code, out) == (2, "")
    assert "the explorer cannot show the set of site.html" in err
    assert not Path("chanceline-explorer.html").exists()


def test_proof_line_is_drawn_once_it_is_computed(tmp_path):
    document = run_chromium("--dump-dom", write_explorer(tmp_path / "explorer.html").as_uri())
    assert 'data-ready="yes"' in document
    assert re.search(r'data-curve="limit" d="M[^"]{300,}"', document)


def test_page_needs_no_network(page):
    for forbidden in ("http://", "https://", "@import", "url(//", "src="):
        assert forbidden not in page, forbidden
