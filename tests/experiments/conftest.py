"""The toy kinds are importable here and in every process started from here."""

from pathlib import Path

import pytest

TOY = Path(__file__).parent / "toy"


@pytest.fixture(autouse=True)
def toy_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(TOY))
    monkeypatch.setenv("PYTHONPATH", str(TOY))


@pytest.fixture
def walks():
    """`walks(count, pause)`: tasks that differ in their trial."""
    from chanceline.experiments.tasks import make_task

    def build(count, pause=0.0, **parameters):
        parameters.setdefault("n", 10)
        return [make_task("toy_kinds:walk", trial=k, pause=pause, **parameters) for k in range(count)]

    return build
