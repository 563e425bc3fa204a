"""Settings of a table that belong to a result, so that a table of new samples cannot have others.

Nothing heavy is imported here: the command line leaves these options out.
"""

from __future__ import annotations

FIXED_SETTINGS = (
    "classes", "positive", "split_at", "below", "missing", "transform", "drop", "one_hot",
    "keep_identifiers", "adjust",
)  # fmt: skip
