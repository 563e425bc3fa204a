"use strict";
// The formulas of chanceline.chance in the browser, one function for each of Python's, in the same order of operations.
// All logarithms are natural unless a name says otherwise. A test compares every number with Python's.
const Chance = (() => {
  const LOG10 = Math.LN10;
  const EXACT_ERRORS = 1000;
  const LARGEST = 1e7;

  const smallLogFactorials = [0];
  for (let n = 1, product = 1; n < 20; n++) {
    product *= n;
    smallLogFactorials.push(Math.log(product));
  }

  function logFactorial(n) {
    if (n < 20) return smallLogFactorials[n];
    const x = n + 1, y = 1 / (x * x);
    const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x;
    return (x - 0.5) * Math.log(x) - x + 0.9189385332046727418 + series;
  }

  function logBinomial(n, k) {
    if (k < 0 || k > n) return -Infinity;
    if (k === 0 || k === n) return 0;
    if (k === 1 || k === n - 1) return Math.log(n);
    return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
  }

  function logAdd(a, b) {
    if (a < b) [a, b] = [b, a];
    return b === -Infinity ? a : a + Math.log1p(Math.exp(b - a));
  }

  const logSum = (terms) => {
    const top = Math.max(...terms);
    return top === -Infinity ? top : top + Math.log(terms.reduce((sum, term) => sum + Math.exp(term - top), 0));
  };

  // Python's round: halves go to the even neighbour.
  function roundHalfEven(x) {
    const floor = Math.floor(x);
    if (x - floor !== 0.5) return Math.round(x);
    return floor % 2 === 0 ? floor : floor + 1;
  }

  // ln D(P, d) for d = 0 … largest, D(P, d) = 2 Σ_{k<d} C(P−1, k) (Cover 1965).
  function logCoverCurve(points, largest) {
    const all = points * Math.LN2;
    const curve = new Float64Array(largest + 1).fill(all);
    curve[0] = -Infinity;
    let sum = -Infinity;
    for (let k = 0; k < Math.min(largest, points); k++) {
      sum = logAdd(sum, logBinomial(points - 1, k));
      curve[k + 1] = Math.min(Math.LN2 + sum, all);
    }
    return curve;
  }

  // ln Σ_{j≤e} C(P, j): the labellings within e flips of a given one.
  function logHammingBall(points, errors) {
    let sum = -Infinity;
    for (let j = 0; j <= Math.min(errors, points); j++) sum = logAdd(sum, logBinomial(points, j));
    return Math.min(sum, points * Math.LN2);
  }

  // ln of an upper bound on the subsets of size k that a line cuts off P points of the plane.
  function logPlanarSets(points, size) {
    const small = Math.min(size, points - size);
    if (small === 0) return 0;
    const bound = 2 * small === points
      ? points * Math.sqrt(Math.max(points - 1, 1))
      : 0.5 * points * (1 + Math.sqrt(1 + 8 * Math.max(small - 1, 0)));
    return Math.log(Math.max(Math.floor(bound + 1e-9 * bound), 1));
  }

  // Class sizes k and ln w_k: labellings with the wanted positives within e flips of one with k positives.
  function logNeighbours(points, positives, errors) {
    const sizes = [], weights = [];
    for (let k = Math.max(0, positives - errors); k <= Math.min(points, positives + errors); k++) {
      const terms = [];
      for (let b = 0; b <= errors; b++) {
        const a = k - positives + b;
        if (a < 0 || a + b > errors || a > k || b > points - k) continue;
        terms.push(logBinomial(k, a) + logBinomial(points - k, b));
      }
      sizes.push(k);
      weights.push(logSum(terms));
    }
    return { sizes, weights };
  }

  // ln of the labellings within e errors of a rule on M features, M = 1 … largest, and the form of the count at M = 1, 2.
  function logCounts(points, positives, largest, errors, fixed, intercept) {
    const shift = intercept ? 1 : 0;
    const curve = logCoverCurve(points, largest + shift);
    const forms = {};
    let factor, cap = Infinity;
    if (!fixed) {
      factor = logHammingBall(points, errors);
      cap = points * Math.LN2;
    } else if (errors > EXACT_ERRORS) {
      factor = logHammingBall(points, errors);
    } else {
      const { sizes, weights } = logNeighbours(points, positives, errors);
      factor = -Infinity;
      sizes.forEach((k, i) => {
        const mirrored = weights[points - k - sizes[0]];
        factor = Math.max(factor, logAdd(weights[i], mirrored === undefined ? -Infinity : mirrored));
      });
      factor -= Math.LN2;
      if (intercept) {
        const threshold = sizes.map((k, i) => weights[i] + (k === 0 || k === points ? 0 : Math.LN2));
        const planar = sizes.map((k, i) => weights[i] + logPlanarSets(points, k));
        forms[1] = { form: "threshold", value: logSum(threshold) };
        forms[2] = { form: "planar k-sets", value: logSum(planar) };
      }
    }
    const counts = new Float64Array(largest + 1);
    const used = {};
    for (let m = 1; m <= largest; m++) {
      counts[m] = Math.min(curve[m + shift] + factor, cap);
      if (forms[m] && forms[m].value < counts[m]) {
        counts[m] = forms[m].value;
        used[m] = forms[m].form;
      }
    }
    return { counts, used };
  }

  function problem({ P, N, M, positives, errors = 0, fixed = true }) {
    const whole = (x) => Number.isInteger(x);
    if (!whole(N) || N < 1 || N > LARGEST) return `N must be a whole number from 1 to ${LARGEST}`;
    if (!whole(P) || P < 2 || P > LARGEST) return `P must be a whole number from 2 to ${LARGEST}`;
    if (!whole(M) || M < 1 || M > N) return `M must be a whole number from 1 to N = ${N}`;
    if (!whole(errors) || errors < 0 || errors >= P) return `the errors must be a whole number from 0 to ${P - 1}`;
    if (fixed && (!whole(positives) || positives < 1 || positives > P - 1)) {
      return `one class must have from 1 to ${P - 1} samples`;
    }
    return null;
  }

  // Everything that depends on the samples, not on M: ln(labellings realised/labellings in all) + ln(supports).
  function totals({ P, N, M, positives, errors = 0, fixed = true, intercept = true }) {
    const largest = Math.min(N, Math.max(M, P));
    const { counts, used } = logCounts(P, positives, largest, errors, fixed, intercept);
    const labellings = fixed ? logBinomial(P, positives) : P * Math.LN2;
    const total = new Float64Array(largest + 1);
    for (let m = 1; m <= largest; m++) {
      total[m] = counts[m] - labellings + logBinomial(N, m);
    }
    return { total, used, largest };
  }

  // The rigorous bound of `chanceline.chance_bound`: smallest over all M' ≥ M.
  function bound(query) {
    const { M, N, intercept = true } = query;
    const { total, used, largest } = totals(query);
    let best = M;
    for (let m = M + 1; m <= largest; m++) if (total[m] < total[best]) best = m;
    return {
      log10P: Math.min(0, total[best] / LOG10),
      log10Union: total[M] / LOG10,
      bestSize: best,
      dimension: best + (intercept ? 1 : 0),
      log10Supports: logBinomial(N, best) / LOG10,
      form: used[best] || "cover",
    };
  }

  // `chanceline.largest_convincing`: the largest M whose bound is at most the level, 0 if none.
  function largestConvincing(query, level) {
    const { total } = totals({ ...query, M: 1 });
    const last = Math.min(query.N, query.P);
    let smallest = Infinity;
    for (let m = last; m >= 1; m--) {
      smallest = Math.min(smallest, total[m]);
      if (Math.min(smallest / LOG10, 0) <= Math.log10(level)) return m;
    }
    return 0;
  }

  // `chanceline.samples_needed`: the smallest P from which on M of N features convince; null beyond the limit.
  function samplesNeeded({ N, M, errors = 0, fixed = true, intercept = true }, balance, level, limit = LARGEST) {
    const positivesOf = (P) => Math.min(Math.max(roundHalfEven(balance * P), 1), P - 1);
    const convinces = (P) =>
      bound({ P, N, M, positives: positivesOf(P), errors, fixed, intercept }).log10P <= Math.log10(level);
    let low = Math.max(2, errors + 1), high = 2 * low;
    while (!convinces(high)) {
      [low, high] = [high, 2 * high];
      if (high > limit) return null;
    }
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (convinces(middle)) high = middle;
      else low = middle;
    }
    const cycle = Math.min(50, Math.ceil(1 / Math.min(balance, 1 - balance)) + 1);
    let samples = null;
    for (let P = Math.max(2, high - cycle); P < high + cycle; P++) if (P > errors && !convinces(P)) samples = P + 1;
    return samples === null ? high : samples;
  }

  return { logBinomial, bound, largestConvincing, samplesNeeded, roundHalfEven, problem };
})();
