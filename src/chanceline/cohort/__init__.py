"""A second cohort: a result as a file, its rule on new samples, and whether these confirm it.

Names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

if TYPE_CHECKING:
    from chanceline.cohort.confirmation import Confirmation
    from chanceline.cohort.outcome_confirmation import OutcomeConfirmation
    from chanceline.cohort.outcome_predictions import OutcomePredictions
    from chanceline.cohort.predictions import Predictions
    from chanceline.cohort.result_file import load_result
    from chanceline.cohort.saved_outcome import SavedOutcome
    from chanceline.cohort.saved_result import SavedResult

__all__ = [
    "Confirmation",
    "OutcomeConfirmation",
    "OutcomePredictions",
    "Predictions",
    "SavedOutcome",
    "SavedResult",
    "load_result",
]
_HOMES = {
    "Confirmation": "chanceline.cohort.confirmation",
    "OutcomeConfirmation": "chanceline.cohort.outcome_confirmation",
    "OutcomePredictions": "chanceline.cohort.outcome_predictions",
    "Predictions": "chanceline.cohort.predictions",
    "SavedOutcome": "chanceline.cohort.saved_outcome",
    "SavedResult": "chanceline.cohort.saved_result",
    "load_result": "chanceline.cohort.result_file",
}

__getattr__ = lazy(__name__, _HOMES)
