"""The sizes of a problem (samples, features, selected, positives, errors allowed), checked."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from chanceline.errors import InputError, whole_number

# Larger tables are taken for a typing mistake.
MAX_COUNT = 10**7


class Null(StrEnum):
    """What the labels are under the null hypothesis."""

    FIXED = "fixed"  # permuted, with the class sizes kept
    COIN = "coin"  # independent fair coins


class Shape(NamedTuple):
    """P, N, M, n₊ and e as whole numbers within their limits."""

    n_samples: int
    n_features: int
    n_selected: int
    positives: int  # 0 where the null does not fix the class sizes
    errors: int


def check_shape(  # noqa: PLR0913
    n_samples: int,
    n_features: int,
    n_selected: int,
    positives: int | None,
    errors: int,
    null: str = "fixed",
) -> Shape:
    """Check the counts of a problem, and return them as whole numbers.

    An `InputError` names the first count that is not within its limits. `positives`, the size of
    one class, is required if the null is "fixed" (labels shuffled, so that class sizes are kept).
    If the null is "coin" the class sizes are not fixed: `positives` is not used, and returned as 0.
    """
    samples = whole_number(n_samples, "the number of samples", at_least=2, at_most=MAX_COUNT)
    features = whole_number(n_features, "the number of features", at_least=1, at_most=MAX_COUNT)
    selected = whole_number(
        n_selected, "the number of selected features", at_least=1, at_most=features
    )
    errors_allowed = whole_number(errors, "the number of errors allowed", at_most=samples - 1)
    if null not in tuple(Null):
        raise InputError(
            f"the null must be 'fixed' (class sizes kept) or 'coin' (fair coin), not {null!r}."
        )
    if null == Null.COIN:
        return Shape(samples, features, selected, positives=0, errors=errors_allowed)
    if positives is None:
        raise InputError(
            "fixed class sizes need the size of one class (positives=COUNT); "
            "or let labels be fair coins (null='coin')."
        )
    class_size = whole_number(
        positives,
        f"the number of positives among {samples} samples of two classes",
        at_least=1,
        at_most=samples - 1,
    )
    return Shape(samples, features, selected, class_size, errors_allowed)
