"""Results as pages: one self-contained HTML file each, readable offline, on paper and in the dark.

Names load on first use: the page of a test needs no theory, no experiments.
"""

from typing import TYPE_CHECKING

from chanceline._lazy import lazy

# Public name → the module that it is imported from on first use.
_HOMES = {
    "read_report": "chanceline.report.page",
    "write_explorer": "chanceline.report.explorer",
    "write_outcome_report": "chanceline.report.outcome",
    "write_outcome_weights": "chanceline.report.outcome_weights",
    "write_reproduce_report": "chanceline.report.reproduce",
    "write_sets_report": "chanceline.report.feature_sets",
    "write_sweep_report": "chanceline.report.sweep",
    "write_test_report": "chanceline.report.separation",
    "write_theory_report": "chanceline.report.theory",
    "write_weights": "chanceline.report.weights",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    # The same names for type checkers, which do not run `__getattr__`; "as" makes them public.
    from chanceline.report.explorer import write_explorer as write_explorer
    from chanceline.report.feature_sets import write_sets_report as write_sets_report
    from chanceline.report.outcome import write_outcome_report as write_outcome_report
    from chanceline.report.outcome_weights import write_outcome_weights as write_outcome_weights
    from chanceline.report.page import read_report as read_report
    from chanceline.report.reproduce import write_reproduce_report as write_reproduce_report
    from chanceline.report.separation import write_test_report as write_test_report
    from chanceline.report.sweep import write_sweep_report as write_sweep_report
    from chanceline.report.theory import write_theory_report as write_theory_report
    from chanceline.report.weights import write_weights as write_weights

__getattr__ = lazy(__name__, _HOMES)
