"""Forty samples are enough for one gene named beforehand, and far too few for the best of 2000."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import nct, t

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

sizes = np.array([40, 80, 120, 160])
effect = 1.0  # the class means of the biomarker are one standard deviation apart

# One gene that was named beforehand: the power of a two-sided t-test with equal classes.
degrees = sizes - 2
critical = t.ppf(0.975, degrees)
power_named = nct.sf(critical, degrees, effect * np.sqrt(sizes) / 2)

# The same effect in one of 2000 genes, nobody knows which.
power_searched = [chanceline.power_of_effect(size, 2000, effect).power for size in sizes]

print("samples  gene named beforehand  one of 2000 genes")
for size, named, searched in zip(sizes, power_named, power_searched, strict=True):
    print(f"{size:7}  {named:21.2f}  {searched:17.2f}")

with figure_style():
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(sizes, power_named, "o-", color=COLOURS["breaks"], label="one gene, named beforehand")
    ax.plot(sizes, power_searched, "o-", color=COLOURS["rs"], label="one of 2000 genes, searched")
    ax.axhline(0.8, color=COLOURS["ink"], linestyle="--", linewidth=1, label="power 0.8")
    ax.set(xlabel="samples, half of them cases", ylabel="power at level 0.05", ylim=(0, 1.02))
    ax.legend(loc="lower right")
    save(figure, "sample-size.svg")
