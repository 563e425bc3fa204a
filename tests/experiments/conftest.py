"""The toy kinds are importable here and in every process started from here, whichever test starts it first."""

import os
import sys
from pathlib import Path

import pytest

TOY = str(Path(__file__).parent / "toy")
sys.path.insert(0, TOY)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [TOY, os.environ.get("PYTHONPATH")]))


@pytest.fixture
def walks():
    """`walks(count, pause)`: tasks that differ in their trial."""
    from chanceline.experiments.tasks import make_task

    def build(count, pause=0.0, **parameters):
        parameters.setdefault("n", 10)
        return [
            make_task("toy_kinds:walk", trial=k, pause=pause, **parameters) for k in range(count)
        ]

    return build
