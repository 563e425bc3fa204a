"""Select first, then cross-validate: what the usual workflow says about labels that mean nothing."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, permutation_test_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import chanceline

# 40 samples, 1000 features, and labels that are shuffled anew three times: there is nothing to find. Put your own table here.
rng = np.random.default_rng(2)
X = rng.normal(size=(40, 1000))
labels = np.repeat([0, 1], 20)

print("features   select first, then cross-validate   chance test")
for repeat in range(3):
    y = rng.permutation(labels)

    # Features are selected on all samples; what follows never sees the ones that were thrown away.
    found = chanceline.search(X, y, budget=300, intercept=True, seed=repeat)
    accuracy, _, usual = permutation_test_score(
        make_pipeline(StandardScaler(), LogisticRegression()),
        X[:, found.support],
        y,
        cv=StratifiedKFold(5, shuffle=True, random_state=repeat),
        n_permutations=99,
        random_state=repeat,
    )

    # The chance test repeats the selection on every shuffle.
    ours = chanceline.separation_test(X, y, permutations=199, budget=300, seed=repeat, expected_error=False)
    print(f"{found.n_selected:>8}   accuracy {accuracy:4.0%}, p = {usual:<13.2g}   p = {ours.pvalue:.2g}, {ours.verdict}")

    # p = 0.01 is the smallest that 99 permutations can give: pure chance looks as significant as it possibly could.
    assert usual == 0.01
    assert ours.verdict != "structure"
