"""Results that only a change on purpose may change; `python scripts/golden.py` compares all of them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "golden", Path(__file__).resolve().parents[1] / "scripts" / "golden.py"
)
assert SPEC is not None
assert SPEC.loader is not None
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)


SLOW = ["test-breast-cancer", "sizes"]
QUICK = [name for name in golden.COMMANDS if name not in SLOW]


@pytest.mark.parametrize(
    "name", [*QUICK, *[pytest.param(name, marks=pytest.mark.slow) for name in SLOW]]
)
def test_nothing_changed_unseen(name):
    kept = json.loads((golden.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert list(golden.differences(kept, golden.make(name))) == []


def test_a_change_is_seen():
    old = {"p": 0.25, "kept": [1, 2], "gone": 1}
    assert list(golden.differences(old, {"p": 0.25 + 1e-12, "kept": [1, 2], "gone": 1})) == []
    assert len(list(golden.differences(old, {"p": 0.2501, "kept": [1, 3], "new": 1}))) == 4
