"""Tables of two cohorts."""

from __future__ import annotations

import numpy as np
import pandas as pd

GENES = [f"g{j}" for j in range(12)]
ABOUT = ["sex", "age", "site"]


def cohort(seed=0, rows=80):
    """Two genes, age (in years) and sex go with the outcome; sites shift all genes."""
    rng = np.random.default_rng(seed)
    genes = rng.normal(size=(rows, len(GENES)))
    sex = rng.choice(["f", "m"], size=rows)
    age = rng.normal(60, 12, size=rows).round()
    site = rng.choice(["north", "south"], size=rows)
    score = 2 * genes[:, 0] - 2 * genes[:, 1] + (age - 60) / 12 + 1.5 * (sex == "m") - 0.7
    score += rng.logistic(size=rows)
    genes += 2.0 * (site == "north")[:, None]
    return pd.DataFrame(genes + 5, columns=GENES).assign(
        sex=sex, age=age, site=site, outcome=np.where(score > 0, "ill", "well")
    )


def pairs(seed=0, number=40):
    """A case and its control, who share a level in every gene."""
    rng = np.random.default_rng(seed)
    levels = np.repeat(rng.normal(size=(number, len(GENES))), 2, axis=0)
    genes = rng.normal(size=(2 * number, len(GENES))) + 3 * levels
    outcome = np.tile(["ill", "well"], number)
    genes[:, :2] += 1.2 * (outcome == "ill")[:, None]
    names = [f"P{seed}-{pair}" for pair in range(number)]
    frame = pd.DataFrame(genes, columns=GENES)
    return frame.assign(outcome=outcome, patient=np.repeat(names, 2))


def spread_signal(seed=6, rows=60, columns=80):
    """A little of the outcome in every column."""
    rng = np.random.default_rng(seed)
    is_ill = np.arange(rows) % 2 == 0
    genes = rng.normal(size=(rows, columns)) + 0.7 * is_ill[:, None]
    frame = pd.DataFrame(genes, columns=[f"g{j}" for j in range(columns)])
    return frame.assign(outcome=np.where(is_ill, "ill", "well"))
