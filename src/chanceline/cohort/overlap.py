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
    """Stop if rows of the new table were in the table tested.

    Parameters
    ----------
    columns : the features of the rule to use, (samples, features).
    tested_digests : of the rows of the table tested.
    source : what the sentence calls the new table.
    """
    known = set(tested_digests)
    if not known or len(known) < MIN_SHARE_DIFFERENT * len(tested_digests):
        return
    n_known = int(np.sum([digest in known for digest in digests_of_rows(columns)]))
    if n_known >= max(MIN_ROWS_KNOWN, MIN_SHARE_KNOWN * len(columns)):
        raise InputError(
            f"{plural(n_known, 'row')} of the {len(columns)} of {source} have the values of rows "
            "from which the rule was made, and cannot confirm it; leave them out."
        )
