"""The former name of `chanceline.experiments.scaling`."""

from chanceline._lazy import lazy

_SCALING = "chanceline.experiments.scaling"
_SAME = ("log_first_moment", "first_moment_size", "entropy_points", "capacity_points", "broken_density")
__getattr__ = lazy(
    __name__,
    {},
    {
        **{name: f"{_SCALING}:{name}" for name in _SAME},
        "union_density": "chanceline.theory.bounds:first_moment_density",
        "entropy_witness": f"{_SCALING}:entropy_limits",
        "capacity_witness": f"{_SCALING}:capacity_limits",
    },
)
