"""Ten little pictures, stored among random patterns and recalled from copies with every fifth pixel flipped."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from chanceline.memory import AssociativeMemory, random_patterns

size, noise, n_random = 16, 0.2, 20
y, x = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]  # y upwards
radius = np.hypot(x, y)
drawings = {
    "heart": x**2 * 1.3 + (1.25 * (y + 0.1) - 0.8 * np.sqrt(np.abs(x))) ** 2 < 0.75,
    "ring": np.abs(radius - 0.7) < 0.2,
    "house": ((np.abs(x) < 0.65) & (y < 0.15) & (y > -0.9)) | ((np.abs(x) + y < 0.95) & (y >= 0.15)),
    "cross": (np.abs(x) < 0.2) | (np.abs(y) < 0.2),
    "smile": (radius < 0.95)
    & ~((np.hypot(np.abs(x) - 0.35, y - 0.3) < 0.17) | ((np.abs(radius - 0.55) < 0.12) & (y < -0.15))),
    "cloud": (np.hypot(x / 0.95, (y + 0.3) / 0.4) < 1) | (np.hypot(x + 0.3, y - 0.05) < 0.45) | (np.hypot(x - 0.35, y) < 0.35),
    "arrow": ((np.abs(y) < 0.22) & (x < 0.2)) | ((np.abs(y) < 0.9 - x) & (x >= 0.1)),
    "wave": np.abs(y - 0.55 * np.sin(np.pi * x)) < 0.3,
    "moon": (radius < 0.95) & (np.hypot(x - 0.45, y - 0.1) > 0.7),
    "stripes": np.sin(5 * (x + y)) > 0,
}
pictures = np.array([np.where(drawing, 1, -1).ravel() for drawing in drawings.values()])  # +1 for ink, −1 for paper

# One neuron for each pixel; every neuron chooses a fifth of the others as its inputs.
memory = AssociativeMemory(size**2, fan_in=0.2, seed=1, budget=200)
report = memory.store(np.vstack([pictures, random_patterns(size**2, n_patterns=n_random, seed=1)]))
print(report)

rng = np.random.default_rng(1)
probes = pictures.copy()
for probe in probes:
    probe[rng.permutation(size**2)[: round(noise * size**2)]] *= -1
recalled = memory.recall(probes)
exact = (recalled == pictures).all(axis=1)
print(f"{exact.sum()} of {len(pictures)} pictures recalled exactly from probes with {noise:.0%} flipped pixels")

fig, axes = plt.subplots(3, 6, figsize=(8, 4.6), layout="constrained")
for row, (name, states) in zip(axes, {"stored": pictures, "probe": probes, "recalled": recalled}.items(), strict=True):
    row[0].set_ylabel(name)
    for ax, state, title in zip(row, states, drawings, strict=False):
        ax.imshow(state.reshape(size, size), cmap="Greys", vmin=-1.4, vmax=1.4)
        ax.set(xticks=[], yticks=[], title=title if name == "stored" else "")
fig.savefig("memory-pictures.png", dpi=100)
