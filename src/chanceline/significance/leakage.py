"""The usual workflow on shuffled labels of the user's own data, beside the chance test.

Features are selected on all samples, then cross-validated and "tested" on the selected features only. The
labels are shuffled beforehand, so that every small p-value is an artefact of selecting first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from chanceline.perceptron.data import check_arrays
from chanceline.significance.null import make_scheme
from chanceline.significance.procedure import Procedure
from chanceline.significance.separation import separation_test
from chanceline.significance.settings import SettingsChanges, TestSettings

# Permutations of scikit-learn's own test.
MOST = 199


@dataclass(frozen=True)
class LeakageRow:
    """One shuffling: what the usual workflow and the chance test say about labels that mean nothing."""

    n_selected: int
    accuracy: float
    usual_pvalue: float
    chance_pvalue: float
    chance_verdict: str


@dataclass(frozen=True)
class LeakageDemonstration:
    """All shufflings of one data set."""

    rows: tuple[LeakageRow, ...]
    permutations: int

    @property
    def usual_floor(self) -> float:
        return 1 / (1 + self.permutations)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "usual_floor": self.usual_floor}

    def __str__(self) -> str:
        lines = [
            "Labels shuffled, so that nothing is there to find:",
            "  features   select first, then cross-validate   chance test",
        ]
        lines += [
            f"  {row.n_selected:>8}   accuracy {row.accuracy:4.0%}, p = {row.usual_pvalue:<13.2g}   "
            f"p = {row.chance_pvalue:.2g}, {row.chance_verdict}"
            for row in self.rows
        ]
        fooled = sum(row.usual_pvalue <= 0.05 for row in self.rows)
        lines.append(
            f"Selecting on all samples first makes pure chance look significant {fooled} times out of "
            f"{len(self.rows)} "
            f"(its smallest possible p is {self.usual_floor:.2g})."
        )
        return "\n".join(lines)


def demonstrate_leakage(
    X: ArrayLike,
    y: ArrayLike,
    *,
    repeats: int = 5,
    folds: int = 5,
    settings: TestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **changes: Unpack[SettingsChanges],
) -> LeakageDemonstration:
    """Shuffle the labels `repeats` times; each time select, cross-validate with scikit-learn, and run the chance test.

    Settings are those of `separation_test`; scikit-learn gets at most 199 of the permutations.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, permutation_test_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    settings = replace((settings or TestSettings()).changed(**changes), expected_error=False)
    permutations = min(settings.permutations or MOST, MOST)
    data, labels, _ = check_arrays(X, y)
    scheme = make_scheme(labels)
    smaller = int(min(np.sum(labels > 0), np.sum(labels < 0)))
    procedure = Procedure(settings.method, settings.budget, settings.seed, settings.intercept)
    rows = []
    for repeat in range(repeats):
        shuffled = scheme.draw(np.random.default_rng([settings.seed, 2**31, repeat]))
        rule = procedure.find(data, shuffled)
        accuracy, _, usual = permutation_test_score(
            make_pipeline(StandardScaler(), LogisticRegression()),
            data[:, rule.support],
            shuffled,
            cv=StratifiedKFold(max(2, min(folds, smaller)), shuffle=True, random_state=settings.seed),
            n_permutations=permutations,
            random_state=settings.seed,
        )
        ours = separation_test(data, shuffled, settings=settings)
        rows.append(LeakageRow(rule.n_selected, float(accuracy), float(usual), ours.pvalue, ours.verdict))
        if progress is not None:
            progress(repeat + 1, repeats)
    return LeakageDemonstration(tuple(rows), permutations)
