"use strict";
// The page: state → answer, diagram and table. Everything is drawn anew when the state changes; a moving pointer
// only previews another (P, M) at the same N, class balance and options.
const element = (id) => document.getElementById(id);
const lines = new Lines(DATA.table);

const LINES = [
  { key: "limit", name: "proof, your N", what: "above it structure is proven", kind: "rigorous", color: "limit", thick: true },
  { key: "l0_gardner", name: "ℓ₀-Gardner", what: "upper bound by annealed dilution", kind: "asymptotic", color: "l0", dash: "2 4" },
  { key: "union", name: "union bound", what: "first moment, N → ∞", kind: "rigorous", color: "union", dash: "7 4" },
  { key: "alpha_rs", name: "α<sub>VS</sub>, RS", what: "chance line, replica symmetric", kind: "asymptotic", color: "rs" },
  { key: "broken", name: "α<sub>VS</sub>, 1RSB", what: "chance line, symmetry broken once", kind: "asymptotic", color: "rsb", thick: true },
  { key: "replicon_alpha", name: "RS exact below", what: "hatched: replica symmetry holds", kind: "asymptotic", color: "breaks", dash: "2 3" },
  { key: "cover_gardner", name: "Cover–Gardner 2ρ", what: "a typical choice separates below", kind: "N → ∞", color: "cover-gardner" },
  { key: "vc", name: "VC, α = ρ", what: "every choice separates below", kind: "rigorous", color: "vc" },
];

const EXAMPLES = [
  { name: "Random patterns: 40 of 100 variables, 120 patterns", N: 100, P: 120, M: 40 },
  { name: "Leukaemia: 1 of 3051 genes, 38 patients (27 + 11)", N: 3051, P: 38, M: 1, positives: 27 },
  { name: "Colon tumours: 3 of 2000 genes, 62 samples (40 + 22)", N: 2000, P: 62, M: 3, positives: 40 },
  { name: "Brain tumours: 5 of 7128 genes, 60 patients (39 + 21)", N: 7128, P: 60, M: 5, positives: 39 },
  { name: "A small study: 8 of 500 markers, 40 people", N: 500, P: 40, M: 8 },
];
const START = { N: 100, P: 120, M: 40, positives: "", level: 0.05, errors: 0, null: "fixed", intercept: "yes" };
const FIELDS = Object.keys(START);

let state = { ...START };
let axes = null; // null: chosen by the density
const hidden = new Set();
let preview = null;
let limitLine = [];

// ---- numbers -------------------------------------------------------------------------------------------------------

function query(at = state) {
  const P = Number(at.P);
  return {
    N: Number(at.N), P, M: Number(at.M), errors: Number(at.errors),
    positives: at.positives === "" ? Chance.roundHalfEven(P / 2) : Number(at.positives),
    fixed: at.null === "fixed", intercept: at.intercept === "yes",
  };
}

function trouble(at = state) {
  const level = Number(at.level);
  if (!(level > 0 && level < 1)) return "the level must lie strictly between 0 and 1";
  return Chance.problem(query(at));
}

