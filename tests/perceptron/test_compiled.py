"""Kernels without a place to keep them, and without a compiler."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import chanceline

ONE_SEARCH = """
import json, sys
import numpy as np
import chanceline
from chanceline.select import random_problem

found = []
cases = (14, "binary", "auto"), (10, "gaussian", "tabu"), (10, "binary", "greedy-biht"), (7, "sphere", "exact")
for n, inputs, method in cases:
    X, y = random_problem(n, 1.0, 3, inputs)
    outcome = chanceline.search(X, y, method, budget=20)
    found.append([outcome.support.tolist(), np.round(outcome.weights, 6).tolist()])
print(json.dumps(found))
"""

# Nothing can be written: neither beside the sources nor at home. (As root, permissions forbid nothing.)
NO_PLACE = """
from numba.core.caching import _CacheLocator

def refuse(self):
    raise OSError(30, "Read-only file system")

_CacheLocator.ensure_cache_path = refuse
"""


def run(program, **environment):
    """The program's last line as JSON, in a process of its own."""
    variables = {
        key: value for key, value in os.environ.items() if key not in ("HOME", "NUMBA_CACHE_DIR")
    } | environment
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def compiled():
    return run(ONE_SEARCH)


def test_the_same_supports_without_a_compiler(compiled):
    assert run(ONE_SEARCH, NUMBA_DISABLE_JIT="1") == compiled


def test_a_read_only_installation_without_a_home(tmp_path):
    package = tmp_path / "site" / "chanceline"
    shutil.copytree(
        Path(chanceline.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        folder.chmod(0o555)
    program = f"""{NO_PLACE}
import chanceline, json
from chanceline.kernels.compile import CACHE, can_cache
from chanceline.kernels.vectors import dot_first
import numpy as np
print(json.dumps([chanceline.__file__, CACHE, can_cache(), dot_first(np.ones(4), np.arange(4.0), 3)]))"""
    try:
        place, *answers = run(
            program,
            PYTHONPATH=str(package.parent),
            HOME="/nonexistent",
            PYTHONDONTWRITEBYTECODE="1",
        )
    finally:
        for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
            folder.chmod(0o755)
    assert place == str(package / "__init__.py")
    assert answers == [False, False, 3.0]
    assert not list(package.rglob("*.nbi"))


def test_a_place_named_by_the_user_is_used(tmp_path):
    program = """import json, numpy as np
from chanceline.kernels.vectors import dot_first
dot_first(np.ones(4), np.arange(4.0), 3)
print(json.dumps(0))"""
    run(program, NUMBA_CACHE_DIR=str(tmp_path))
    assert list(tmp_path.rglob("vectors.dot_first-*.nbi"))


@pytest.mark.slow
def test_no_kernel_is_compiled_in_two_versions(tmp_path):
    """On an empty cache: what is loaded from one hides the kernels inside."""
    program = """
import json, sys
import numpy as np
import chanceline
from chanceline.select import random_problem
from numba.core.dispatcher import Dispatcher

X, y = random_problem(12, 1.0, 3)
for options in {}, {"intercept": True}, {"errors": 1}, {"signs": 1, "intercept": True}:
    chanceline.search(X, y, "exact", budget=20, **options)
chanceline.front(np.asfortranarray(X), y, max_features=3, budget=20)
kernels = {value for name, module in sys.modules.items() if name.startswith("chanceline") for value in vars(module).values()
           if isinstance(value, Dispatcher)}
print(json.dumps([[kernel.py_func.__name__, len(kernel.signatures)] for kernel in kernels]))"""
    versions = dict(run(program, NUMBA_CACHE_DIR=str(tmp_path)))
    assert sum(versions.values()) > 8
    assert max(versions.values()) == 1, versions


def test_importing_changes_nothing_in_the_host_program():
    program = """
import json
import chanceline.select.auto, chanceline.significance.run
from numba.core import event
print(json.dumps([kind for kind, listeners in event._registered.items() if listeners]))"""
    assert run(program) == []
