"""Feature selection outside cross-validation finds nearly 90 % accuracy in pure noise."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

rng = np.random.default_rng(0)
labels = np.repeat([0, 1], 25)
selection_and_classifier = make_pipeline(SelectKBest(k=10), LogisticRegression())

# Simulated: twelve tables of 50 samples and 2000 features that have nothing to do with the labels.
# With 20 seeds the two mean accuracies are 0.87 to 0.91 and 0.45 to 0.53, and p is below 0.05 in 9
# of 240 tables.
outside, inside, pvalues = [], [], []
for _ in range(12):
    noise = rng.normal(size=(50, 2000))
    # Wrong: the ten best features are chosen on all samples, those of the test folds included.
    chosen = SelectKBest(k=10).fit_transform(noise, labels)
    outside.append(cross_val_score(LogisticRegression(), chosen, labels).mean())
    # Right: each fold chooses its own ten without the samples it is tested on.
    inside.append(cross_val_score(selection_and_classifier, noise, labels).mean())
    result = chanceline.separation_test(noise, labels, permutations=199, expected_error=False)
    pvalues.append(result.pvalue)

print(f"accuracy, selected before cross-validation: {np.mean(outside):.2f}")
print(f"accuracy, selected inside each fold:        {np.mean(inside):.2f}")
print(f"p-values below 0.05:                        {np.sum(np.less(pvalues, 0.05))} of 12")

with figure_style():
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
    tables = np.arange(1, 13)
    left.plot(tables, outside, "o", color=COLOURS["chance"], label="selected before")
    left.plot(tables, inside, "o", color=COLOURS["rs"], label="selected inside")
    left.axhline(0.5, color=COLOURS["ink"], linestyle="--", linewidth=1)
    left.set(
        ylim=(0, 1.02),
        xlabel="table of noise",
        xticks=tables[1::2],
        ylabel="cross-validated accuracy",
    )
    left.legend(loc="lower right")
    right.plot(tables, np.sort(pvalues), "o", color=COLOURS["structure"])
    right.axhline(0.05, color=COLOURS["ink"], linestyle="--", linewidth=1)
    right.set(
        ylim=(0, 1.02),
        xlabel="tables, by p-value",
        xticks=tables[1::2],
        ylabel="p-value of chanceline",
    )
    save(figure, "selection-inside-cross-validation.svg")
