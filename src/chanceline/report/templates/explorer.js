"use strict";
// The page: state → answer, diagram and table. A moving pointer previews another (P, M) at the same N, class balance and options.
const element = (id) => document.getElementById(id);
const lines = new Lines(DATA.table);
const surface = new Surface(DATA.unequal, (rho) => lines.at("alpha_rs", rho));

// Three lines always; those of the theory behind a switch, the planted line where its noise is given.
const LINES = [
  { key: "limit", name: "proof, your N", what: "above it structure is proven", kind: "rigorous", color: "limit", thick: true },
  { key: "chance", name: "chance line", what: "a good choice separates noise below", kind: "asymptotic", color: "rs", thick: true },
  { key: "planted", name: "planted line", what: "unrelated features do as well as true ones below", kind: "asymptotic", color: "rsb", dash: "9 4", planted: true },
  { key: "cover_gardner", name: "2ρ", what: "a typical choice separates noise below", kind: "N → ∞", color: "cover-gardner" },
  { key: "l0_gardner", name: "ℓ₀-Gardner", what: "upper bound by annealed dilution", kind: "asymptotic", color: "l0", dash: "2 4", theory: true },
  { key: "union", name: "union bound", what: "first moment, N → ∞", kind: "rigorous", color: "union", dash: "7 4", theory: true },
  { key: "alpha_rs", name: "α<sub>VS</sub>, RS", what: "chance line, replica symmetric", kind: "asymptotic", color: "rs", dash: "8 3", theory: true },
  { key: "broken", name: "α<sub>VS</sub>, 1RSB", what: "chance line, symmetry broken once", kind: "asymptotic", color: "rsb", theory: true },
  { key: "replicon_alpha", name: "RS exact below", what: "hatched: replica symmetry holds", kind: "asymptotic", color: "breaks", dash: "2 3", theory: true },
  { key: "vc", name: "VC, α = ρ", what: "every choice separates below", kind: "rigorous", color: "vc", theory: true },
];

const EXAMPLES = [
  { name: "Leukaemia: 1 of 3051 genes, 38 patients (27 + 11)", N: 3051, P: 38, M: 1, positives: 27 },
  { name: "Colon tumours: 3 of 2000 genes, 62 samples (40 + 22)", N: 2000, P: 62, M: 3, positives: 40 },
  { name: "Brain tumours: 5 of 7128 genes, 60 patients (39 + 21)", N: 7128, P: 60, M: 5, positives: 39 },
  { name: "A small study: 8 of 500 markers, 40 people", N: 500, P: 40, M: 8 },
  { name: "Random patterns: 40 of 100 variables, 120 patterns", N: 100, P: 120, M: 40 },
];
const START = { N: "", P: "", M: "", positives: "", level: 0.05, errors: 0, null: "fixed", intercept: "yes", noise: "" };
const MOST_NOISE = 0.4; // share of wrong labels
const FIELDS = Object.keys(START);
// What the diagram is drawn for until N, P and M are there: a map without a point and without a verdict.
const MAP = { N: 2000, P: 62, M: 3, positives: "", errors: 0 };

let state = { ...START };
const waiting = () => state.N === "" || state.P === "" || state.M === "";
const drawn = () => (waiting() ? { ...state, ...MAP } : state);
let axes = null; // null: chosen by the density
let theory = false;
const hidden = new Set();
// The lines of the theory are asked for by a button, the planted line by its noise.
const asked = (line) => (theory || !line.theory) && (state.noise !== "" || !line.planted);
const shownLines = () => LINES.filter((line) => asked(line) && !hidden.has(line.key));
let preview = null;
let limitLine = [];

// ---- numbers -------------------------------------------------------------------------------------------------------

function query(at = drawn()) {
  const P = Number(at.P);
  return {
    N: Number(at.N), P, M: Number(at.M), errors: Number(at.errors),
    positives: at.positives === "" ? Chance.roundHalfEven(P / 2) : Number(at.positives),
    fixed: at.null === "fixed", intercept: at.intercept === "yes",
  };
}

function trouble(at = drawn()) {
  const level = Number(at.level);
  if (!(level > 0 && level < 1)) return "the level must lie strictly between 0 and 1";
  const noise = Number(at.noise);
  if (!(noise >= 0 && noise <= MOST_NOISE)) return `the share of wrong labels must be at least 0 and at most ${MOST_NOISE}`;
  return Chance.problem(query(at));
}

function lineAt(key, rho) {
  if (key === "chance") return chanceLine(rho);
  if (key === "planted") return plantedLine(rho);
  if (key === "cover_gardner") return typicalLine(rho);
  if (key === "broken") return brokenAt(rho);
  if (key === "limit") return limitAt(rho);
  return lines.at(key, rho);
}

