"""The time to an event as the outcome, with times that were cut off (censored).

The scores are log-rank scores, the martingale residuals of the model without features: whether the
event was seen, less the Nelson–Aalen estimate of the cumulative hazard at the sample's time,

    score_i = event_i − Σ_{s ≤ t_i} d_s/n_s,

d_s the events at time s, n_s the samples at risk then. They are high for early events. Their sum
over a group is the log-rank statistic's observed less expected events. Permuting them is valid if
times and censoring together have nothing to do with the features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from chanceline._arrays import Bools, Floats, Ints
from chanceline.errors import InputError
from chanceline.significance.outcomes.held_out_fits import HeldOutPredictions
from chanceline.significance.outcomes.measures import Expectation, concordance
from chanceline.significance.outcomes.outcome import Outcome
from chanceline.significance.outcomes.pictures import Picture, SurvivalPicture, kaplan_meier
from chanceline.tables.wording import row_name


@dataclass(frozen=True, eq=False)
class SurvivalOutcome(Outcome):
    """The time of every sample, and whether the event was seen then.

    Attributes
    ----------
    name : what the user calls the time.
    event_name : what the user calls the event.
    times : (samples,) not negative.
    events : (samples,) whether the event was seen; else the time was cut off.
    """

    name: str
    event_name: str
    times: Floats
    events: Bools
    kind: ClassVar[str] = "survival"
    noun: ClassVar[str] = "times with their events"

    @property
    def scores(self) -> Floats:
        return log_rank_scores(self.times, self.events)[:, None]

    def take(self, rows: Bools | Ints) -> Self:
        return replace(self, times=self.times[rows], events=self.events[rows])

    @property
    def values(self) -> NDArray[Any]:
        return np.column_stack([self.times, self.events])

    def taken_for(self) -> str:
        n_samples = len(self.times)
        n_events = int(self.events.sum())
        censored = 100 * (1 - n_events / n_samples)
        return (
            f"{self.name!r} is taken for the time to {self.event_name!r} ({n_events} events, "
            f"{censored:.0f} % of the times cut off)"
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        return (
            "times and what cuts them off are exchanged together: features that go with the "
            "censoring alone can count as structure",
        )

    @property
    def predicted_name(self) -> str:
        return f"risk of {self.event_name}"

    def picture(self, held_out: HeldOutPredictions) -> Picture:
        risks = held_out.mean_prediction[:, 0]
        is_high = risks > np.median(risks)
        curves = []
        for words, rows in (("lower risk", ~is_high), ("higher risk", is_high)):
            if rows.any():
                curves.append(kaplan_meier(self.times[rows], self.events[rows], words))
        return SurvivalPicture(tuple(curves), self.name)

    def expectation(self, held_out: HeldOutPredictions) -> Expectation:
        measure = concordance(self.times, self.events, held_out)
        return Expectation(
            measures=(measure,),
            better_than_guessing=measure.interval[0] > measure.guess,
            n_folds=held_out.n_folds,
            n_repeats=held_out.n_repeats,
        )


def cumulative_hazard(times: Floats, events: Bools) -> Floats:
    """The Nelson–Aalen estimate Σ_{s ≤ t} d_s/n_s at the time of every sample: (samples,)."""
    position = np.unique(times, return_inverse=True)[1]
    n_at_time = np.bincount(position)
    n_events = np.bincount(position, weights=events)
    # All samples whose time is not smaller are at risk.
    n_at_risk = len(times) - np.cumsum(n_at_time) + n_at_time
    hazard: Floats = np.cumsum(n_events / n_at_risk)
    return hazard[position]


def log_rank_scores(times: Floats, events: Bools) -> Floats:
    """event − cumulative hazard at the sample's time, which sum to zero: (samples,)."""
    return events - cumulative_hazard(times, events)


def make_survival(
    times: Floats,
    events: Floats,
    name: str,
    event_name: str,
    row_labels: Sequence[Any] | None = None,
) -> SurvivalOutcome:
    """Make a survival outcome; raise `InputError` if times or events are not valid.

    Parameters
    ----------
    times : (samples,) finite numbers, at least 0.
    events : (samples,) 1 where the event was seen at that time, 0 where the time was cut off.
    name, event_name : the names of the two columns, for messages.
    row_labels : the names of the rows, for messages; by default 1, 2, ….
    """
    if row_labels is None:
        row_labels = range(1, len(times) + 1)

    # Each row by itself.
    negative_rows = np.flatnonzero(times < 0)
    if len(negative_rows):
        row = int(negative_rows[0])
        raise InputError(
            f"the time {name!r} is {times[row]:g} in {row_name(row_labels, row)}, and times are "
            "not negative; correct it or leave that row out."
        )
    invalid_rows = np.flatnonzero(~np.isin(events, (0.0, 1.0)))
    if len(invalid_rows):
        row = int(invalid_rows[0])
        raise InputError(
            f"the event {event_name!r} is {events[row]:g} in {row_name(row_labels, row)}; write 1 "
            "where it was seen and 0 where the time was cut off."
        )
    # All rows together: there must be an event, and something must differ.
    if not events.any():
        raise InputError(
            f"the event {event_name!r} is 0 in every row: no event was seen, so that nothing can "
            "be told; write 1 where it was seen."
        )
    outcome = SurvivalOutcome(
        name=name, event_name=event_name, times=times, events=events.astype(bool)
    )
    if np.ptp(outcome.scores) == 0:
        raise InputError(
            f"the time {name!r} and the event {event_name!r} are the same in every row, so that "
            "there is nothing to explain; name other columns."
        )
    return outcome
