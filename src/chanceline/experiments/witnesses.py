"""The former name of `chanceline.experiments.scaling`."""

from chanceline._lazy import lazy

__getattr__ = lazy(
    __name__,
    {},
    {
        "log_first_moment": "chanceline.experiments.scaling:log_first_moment",
        "first_moment_size": "chanceline.experiments.scaling:first_moment_size",
        "entropy_points": "chanceline.experiments.scaling:entropy_points",
        "capacity_points": "chanceline.experiments.scaling:capacity_points",
        "broken_density": "chanceline.experiments.scaling:broken_density",
        "union_density": "chanceline.theory.first_moment:first_moment_density",
        "entropy_witness": "chanceline.experiments.scaling:entropy_limits",
        "capacity_witness": "chanceline.experiments.scaling:capacity_limits",
    },
)