function lineAt(key, rho) {
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
// The best known chance line: with symmetry broken where that was solved, replica symmetric elsewhere.
const chanceLine = (rho) => brokenAt(rho) || lines.at("alpha_rs", rho);

function answer(at = state) {
  const q = query(at), level = Number(at.level);
  const rho = q.M / q.N, alpha = q.P / q.N;
  const bound = Chance.bound(q);
  const edge = chanceLine(rho);
  let zone;
  if (bound.log10P <= Math.log10(level)) zone = "structure";
  else if (alpha <= rho) zone = "every";
  else if (alpha <= 2 * rho) zone = "typical";
  else if (edge !== null && alpha <= edge) zone = "chosen";
  else zone = "silent";
  return { q, level, rho, alpha, bound, zone };
}

const ZONES = {
  structure: ["structure", "STRUCTURE", "Labels that ignore the features allow this with a probability of at most the p below: a proof, whatever the data and the search."],
  every: ["chance", "CHANCE ALLOWS THIS", "P ≤ M: every choice of M features (in general position) separates P samples, whatever their labels."],
  typical: ["chance", "CHANCE ALLOWS THIS", "P < 2M: even a typical choice of M features separates random labels (large N)."],
  chosen: ["chance", "CHANCE ALLOWS THIS", "A typical choice of M features would fail on random labels, but a good search finds one that does not (replica method, independent features)."],
  silent: ["unclear", "CANNOT TELL", "Random labels should be out of reach here (large N, independent features), but the proof is silent: only a permutation test of the data can speak."],
};

function formatP(log10P) {
  if (log10P >= 0) return "1";
  if (log10P > -3) return String(Number(Math.pow(10, log10P).toPrecision(2)));
  return `10<sup>−${Math.abs(log10P).toFixed(1)}</sup>`;
}
const short = (x, digits = 4) => (x === null ? "–" : String(Number(x.toPrecision(digits))));

// ---- answer and table ------------------------------------------------------------------------------------------------

function showAnswer(found, planned) {
  const [kind, word, sentence] = ZONES[found.zone];
  const { q, bound, level } = found;
  element("verdict").className = `verdict ${kind}`;
  element("verdict").innerHTML = `<strong>${word}</strong><p>${sentence}</p>`;
  const silent = bound.log10P === 0 ? " (silent)" : "";
  const rows = [
    ["Chance does as well with", `p ≤ ${formatP(bound.log10P)}${silent}`, "rigorous", "p"],
    [`Samples for M = ${q.M}`, planned ? planned.samples : "…", "rigorous", "samples"],
    [`Largest M for P = ${q.P}`, planned ? planned.largest : "…", "rigorous", "largest"],
    ["Load α, density ρ", `${short(found.alpha)}, ${short(found.rho)}`, "", "position"],
  ];
  element("facts").tBodies[0].innerHTML = rows
    .map(([name, value, mark, id]) => `<tr id="fact-${id}"><td>${name}</td><td class="number">${value}</td>` +
      `<td>${mark ? `<span class="kind">${mark}</span>` : ""}</td></tr>`).join("");
  element("rho").textContent = short(found.rho);
  element("lines").querySelectorAll("td.number").forEach((cell) => {
    const value = lineAt(cell.dataset.line, found.rho);
    cell.textContent = short(value, 5);
  });
  if (planned) element("facts").dataset.samples = planned.samples;
}

function plan(found) {
  const { q, level } = found;
  const samples = Chance.samplesNeeded(q, q.positives / q.P, level, 4e5);
  return { samples: samples === null ? "> 200000" : samples, largest: Chance.largestConvincing(q, level) };
}

function stroke(line) {
  return `stroke="var(--${line.color})" ${line.dash ? `stroke-dasharray="${line.dash}"` : ""} class="line ${line.thick ? "thick" : ""}"`;
}

function buildLegend() {
  element("lines").querySelector("tbody").innerHTML = LINES.map((line) =>
    `<tr data-row="${line.key}"><td><label><input type="checkbox" checked data-toggle="${line.key}"> ` +
    `<svg class="swatch" viewBox="0 0 30 12"><path d="M0 6H30" ${stroke(line)}/></svg> ${line.name}</label></td>` +
    `<td class="what">${line.what}</td><td class="number" data-line="${line.key}"></td><td><span class="kind">${line.kind}</span></td></tr>`).join("");
  element("lines").addEventListener("change", (event) => {
    const key = event.target.dataset.toggle;
    if (event.target.checked) hidden.delete(key);
    else hidden.add(key);
    element("lines").querySelector(`[data-row="${key}"]`).classList.toggle("off", !event.target.checked);
    drawDiagram();
  });
}

// ---- diagram -----------------------------------------------------------------------------------------------------------

let view = null;

function makeView() {
  const width = Math.max(280, Math.min(820, element("picture").clientWidth - 6));
  const height = Math.round(width < 500 ? width * 0.95 : width * 0.78);
  const box = { left: 52, right: width - 14, top: 12, bottom: height - 48 };
  const rho = Number(state.M) / Number(state.N);
  const kind = axes || (rho < 0.02 ? "log" : "linear");
  const proven = limitLine.filter(([r]) => r >= 0.3).map(([, a]) => a);
  let [r0, r1, a0, a1] = [0, 1, 0, Math.min(3.2, Math.max(2.3, ...proven.map((a) => a + 0.2)))];
  if (kind === "log") {
    const decade = Math.pow(10, Math.floor(Math.log10(Math.max(Math.min(rho, 0.02), 2e-6)) - 0.3));
    [r0, a0, a1] = [Math.max(decade, DATA.table.first), 2 * Math.max(decade, DATA.table.first), 4];
  }
  const warp = kind === "log" ? Math.log : (x) => x;
  const unwarp = kind === "log" ? Math.exp : (x) => x;
  const map = (value, low, high, from, to) => from + ((warp(value) - warp(low)) / (warp(high) - warp(low))) * (to - from);
  return {
    width, height, box, kind, r0, r1, a0, a1,
    x: (r) => map(Math.max(r, kind === "log" ? r0 * 1e-3 : 0), r0, r1, box.left, box.right),
    y: (a) => map(Math.max(a, kind === "log" ? a0 * 1e-3 : 0), a0, a1, box.bottom, box.top),
    rho: (x) => unwarp(warp(r0) + ((x - box.left) / (box.right - box.left)) * (warp(r1) - warp(r0))),
    alpha: (y) => unwarp(warp(a0) + ((box.bottom - y) / (box.bottom - box.top)) * (warp(a1) - warp(a0))),
  };
}

function sampled(key) {
  if (key === "limit") return limitLine;
  const points = [];
  const first = Math.max(view.r0, DATA.table.first);
  for (let k = 0; k <= 240; k++) {
    const share = k / 240;
    const rho = view.kind === "log" ? first * Math.pow(DATA.table.last / first, share) : first + (DATA.table.last - first) * share * share * (3 - 2 * share);
    const alpha = lineAt(key, rho);
    if (alpha !== null) points.push([rho, alpha]);
  }
  return points;
}

const path = (points) => points.map(([r, a], k) => `${k ? "L" : "M"}${view.x(r).toFixed(1)} ${view.y(a).toFixed(1)}`).join("");

function area(lower, upper) {
  return `${path(upper)}L${path([...lower].reverse()).slice(1)}Z`;
}

function ticks(low, high) {
  if (view.kind === "linear") {
    const step = high > 1.5 ? 0.5 : 0.2;
    return Array.from({ length: Math.floor(high / step) + 1 }, (_, k) => Number((k * step).toFixed(1)));
  }
  const values = [];
  for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e++) values.push(Math.pow(10, e));
  return values;
}
const tickText = (value) => (value >= 0.001 || value === 0 ? String(Number(value.toPrecision(3))) : `10${"⁻" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[Math.round(-Math.log10(value))]}`);