// Straight between neighbours of a list of [ρ, value]; null outside.
function between(points, rho) {
  for (let k = 1; k < points.length; k++) {
    const [[r0, v0], [r1, v1]] = [points[k - 1], points[k]];
    if (rho >= r0 && rho <= r1) return v0 + ((v1 - v0) * (rho - r0)) / (r1 - r0);
  }
  return null;
}
const limitAt = (rho) => between(limitLine, rho);
function brokenAt(rho) {
  const ratio = between(DATA.broken, rho);
  return ratio === null ? null : ratio * lines.at("alpha_rs", rho);
}
// The share of the rarer class that the lines depend on: ½ without a threshold, as then the labels' signs can be turned
// into the inputs', and for labels by a fair coin.
function rarer(q = query()) {
  return q.fixed && q.intercept ? Math.min(q.positives, q.P - q.positives) / q.P : 0.5;
}
const plain = (q = query()) => rarer(q) === 0.5 && q.errors === 0;

// The load α at which a line that allows the share ε of errors meets a fixed number of them, ε = e/(αN); the line rises with ε.
function atErrors(line, errors, N, balance) {
  if (errors === 0) return line(0);
  const most = surface.mostShare * balance;
  let low = Math.max(errors / (N * most), 1e-9), high = low;
  const above = (alpha) => line(Math.min(errors / (alpha * N), most)) - alpha;
  if (line(most) === null || above(low) < 0) return null;
  while (above(high) > 0) high *= 2;
  for (let k = 0; k < 50; k++) {
    const middle = Math.sqrt(low * high);
    if (above(middle) > 0) low = middle;
    else high = middle;
  }
  return high;
}

// The best known chance line: with symmetry broken where that was solved, replica symmetric elsewhere.
function chanceLine(rho) {
  const q = query(), balance = rarer(q);
  if (plain(q)) return brokenAt(rho) || lines.at("alpha_rs", rho);
  return atErrors(surface.chance(rho, balance), q.errors, q.N, balance);
}

// Features without a true one see noise: they do as well as the true ones up to the chance line for equal classes, at the share of errors that
// the true rule makes.
function plantedLine(rho) {
  return state.noise === "" ? null : surface.chance(rho, 0.5)(Number(state.noise));
}

// Below it a typical choice does; both lines are approximate with errors, and a good choice is never worse than a typical one.
function typicalLine(rho) {
  const q = query(), balance = rarer(q);
  const typical = atErrors(surface.typical(rho, balance), q.errors, q.N, balance);
  const chance = q.errors === 0 ? null : chanceLine(rho);
  return typical === null || chance === null ? typical : Math.min(typical, chance);
}

function answer(at = drawn()) {
  const q = query(at), level = Number(at.level);
  const rho = q.M / q.N, alpha = q.P / q.N;
  const bound = Chance.bound(q);
  const edge = chanceLine(rho), typical = typicalLine(rho);
  let zone;
  if (bound.log10P <= Math.log10(level)) zone = "structure";
  else if (q.fixed && q.errors >= Math.min(q.positives, q.P - q.positives)) zone = "constant";
  else if (alpha <= rho) zone = "every";
  else if (typical !== null && alpha <= typical) zone = "typical";
  else if (edge !== null && alpha <= edge) zone = "chosen";
  else zone = "silent";
  return { q, level, rho, alpha, bound, zone };
}

const ZONES = {
  structure: ["structure", "STRUCTURE", "Labels that have nothing to do with the features allow this with a probability of at most the p below. That is a proof, whatever the data and the search."],
  constant: ["chance", "CHANCE ALLOWS THIS", "A rule that ignores every feature and always names the larger class makes no more errors than that."],
  every: ["chance", "CHANCE ALLOWS THIS", "P ≤ M: every choice of M features (in general position) separates P samples, whatever their labels."],
  typical: ["chance", "CHANCE ALLOWS THIS", "Even a typical choice of M features, picked without a look at the labels, separates random labels (many features)."],
  chosen: ["unclear", "CANNOT TELL", "The proof is silent, and noise would probably do as well: theory says that a good search separates random labels here (many independent features). Only a permutation test of the data decides."],
  silent: ["unclear", "CANNOT TELL", "The proof is silent, though random labels should be out of reach here (many independent features). Only a permutation test of the data decides."],
};

function formatP(log10P) {
  if (log10P >= 0) return "1";
  if (log10P > -3) return String(Number(Math.pow(10, log10P).toPrecision(2)));
  const exponent = Math.floor(log10P);
  const digits = Math.pow(10, log10P - exponent).toFixed(1);
  return digits === "10.0" ? `1.0e${exponent + 1}` : `${digits}e${exponent}`;
}
const short = (x, digits = 4) => (x === null ? "–" : String(Number(x.toPrecision(digits))));

// ---- answer and table ------------------------------------------------------------------------------------------------

