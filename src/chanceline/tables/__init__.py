"""From a file to numbers, labels and names, and what to know about them beforehand."""

from chanceline.tables.dataset import Dataset, load_data
from chanceline.tables.doctor import Finding, examine
from chanceline.tables.settings import TableSettings

__all__ = ["Dataset", "Finding", "TableSettings", "examine", "load_data"]