function drawDiagram() {
  view = makeView();
  const { box, width, height } = view;
  const vc = sampled("vc"), typical = sampled("cover_gardner"), floor = [[view.r0 || 1e-9, view.a0], [1, view.a0]];
  const chance = sampled("alpha_rs").map(([r]) => [r, chanceLine(r)]);
  const breaks = sampled("replicon_alpha");
  const zones = [
    ["settled", limitLine.length ? area(limitLine, [[limitLine[0][0], view.a1 * 1.2], [1, view.a1 * 1.2]]) : ""],
    ["chosen", area(typical, chance)], ["typical", area(vc, typical)], ["every", area(floor, vc)],
  ];
  const names = view.kind === "linear"
    ? [[0.82, 0.3, "every choice", "separates noise"], [0.88, 1.42, "a typical choice", "separates noise"], [0.32, 0.93, "a good choice", "separates noise"],
       [0.7, 2.12, "only a permutation test can tell", ""], [0.14, view.a1 - 0.25, "structure,", "proven"]]
    : [[Math.pow(view.r0, 0.12), Math.pow(view.r0, 0.62), "every choice", "separates noise"], [Math.pow(view.r0, 0.75), view.a1 / 3, "structure, proven", ""]];
  const clip = `<clipPath id="frame"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}"/></clipPath>`;
  const hatch = `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V7" stroke="var(--breaks)" stroke-width="1" opacity="0.45"/></pattern>`;
  const gridlines = [
    ...ticks(view.r0, view.r1).map((v) => `<path class="grid" d="M${view.x(v)} ${box.top}V${box.bottom}"/><text class="tick" x="${view.x(v)}" y="${box.bottom + 17}" text-anchor="middle">${tickText(v)}</text>`),
    ...ticks(view.a0, view.a1).map((v) => `<path class="grid" d="M${box.left} ${view.y(v)}H${box.right}"/><text class="tick" x="${box.left - 7}" y="${view.y(v) + 4}" text-anchor="end">${tickText(v)}</text>`),
  ];
  const drawn = [...LINES].reverse().filter((line) => !hidden.has(line.key))
    .map((line) => `<path data-curve="${line.key}" d="${path(sampled(line.key))}" ${stroke(line)}/>`);
  element("diagram").setAttribute("viewBox", `0 0 ${width} ${height}`);
  element("diagram").innerHTML =
    `<defs>${clip}${hatch}</defs><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}" fill="var(--silent)"/>` +
    `<g clip-path="url(#frame)">${zones.map(([name, d]) => `<path d="${d}" fill="var(--${name})"/>`).join("")}` +
    (hidden.has("replicon_alpha") ? "" : `<path d="${area(typical, breaks)}" fill="url(#hatch)"/>`) +
    `</g>${gridlines.join("")}<g clip-path="url(#frame)">${drawn.join("")}</g>` +
    names.map(([r, a, one, two]) => `<text class="zone-name" font-size="${width < 420 ? 10 : 13}" x="${view.x(r)}" y="${view.y(a)}" text-anchor="middle">${one}<tspan x="${view.x(r)}" dy="16">${two}</tspan></text>`).join("") +
    `<text class="axis" x="${(box.left + box.right) / 2}" y="${height - 8}" text-anchor="middle">density ρ = M/N (share of features used)</text>` +
    `<text class="axis" transform="translate(15 ${(box.top + box.bottom) / 2}) rotate(-90)" text-anchor="middle">load α = P/N (samples per feature)</text>` +
    `<g id="point" clip-path="url(#frame)"></g>`;
  element("linear").setAttribute("aria-pressed", String(view.kind === "linear"));
  element("log").setAttribute("aria-pressed", String(view.kind === "log"));
}

