"""Which of two classes is positive: the one that rules predict, and that signs of weights, AUC and
sensitivity speak of.

1. The one that was asked for: `positive`, or the first of `classes`; of a number that is split, the
   values at or above the limit.
2. Else, if exactly one of the two is called like a control (`is_called_control`), the other one.
3. Else the rarer one.
4. Of two that are equally frequent, the last in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.tables.spelling import folded_name, plain_text
from chanceline.tables.wording import quoted

# Whole names of a control.
CONTROL_NAMES = frozenset(
    {"-", "-1", "0", "absent", "ctl", "false", "hc", "n", "neg", "no", "none", "wt"}
)
# Words, each of which makes a name that of a control.
CONTROL_WORDS = frozenset(
    {
        "benign", "control", "controls", "ctrl", "healthy", "negative", "normal", "placebo",
        "reference", "unaffected", "wildtype",
    }
)  # fmt: skip
# "not recurrent", "no relapse", "non-case", "nonresponder".
NEGATION = re.compile(r"(?:(?:not|no|without)[\W_]+|non[\W_]*(?=\w{3}))(?=\w)")
NOT_A_LETTER = re.compile(r"[\W_]+")


def is_called_control(name: str) -> bool:
    """Whether the name of a class means controls, in upper or lower case.

    `Healthy`, `normal tissue`, `0` and `not recurrent` are names of controls. A negation in front
    reverses the meaning: `non-control` is no control.
    """
    text = " ".join(name.casefold().split())
    if text in CONTROL_NAMES:
        return True
    negation = NEGATION.match(text)
    if negation is None:
        return _names_control(text)
    negated_text = text[negation.end() :]
    return not _names_control(negated_text)


def _names_control(text: str) -> bool:
    """Whether a text without a negation is a name of controls, or contains a word for them.

    A word for controls may be written apart, as `wild type`.
    """
    words = [word for word in NOT_A_LETTER.split(text) if word]
    written_together = "".join(words)
    has_control_word = not CONTROL_WORDS.isdisjoint([*words, written_together])
    return text in CONTROL_NAMES or has_control_word


def choose_positive(names: Sequence[str], sizes: Sequence[int]) -> int:
    """Choose the positive one of two classes by their names and sizes; returns its index, 0 or 1.

    If exactly one class is named like controls (`healthy`), the other class is positive. Else the
    rarer class is positive, and of equally frequent classes the second.

    Parameters
    ----------
    names : the names of the two classes, in order.
    sizes : the number of samples of each class.
    """
    first_is_control = is_called_control(names[0])
    second_is_control = is_called_control(names[1])
    if first_is_control and not second_is_control:
        return 1
    if second_is_control and not first_is_control:
        return 0
    if sizes[0] < sizes[1]:
        return 0
    return 1


def classes_of_array(
    y: ArrayLike, labels: Floats, positive: Any = None
) -> tuple[Floats, tuple[Any, Any]]:
    """Decide which class of an array is positive.

    Parameters
    ----------
    y : the class of each sample, of shape (samples,), two different values.
    labels : (samples,) 1 for the larger of the two values, −1 for the smaller one.
    positive : the class to call positive; None to choose it by name and size.

    Returns
    -------
    Labels, 1 for the positive class and −1 for the negative one, of shape (samples,); and the pair
    of values (negative class, positive class).
    """
    smaller, larger = np.unique(np.asarray(y)).tolist()
    if _larger_value_is_positive(smaller, larger, labels, positive):
        return labels, (smaller, larger)
    return -labels, (larger, smaller)


def _larger_value_is_positive(smaller: Any, larger: Any, labels: Floats, positive: Any) -> bool:
    """Whether the larger of the two values of y, the classes of the samples, is the positive class.

    Parameters
    ----------
    smaller, larger : the two values.
    labels : (samples,) 1 for the larger value, −1 for the smaller one.
    positive : the class that the user calls positive; None to choose it by name and size. One that
        is neither value is an error.
    """
    if positive is None:
        names = [plain_text(smaller), plain_text(larger)]
        n_larger = int(np.sum(labels > 0))
        n_smaller = len(labels) - n_larger
        chosen = choose_positive(names, sizes=[n_smaller, n_larger])
        return chosen == 1  # the second of the two names

    # The user names the positive class; upper and lower case count the same.
    wanted = folded_name(positive)
    if wanted == folded_name(smaller):
        return False
    if wanted == folded_name(larger):
        return True
    classes = quoted([smaller, larger])
    raise InputError(f"the positive class {positive!r} is not in y; it has {classes}.")
