"""Few separating variables: a quick search, a proof of the minimum, and the front when errors are allowed."""

import numpy as np

import chanceline
from chanceline.select import certify, random_problem

# 30 random patterns of 40 variables.
X, y = random_problem(40, alpha=0.75, seed=1)

greedy = chanceline.search(X, y, method="omp")
best = chanceline.search(X, y, method="auto", budget=2000)
print(f"matching pursuit: {greedy.n_selected} variables, auto: {best.n_selected}")
assert best.n_selected <= greedy.n_selected

# An independent certificate: these variables separate.
assert certify(X, y, best.support).separable

# A proof that fewer will not do.
proof = chanceline.search(X, y, method="exact")
print(proof)
assert proof.minimum_proven
assert proof.n_selected <= best.n_selected

# With errors allowed: the fewest errors found for every number of variables.
curve = chanceline.front(X, y, max_features=8, budget=2000, intercept=False)
print(curve)
assert np.all(np.diff(curve.errors) <= 0)
