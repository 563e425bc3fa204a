"""Adjusted p-values say when a stimulus can be decoded, for all time points at once."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import chanceline
from chanceline.figures.style import COLOURS, figure_style, save

# Simulated: 80 trials of EEG, 16 channels, 50 time points, noise that is correlated in time. Faces
# and houses differ in four channels from 160 to 260 ms. With 20 seeds p is below 0.05 at some other
# time in 14, adjusted p in none.
rng = np.random.default_rng(0)
times = np.arange(-100, 400, 10)
is_face = np.tile([False, True], 40)
signals = rng.normal(size=(80, 50, 16))
for step in range(1, 50):
    signals[:, step] = 0.8 * signals[:, step - 1] + 0.6 * signals[:, step]
is_response = (times >= 160) & (times <= 260)
signals[np.ix_(is_face, is_response, np.arange(4))] += 0.7

# Every time point is a set of sixteen features: its channels.
sets = {f"{time} ms": [f"channel {c} at {time} ms" for c in range(1, 17)] for time in times}
columns = [name for channels in sets.values() for name in channels]
table = pd.DataFrame(signals.reshape(80, 800), columns=columns)
table["stimulus"] = np.where(is_face, "face", "house")
result = chanceline.set_tests(table, sets, label="stimulus", permutations=999)

pvalues = np.array([result[name].pvalue for name in sets])
adjusted = np.array([result[name].adjusted_pvalue for name in sets])
print(f"p ≤ 0.05:          {', '.join(map(str, times[pvalues <= 0.05]))} ms")
print(f"adjusted p ≤ 0.05: {', '.join(map(str, times[adjusted <= 0.05]))} ms")

with figure_style():
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.axvspan(160, 260, color=COLOURS["settled"], label="the classes differ")
    ax.semilogy(times, pvalues, "o-", color=COLOURS["breaks"], markersize=3, label="p")
    ax.semilogy(times, adjusted, "o-", color=COLOURS["rs"], markersize=4, label="adjusted p")
    ax.axhline(0.05, color=COLOURS["ink"], linestyle="--", linewidth=1, label="level 0.05")
    ax.set(xlabel="time after the stimulus (ms)", ylabel="p-value")
    ax.legend(loc="lower left")
    save(figure, "eeg-decoding.svg")
