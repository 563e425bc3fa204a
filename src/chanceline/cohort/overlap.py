"""Rows that the rule was made from confirm nothing: they are known again and refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chanceline._arrays import Floats
from chanceline.errors import InputError
from chanceline.significance.rule_inputs import digests_of_rows
from chanceline.tables.wording import plural

# Coarse values coincide by chance. They are looked at only if so many rows of the table tested are
# different, and are taken for the same samples if so large a share of the new rows was there.
MIN_SHARE_DIFFERENT = 0.9
MIN_SHARE_KNOWN = 0.1
MIN_ROWS_KNOWN = 2


def refuse_known_rows(columns: Floats, tested_digests: Sequence[str], source: str) -> None:
    """Stop if rows of the new table were in the table tested: they cannot confirm a rule.

    Rows are compared by digests (hashes) of the rule's features.

    Parameters
    ----------
    columns : the features of the rule to use, (samples, features).
    tested_digests : the digests of the rows of the table tested; empty if the rule has no features.
    source : what the error calls the new table.
    """
    different_digests = set(tested_digests)
    if not different_digests:
        return
    # If many rows of the table tested are equal, new rows may be equal to them by chance.
    if len(different_digests) < MIN_SHARE_DIFFERENT * len(tested_digests):
        return

    is_known = [digest in different_digests for digest in digests_of_rows(columns)]
    n_known = int(np.sum(is_known))
    fewest_refused = max(MIN_ROWS_KNOWN, MIN_SHARE_KNOWN * len(columns))
    if n_known >= fewest_refused:
        raise InputError(
            f"{plural(n_known, 'row')} of the {len(columns)} of {source} have the values of rows "
            "from which the rule was made, and cannot confirm it; leave them out."
        )
