"""Sentences of the library name parameters, `missing='median'`; the command line names its flags, `--missing median`."""

from __future__ import annotations

import re

TABLE = ("blocks", "decimal", "drop", "groups", "header", "id", "label", "labels", "missing", "na", "positive", "sheet")
SWITCHES = ("keep_identifiers", "one_hot", "transpose")
QUESTION = ("candidates", "errors", "features", "intercept", "level", "null", "permutations", "preregistered", "target")
WORK = ("budget", "engine", "method", "scheduler", "seed", "workers")
PARAMETERS = (*TABLE, *SWITCHES, *QUESTION, *WORK)
VALUE = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|True|False|[\w.:/*-]*[\w/*]"
ASSIGNMENT = re.compile(rf"(?<![\w.,-])(?P<name>{'|'.join(PARAMETERS)})=(?P<value>{VALUE})")


def in_flags(sentence: str) -> str:
    """The sentence with `name=value` as `--name value`; `name=True` is a switch."""
    return ASSIGNMENT.sub(_flag, sentence)


def _flag(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    flag = "--" + name.replace("_", "-")
    if value in ("True", "False"):
        return flag if value == "True" else f"--no-{flag[2:]}"
    if value[0] in "'\"":
        value = re.sub(r"\\(.)", r"\1", value[1:-1])
        value = value if re.fullmatch(r"[\w.-]+", value) else "'" + value.replace("'", r"'\''") + "'"
    return f"{flag} {value}"
