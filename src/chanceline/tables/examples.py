"""Three data sets whose answers are known: real structure, pure noise, and noise with a planted rule."""

from __future__ import annotations

import numpy as np

from chanceline.errors import InputError
from chanceline.tables.dataset import Dataset

EXAMPLES = ("breast-cancer", "noise", "planted")
SAMPLES, FEATURES, PLANTED = 40, 500, 2


def load_example(name: str, seed: int = 0) -> Dataset:
    """`breast-cancer` (569 × 30, scikit-learn), `noise` (40 × 500) or `planted` (the same, labels from 2 features)."""
    if name not in EXAMPLES:
        raise InputError(f"there is no example {name!r}; choose one of {', '.join(EXAMPLES)}.")
    if name == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        data = load_breast_cancer()
        names = tuple(map(str, data.feature_names))
        y = np.where(data.target == 0, 1.0, -1.0)
        return Dataset(data.data, y, names, ("benign", "malignant"), source=f"{name} (scikit-learn)")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(SAMPLES, FEATURES))
    y = rng.permutation(np.repeat([-1.0, 1.0], SAMPLES // 2))
    if name == "planted":
        score = X[:, :PLANTED].sum(axis=1)
        y = np.where(score > np.median(score), 1.0, -1.0)
    names = tuple(f"feature {j + 1}" for j in range(FEATURES))
    return Dataset(X, y, names, ("control", "case"), source=f"{name} ({SAMPLES} × {FEATURES})")
