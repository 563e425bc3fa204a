"""Results as pages: one self-contained HTML file each, readable offline, on paper and in the dark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Name → its module. Names load on first use: the page of a test needs no theory, no experiments.
_HOMES = {
    "read_report": "page",
    "write_explorer": "explorer",
    "write_reproduce_report": "runs",
    "write_sweep_report": "runs",
    "write_test_report": "separation",
    "write_theory_report": "theory",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from chanceline.report.explorer import write_explorer as write_explorer
    from chanceline.report.page import read_report as read_report
    from chanceline.report.runs import write_reproduce_report as write_reproduce_report
    from chanceline.report.runs import write_sweep_report as write_sweep_report
    from chanceline.report.separation import write_test_report as write_test_report
    from chanceline.report.theory import write_theory_report as write_theory_report


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
