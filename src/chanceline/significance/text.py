"""Old paths of names that live elsewhere now, until the callers follow."""

from __future__ import annotations

from chanceline.significance.evidence import Evidence as Evidence
from chanceline.significance.power import detectable_effect as detectable_effect
from chanceline.significance.rule_to_use import RuleToUse as RuleToUse
from chanceline.significance.separating import Separating as Separating
from chanceline.significance.verdict import Verdict

STRUCTURE = Verdict.STRUCTURE  # old name, until the callers follow
CHANCE = Verdict.CHANCE  # old name, until the callers follow
NOT_SHOWN = Verdict.NOT_SHOWN  # old name, until the callers follow
UNDECIDED = Verdict.UNDECIDED  # old name, until the callers follow
