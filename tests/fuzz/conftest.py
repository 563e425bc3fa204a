"""Sibling modules can be imported by their name, and kernels are compiled before any case is timed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def warnings_as_asked(pytestconfig):
    import limits

    if pytestconfig.getoption("pythonwarnings"):
        limits.on_warnings = "default"


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Compiling happens once and may take longer than a case may."""
    from function_cases import GOOD

    for function, arguments in GOOD:
        if "X" in arguments or "patterns" in arguments:
            function(**arguments)