// No numbers, or impossible ones: nothing is said about any table.
function showNothing() {
  element("verdict").className = "verdict waiting";
  element("verdict").innerHTML = "<strong>YOUR NUMBERS?</strong><p>Type N, P and M or choose an example. " +
    "A page of <code>chanceline test --report</code> has a link that fills in its set.</p>";
  element("facts").tBodies[0].innerHTML = "";
  element("share").textContent = "";
  element("rho").textContent = "…";
  element("lines").querySelectorAll("td.number").forEach((cell) => { cell.textContent = "–"; });
  if (element("point")) element("point").innerHTML = "";
}

function showAnswer(found, planned) {
  const [kind, word, sentence] = ZONES[found.zone];
  const { q, bound, level } = found;
  const declared = found.zone === "structure" && q.errors > 0 ? " It holds for a number of errors that was fixed beforehand, not counted after looking." : "";
  element("verdict").className = `verdict ${kind}`;
  element("verdict").innerHTML = `<strong>${word}</strong><p>${sentence}${declared}</p>`;
  const silent = bound.log10P === 0 ? " (silent)" : "";
  const rows = [
    ["Chance does as well with", `p ≤ ${formatP(bound.log10P)}${silent}`, "rigorous", "p"],
    [`Samples for M = ${q.M}`, planned.samples, "rigorous", "samples"],
    [`Largest M for P = ${q.P}`, planned.largest, "rigorous", "largest"],
    ["Load α, density ρ", `${short(found.alpha)}, ${short(found.rho)}`, "", "position"],
  ];
  element("facts").tBodies[0].innerHTML = rows
    .map(([name, value, mark, id]) => `<tr id="fact-${id}"><td>${name}</td><td class="number">${value}</td>` +
      `<td>${mark ? `<span class="kind">${mark}</span>` : ""}</td></tr>`).join("");
  element("share").textContent = q.fixed ? ` (${Math.round((100 * q.positives) / q.P)} %)` : "";
  element("rho").textContent = short(found.rho);
  element("lines").querySelectorAll("td.number").forEach((cell) => {
    const value = lineAt(cell.dataset.line, found.rho);
    cell.textContent = short(value, 5);
  });
}

function plan(found) {
  const { q, level } = found;
  const samples = Chance.samplesNeeded(q, q.positives / q.P, level);
  return { samples: samples === null ? "> 5000000" : samples, largest: Chance.largestConvincing(q, level) };
}

function stroke(line) {
  return `stroke="var(--${line.color})" ${line.dash ? `stroke-dasharray="${line.dash}"` : ""} class="line ${line.thick ? "thick" : ""}"`;
}

function buildLegend() {
  element("lines").querySelector("tbody").innerHTML = LINES.map((line) =>
    `<tr data-row="${line.key}"><td><label><input type="checkbox" checked data-toggle="${line.key}"> ` +
    `<svg class="swatch" viewBox="0 0 30 12"><path d="M0 6H30" ${stroke(line)}/></svg> <span class="name">${line.name}</span></label></td>` +
    `<td class="what">${line.what}</td><td class="number" data-line="${line.key}"></td><td><span class="kind">${line.kind}</span></td></tr>`).join("");
  element("lines").addEventListener("change", (event) => {
    const key = event.target.dataset.toggle;
    if (event.target.checked) hidden.delete(key);
    else hidden.add(key);
    element("lines").querySelector(`[data-row="${key}"]`).classList.toggle("off", !event.target.checked);
    drawDiagram();
    show();
  });
}

function showTheory() {
  element("lines").querySelector('[data-row="cover_gardner"] .name').textContent = plain() ? "2ρ" : "typical choice";
  element("unequal").hidden = plain();
  element("theory").setAttribute("aria-pressed", String(theory));
  LINES.forEach((line) => { element("lines").querySelector(`[data-row="${line.key}"]`).hidden = !asked(line); });
}

// ---- the rigorous line at this N: samples needed for each M, a few at a time so that the page never stops ------------------

let limitJob = 0;
function startLimitLine() {
  const job = ++limitJob;
  const q = query(), level = Number(state.level), balance = q.positives / q.P;
  const steps = 60;
  const sizes = [...new Set(Array.from({ length: steps + 1 }, (_, k) => {
    const share = k / steps;
    return Math.max(1, Math.round(view && view.kind === "log" ? Math.pow(q.N, share) : q.N * share));
  }))];
  const found = [];
  limitLine = [];
  const step = () => {
    if (job !== limitJob) return;
    const until = performance.now() + 40;
    while (sizes.length && performance.now() < until) {
      const M = sizes.shift();
      const samples = Chance.samplesNeeded({ ...q, M }, balance, level, 8 * q.N + 4000);
      if (samples !== null) found.push([M / q.N, samples / q.N]);
    }
    if (sizes.length) return void setTimeout(step, 0);
    limitLine = found;
    drawDiagram();
    show();
    document.documentElement.dataset.ready = "yes";
  };
  step();
}

