"""The former home of `chanceline.experiments.store.Record`."""

from chanceline._lazy import lazy

__getattr__ = lazy(
    __name__, {}, {name: f"chanceline.experiments.store:{name}" for name in ("Record", "frame")}
)
