"""Which of two classes is positive: the one that rules predict, and that signs of weights, AUC and sensitivity speak of.

1. The one that was asked for: `positive`, or the first of `classes`; of a number that is split, the values at or above the limit.
2. Else, if exactly one of the two is called like a control (`is_called_control`), the other one.
3. Else the rarer one.
4. Of two that are equally frequent, the last in order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Whole names of a control.
CONTROL_NAMES = frozenset({"-", "-1", "0", "absent", "ctl", "false", "hc", "n", "neg", "no", "none", "wt"})
# Words, each of which makes a name that of a control.
CONTROL_WORDS = frozenset(
    {
        "benign", "control", "controls", "ctrl", "healthy", "negative", "normal", "placebo", "reference", "unaffected",
        "wildtype",
    }
)  # fmt: skip
# "not recurrent", "no relapse", "non-case", "nonresponder".
NEGATION = re.compile(r"(?:(?:not|no|without)[\W_]+|non[\W_]*(?=\w{3}))(?=\w)")


def is_called_control(name: str) -> bool:
    """Whether a class has the name of a control, in any case: `Healthy`, `normal tissue`, `0`, `not recurrent`.

    "Not" in front turns the meaning: `non-control` is no control.
    """
    text = " ".join(name.casefold().split())
    if text in CONTROL_NAMES:
        return True
    negation = NEGATION.match(text)
    rest = text if negation is None else text[negation.end() :]
    words = [word for word in re.split(r"[\W_]+", rest) if word]
    has_control_word = not CONTROL_WORDS.isdisjoint([*words, "".join(words)])
    is_control = rest in CONTROL_NAMES or has_control_word
    return is_control if negation is None else not is_control


def choose_positive(names: Sequence[str], sizes: Sequence[int]) -> int:
    """The place (0 or 1) of the positive class, where nobody has chosen it.

    Parameters
    ----------
    names : of the two classes, in order.
    sizes : how many samples each has.
    """
    first_is_control = is_called_control(names[0])
    second_is_control = is_called_control(names[1])
    if first_is_control != second_is_control:
        return 1 if first_is_control else 0
    return 0 if sizes[0] < sizes[1] else 1
