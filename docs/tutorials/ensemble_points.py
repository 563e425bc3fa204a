"""Points −1, 0 and 1 instead of weights, from their free entropy."""

import numpy as np

from chanceline.theory.free_entropy import Domain, FreeEntropy, OrderStart, log_tail

z, weights = np.polynomial.hermite_e.hermegauss(150)  # ∫Dz
weights /= weights.sum()


def entropy(alpha, rho, order):
    """Σ at the overlap q = ρ·q_share of two scores, its conjugate q̂, and the price K."""
    q_share, q_hat, K = order
    patterns = weights @ log_tail(np.sqrt(q_share / (1 - q_share)) * z)
    variables = weights @ np.log(1 + 2 * np.exp(-K) * np.cosh(np.sqrt(q_hat) * z))
    return alpha * patterns + variables + K * rho - 0.5 * q_hat * rho * (1 - q_share)


points = FreeEntropy(
    name="points",
    entropy=entropy,
    parameters={"q_share": Domain.SHARE, "q_hat": Domain.POSITIVE, "K": Domain.REAL},
    start=OrderStart(alpha=0.5, rho=0.1, order=(0.43, 9.4, 5.8)),
)

curve = points.curve([0.1, 0.3, 0.63, 0.9])
print(curve.to_frame()[["rho", "alpha"]].round(4).to_string(index=False))
print(points.saddle(alpha=0.3, rho=0.1))
