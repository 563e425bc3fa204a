"""Knockoffs at 10 % name at least ten features or none; a test can show three."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Lasso

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

# Simulated: features 0, 1 and 2 of 200 carry the label of 80 samples. With 20 seeds knockoffs name
# none in 19 and ten in one; the test shows structure in all, and once names a wrong feature first.
rng = np.random.default_rng(0)
features = rng.normal(size=(80, 200))
signal = features[:, 0] + features[:, 1] - features[:, 2]
labels = signal + 0.5 * rng.normal(size=80) > 0

# Of independent features independent copies are exact knockoffs. Importance is the weight of a
# feature in a lasso, less that of its copy.
knockoffs = rng.normal(size=features.shape)
lasso = Lasso(alpha=0.03)
weights = np.abs(lasso.fit(np.hstack([features, knockoffs]), labels).coef_)
importance = weights[:200] - weights[200:]

# Knockoff+ names the features above a threshold with (1 + copies above)/(features above) ≤ 10 %.
thresholds = np.abs(importance[importance != 0])
n_features = np.array([np.sum(importance >= threshold) for threshold in thresholds])
n_copies = np.array([np.sum(importance <= -threshold) for threshold in thresholds])
false_share = (1 + n_copies) / n_features
print(f"most important for the lasso: {', '.join(map(str, np.argsort(-importance)[:3]))}")
print(f"features that knockoffs name: {np.max(n_features * (false_share <= 0.1))}")

result = chanceline.separation_test(features, labels, expected_error=False)
print(f"{result.verdict}, p ≤ {result.pvalue:.2g}: {', '.join(result.evidence.names_in_line)}")

with figure_style():
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    ax.plot(n_features, false_share, "o", color=COLOURS["rs"], label="thresholds of this table")
    counts = np.arange(1, n_features.max() + 1)
    ax.plot(counts, 1 / counts, color=COLOURS["breaks"], label="no copy above the threshold")
    ax.axhline(0.1, color=COLOURS["ink"], linestyle="--", linewidth=1, label="10 %")
    ax.set(xlabel="features above the threshold", ylabel="(1 + copies)/features", ylim=(0, None))
    ax.legend()
    save(figure, "knockoffs-found-nothing.svg")
