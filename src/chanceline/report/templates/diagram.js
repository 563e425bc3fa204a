"use strict";
// The drawing: axes, zones between the lines, zone names where they fit, and the point. Everything is drawn anew when
// the state changes; a moving pointer only moves the point.

let view = null;

function makeView() {
  const width = Math.max(280, Math.min(820, element("picture").clientWidth - 6));
  const height = Math.round(width < 500 ? width * 0.95 : width * 0.78);
  const box = { left: 52, right: width - 14, top: 12, bottom: height - 48 };
  const at = drawn();
  const rho = Number(at.M) / Number(at.N);
  const kind = axes || (rho < 0.02 ? "log" : "linear");
  const proven = limitLine.filter(([r]) => r >= 0.3).map(([, a]) => a);
  let [r0, r1, a0, a1] = [0, 1, 0, Math.min(6, Math.max(2.3, ...proven.map((a) => a + 0.2)))];
  if (kind === "log") {
    const decade = Math.pow(10, Math.floor(Math.log10(Math.min(rho, 0.02)) - 0.3));
    r0 = Math.max(decade, Math.min(0.7 / Number(at.N), 0.02), DATA.table.first); // below 1/N not even one feature is used
    [a0, a1] = [2 * r0, Math.max(4, ...proven.map((a) => 1.6 * a))];
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
  const first = Math.max(view.r0, DATA.table.first), last = DATA.table.last;
  for (let k = 0; k <= 240; k++) {
    const share = k / 240;
    const rho = view.kind === "log" ? first * Math.pow(last / first, share) : first + (last - first) * share * share * (3 - 2 * share);
    const alpha = lineAt(key, rho);
    if (alpha !== null) points.push([rho, alpha]);
  }
  return points;
}

const path = (points) => points.map(([r, a], k) => `${k ? "L" : "M"}${view.x(r).toFixed(1)} ${view.y(a).toFixed(1)}`).join("");

function area(lower, upper) {
  return lower.length && upper.length ? `${path(upper)}L${path([...lower].reverse()).slice(1)}Z` : "";
}

function ticks(low, high) {
  if (view.kind === "linear") {
    const step = high > 3 ? 1 : high > 1.5 ? 0.5 : 0.2;
    return Array.from({ length: Math.floor(high / step) + 1 }, (_, k) => Number((k * step).toFixed(1)));
  }
  const values = [];
  for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e++) values.push(Math.pow(10, e));
  return values;
}
const tickText = (value) => (value >= 0.001 || value === 0 ? String(Number(value.toPrecision(3))) : `10${"⁻" + "⁰¹²³⁴⁵⁶⁷⁸⁹"[Math.round(-Math.log10(value))]}`);

function gridlines() {
  const { box } = view;
  return [
    ...ticks(view.r0, view.r1).map((v) => `<path class="grid" d="M${view.x(v)} ${box.top}V${box.bottom}"/><text class="tick" x="${view.x(v)}" y="${box.bottom + 17}" text-anchor="middle">${tickText(v)}</text>`),
    ...ticks(view.a0, view.a1).map((v) => `<path class="grid" d="M${box.left} ${view.y(v)}H${box.right}"/><text class="tick" x="${box.left - 7}" y="${view.y(v) + 4}" text-anchor="end">${tickText(v)}</text>`),
  ].join("");
}

// ---- names of the zones ------------------------------------------------------------------------------------------------

