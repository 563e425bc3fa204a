"""`separation_test`: is this classification structure, or would noise allow it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chanceline.errors import InputError
from chanceline.perceptron.data import check_arrays
from chanceline.significance.answer import answer
from chanceline.significance.config import TestSettings
from chanceline.significance.question import ask
from chanceline.significance.result import SeparationTest
from chanceline.tables.dataset import Dataset


def separation_test(
    X: ArrayLike | Dataset,
    y: ArrayLike | None = None,
    features: Sequence[int | str] | None = None,
    *,
    blocks: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    settings: TestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **changes: Any,
) -> SeparationTest:
    """Test whether a few features that classify the samples linearly are more than chance allows.

    Parameters
    ----------
    X
        Array or DataFrame, samples × features, finite numbers; or a `Dataset` that `load_data` or `load_example` gave, which has
        labels, names, blocks and groups of its own.
    y
        Two classes, one value for each sample.
    features
        Names or indices of the features in question; by default the smallest set is searched.
    blocks, groups
        One value for each sample; labels are exchanged within blocks only, and move with whole groups.
    feature_names
        Names of the columns.
    settings
        How to test; `TestSettings` documents every field.
    progress
        Called with (shuffles done, shuffles at most).
    **changes
        Fields of the settings by name: ``level=0.01, permutations=1999, n_jobs=2``.

    Returns
    -------
    SeparationTest
        After Ctrl-C during the shuffles: what the shuffles done so far say, with `permutation.interrupted` set.
    """
    settings = (settings or TestSettings()).changed(**changes)
    if isinstance(X, Dataset):
        if any(given is not None for given in (y, blocks, groups, feature_names)):
            raise InputError("a Dataset has labels, names, blocks and groups of its own; pass nothing but the Dataset.")
        return judge(X, features, settings=settings, progress=progress)
    if y is None:
        raise InputError("y is needed: two classes, one value for each row of X.")
    data, labels, names = check_arrays(X, y, feature_names)
    values: list[Any] = np.unique(np.asarray(y)).tolist()
    dataset = Dataset(
        data,
        labels,
        names,
        (values[0], values[1]),
        None if blocks is None else np.asarray(blocks),
        None if groups is None else np.asarray(groups),
    )
    return judge(dataset, features, settings=settings, progress=progress)


def judge(
    dataset: Dataset,
    features: Sequence[int | str] | None = None,
    *,
    settings: TestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    **changes: Any,
) -> SeparationTest:
    """The same test of a table that `load_data` read, with its classes, blocks, groups and findings."""
    settings = (settings or TestSettings()).changed(**changes)
    return answer(ask(dataset, features, settings), progress)