function drawPoint(found) {
  const x = view.x(found.rho), y = view.y(found.alpha);
  const { q } = found;
  const label = `${preview ? "" : "you are here: "}M = ${q.M}, P = ${q.P}`;
  const anchor = x > (view.box.left + view.box.right) / 2 ? "end" : "start";
  const dots = LINES.filter((line) => !hidden.has(line.key)).map((line) => [line, lineAt(line.key, found.rho)]).filter(([, a]) => a !== null)
    .map(([line, a]) => `<circle cx="${x}" cy="${view.y(a)}" r="3" fill="var(--${line.color})"/>`).join("");
  element("point").innerHTML =
    `<path d="M${x} ${view.box.top}V${view.box.bottom}" stroke="var(--here)" stroke-dasharray="2 3"/>` +
    `<path d="M${view.box.left} ${y}H${view.box.right}" stroke="var(--here)" stroke-dasharray="2 3"/>${dots}` +
    `<circle cx="${x}" cy="${y}" r="7" fill="var(--here)" stroke="var(--card)" stroke-width="2"/>` +
    `<text x="${x + (anchor === "end" ? -12 : 12)}" y="${Math.max(y - 12, view.box.top + 14)}" text-anchor="${anchor}" font-size="13" font-weight="700" ` +
    `style="fill:var(--here);paint-order:stroke;stroke:var(--card);stroke-width:4px">${label}</text>`;
}

// ---- the rigorous line at this N: samples needed for each M, a few at a time so that the page never stops ------------------

let limitJob = 0;
function startLimitLine() {
  const job = ++limitJob;
  const q = query(), level = Number(state.level), balance = q.positives / q.P;
  const steps = q.N > 5000 ? 24 : 60;
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

let planTimer = 0;
function show() {
  const found = answer(preview || state);
  showAnswer(found, null);
  drawPoint(found);
  clearTimeout(planTimer);
  const finish = () => showAnswer(found, plan(found));
  if (found.q.N * found.q.P < 1e7 && !preview) finish();
  else planTimer = setTimeout(finish, 120);
}

function refresh() {
  const wrong = trouble();
  element("trouble").textContent = wrong ? `${wrong}.` : "";
  if (wrong) return;
  const changed = FIELDS.filter((name) => String(state[name]) !== String(START[name])).map((name) => `${name}=${encodeURIComponent(state[name])}`);
  const theme = document.documentElement.dataset.theme;
  history.replaceState(null, "", `#${[...changed, ...(axes ? [`axes=${axes}`] : []), ...(theme ? [`theme=${theme}`] : [])].join("&")}`);
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
  const N = Number(state.N);
  const M = Math.min(N, Math.max(1, Math.round(view.rho(x) * N)));
  const P = Math.max(2, Math.round(view.alpha(y) * N));
  const q = query();
  const positives = state.positives === "" ? "" : Math.min(P - 1, Math.max(1, Chance.roundHalfEven((q.positives / q.P) * P)));
  const moved = { ...state, M, P, positives };
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
  element("theme").addEventListener("click", () => {
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

function readAddress() {
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (FIELDS.includes(name)) state[name] = value;
    if (name === "axes" && (value === "linear" || value === "log")) axes = value;
    if (name === "theme" && (value === "light" || value === "dark")) document.documentElement.dataset.theme = value;
  }
}

readAddress();
fill();
buildLegend();
listen();
refresh();