const fontSize = () => (view.width < 420 ? 11 : 13);
const pen = document.createElement("canvas").getContext("2d");
function textWidth(text, weight = 600) {
  pen.font = `${weight} ${fontSize()}px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
  return pen.measureText(text).width;
}

// Upper and lower edge of a zone in pixels for every third pixel across the frame; null where the zone is not.
function edges({ lower, upper }) {
  const { box } = view;
  const clamp = (y) => Math.min(box.bottom, Math.max(box.top, y));
  const columns = [];
  for (let x = box.left; x <= box.right; x += 3) {
    const rho = view.rho(x), low = lower(rho), high = upper(rho);
    columns.push(low === null || high === null ? null : { x, top: clamp(view.y(high)), bottom: clamp(view.y(low)) });
  }
  return columns;
}

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// Where `rows` of text have most room inside a zone, level or along it; null if nowhere. `taken` are boxes to keep clear.
// Near a target, the nearest place instead.
function place(columns, rows, tilted, taken, target = null) {
  const width = Math.max(...rows.map((row) => textWidth(row))) + 8, height = 16 * rows.length;
  const reach = Math.ceil(width / 6);
  let best = null;
  for (let k = reach; k + reach < columns.length; k++) {
    const [left, here, right] = [columns[k - reach], columns[k], columns[k + reach]];
    if (!left || !here || !right) continue;
    const middle = (c) => (c.top + c.bottom) / 2;
    const slope = tilted ? (middle(right) - middle(left)) / (right.x - left.x) : 0;
    const stretch = Math.hypot(1, slope), across = Math.round(reach / stretch);
    const around = columns.slice(k - across, k + across + 1);
    if (around.includes(null)) continue;
    const top = Math.max(...around.map((c) => c.top - slope * (c.x - here.x)));
    const bottom = Math.min(...around.map((c) => c.bottom - slope * (c.x - here.x)));
    const room = (bottom - top) / stretch - height;
    if (room < 2) continue;
    const middleY = (top + bottom) / 2;
    const y = target ? Math.min(bottom - height / 2 - 2, Math.max(top + height / 2 + 2, target.y)) : middleY;
    const half = width / 2 / stretch, tall = Math.abs(slope) * half + height / 2;
    const bounds = { left: here.x - half, right: here.x + half, top: y - tall, bottom: y + tall };
    if (taken.some((other) => overlap(bounds, other))) continue;
    const score = target ? -Math.hypot(here.x - target.x, y - target.y) : room;
    if (!best || score > best.score) best = { x: here.x, y, angle: (Math.atan(slope) * 180) / Math.PI, score, rows, bounds };
  }
  return best;
}

function nameOf(key, { x, y, angle, rows }) {
  const first = y - 8 * (rows.length - 1) + fontSize() / 3;
  const spans = rows.map((row, k) => `<tspan x="${x.toFixed(1)}" y="${(first + 16 * k).toFixed(1)}">${row}</tspan>`).join("");
  return `<text class="zone-name" data-zone="${key}" font-size="${fontSize()}" text-anchor="middle" transform="rotate(${angle.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)})">${spans}</text>`;
}

// The boxes of the point, its words and its two lines.
function aroundPoint() {
  const { x, y, bounds } = pointLabel(Number(state.M), Number(state.P), "you are here: ");
  const across = { left: view.box.left, right: view.box.right, top: y - 2, bottom: y + 2 };
  return [bounds, across, { left: x - 2, right: x + 2, top: view.box.top, bottom: view.box.bottom }];
}

// Names inside their zones; of a zone too thin for its name, beside it with a line to it. A list below the diagram has them all.
function zoneNames(zones) {
  const taken = waiting() ? [] : aroundPoint();
  const names = [], thin = [];
  for (const zone of zones) {
    const columns = edges(zone), row = [zone.name.join(" ")];
    const level = [place(columns, row, false, taken), place(columns, zone.name, false, taken)].filter(Boolean);
    const found = level.sort((a, b) => b.score - a.score)[0] || place(columns, row, true, taken);
    if (!found) {
      thin.push({ zone, columns });
      continue;
    }
    taken.push(found.bounds);
    names.push(nameOf(zone.key, found));
  }
  if (view.width < 420) return names.join("");
  for (const { zone, columns } of thin) {
    const inner = columns.slice(8, -8).filter(Boolean);
    const widest = inner.reduce((a, b) => (b.bottom - b.top > a.bottom - a.top ? b : a), { top: 0, bottom: 0 });
    if (widest.bottom - widest.top < 4) continue;
    const target = { x: widest.x, y: (widest.top + widest.bottom) / 2 };
    const places = zones.filter((other) => other !== zone).map((other) => place(edges(other), zone.name, false, taken, target)).filter(Boolean);
    const found = places.sort((a, b) => b.score - a.score)[0];
    if (!found) continue;
    taken.push(found.bounds);
    const end = found.y < target.y ? found.bounds.bottom : found.bounds.top;
    names.push(`<path class="leader" d="M${target.x.toFixed(1)} ${target.y.toFixed(1)}L${found.x.toFixed(1)} ${end.toFixed(1)}"/>${nameOf(zone.key, found)}`);
  }
  return names.join("");
}

// ---- all together ------------------------------------------------------------------------------------------------------

function drawDiagram() {
  view = makeView();
  const { box, width, height } = view;
  const chance = (rho) => lineAt("chance", rho), typical = (rho) => lineAt("cover_gardner", rho);
  const zones = [
    { key: "settled", lower: limitAt, upper: () => view.a1, name: ["structure,", "proven"] },
    { key: "silent", lower: chance, upper: limitAt, name: ["only a permutation", "test can tell"] },
    { key: "chosen", lower: typical, upper: chance, name: ["a good choice", "separates noise"] },
    { key: "typical", lower: (rho) => rho, upper: typical, name: ["a typical choice", "separates noise"] },
    { key: "every", lower: () => view.a0, upper: (rho) => rho, name: ["every choice", "separates noise"] },
  ];
  const vc = sampled("vc"), floor = [[view.r0 || 1e-9, view.a0], [1, view.a0]];
  const filled = [
    ["settled", limitLine.length ? area(limitLine, [[limitLine[0][0], view.a1 * 1.2], [1, view.a1 * 1.2]]) : ""],
    ["chosen", area(sampled("cover_gardner"), sampled("chance"))], ["typical", area(vc, sampled("cover_gardner"))], ["every", area(floor, vc)],
  ];
  const clip = `<clipPath id="frame"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}"/></clipPath>`;
  const hatch = `<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V7" stroke="var(--breaks)" stroke-width="1" opacity="0.45"/></pattern>`;
  const curves = shownLines().reverse().map((line) => `<path data-curve="${line.key}" d="${path(sampled(line.key))}" ${stroke(line)}/>`);
  const stable = shownLines().some((line) => line.key === "replicon_alpha") ? `<path d="${area(sampled("cover_gardner"), sampled("replicon_alpha"))}" fill="url(#hatch)"/>` : "";
  element("diagram").setAttribute("viewBox", `0 0 ${width} ${height}`);
  element("diagram").innerHTML =
    `<defs>${clip}${hatch}</defs><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}" fill="var(--silent)"/>` +
    `<g clip-path="url(#frame)">${filled.map(([name, d]) => `<path d="${d}" fill="var(--${name})"/>`).join("")}${stable}</g>` +
    `${gridlines()}<g clip-path="url(#frame)">${curves.join("")}</g>${zoneNames(zones)}` +
    `<text class="axis" x="${(box.left + box.right) / 2}" y="${height - 8}" text-anchor="middle">density ρ = M/N (share of features used)</text>` +
    `<text class="axis" transform="translate(15 ${(box.top + box.bottom) / 2}) rotate(-90)" text-anchor="middle">load α = P/N (samples per feature)</text>` +
    `<g id="point" clip-path="url(#frame)"></g>`;
  element("linear").setAttribute("aria-pressed", String(view.kind === "linear"));
  element("log").setAttribute("aria-pressed", String(view.kind === "log"));
}

