"""What the picture of an outcome shows: numbers only, which `chanceline.figures` draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chanceline._arrays import Bools, Floats


@dataclass(frozen=True, eq=False)
class ObservedAndPredicted:
    """Samples by their outcome and by what rules without them predict.

    Attributes
    ----------
    observed, predicted : (samples,)
    observed_words, predicted_words : what the axes say.
    """

    observed: Floats
    predicted: Floats
    observed_words: str
    predicted_words: str

    @property
    def caption(self) -> str:
        """What is to be seen."""
        return "Every sample by its outcome and by the prediction of rules that it had no part in."


@dataclass(frozen=True, eq=False)
class ConfusionPicture:
    """Samples of each class, and what rules without them call these.

    Attributes
    ----------
    class_names : in order.
    counts : (classes, classes) of each class (row) called each class (column).
    """

    class_names: tuple[str, ...]
    counts: Floats

    @property
    def caption(self) -> str:
        """What is to be seen."""
        return (
            "Samples of each class (rows) by the class that rules without them call them (columns)."
        )


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """The share without the event after every time, by Kaplan and Meier.

    Attributes
    ----------
    words : whose curve it is.
    times, shares : (steps,) from time 0 on.
    """

    words: str
    times: Floats
    shares: Floats


@dataclass(frozen=True, eq=False)
class SurvivalPicture:
    """Survival curves of the halves of lower and higher predicted risk."""

    curves: tuple[SurvivalCurve, ...]
    time_words: str

    @property
    def caption(self) -> str:
        """What is to be seen."""
        return (
            "Share without the event (Kaplan–Meier) of the samples with lower and with higher "
            "risk, predicted by rules that they had no part in."
        )


Picture = ObservedAndPredicted | ConfusionPicture | SurvivalPicture


def kaplan_meier(times: Floats, events: Bools, words: str) -> SurvivalCurve:
    """The Kaplan–Meier curve: the share without the event after time t, Π_{s ≤ t} (1 − d_s/n_s).

    At time s there are d_s events, among n_s samples that are still observed (at risk).

    Parameters
    ----------
    times : (samples,) the time of the event, or the time at which observation ended.
    events : (samples,) whether the event was seen at that time.
    words : the name of the curve, such as `high risk`.
    """
    distinct_times, position = np.unique(times, return_inverse=True)
    n_at_time = np.bincount(position)
    n_events = np.bincount(position, weights=events)  # d_s
    # n_s: all samples less those whose time is smaller.
    n_at_risk = len(times) - np.cumsum(n_at_time) + n_at_time
    shares = np.cumprod(1 - n_events / n_at_risk)
    # The curve starts at time 0 with all samples.
    return SurvivalCurve(
        words=words,
        times=np.concatenate([[0.0], distinct_times]),
        shares=np.concatenate([[1.0], shares]),
    )
