"""Shared test settings: one BLAS thread, no display, real data only where it is present."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["MPLBACKEND"] = "Agg"

from pathlib import Path  # noqa: E402

import pytest  # noqa: E402

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture
def real_data():
    """Path of a real data set by name; the test is skipped where the data are not at hand."""

    def path_of(name: str) -> Path:
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            pytest.skip(f"{path.name} is not present beside the checkout")
        return path

    return path_of
