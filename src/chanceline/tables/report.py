"""The findings about a table, collected in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Iterable

from chanceline.tables.dataset import Finding


class TableReport:
    """Findings of one step after another; the gravest are put before all others."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(self, findings: Iterable[Finding]) -> None:
        """Findings to show after those before."""
        self._findings.extend(findings)

    def put_first(self, findings: Iterable[Finding]) -> None:
        """Findings to show before all that were added up to now."""
        self._findings[:0] = findings

    def findings(self) -> tuple[Finding, ...]:
        """Every finding once."""
        return tuple(dict.fromkeys(self._findings))
