"""chanceline: how many random patterns a perceptron separates that may choose its variables.

The chance line is α_VS(ρ): below it a perceptron that picks M = ρN of N variables separates pure
noise. Names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

__version__ = "0.3.0"

# Public name → the module that it is imported from on first use.
_HOMES = {
    "ChancelineError": "chanceline.errors",
    "ConvergenceError": "chanceline.errors",
    "InputError": "chanceline.errors",
    "Bound": "chanceline.chance",
    "chance_bound": "chanceline.chance",
    "largest_convincing": "chanceline.chance",
    "samples_needed": "chanceline.chance",
    "ChanceSize": "chanceline.significance.noise_size",
    "chance_size": "chanceline.significance.noise_size",
    "PlantedPlan": "chanceline.significance.planted",
    "planted_plan": "chanceline.significance.planted",
    "PowerPlan": "chanceline.significance.effect_power",
    "power_of_effect": "chanceline.significance.effect_power",
    "samples_for_effect": "chanceline.significance.effect_power",
    "Outcome": "chanceline.significance",
    "OutcomeTest": "chanceline.significance",
    "SeparationTest": "chanceline.significance",
    "separation_test": "chanceline.significance",
    "SetTests": "chanceline.significance",
    "set_tests": "chanceline.significance",
    "Confirmation": "chanceline.cohort",
    "Predictions": "chanceline.cohort",
    "SavedResult": "chanceline.cohort",
    "load_result": "chanceline.cohort",
    "load_data": "chanceline.tables",
    "capacity": "chanceline.theory.capacity",
    "capacity_curve": "chanceline.theory.capacity",
    "density": "chanceline.theory.capacity",
    "solve": "chanceline.theory.solve",
    "SearchOutcome": "chanceline.select",
    "Front": "chanceline.select.front_result",
    "front": "chanceline.select.pareto",
    "search": "chanceline.select.api",
    "AssociativeMemory": "chanceline.memory",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    # The same names for type checkers, which do not run `__getattr__`; "as" makes them public.
    from chanceline.chance import (
        Bound as Bound,
        chance_bound as chance_bound,
        largest_convincing as largest_convincing,
        samples_needed as samples_needed,
    )
    from chanceline.cohort import (
        Confirmation as Confirmation,
        Predictions as Predictions,
        SavedResult as SavedResult,
        load_result as load_result,
    )
    from chanceline.errors import (
        ChancelineError as ChancelineError,
        ConvergenceError as ConvergenceError,
        InputError as InputError,
    )
    from chanceline.memory import AssociativeMemory as AssociativeMemory
    from chanceline.select import SearchOutcome as SearchOutcome
    from chanceline.select.api import search as search
    from chanceline.select.front_result import Front as Front
    from chanceline.select.pareto import front as front
    from chanceline.significance import (
        Outcome as Outcome,
        OutcomeTest as OutcomeTest,
        SeparationTest as SeparationTest,
        SetTests as SetTests,
        separation_test as separation_test,
        set_tests as set_tests,
    )
    from chanceline.significance.effect_power import (
        PowerPlan as PowerPlan,
        power_of_effect as power_of_effect,
        samples_for_effect as samples_for_effect,
    )
    from chanceline.significance.noise_size import (
        ChanceSize as ChanceSize,
        chance_size as chance_size,
    )
    from chanceline.significance.planted import (
        PlantedPlan as PlantedPlan,
        planted_plan as planted_plan,
    )
    from chanceline.tables import load_data as load_data
    from chanceline.theory.capacity import (
        capacity as capacity,
        capacity_curve as capacity_curve,
        density as density,
    )
    from chanceline.theory.solve import solve as solve

__getattr__ = lazy(__name__, _HOMES)


def __dir__() -> list[str]:
    """The public names, whether they have been loaded or not."""
    return sorted(__all__)
