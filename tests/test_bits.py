"""The promise about bits (docs/performance.md): what is the same to the last bit, and what is not."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

# Every number as a hexadecimal fraction: two runs agree if they print the same text.
SCRIPT = """
import json, sys
import numpy as np
import chanceline
from chanceline.perceptron.random_patterns import random_problem

if __name__ == "__main__":
    count, workers = int(sys.argv[1]), int(sys.argv[2])

    def text(values):
        return [float(value).hex() for value in np.ravel(values)]

    found = {}
    for method in ("auto", "omp", "amp", "greedy-biht"):
        for seed in range(count):
            outcome = chanceline.search(*random_problem(48, 1.0, seed, "gaussian"), method, budget=300, seed=seed)
            found[f"{method} {seed}"] = [sorted(map(int, outcome.support)), outcome.errors, text(outcome.weights)]
    X, y = random_problem(30, 1.5, 1, "gaussian")
    result = chanceline.separation_test(X, y, permutations=19, n_jobs=workers, always_permute=True)
    found["test"] = [result.verdict, text(result.pvalue), text(result.permutation.pvalue)]
    front = chanceline.front(X, y, max_features=5, budget=200)
    found["front"] = [[point.errors, sorted(map(int, point.rule.support)), text(point.rule.weights)] for point in front.points]
    memory = chanceline.AssociativeMemory(24, 0.4)
    memory.store(np.where(np.random.default_rng(0).random((20, 24)) < 0.5, -1, 1), n_jobs=workers)
    found["memory"] = text(memory.couplings.toarray())
    found["unsolved"] = memory.report.unsolved.tolist()
    found["theory"] = [text(chanceline.capacity(0.3).alpha), text(chanceline.solve(1.2, 0.5).entropy)]
    found["bound"] = text(chanceline.chance_bound(62, 2000, 3, positives=40).log10_p)
    print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script as a file: spawned workers read it again."""
    path = tmp_path_factory.mktemp("bits") / "bits.py"
    path.write_text(SCRIPT)

    def run(count: int, workers: int, **variables: str) -> dict:
        command = [sys.executable, str(path), str(count), str(workers)]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **variables}
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.slow
def test_workers_and_threads_change_no_bit(script):
    one = script(1, 1, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    assert script(1, 2, OPENBLAS_NUM_THREADS="2", OMP_NUM_THREADS="2") == one


@pytest.mark.slow
def test_a_cold_cache_and_a_warm_one_give_the_same_bits(script, tmp_path):
    cold = script(3, 1, NUMBA_CACHE_DIR=str(tmp_path))
    assert list(tmp_path.rglob("*.nbc"))
    assert script(3, 1, NUMBA_CACHE_DIR=str(tmp_path)) == cold


@pytest.mark.slow
def test_kernels_for_another_processor_change_few_supports_and_no_statement(script, tmp_path):
    """NUMBA_CPU_NAME=generic compiles as for the oldest processor of this kind: other vectors, other order of sums."""
    here = script(15, 1)
    there = script(15, 1, NUMBA_CPU_NAME="generic", NUMBA_CACHE_DIR=str(tmp_path))
    assert here["theory"] == there["theory"]
    check_statements(here, there)
    assert len(differing(here, there)) <= 3, differing(here, there)


# What OpenBLAS would choose on other processors, from AVX2 down to the first with SSE2; each runs on all that came after.
BLAS = ("Haswell", "Nehalem", "Prescott")


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the names are those of x86 processors"
)
@pytest.mark.parametrize("core", BLAS)
def test_blas_for_another_processor_changes_supports_of_amp_only(script, core):
    """Message passing multiplies matrices over and over, so that a last digit grows; the others choose by their own kernels."""
    here, there = script(15, 1), script(15, 1, OPENBLAS_CORETYPE=core)
    check_statements(here, there)
    changed = differing(here, there)
    assert [name for name in changed if not name.startswith("amp ")] == []
    assert len(changed) <= 5, changed


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the names are those of x86 processors"
)
def test_numpy_for_another_processor_changes_last_digits_of_the_theory_only(script):
    """Loops of NumPy without AVX2 and AVX-512; what it does not know it ignores, with a warning."""
    here, there = script(15, 1), script(15, 1, NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL")
    check_statements(here, there)
    assert {name for name in here if here[name] != there[name]} <= {"theory"}


def differing(here: dict, there: dict) -> list[str]:
    """The searches that found another support."""
    searches = [name for name in here if " " in name]
    assert len(searches) == 60
    return [name for name in searches if here[name][0] != there[name][0]]


def check_statements(here: dict, there: dict) -> None:
    """What no processor changes: bounds, verdict and p-values, errors, what a memory holds; capacity and entropy to 14 digits."""
    assert here["bound"] == there["bound"]
    assert here["test"] == there["test"]
    assert here["unsolved"] == there["unsolved"] == []
    for one, other in zip(here["theory"], there["theory"], strict=True):
        assert float.fromhex(one[0]) == pytest.approx(float.fromhex(other[0]), rel=1e-14)
    for name in here:
        if " " in name:
            assert here[name][1] == there[name][1], name
            assert abs(len(here[name][0]) - len(there[name][0])) <= 2, name
