"""Two of 300 markers separate 24 patients perfectly. Should anybody believe it?"""

import numpy as np

import chanceline
from chanceline.report import write_test_report

# 24 patients, 300 markers, and a label that was drawn by lot.
rng = np.random.default_rng(5)
X = rng.normal(size=(24, 300))
y = rng.permutation(np.repeat([0, 1], 12))

# A search finds few markers that separate the patients without error ...
found = chanceline.search(X, y, budget=300, intercept=True)
print(found)
assert found.separates

# ... and the bound says nothing against chance: any labels would have allowed it.
bound = chanceline.chance_bound(24, 300, found.n_selected, positives=12)
print(bound)
assert bound.log10_p == 0

# The test does the same with shuffled labels and asks how often they do as well.
result = chanceline.separation_test(X, y, permutations=39, budget=300)
print(result)
assert result.verdict != "structure"

# How many patients would make a set of this size convincing, whatever the labels say?
plan = chanceline.samples_needed(300, found.n_selected)
print(f"{plan.n_samples} patients make {found.n_selected} of 300 markers convincing")
assert plan.n_samples > 24

write_test_report(result, "report.html")
