"use strict";
// The lines of the (ρ, α) diagram between the nodes of chanceline's table: polynomial interpolation of ln(α/2ρ) at
// Chebyshev nodes of logit ρ (barycentric form), accurate to about nine digits.
class Lines {
  constructor(table) {
    this.first = table.first;
    this.last = table.last;
    const count = table.rho.length;
    this.nodes = table.rho.map((_, k) => Math.cos((Math.PI * (k + 0.5)) / count));
    this.weights = table.rho.map((_, k) => (k % 2 ? -1 : 1) * Math.sin((Math.PI * (k + 0.5)) / count));
    this.values = {};
    for (const name of table.names) {
      this.values[name] = table[name].map((alpha, k) => Math.log(alpha / (2 * table.rho[k])));
    }
  }

  // α on a line at density ρ; null outside the table, where nothing was computed.
  at(name, rho) {
    if (name === "vc") return rho;
    if (name === "cover_gardner") return 2 * rho;
    if (rho === 1) return 2;
    const logit = (r) => Math.log(r / (1 - r));
    const [a, b] = [logit(this.first), logit(this.last)];
    const u = (2 * logit(rho) - a - b) / (b - a);
    if (!(Math.abs(u) <= 1)) return null;
    let top = 0, bottom = 0;
    for (let k = 0; k < this.nodes.length; k++) {
      const distance = u - this.nodes[k];
      if (distance === 0) return 2 * rho * Math.exp(this.values[name][k]);
      const weight = this.weights[k] / distance;
      top += weight * this.values[name][k];
      bottom += weight;
    }
    return 2 * rho * Math.exp(top / bottom);
  }
}

// The chance line and the typical line for a share f of positives in the rarer class and a share ε of errors: polynomials through
// ln(α/α_balanced) and ln(α/2ρ) at the nodes of chanceline's table. Their coordinates are logit ρ, √(−ln 4f(1 − f)), and the cube root
// of −ln(1 − ε/f), as the lines have a term ε ln ε and grow without bound as ε → f.
class Surface {
  constructor(table, balanced) {
    this.balanced = balanced;
    this.table = table;
    this.first = Math.min(...table.densities);
    this.last = Math.max(...table.densities);
    this.leastBalance = Math.min(...table.balances);
    this.mostShare = Math.max(...table.shares);
    this.axes = {
      rho: Surface.axis(table.densities.map(Surface.odds)),
      balance: Surface.axis(table.balances.map(Surface.imbalance)),
      share: Surface.axis(table.shares.map(Surface.mistakes)),
    };
  }

  static odds(rho) {
    return Math.log(rho / (1 - rho));
  }

  static imbalance(balance) {
    return Math.sqrt(Math.max(-Math.log(4 * balance * (1 - balance)), 0));
  }

  static mistakes(share) {
    return Math.cbrt(-Math.log1p(-share));
  }

  static axis(nodes) {
    const weights = nodes.map((node) => 1 / nodes.filter((other) => other !== node).reduce((product, other) => product * (node - other), 1));
    return { nodes, weights };
  }

  // Shares of the nodes at a position, adding up to 1 (barycentric form).
  static shares({ nodes, weights }, position) {
    const exact = nodes.findIndex((node) => Math.abs(node - position) < 1e-9);
    if (exact >= 0) return nodes.map((_, k) => (k === exact ? 1 : 0));
    const raw = nodes.map((node, k) => weights[k] / (position - node));
    const sum = raw.reduce((a, b) => a + b, 0);
    return raw.map((value) => value / sum);
  }

  covers(balance, errors) {
    return balance >= this.leastBalance && balance <= 0.5 && errors >= 0 && errors <= this.mostShare * balance;
  }

  // ln α_typical/2ρ or, with ρ, ln α_chance/α_balanced, as a function of the errors.
  log(balance, rho = null) {
    const byBalance = Surface.shares(this.axes.balance, Surface.imbalance(balance));
    const byRho = rho === null ? null : Surface.shares(this.axes.rho, Surface.odds(Math.min(rho, this.last)));
    const { chance, typical, shares } = this.table;
    const value = (i, j) => (byRho ? byRho.reduce((part, r, k) => part + r * chance[i][j][k], 0) : typical[i][j]);
    const atShares = shares.map((_, j) => byBalance.reduce((sum, b, i) => (b ? sum + b * value(i, j) : sum), 0));
    return (errors) => Surface.shares(this.axes.share, Surface.mistakes(errors / balance)).reduce((sum, s, j) => sum + s * atShares[j], 0);
  }

  // α of the chance line as a function of the errors; null where it was not solved.
  chance(rho, balance) {
    const base = this.balanced(rho);
    if (base === null || rho < this.first || balance < this.leastBalance) return () => null;
    const log = this.log(balance, rho);
    return (errors) => (this.covers(balance, errors) ? base * Math.exp(log(errors)) : null);
  }

  // α below which a typical choice does, likewise.
  typical(rho, balance) {
    const log = this.log(balance);
    return (errors) => (this.covers(balance, errors) ? 2 * rho * Math.exp(log(errors)) : null);
  }
}