// Words beside the point and their box, on the side that has room for them.
function pointLabel(M, P, words) {
  const N = Number(drawn().N);
  const x = view.x(M / N), y = view.y(P / N);
  const { box } = view;
  const rightwards = x < (box.left + box.right) / 2;
  const room = (rightwards ? box.right - x : x - box.left) - 16;
  const short = `M = ${M}, P = ${P}`;
  const text = textWidth(words + short, 700) < room ? words + short : short;
  const baseline = Math.min(Math.max(y - 12, box.top + 14), box.bottom - 6);
  const start = rightwards ? x + 12 : x - 12 - textWidth(text, 700);
  const bounds = { left: Math.min(start, x - 8), right: Math.max(start + textWidth(text, 700), x + 8), top: Math.min(baseline - 14, y - 8), bottom: Math.max(baseline + 4, y + 8) };
  return { x, y, text, baseline, anchor: rightwards ? "start" : "end", at: rightwards ? x + 12 : x - 12, bounds };
}

function drawPoint(found) {
  const { x, y, text, baseline, anchor, at } = pointLabel(found.q.M, found.q.P, preview ? "" : "you are here: ");
  const dots = shownLines().map((line) => [line, lineAt(line.key, found.rho)]).filter(([, a]) => a !== null)
    .map(([line, a]) => `<circle cx="${x}" cy="${view.y(a)}" r="3" fill="var(--${line.color})"/>`).join("");
  element("point").innerHTML =
    `<path d="M${x} ${view.box.top}V${view.box.bottom}" stroke="var(--here)" stroke-dasharray="2 3"/>` +
    `<path d="M${view.box.left} ${y}H${view.box.right}" stroke="var(--here)" stroke-dasharray="2 3"/>${dots}` +
    `<circle cx="${x}" cy="${y}" r="7" fill="var(--here)" stroke="var(--card)" stroke-width="2"/>` +
    `<text x="${at}" y="${baseline}" text-anchor="${anchor}" font-size="${fontSize()}" font-weight="700" ` +
    `style="fill:var(--here);paint-order:stroke;stroke:var(--card);stroke-width:4px">${text}</text>`;
}
