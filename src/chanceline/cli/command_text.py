"""The command line that does what a request of the page asks for."""

from __future__ import annotations

import shlex
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chanceline.cli.cohort import SETTINGS_OF_LABELS
from chanceline.tables.settings import TableSettings, join_names

if TYPE_CHECKING:
    from chanceline.app.cohort_view import CohortChoices, CohortFiles, CohortView
    from chanceline.app.worker import RunRequest
    from chanceline.tables.outcome_table import OutcomeNames

# Settings that `chanceline predict` does not have, as they matter only where classes are known.
DEFAULTS_OF_LABELS = {name: getattr(TableSettings(), name) for name in SETTINGS_OF_LABELS}


def command_of_request(request: RunRequest) -> str:
    """The command line for the test of a request: `chanceline test data.csv --label outcome …`.

    Files are named without their folders, and only options that differ from their defaults appear.
    """
    table_settings = with_plain_name(request.table_settings)
    words = ["chanceline", "test", file_word(request.table.name)]
    words += options_of_outcome(request.outcome)
    if request.sets is not None:
        words += option("sets", file_word(request.sets.name))
    if request.features is not None:
        words += option("features", join_names(request.features))
    words += options_of_settings(table_settings)
    # The number of processes does not change the result. Set to its default, 1, it is left out.
    test_settings = replace(request.test_settings, n_jobs=1)
    words += options_of_settings(test_settings)
    words += option("report", "report.html")
    return shlex.join(words)


def commands_of_cohort(files: CohortFiles, choices: CohortChoices, view: CohortView) -> list[str]:
    """The command lines for new samples, `chanceline predict result.json new.csv …`.

    If the classes of the samples are known (`view.label` is their column), a second command line
    follows, `chanceline confirm …`.

    Parameters
    ----------
    files : the saved result and the new samples.
    choices : which of the rules of the result to use.
    view : how the samples are read, and the column of their classes.
    """
    settings = with_plain_name(view.settings)  # files without their folders
    common_words = [file_word(files.result.name), file_word(files.table.name)]
    if choices.rule:
        common_words += option("rule", choices.rule)

    # `predict` lacks the options that only matter where classes are known. Set to their defaults,
    # these settings are left out.
    settings_without_labels = replace(settings, **DEFAULTS_OF_LABELS)
    predict_words = ["chanceline", "predict", *common_words]
    predict_words += options_of_settings(settings_without_labels)
    predict_words += ["--out", "predicted.csv"]
    commands = [shlex.join(predict_words)]
    if view.label:
        confirm_words = ["chanceline", "confirm", *common_words]
        confirm_words += option("label", view.label)
        confirm_words += options_of_settings(settings)
        commands.append(shlex.join(confirm_words))
    return commands


def with_plain_name(settings: TableSettings) -> TableSettings:
    """The settings with the second file as the user knows it: by its name, without the folder."""
    if settings.labels is None:
        return settings
    return replace(settings, labels=Path(settings.labels).name)


def options_of_outcome(names: OutcomeNames) -> list[str]:
    """The options that name the columns of the outcome, and the kind of outcome if it was given.

    Returns the words of the command line, such as `["--label", "outcome"]`.
    """
    value_of_option = {
        "label": names.label,
        "time": names.time,
        "event": names.event,
        "outcome": names.asked_kind,
    }
    words = []
    for name, value in value_of_option.items():
        if value is not None:
            words += option(name, value)
    return words


def file_word(name: str) -> str:
    """A file's name that is not taken for an option."""
    if name.startswith("-"):
        return f"./{name}"
    return name


def options_of_settings(settings: Any) -> list[str]:
    """The words for all settings that are not at their defaults."""
    words = []
    for item in fields(settings):
        value = getattr(settings, item.name)
        if value != item.default:
            words += option_of_setting(item, value)
    return words


def option_of_setting(item: Field[Any], value: Any) -> list[str]:
    """The words for one setting: a flag, or an option with its value."""
    if value is True:
        return [f"--{dashed(item.name)}"]
    if value is False:
        return [f"--no-{dashed(item.name)}"]
    if isinstance(value, tuple):
        return option(item.name, join_names(value))
    return option(item.name, str(value))


def option(name: str, value: str) -> list[str]:
    """An option with its value, in one word where the value looks like an option itself."""
    flag = f"--{dashed(name)}"
    if value.startswith("-"):
        return [f"{flag}={value}"]
    return [flag, value]


def dashed(name: str) -> str:
    """The name of a setting as options write it."""
    return name.replace("_", "-")
