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
    """Whether a class has the name of a control, in any case.

    `Healthy`, `normal tissue`, `0` and `not recurrent` are names of controls. "Not" in front turns
    the meaning: `non-control` is no control.
    """
    text = " ".join(name.casefold().split())
    if text in CONTROL_NAMES:
        return True
    negation = NEGATION.match(text)
    if negation is None:
        return _names_control(text)
    return not _names_control(text[negation.end() :])


def _names_control(text: str) -> bool:
    """Whether a text without negation is the name of a control, or has a word for one.

    Words written apart count too: `wild type`.
    """
    words = [word for word in NOT_A_LETTER.split(text) if word]
    written_together = "".join(words)
    has_control_word = not CONTROL_WORDS.isdisjoint([*words, written_together])
    return text in CONTROL_NAMES or has_control_word


def choose_positive(names: Sequence[str], sizes: Sequence[int]) -> int:
    """The index (0 or 1) of the positive class, where nobody has chosen it.

    If one of the two is called like a control, it is the other one. Else it is the rarer one, and
    the second of equally frequent ones.

    Parameters
    ----------
    names : of the two classes, in order.
    sizes : how many samples each has.
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
    """Labels ±1, and the negative and the positive class as an array of labels has them.

    Parameters
    ----------
    y : two values, one for each sample, of shape (samples,).
    labels : ±1, the larger value positive, of shape (samples,).
    positive : the class to call positive; None chooses it.
    """
    smaller, larger = np.unique(np.asarray(y)).tolist()
    if _is_larger_positive(smaller, larger, labels, positive):
        return labels, (smaller, larger)
    return -labels, (larger, smaller)


def _is_larger_positive(smaller: Any, larger: Any, labels: Floats, positive: Any) -> bool:
    """Whether the larger of two values is the positive class: it was asked for, or is chosen.

    Parameters
    ----------
    smaller, larger : the two values.
    labels : 1 for the larger one, −1 for the smaller one, of shape (samples,).
    positive : the class asked for; None chooses it by name and size.
    """
    if positive is None:
        names = [plain_text(smaller), plain_text(larger)]
        n_larger = int(np.sum(labels > 0))
        n_smaller = len(labels) - n_larger
        chosen = choose_positive(names, sizes=[n_smaller, n_larger])
        return chosen == 1  # the second of the two names
    wanted = folded_name(positive)
    if wanted == folded_name(smaller):
        return False
    if wanted == folded_name(larger):
        return True
    classes = quoted([smaller, larger])
    raise InputError(f"the positive class {positive!r} is not in y; it has {classes}.")
