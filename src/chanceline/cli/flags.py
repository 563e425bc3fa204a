"""The library's sentences name its parameters; at the command line these are flags."""

from __future__ import annotations

import re
import shlex
from ast import literal_eval

# Parameters that the library's sentences name and the command line has as flags.
PARAMETERS = (
    "adjust", "below", "blocks", "budget", "candidates", "classes", "decimal", "drop", "errors",
    "event", "features", "groups", "header", "id", "independent", "integer", "intercept",
    "keep_identifiers", "label", "labels", "layer", "level", "method", "missing", "na", "null",
    "one_hot", "outcome", "pairs", "permutations", "positive", "positives", "preregistered",
    "pseudobulk", "scheduler", "search", "seed", "sheet", "split_at", "target", "time", "transform",
    "transpose", "unlabelled",
)  # fmt: skip
# `name=value` as Python writes it. The value is a quoted text, True or False, or a bare word, which
# does not end in the full stop of its sentence.
ASSIGNMENT = re.compile(
    rf"""
    (?<![\w.,-])                    # not the end of a longer name, nor one of N=256,seed=0
    (?P<name>{"|".join(PARAMETERS)})
    =
    (?:
        (?P<quoted>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
      | (?P<truth>True|False)
      | (?P<word>[\w.:/*-]*[\w/*])
    )
    """,
    re.VERBOSE,
)


def in_flags(sentence: str) -> str:
    """The sentence with `missing='median'` as `--missing median`, `transpose=True` as a flag."""
    return ASSIGNMENT.sub(_as_flag, sentence)


def _as_flag(assignment: re.Match[str]) -> str:
    """One assignment as it is typed in a shell."""
    name = assignment["name"].replace("_", "-")
    if assignment["truth"] == "True":
        return f"--{name}"
    if assignment["truth"] == "False":
        return f"--no-{name}"
    if assignment["quoted"] is not None:
        return f"--{name} {shlex.quote(literal_eval(assignment['quoted']))}"
    return f"--{name} {assignment['word']}"