// ---- events --------------------------------------------------------------------------------------------------------------

function show() {
  showOrigin();
  if (waiting() && !preview) return void showNothing();
  const found = answer(preview || drawn());
  showAnswer(found, plan(found));
  drawPoint(found);
}

// Whose numbers these are, as long as nobody has changed them; and what the diagram is drawn for without numbers.
function showOrigin() {
  const start = addressed(DATA.start.address);
  const same = DATA.start.address !== "" && FIELDS.every((name) => String(state[name]) === String(start[name]));
  element("origin").textContent = same ? `The numbers of ${DATA.start.source}.` : "";
  element("hint").textContent = waiting() ? `Drawn for N = ${MAP.N} until you type yours.` : "Move over the diagram; click to keep a point.";
}

function refresh() {
  const wrong = trouble();
  element("trouble").textContent = wrong ? `${wrong}.` : "";
  if (wrong) return void showNothing();
  const changed = FIELDS.filter((name) => String(state[name]) !== String(START[name])).map((name) => `${name}=${encodeURIComponent(state[name])}`);
  const theme = document.documentElement.dataset.theme;
  const looks = [...(axes ? [`axes=${axes}`] : []), ...(theory ? ["theory=on"] : []), ...(theme ? [`theme=${theme}`] : [])];
  history.replaceState(null, "", `#${[...changed, ...looks].join("&")}`);
  showTheory();
  drawDiagram();
  show();
  startLimitLine();
}

function fill() {
  FIELDS.forEach((name) => { element(name).value = state[name]; });
}

function previewAt(event) {
  const frame = element("diagram").getBoundingClientRect();
  const scale = view.width / frame.width;
  const x = (event.clientX - frame.left) * scale, y = (event.clientY - frame.top) * scale;
  const { box } = view;
  if (x < box.left || x > box.right || y < box.top || y > box.bottom) return null;
  const at = drawn();
  const N = Number(at.N);
  const M = Math.min(N, Math.max(1, Math.round(view.rho(x) * N)));
  const P = Math.max(2, Math.round(view.alpha(y) * N));
  const q = query();
  const positives = at.positives === "" ? "" : Math.min(P - 1, Math.max(1, Chance.roundHalfEven((q.positives / q.P) * P)));
  const moved = { ...at, M, P, positives };
  return trouble(moved) ? null : moved;
}

function listen() {
  FIELDS.forEach((name) => element(name).addEventListener("input", () => {
    state[name] = element(name).value;
    refresh();
  }));
  element("example").innerHTML = `<option value="">Examples…</option>` + EXAMPLES.map((e, k) => `<option value="${k}">${e.name}</option>`).join("");
  element("example").addEventListener("change", () => {
    const chosen = EXAMPLES[Number(element("example").value)];
    if (!chosen) return;
    state = { ...START, ...chosen };
    delete state.name;
    axes = null;
    fill();
    refresh();
  });
  ["linear", "log"].forEach((kind) => element(kind).addEventListener("click", () => { axes = kind; refresh(); }));
  element("theory").addEventListener("click", () => { theory = !theory; refresh(); });
  element("dark").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    refresh();
  });
  const diagram = element("diagram");
  diagram.addEventListener("pointermove", (event) => {
    if (trouble()) return;
    preview = previewAt(event);
    show();
  });
  diagram.addEventListener("pointerleave", () => { preview = null; if (!trouble()) show(); });
  diagram.addEventListener("click", (event) => {
    const kept = trouble() ? null : previewAt(event);
    if (!kept) return;
    axes = view.kind;
    state = kept;
    preview = null;
    fill();
    refresh();
  });
  new ResizeObserver(() => { if (!trouble()) { drawDiagram(); show(); } }).observe(element("picture"));
}

// The numbers of an address; those that it does not name are as at the start.
function addressed(address) {
  const given = [...new URLSearchParams(address.slice(1))].filter(([name]) => FIELDS.includes(name));
  return { ...START, ...Object.fromEntries(given) };
}

// The numbers of the page's address, and of nothing else; without any, those that the file was written for.
function readAddress() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const named = FIELDS.some((name) => parts.has(name));
  state = addressed(named ? location.hash : DATA.start.address);
  for (const [name, value] of parts) {
    if (name === "axes" && (value === "linear" || value === "log")) axes = value;
    if (name === "theory") theory = value === "on";
    if (name === "theme" && (value === "light" || value === "dark")) document.documentElement.dataset.theme = value;
  }
}

readAddress();
fill();
buildLegend();
listen();
refresh();
// A link to the same file changes the address alone, and the page stays.
addEventListener("hashchange", () => {
  axes = null;
  preview = null;
  readAddress();
  fill();
  refresh();
});
