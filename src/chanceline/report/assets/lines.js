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
