"""How to test: everything besides the data and the question, in one frozen object that the result
carries.

Every setting is written here once: its name, type, default, limit and what it means. The keyword
arguments of `separation_test` and the options of the command line are made from these fields, so
nothing here may load NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar

from chanceline._parallel import check_jobs
from chanceline.errors import InputError, real_number, whole_number

# (value, name of the setting) → the value to keep; raises where it is none.
Check = Callable[[Any, str], Any]


def whole_from(at_least: int) -> Check:
    """A check for whole numbers with this limit; 9.0 is kept as 9."""
    return lambda value, name: whole_number(value, name, at_least=at_least)


def whole_or_none(at_least: int) -> Check:
    """The same where None is allowed too."""

    def check(value: Any, name: str) -> int | None:
        if value is None:
            return None
        return whole_number(value, name, at_least=at_least)

    return check


def check_level(value: Any, _: str) -> float:
    return real_number(value, "the level", above=0, below=1)


def check_time_limit(value: Any, _: str) -> float | None:
    if value is None:
        return None
    return real_number(value, "the time limit", above=0)


def check_null(value: Any, _: str) -> str:
    if value not in ("fixed", "coin"):
        raise InputError(
            f"the null must be 'fixed' (class sizes kept) or 'coin' (fair coin), not {value!r}."
        )
    return str(value)


def setting(default: Any, help: str, check: Check | None = None) -> Any:
    """A field with its meaning.

    Parameters
    ----------
    default : of the setting.
    help : what it means, for the documentation and the command line.
    check : of the value given, and of the default.
    """
    return field(default=default, metadata={"help": help, "check": check})


@dataclass(frozen=True)
class TestSettings:
    """Settings of `separation_test`."""

    # Not a test class, whatever pytest makes of the name.
    __test__: ClassVar[bool] = False

    level: float = setting(0.05, "The p-value that convinces.", check=check_level)
    permutations: int | None = setting(
        None,
        "Shuffled labellings, only drawn where the bound does not convince; 0 for none. "
        "By default 999 to 9999 by the size of the table, some seconds' worth "
        "(999 with a search of your own).",
        check=whole_or_none(0),
    )
    seed: int = setting(
        0,
        "Seed of the search, the shuffles and the cross-validation.",
        check=whole_from(0),
    )
    null: str = setting(
        "fixed",
        "fixed: the labels are shuffled, so that class sizes are kept; "
        "coin: each label is drawn by a fair coin.",
        check=check_null,
    )
    intercept: bool = setting(True, "Whether the rule has a free threshold.")
    errors: int | None = setting(
        None,
        "Errors allowed, fixed beforehand. By default as many as the rule makes, "
        "for which the bound pays a factor 2^(e+1) if features were named or nothing separates "
        "(no factor if the features were preregistered).",
        check=whole_or_none(0),
    )
    method: str = setting(
        "auto",
        "Algorithm that looks for the smallest set on the observed labels. With errors allowed, "
        "one other than auto and exact looks for a set without any.",
    )
    budget: int | None = setting(
        None,
        "Iterations of one search; by default the method's own.",
        check=whole_or_none(0),
    )
    restarts: int = setting(
        8,
        "Further searches of the observed labels when a slightly smaller set would convince "
        "by the bound.",
        check=whole_from(0),
    )
    search: Any = setting(  # noqa: RUF009
        None,
        "A search that is run again on every shuffle, instead of the front: "
        "the name of a search method; in Python also a scikit-learn feature selector "
        "or a function (X, y) → indices.",
    )
    stop_after: int | None = setting(
        10,
        "With a search of your own: stop after so many shuffles did as well (None: never).",
        check=whole_or_none(1),
    )
    largest: int = setting(
        6,
        "The front goes up to so many features.",
        check=whole_from(1),
    )
    preregistered: bool = setting(
        False, "The features named were fixed before the labels were seen."
    )
    candidates: int | None = setting(
        None,
        "Number of features the selection could choose from, if the table holds fewer; "
        "only the bound speaks then.",
        check=whole_or_none(1),
    )
    always_permute: bool = setting(False, "Shuffle even if the bound convinces.")
    expected_error: bool = setting(
        True, "Cross-validate as well, to say what to expect on new samples."
    )
    integer: bool = setting(
        False, "Give the rule to use as a scorecard too: small whole points, errors counted."
    )
    n_jobs: int | None = setting(
        1,
        "Processes that share the shuffles, -1 for all cores; the result does not depend on it.",
    )
    time_limit: float | None = setting(
        None,
        "Seconds after which no further shuffle is begun. Those done by then make a valid p-value.",
        check=check_time_limit,
    )

    def __post_init__(self) -> None:
        """Check every setting."""
        checked: dict[str, Any] = {"n_jobs": check_jobs(self.n_jobs)}
        for item in fields(self):
            check = item.metadata["check"]
            if check is not None:
                checked[item.name] = check(getattr(self, item.name), item.name)
        for name, value in checked.items():
            # The object is frozen for everybody else.
            object.__setattr__(self, name, value)

    def changed(self, **changes: Any) -> TestSettings:
        """The same settings but for some."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a search of one's own by its `repr`.

        The number of jobs is left out: it changes nothing.
        """
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        del values["n_jobs"]
        if self.search is not None and not isinstance(self.search, str):
            values["search"] = repr(self.search)
        return values


def _describe(item: Field[Any]) -> str:
    """A setting as numpydoc has it."""
    meaning = item.metadata["help"]
    return f"    {item.name} : {item.type}, by default {item.default!r}\n        {meaning}\n"


def _with_attributes(summary: str | None) -> str:
    """The docstring of the settings: what they are, then every one of them."""
    descriptions = [_describe(item) for item in fields(TestSettings)]
    return f"{summary}\n\n    Attributes\n    ----------\n" + "".join(descriptions)


TestSettings.__doc__ = _with_attributes(TestSettings.__doc__)
