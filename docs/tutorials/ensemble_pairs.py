"""Variables in pairs of correlation r: the paper's free entropy with another term of variables."""

import numpy as np

from chanceline.theory.free_entropy import Domain, FreeEntropy, OrderStart, log_sum, log_tail

r = 0.5
z = np.linspace(-8, 8, 161)  # equally spaced nodes of ∫Dz
weights = np.exp(-0.5 * z**2)
weights /= weights.sum()
first = z[:, None]  # the fields of a pair, over √F₀
second = r * first + np.sqrt(1 - r**2) * z


def log_patterns(q0, s2, chi):
    """∫Dz ln A(√q₀ z)."""
    mu = np.sqrt(q0) * z
    log_c = 0.5 * np.log(chi / (chi + s2)) - mu**2 / (2 * (chi + s2))
    tight = log_c + log_tail(-mu * np.sqrt(chi / (s2 * (chi + s2))))
    return weights @ log_sum(log_tail(mu / np.sqrt(s2)), tight)


def log_pairs(E, d, F0, K):
    """½∫D²z ln of the sum over the four choices of a pair."""
    price = 0.5 * np.log(E / d) - K
    one = log_sum(price + F0 * first**2 / (2 * d), price + F0 * second**2 / (2 * d))
    form = (first**2 + second**2 - 2 * r * first * second) / (1 - r**2)
    some = log_sum(one, 2 * price + F0 * form / (2 * d))
    return 0.5 * weights @ log_sum(0.0, some) @ weights


def entropy(alpha, rho, order):
    chi, q0_share, K, E, V_share, F0 = order
    q0 = rho * q0_share
    F1 = F0 + V_share * E
    sides = alpha * log_patterns(q0, rho - q0, chi) + log_pairs(E, E * (1 - V_share), F0, K)
    return sides + K * rho + 0.5 * ((E - F1) * rho - F1 * chi + F0 * q0)


pairs = FreeEntropy(
    name=f"pairs of correlation {r}",
    entropy=entropy,
    parameters={
        "chi": Domain.POSITIVE,
        "q0_share": Domain.SHARE,
        "K": Domain.REAL,
        "E": Domain.POSITIVE,
        "V_share": Domain.SHARE,
        "F0": Domain.POSITIVE,
    },
    start=OrderStart(alpha=0.72, rho=0.1, order=(4.5e-4, 0.71, 6.5, 223, 0.94, 43)),
)
print(pairs.capacity(0.1))
