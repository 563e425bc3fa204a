"""Three data sets whose answers are known: real structure, pure noise, and noise with a planted
rule.
"""

from __future__ import annotations

import numpy as np

from chanceline.errors import InputError
from chanceline.tables.dataset import Dataset

EXAMPLES = ("breast-cancer", "noise", "planted")
EXAMPLE_SAMPLES = 40
EXAMPLE_FEATURES = 500
PLANTED_FEATURES = 2  # whose sum gives the labels of `planted`


def load_example(name: str, seed: int = 0) -> Dataset:
    """`breast-cancer` (569 × 30, scikit-learn), `noise` (40 × 500) or `planted` (the same, labels
    from 2 features).
    """
    if name not in EXAMPLES:
        raise InputError(f"there is no example {name!r}; choose one of {', '.join(EXAMPLES)}.")
    if name == "breast-cancer":
        return _breast_cancer()
    return _random_example(name, seed, planted=name == "planted")


def _breast_cancer() -> Dataset:
    """The breast cancer data of scikit-learn (569 × 30): malignant tumours against benign ones."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    is_malignant = data.target == 0
    return Dataset(
        X=data.data,
        y=np.where(is_malignant, 1.0, -1.0),
        feature_names=tuple(str(name) for name in data.feature_names),
        classes=("benign", "malignant"),
        source="breast-cancer (scikit-learn)",
    )


def _random_example(name: str, seed: int, *, planted: bool) -> Dataset:
    """Normal numbers with random labels, half of them positive, or with labels by a planted rule.

    With the rule, a sample is positive if the sum of its first features is above the median.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EXAMPLE_SAMPLES, EXAMPLE_FEATURES))
    y = rng.permutation(np.repeat([-1.0, 1.0], EXAMPLE_SAMPLES // 2))
    if planted:
        score = X[:, :PLANTED_FEATURES].sum(axis=1)  # (samples,)
        y = np.where(score > np.median(score), 1.0, -1.0)
    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(f"feature {j + 1}" for j in range(EXAMPLE_FEATURES)),
        classes=("control", "case"),
        source=f"{name} ({EXAMPLE_SAMPLES} × {EXAMPLE_FEATURES})",
    )
