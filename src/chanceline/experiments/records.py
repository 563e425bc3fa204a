"""The former home of `chanceline.experiments.store.Record`."""

from chanceline._deprecated import moved

__getattr__ = moved(__name__, {name: f"chanceline.experiments.store:{name}" for name in ("Record", "frame")})
