"""The order in which `reproduce` works. A stage is a function of the folder; it says what it draws and writes."""

from __future__ import annotations

from importlib import import_module

from chanceline.figures.style import figure_style
from chanceline.reproduce.folder import Folder

# module:function, loaded when its turn comes.
STAGES: tuple[str, ...] = (
    "chanceline.reproduce.theory:panels",
    "chanceline.reproduce.theory:capacity_diagram",
    "chanceline.reproduce.theory:unequal_classes",
    "chanceline.reproduce.breaking:entropy_with_breaking",
    "chanceline.reproduce.breaking:capacity_with_breaking",
    "chanceline.reproduce.experiments:finite_size",
    "chanceline.reproduce.memory:memory_capacity",
    "chanceline.reproduce.memory:memory_stability",
    "chanceline.reproduce.memory:memory_couplings",
)


def run_all(folder: Folder) -> None:
    """Every stage in turn, then numbers.csv and provenance.json."""
    with figure_style():
        for stage in STAGES:
            module, function = stage.split(":")
            getattr(import_module(module), function)(folder)
    folder.finish()
