"""A p-value of 0.0099 from permutation_test_score is 1/101, however strong the signal."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import permutation_test_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

rng = np.random.default_rng(1)
labels = np.repeat([0, 1], 30)
noise = rng.normal(size=(60, 300))
pipeline = make_pipeline(SelectKBest(k=5), GaussianNB())

# Simulated: in one of 300 features the class means lie 2, 2.5 or 3 standard deviations apart.
# With 20 seeds permutation_test_score gives 0.0099 for 59 of 60 tables. chanceline gives at most
# 0.003 for all and at most 3e-6 at 3 standard deviations; the values here are the most frequent. In
# 5 seeds its p-value is larger at 2.5 than at 2: the first bound that convinces ends the test, and
# that need not be the smallest.
distances = [2.0, 2.5, 3.0]
of_sklearn, of_chanceline = [], []
for distance in distances:
    table = noise.copy()
    table[labels == 1, 0] += distance
    _, _, pvalue = permutation_test_score(
        pipeline, table, labels, n_permutations=100, random_state=0
    )
    of_sklearn.append(pvalue)
    result = chanceline.separation_test(table, labels, permutations=999, expected_error=False)
    of_chanceline.append(result.pvalue)
    print(f"{distance:g} SD: permutation_test_score {pvalue:.4f}, chanceline {result.pvalue:.2g}")

with figure_style():
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    ax.semilogy(
        distances, of_sklearn, "o-", color=COLOURS["chance"], label="permutation_test_score"
    )
    ax.semilogy(distances, of_chanceline, "o-", color=COLOURS["structure"], label="chanceline")
    ax.axhline(1 / 101, color=COLOURS["ink"], linestyle="--", linewidth=1, label="1/101")
    ax.set(xlabel="distance of the class means (SD)", ylabel="p-value", xticks=distances)
    ax.legend()
    save(figure, "permutation-test-score.svg")
