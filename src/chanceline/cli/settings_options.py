"""Options that are made from the library's settings: one option for each field.

| options | fields of | in the file |
|---|---|---|
| `--blocks`, `--missing`, `--transpose` … | `TableSettings` | `chanceline/tables/settings.py` |
| `--level`, `--permutations`, `--method` … | `TestSettings` | `chanceline/significance/config.py` |

So `--split-at` is declared as `TableSettings.split_at`: its name, type, default and help are those
of the field. On the way back, Typer hands `split_at=2.5` to the function that
`options_from_settings` made of the command; this builds `TableSettings(split_at=2.5, …)` and hands
it to the command as its parameter `table_settings`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, fields
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from chanceline.significance import TestSettings
from chanceline.tables import TableSettings
from chanceline.tables.settings import split_names

# Where the help lists the options of a class.
PANELS: dict[type[Any], str] = {TableSettings: "The table", TestSettings: "The test"}
# Settings of a table that say how the samples belong together have a panel of their own.
DESIGN_SETTINGS = ("blocks", "groups", "pairs", "adjust", "independent")
DESIGN_PANEL = "The design"

Command = Callable[..., None]


def options_from_settings(
    *, excluded_fields: Collection[str] = (), **settings_classes: type[Any]
) -> Callable[[Command], Command]:
    """Make a decorator for commands of Typer that take settings, which are dataclasses.

    The decorated command has one option of the command line for each field of the settings, in
    place of the parameter that takes the settings. For example::

        @options_from_settings(table_settings=TableSettings, excluded_fields=("blocks",))
        def search(table_settings: TableSettings, seed: SeedOption = 0) -> None: ...

    Parameters
    ----------
    settings_classes : parameter of the command → the dataclass that the parameter takes.
    excluded_fields : fields that are no options of this command; they keep their defaults.
    """

    def decorate(command: Command) -> Command:
        """Return the command as Typer calls it: ``search(*, transpose: bool, …, seed: int)``.

        The arguments of `options_from_settings` say which parameters of `command` take settings
        (`settings_classes`), and which fields of settings are no options (`excluded_fields`).
        """

        @wraps(command)
        def command_with_options(**option_values: Any) -> None:
            """Make the settings of the values of their options, and call the command."""
            settings = {}
            for parameter, settings_class in settings_classes.items():
                # This takes the values of the settings' options out of `option_values`.
                settings[parameter] = pop_settings(option_values, settings_class, excluded_fields)
            other_values = option_values
            command(**settings, **other_values)

        options = command_options(command, settings_classes, excluded_fields)
        declare_parameters(command_with_options, options)
        return command_with_options

    return decorate


def declare_parameters(function: Command, parameters: list[inspect.Parameter]) -> None:
    """Make `inspect.signature` and annotations show these parameters for a function.

    Typer reads the options of a command there. This must come after `functools.wraps`, which makes
    them those of the wrapped function.
    """
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    function.__annotations__ = annotations
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]


def command_options(
    command: Command, settings_classes: Mapping[str, type[Any]], excluded_fields: Collection[str]
) -> list[inspect.Parameter]:
    """The parameters of a command, with one option for each field in place of its settings.

    Parameters
    ----------
    command : a function some of whose parameters take settings.
    settings_classes : name of such a parameter → the dataclass that it takes.
    excluded_fields : fields of settings that do not become options.
    """
    options: list[inspect.Parameter] = []
    parameters = inspect.signature(command, eval_str=True).parameters
    for name, parameter in parameters.items():
        if name in settings_classes:
            # This parameter takes settings: an option for each of their fields.
            settings_class = settings_classes[name]
            for field in fields_with_options(settings_class, excluded_fields):
                options.append(make_option(field, settings_class))
        else:
            # Keyword-only parameters may come in any order, with or without defaults.
            options.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    return options


def pop_settings(
    values: dict[str, Any], settings_class: type[Any], excluded_fields: Collection[str]
) -> Any:
    """Take the values of the options out of `values`, and make the settings of them."""
    settings = {}
    for field in fields_with_options(settings_class, excluded_fields):
        settings[field.name] = setting_value(field, values.pop(field.name))
    return settings_class(**settings)


def fields_with_options(
    settings_class: type[Any], excluded_fields: Collection[str]
) -> list[Field[Any]]:
    """The fields of a class of settings, apart from those named."""
    return [field for field in fields(settings_class) if field.name not in excluded_fields]


def make_option(field: Field[Any], settings_class: type[Any]) -> inspect.Parameter:
    """Make the option of one setting, as the parameter of a function that Typer understands.

    `field` is the field of the dataclass `settings_class` that holds the setting.
    """
    # The default and the type of the option's value.
    default = field.default
    if is_tuple_of_names(field):
        default = None  # a tuple of names is given as one text, a,b,c
    type_hints = get_type_hints(settings_class)
    value_type = option_type(type_hints[field.name])
    if default is None:
        value_type = value_type | None

    # The panel is the part of the help that lists the option.
    panel = PANELS[settings_class]
    if field.name in DESIGN_SETTINGS:
        panel = DESIGN_PANEL

    option = typer.Option(
        option_flags(field.name, default),
        help=field.metadata["help"],
        show_default=default is not False,  # for a flag "off" goes without saying
        rich_help_panel=panel,
    )
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[value_type, option],
    )


def option_flags(name: str, default: object) -> str:
    """`--split-at` for `split_at`; with a second flag `--no-…` if the default is true."""
    dashed_name = name.replace("_", "-")
    if default is True:
        return f"--{dashed_name}/--no-{dashed_name}"
    return f"--{dashed_name}"


def option_type(type_hint: Any) -> Any:
    """The type of an option's value: that of a flag or a number, else text."""
    for number_type in (bool, int, float):
        if type_hint in (number_type, number_type | None):
            return number_type
    return str


def is_tuple_of_names(field: Field[Any]) -> bool:
    """Whether a setting is a tuple of names, which the command line takes as a,b,c."""
    return field.default == ()


def setting_value(field: Field[Any], option_value: Any) -> Any:
    """The value of a setting from that of its option."""
    if is_tuple_of_names(field):
        return split_names(option_value)
    return option_value
