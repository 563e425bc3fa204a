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

  // ln D(P, d), D(P, d) = 2 Σ_{k<d} C(P−1, k) (Cover 1965). Terms fall off on both sides of the middle: the sum starts at its
  // largest term, or is what the other terms leave of 2^(P−1), and ends when nothing changes any more.
  function logCover(points, dimension) {
    const n = points - 1, all = points * Math.LN2;
    if (dimension <= 0) return -Infinity;
    if (dimension > n) return all;
    const below = 2 * (dimension - 1) <= n;
    const first = below ? dimension - 1 : n - dimension;
    let sum = 1, term = 1;
    for (let k = first; k > 0 && term > 1e-17 * sum; k--) {
      term *= k / (n - k + 1);
      sum += term;
    }
    const part = logBinomial(n, first) + Math.log(sum);
    return Math.min(Math.LN2 + (below ? part : n * Math.LN2 + Math.log1p(-Math.exp(part - n * Math.LN2))), all);
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

  // M → ln of the labellings within e errors of a rule on M features, and the form of the count.
  function logCounts(points, positives, errors, fixed, intercept) {
    const shift = intercept ? 1 : 0;
    const sharper = {};
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
        sharper[1] = { form: "threshold", count: logSum(threshold) };
        sharper[2] = { form: "planar k-sets", count: logSum(planar) };
      }
    }
    return (m) => {
      const count = Math.min(logCover(points, m + shift) + factor, cap);
      const other = sharper[m];
      return other && other.count < count - 1e-12 * Math.abs(other.count) ? other : { form: "cover", count };
    };
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

  // M → ln(labellings realised/labellings in all) + ln(supports), and the form of the count.
  function totals({ P, N, positives, errors = 0, fixed = true, intercept = true }) {
    const counts = logCounts(P, positives, errors, fixed, intercept);
    const labellings = fixed ? logBinomial(P, positives) : P * Math.LN2;
    return (m) => {
      const { form, count } = counts(m);
      return { form, total: count - labellings + logBinomial(N, m) };
    };
  }

  // The rigorous bound of `chanceline.chance_bound`: smallest over all M' ≥ M. Cover's count times the supports is log-concave
  // in M' (both factors are), so that it is smallest at one end; M' = 1 and 2 have counts of their own.
  function bound(query) {
    const { P, N, M, intercept = true } = query;
    const at = totals(query), largest = Math.min(N, Math.max(M, P));
    const union = at(M);
    let best = M, { form, total } = union;
    for (const m of [M + 1, M + 2, largest]) {
      const other = m <= largest ? at(m) : { total: Infinity };
      if (other.total < total) [best, form, total] = [m, other.form, other.total];
    }
    return {
      log10P: Math.min(0, total / LOG10),
      log10Union: union.total / LOG10,
      bestSize: best,
      dimension: best + (intercept ? 1 : 0),
      log10Supports: logBinomial(N, best) / LOG10,
      form,
    };
  }

  // `chanceline.largest_convincing`: the largest M whose bound is at most the level, 0 if none. Sets that convince by
  // themselves, if the largest does not, are those up to some size.
  function largestConvincing(query, level) {
    const at = totals(query);
    const convinces = (m) => Math.min(at(m).total / LOG10, 0) <= Math.log10(level);
    const last = Math.min(query.N, query.P);
    if (convinces(last)) return last;
    if (last <= 3 || !convinces(3)) return [3, 2, 1].find((m) => m < last && convinces(m)) || 0;
    let low = 3, high = last;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (convinces(middle)) low = middle;
      else high = middle;
    }
    return low;
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
