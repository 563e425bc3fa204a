"""The 99-point α_VS curve against the paper's equations solved as they stand, in one run on one core.

The plain version does what the paper says and no more: nested Gaussian quadrature for every inner integral, damped iteration
of the six saddle equations, bisection on the sign of Σ. It is given our order parameters as start values (so it is
spared the search for the branch) and is timed at two densities; the time of its whole curve is the mean of those times 99. Its
accuracy is measured against ours and is far lower: the ratio flatters the plain version.

    python benchmarks/theory.py            writes docs/tables/theory.md
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from pathlib import Path

import numpy as np
from scipy.optimize import fsolve

import chanceline
from chanceline._io import write_text

TABLE = Path(__file__).resolve().parent.parent / "docs" / "tables" / "theory.md"
DENSITIES = (0.3, 0.5)


class PlainReplica:
    """The rescaled equations of section 5.2 with Gauss–Legendre panels for y and z."""

    def __init__(self, outer: int = 300, patterns: int = 150, supports: int = 700) -> None:
        self.z, log_dz = self._gaussian(outer, 9.0)
        self.dz = np.exp(log_dz)
        self.panel = np.polynomial.legendre.leggauss(patterns)
        # The tilted weights sit far out in y, much farther than Dy itself.
        self.x, self.log_dx = self._gaussian(supports, 100.0)

    @staticmethod
    def _gaussian(nodes: int, reach: float) -> tuple[np.ndarray, np.ndarray]:
        x, w = np.polynomial.legendre.leggauss(nodes)
        return reach * x, np.log(reach * w) - 0.5 * (reach * x) ** 2 - 0.5 * np.log(2 * np.pi)

    def patterns(self, q0: float, chi: float, rho: float) -> tuple[float, float, float]:
        # H̃ has a kink at v = 0: one panel on each side of it.
        kink = np.clip(-np.sqrt(q0 / (rho - q0)) * self.z, -40, 40)[:, None]
        nodes, weights = self.panel
        low, high = (kink + 40) / 2, (40 - kink) / 2
        y = np.hstack([kink - low + low * nodes, kink + high + high * nodes])
        log_weight = (
            np.log(np.maximum(np.hstack([low * weights, high * weights]), 1e-300))
            - 0.5 * y**2
            - 0.5 * np.log(2 * np.pi)
        )
        v = np.sqrt(rho - q0) * y + np.sqrt(q0) * self.z[:, None]
        positive = np.maximum(v, 0)
        exponent = -(positive**2) / (2 * chi) + log_weight
        top = exponent.max(axis=1)
        tilde = np.exp(exponent - top[:, None])
        a = tilde.sum(axis=1)
        first, second = (tilde * positive).sum(axis=1) / a, (tilde * positive**2).sum(axis=1) / a
        return (
            float(self.dz @ second),
            float(self.dz @ first**2),
            float(self.dz @ (np.log(a) + top)),
        )

    def supports(
        self, f1: float, f0: float, e: float, k: float
    ) -> tuple[float, float, float, float]:
        h = np.sqrt(f1 - f0) * self.x + np.sqrt(f0) * self.z[:, None]
        xi = np.exp(np.minimum(h**2 / (2 * e) - k + self.log_dx, 600))
        b = xi.sum(axis=1)
        first, second = (xi * h).sum(axis=1) / (1 + b), (xi * h**2).sum(axis=1) / (1 + b)
        return (
            float(self.dz @ (b / (1 + b))),
            float(self.dz @ second),
            float(self.dz @ first**2),
            float(self.dz @ np.log1p(b)),
        )

    def entropy(
        self, alpha: float, rho: float, start: dict[str, float], tolerance: float = 1e-7
    ) -> tuple[float, dict[str, float], int]:
        """Damped iteration from `start`. E and K are solved for within each sweep: iterated like the rest they run away."""
        o = dict(start)
        sweeps, change = 0, np.inf
        while change >= tolerance and sweeps < 2000:
            sweeps += 1
            second, first, log_a = self.patterns(o["q0"], o["chi"], rho)
            f1, f0 = alpha / o["chi"] ** 2 * second, alpha / o["chi"] ** 2 * first

            def norms(x: np.ndarray, f1: float = f1, f0: float = f0) -> list[float]:
                e = np.exp(x[0]) + f1 - f0
                chosen, square, _, _ = self.supports(f1, f0, e, x[1])
                return [chosen / rho - 1, square / rho / e**2 - 1]

            log_d, k = fsolve(norms, [np.log(o["d"]), o["K"]], xtol=1e-9)
            e = np.exp(log_d) + f1 - f0
            _, _, overlap, log_b = self.supports(f1, f0, e, k)
            new = {"E": e, "K": k, "q0": overlap / e**2, "chi": rho / e, "d": np.exp(log_d)}
            change = max(abs(new[name] / o[name] - 1) for name in ("E", "q0"))
            if change >= tolerance:
                o = {name: 0.1 * o[name] + 0.9 * new[name] for name in new}
        sigma = (
            alpha * log_a
            + log_b
            + o["K"] * rho
            + 0.5 * (o["E"] - f1) * rho
            - 0.5 * f1 * o["chi"]
            + 0.5 * f0 * o["q0"]
        )
        return sigma, o, sweeps

    def capacity(
        self, rho: float, start: dict[str, float], low: float, high: float, tolerance: float = 2e-5
    ) -> tuple[float, int]:
        sweeps = 0
        while high - low > tolerance:
            middle = (low + high) / 2
            sigma, start, count = self.entropy(middle, rho, start)
            sweeps += count
            low, high = (middle, high) if sigma > 0 else (low, middle)
        return (low + high) / 2, sweeps


def main() -> None:
    chanceline.capacity_curve([0.3, 0.31])  # imports
    began = time.process_time()
    curve = chanceline.capacity_curve(np.arange(1, 100) / 100)
    ours = time.process_time() - began
    worst = max(point.error for point in curve)
    by_rho = {round(point.rho, 2): point for point in curve}

    plain, rows, spent = PlainReplica(), [], []
    for rho in DENSITIES:
        exact = by_rho[rho].alpha
        at = chanceline.solve(exact, rho)
        start = {"q0": at.q0, "chi": at.chi, "E": at.E, "K": at.K, "d": at.E - at.F1 + at.F0}
        began = time.process_time()
        found, sweeps = plain.capacity(rho, start, exact - 0.003, exact + 0.0025)
        spent.append(time.process_time() - began)
        rows.append(
            f"| {rho} | {exact:.10f} | {found:.6f} | {abs(found - exact):.1e} | {sweeps} | {spent[-1]:.1f} |"
        )
    whole = 99 * float(np.mean(spent))
    lines = [
        r"| \(\rho\) | \(\alpha_\mathrm{VS}\) (ours) | \(\alpha_\mathrm{VS}\) (plain) | apart | plain sweeps | plain CPU s |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
        f"99-point curve on one core: ours {ours:.2f} s (largest error {worst:.0e}); plain {whole:.0f} s "
        f"(99 × the mean above); ratio {whole / ours:.0f}.",
        "",
        "Made by `python benchmarks/theory.py`.",
        "",
    ]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    write_text(TABLE, "\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
