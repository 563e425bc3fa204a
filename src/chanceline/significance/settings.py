"""How to test: everything besides the data and the question, in one frozen object that the result carries."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypedDict, Unpack

from chanceline._validation import LARGEST, real_number, whole_number
from chanceline.chance.planning import check_level
from chanceline.errors import InputError

NULLS = ("fixed", "coin")
MOST_PERMUTATIONS = 10**7
# Fields that are whole numbers: the least allowed, and what a sentence calls them.
WHOLE = (
    ("permutations", 0, "the number of permutations"),
    ("seed", 0, "the seed"),
    ("restarts", 0, "the number of restarts"),
    ("largest", 1, "the largest number of features of the front"),
    ("workers", 1, "the number of workers"),
    ("errors", 0, "the number of errors allowed"),
    ("budget", 0, "the budget"),
    ("candidates", 1, "the number of candidates"),
    ("stop_after", 1, "the number of shuffles to stop after"),
)
OPTIONAL = ("errors", "budget", "candidates", "stop_after")


@dataclass(frozen=True)
class TestSettings:
    """Settings of `separation_test`.

    Attributes
    ----------
    level
        p-value that convinces.
    permutations
        Shuffled labellings, only drawn where the bound does not convince; 0 for none.
    seed
        Of the search, the shuffles and the cross-validation.
    null
        "fixed" shuffles the labels (class sizes kept), "coin" draws each label by a fair coin.
    intercept
        Whether the rule has a free threshold.
    errors
        Errors allowed, fixed beforehand. None: as many as the rule makes, for which the bound pays a factor 2^(e+1) if
        features were named or nothing separates (no factor if the features were preregistered).
    method
        Algorithm of `chanceline.search` that looks for the smallest set on the observed labels; with `errors` allowed, one other
        than "auto" and "exact" looks for a set without any.
    budget
        Iterations of one search; None for the method's own.
    restarts
        Further searches of the observed labels when a slightly smaller set would convince by the bound.
    search
        A search of your own that is run again on every shuffle, instead of the front: a scikit-learn feature selector, a
        function (X, y) → indices, or the name of a search method.
    stop_after
        With a search of your own: stop after so many shuffles did as well (None: never).
    largest
        The front goes up to so many features.
    preregistered
        The features named were fixed before the labels were seen.
    candidates
        Number of features the selection could choose from, if X holds fewer; only the bound speaks then.
    always_permute
        Shuffle even if the bound convinces.
    expected_error
        Cross-validate as well, to say what to expect on new samples.
    workers
        Processes that may share the shuffles; the result does not depend on it. Scripts that use more than one need the usual
        ``if __name__ == "__main__":`` guard.
    time_limit
        Seconds after which no further shuffle is begun (None: no limit). Those done by then make a valid p-value.
    """

    # Not a test class, whatever pytest makes of the name.
    __test__: ClassVar[bool] = False

    level: float = 0.05
    permutations: int = 999
    seed: int = 0
    null: str = "fixed"
    intercept: bool = True
    errors: int | None = None
    method: str = "auto"
    budget: int | None = None
    restarts: int = 8
    search: Any = None
    stop_after: int | None = 10
    largest: int = 6
    preregistered: bool = False
    candidates: int | None = None
    always_permute: bool = False
    expected_error: bool = True
    workers: int = 1
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        object.__setattr__(self, "level", float(self.level))
        if self.null not in NULLS:
            raise InputError(f"the null must be 'fixed' (class sizes kept) or 'coin' (fair coin), not {self.null!r}.")
        for name, least, what in WHOLE:
            if getattr(self, name) is not None or name not in OPTIONAL:
                most = MOST_PERMUTATIONS if name == "permutations" else LARGEST
                # 9.0 is kept as 9; the object is frozen for everybody else.
                object.__setattr__(self, name, whole_number(getattr(self, name), what, at_least=least, at_most=most))
        if self.time_limit is not None and not real_number(self.time_limit, "the time limit") > 0:
            raise InputError(f"the time limit must be a positive number of seconds, not {self.time_limit}.")

    def changed(self, **changes: Unpack[SettingsChanges]) -> TestSettings:
        """The same settings but for some; an unknown name gets a sentence."""
        known = {field.name for field in fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise TypeError(f"separation_test has no setting {unknown[0]!r}; there are {', '.join(sorted(known))}.")
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; a search of one's own by its `repr`. The number of workers is left out: it changes nothing."""
        record = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "workers"}
        if self.search is not None and not isinstance(self.search, str):
            record["search"] = repr(self.search)
        return record


class SettingsChanges(TypedDict, total=False):
    """The same names, as keyword arguments."""

    level: float
    permutations: int
    seed: int
    null: str
    intercept: bool
    errors: int | None
    method: str
    budget: int | None
    restarts: int
    search: Any
    stop_after: int | None
    largest: int
    preregistered: bool
    candidates: int | None
    always_permute: bool
    expected_error: bool
    workers: int
    time_limit: float | None
