"""Makes the helpers beside the tests importable, and gives them pages that are cleaned up."""

import sys
from pathlib import Path

import pytest

for folder in (Path(__file__).parent, Path(__file__).parents[1] / "report"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture
def pages():
    from pages_client import Pages

    pages = Pages()
    yield pages
    pages.desk.close()
    assert not pages.desk.folder.exists()


@pytest.fixture
def table(tmp_path):
    from pages_client import small_table

    return small_table(tmp_path / "small table.csv")
