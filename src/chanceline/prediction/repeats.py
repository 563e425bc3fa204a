"""How often samples are dealt to folds: the more often, the less depends on the luck of a deal.

A rule is chosen from several deals, and what to expect of it from several cross-validations. Large
tables have fewer deals, as each takes longer; then there is less luck in it, too.
"""

from __future__ import annotations

# Of the outer folds, which tell what to expect of a rule.
N_OUTER_REPEATS = 3

# Of the inner folds, within the samples at hand, for the rule that is made from all samples: at
# least and at most; in between as often as makes so many numbers looked at in all.
MIN_TUNING_REPEATS = 3
MAX_TUNING_REPEATS = 10
TUNING_BUDGET = 5_000_000

# And for each of the rules made without an outer fold. They are chosen like the one made from all
# samples, or they would be worse than it is.
MIN_FOLD_REPEATS = 1
MAX_FOLD_REPEATS = 3
FOLD_BUDGET = 2_500_000


def n_tuning_repeats(table_size: int) -> int:
    """Deals of the inner folds for the rule made from all samples of a table of so many numbers."""
    return affordable(table_size, TUNING_BUDGET, MIN_TUNING_REPEATS, MAX_TUNING_REPEATS)


def n_fold_repeats(table_size: int) -> int:
    """Deals of the inner folds for each rule made without an outer fold."""
    return affordable(table_size, FOLD_BUDGET, MIN_FOLD_REPEATS, MAX_FOLD_REPEATS)


def affordable(table_size: int, budget: int, at_least: int, at_most: int) -> int:
    """How often a table of so many numbers can be looked at within a budget."""
    times = budget // max(table_size, 1)
    return min(max(times, at_least), at_most)
