"""Results as pages: one self-contained HTML file each, readable offline, on paper and in the dark."""

from chanceline.report.explorer import write_explorer
from chanceline.report.page import read_report
from chanceline.report.reproduce import write_reproduce_report
from chanceline.report.separation import write_test_report
from chanceline.report.sweep import write_sweep_report
from chanceline.report.theory import write_theory_report

__all__ = [
    "read_report",
    "write_explorer",
    "write_reproduce_report",
    "write_sweep_report",
    "write_test_report",
    "write_theory_report",
]
