"""What a statistician sees at first glance: rows of one subject, pairs, columns that go with the
classes, and nearly equal rows.

A column (text or whole numbers) looks like *subjects* if its values repeat in most rows and the
label is constant within every value, and like *pairs* (or matched sets) if every value that repeats
has the same number of rows of each class. Both happen by chance, with a probability under shuffled
labels that is counted exactly: [z^{n₊}] Π_v (1 + z^{s_v})/C(P, n₊) for values of s_v rows, and Π_v
C(s_v, k)/C(P, n₊) for k positives in each. A test stops if it is small and the values look like
identifiers: the column is called so, or it has at least `FEWEST` values that are codes (P07) or
have equally many rows. A coarse measurement, a stage or a diagnosis that is constant within the
label is none of that.

Names that are different in every row may hold the subjects in their stems (`309_1 … 309_15`, see
`stems`), and these are looked at in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, gammainc

from chanceline.chance.counts import LOG2, log_binomial
from chanceline.errors import InputError
from chanceline.perceptron.problem import Floats
from chanceline.tables.dataset import Finding
from chanceline.tables.stems import Stems, are_names, find_stems

SUBJECTS = (
    r"(patients?|subjects?|participants?|persons?|donors?|animals?|mouse|mice|rats?|individuals?|volunteers?|famil(y|ies)|"
    r"twins?|pairs?|litters?|cages?|(cell.?)?lines?|cultures?|sites?|cent(re|er)s?|hospitals?|clinics?|batch(es)?|plates?|slides?|"
    r"specimens?|ids?|barcodes?)"
)
# A column of subjects is called so at the end of its name: `mouse`, `study site`, `patient number`,
# but not `patient age`.
SUBJECT = re.compile(rf"(?<![a-z]){SUBJECTS}( (ids?|no|nr|num|number|code|key|name|label|index))*$", re.IGNORECASE)
SUBJECT_SOMEWHERE = re.compile(SUBJECTS)  # tells most names at once, in small letters
# How many there are is a measurement: `number of sites`, `n lines`.
HOW_MANY = re.compile(r"(n|no|nr|num|number|count|total)( of)? (\w+ )*\w+s", re.IGNORECASE)
IN_BRACKETS = re.compile(r"\(.*?\)|\[.*?\]")
NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")  # MouseID
CODE = re.compile(r"[A-Za-z]{1,12}[-_ ./]?\d+[A-Za-z]?")
FEWEST = 6
STEM = "stem:"  # before a column's name: the stems of its names
# ID1 and CAGE1 are genes, Family_XIII is a taxon: with so many columns like it a column is one of
# the measurements.
MANY_ALIKE = 10
FIRST_ROWS = 20
# Probability under shuffled labels below which a design is seen, where the name says it and where the values alone do.
NAMED, UNNAMED = 0.1, 0.01
SMALLEST_SHOWN = np.log(1e-300)
CONFOUNDER = re.compile(
    r"(?<![a-z])(age|sex|gender|bmi|weight|height|sites?|cent(re|er)|hospital|clinic|batch|plate|run|lane|chip|array|operator|scanner|"
    r"instrument|platform|cohort|country|ethnicity|race|smok(er|ing)|rin(?! ?\d)|depth|order)(?![a-z])",
    re.IGNORECASE,
)
# P-value below which a column is said to go with the classes.
ASSOCIATED = 0.05
# Rows are nearly equal if their squared distance is this share of the median, and the closest of independent rows would hardly be
# so close.
NEAR, HARDLY = 0.1, 0.001
MOST_ROWS, MOST_COLUMNS = 3000, 1000


def log_chance_pure(sizes: NDArray[np.int64], positives: int) -> float:
    """ln of the probability that shuffled labels are constant within values of so many rows."""
    ways = np.append(1.0, np.zeros(positives))
    for size in sizes:
        # Halved every time, so that no number grows too large.
        ways = (ways + np.append(np.zeros(size), ways)[: positives + 1]) / 2
    count = float(np.log(max(ways[-1], np.finfo(float).tiny))) + len(sizes) * LOG2
    return count - float(log_binomial(sizes.sum(), positives))


@dataclass(frozen=True)
class Design:
    """How the rows with one value of a column belong together.

    Attributes
    ----------
    role : groups, pairs or blocks.
    what : that in words.
    log_chance : ln of the probability that shuffled labels look like it.
    """

    role: str
    what: str
    log_chance: float

    @property
    def chance(self) -> str:
        """The probability in words."""
        if self.log_chance < SMALLEST_SHOWN:
            return "below 1e-300"
        return f"{np.exp(self.log_chance):.1g}"


def find_design(codes: NDArray[np.int64], labels: Floats) -> Design | None:
    """One label in all rows of each value (numbered 0, 1, …), or equally many of each class in all
    that repeat; else None.
    """
    sizes = np.bincount(codes)
    positives = np.bincount(codes, weights=labels > 0).astype(int)
    if np.all((positives == 0) | (positives == sizes)):
        what = "one label in all rows of each, like subjects, whose rows are not independent"
        return Design("groups", what, log_chance_pure(sizes, int(positives.sum())))
    set_sizes, set_positives = sizes[sizes > 1], positives[sizes > 1]
    if len(np.unique(set_sizes)) != 1 or len(np.unique(set_positives)) != 1:
        return None
    log_ways = float(np.sum(log_binomial(set_sizes, set_positives)))
    log_chance = log_ways - float(log_binomial(set_sizes.sum(), set_positives.sum()))
    if set_sizes[0] == 2:
        return Design("pairs", "one row of each class in each, like pairs", log_chance)
    what = "equally many rows of each class in each, like matched samples, whose labels belong together"
    return Design("blocks", what, log_chance)


def about_column(name: str, values: Any, labels: Floats, where: str = "") -> str:
    """The sentence with which a test stops if the column looks like subjects or pairs, else
    nothing.

    `where` the values stand, if they are no column.
    """
    codes, levels = pd.factorize(values)
    if codes.min() < 0 or len(levels) < 3:
        return ""
    sizes = np.bincount(codes)
    repeated = sizes[sizes > 1]
    if 2 * repeated.sum() <= len(labels):
        return ""
    design = find_design(codes, labels)
    if design is None:
        return ""
    alike = repeated.min() == repeated.max()
    coded = len(sizes) >= FEWEST and (alike or all(CODE.fullmatch(str(level)) for level in levels))
    if called_like_subjects(name):
        limit = NAMED
    elif coded:
        limit = UNNAMED
    else:
        return ""
    if design.log_chance > np.log(limit):
        return ""
    where = where or f"column {name!r}"
    what = f"{where} has {len(sizes)} values, and {design.what} (probability {design.chance} by chance)"
    remedy = f"declare it with {design.role}={name!r}, or say independent={name!r}"
    return f"{what}; {remedy} if the rows are independent nevertheless."


def design_of_stems(stems: Stems, labels: Floats) -> Design | None:
    """The design that stems show: subjects, pairs, or visits whose tails tell the class, fewer than
    there are subjects.

    Plates with both classes in many wells show none.
    """
    codes = pd.factorize(np.array(stems.stems, dtype=object))[0]
    design = find_design(codes, labels)
    if design is None or design.role == "groups":
        return design
    if not stems.separated:
        return None
    if design.role == "blocks":
        are_visits = max(stems.sizes.values()) < len(stems.sizes) and _tails_tell_class(stems, labels)
        return design if are_visits else None
    return design


def _tails_tell_class(stems: Stems, labels: Floats) -> bool:
    return _determines(pd.Series(stems.tails), pd.Series(labels))


def about_names(
    names: pd.Series,
    labels: Floats,
    where: str = "",
    known: Sequence[pd.Series] = (),
    *,
    setting: str = "",
    rows: str = "rows",
) -> str:
    """The sentence with which a test stops if the stems of names look like subjects or pairs, else
    nothing.

    Replicates of visits (`P07_V1_R2`) are cut again: the coarsest stems that look like subjects are
    named.

    Parameters
    ----------
    names, labels : a name and a label for each row, or each of other `rows`.
    where : the names stand, if they are no column.
    known : columns about which enough was said; stems that put the same rows together are not told.
    setting : how the names were declared, if they were.
    """
    name = str(names.name)
    values = names.tolist()
    setting = setting or name
    sentence = ""
    while True:
        stems = find_stems(values)
        design = None if stems is None else design_of_stems(stems, labels)
        if stems is None or design is None or (sentence and design.role != "groups"):
            return sentence
        setting = f"{STEM}{setting}"
        is_known = any(same_partition(stems.stems, column) for column in known)
        if _convinces(stems, design, name, labels) and not is_known:
            names_in = f"the names in {where or f'column {name!r}'}"
            have = f"have {stems.described(rows)} ({stems.example(values)})"
            what = f"and {design.what} (probability {design.chance} by chance)"
            remedy = f"declare them with {design.role}={setting!r}, or say independent={name!r}"
            sentence = f"{names_in} {have}, {what}; {remedy} if the rows are independent nevertheless."
        values = [*stems.stems]


def _convinces(stems: Stems, design: Design, name: str, labels: Floats) -> bool:
    """Whether the stems may be subjects, and shuffled labels would hardly look like this.

    Names of subjects are codes or numbers. Words may be kinds of samples (`brain`, `liver`), and so
    may a few codes (`T1`, `day7`), unless the column is called after subjects.
    """
    sizes = [*stems.sizes.values()]
    are_numbers = all(stem.isdecimal() for stem in stems.sizes)
    are_codes = all(any(letter.isdecimal() for letter in stem) for stem in stems.sizes)
    if len(sizes) < FEWEST and not are_numbers and not (are_codes and called_like_subjects(name)):
        return False
    if not are_codes and len({*sizes}) > 1:
        return False
    # P01_T and P01_N have the class in their tails, which chance hardly arranges.
    limit = NAMED if design.role == "pairs" and _tails_tell_class(stems, labels) else UNNAMED
    return bool(design.log_chance <= np.log(limit))


def same_partition(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether two columns put the same rows together."""
    return np.array_equal(pd.factorize(pd.Series(one))[0], pd.factorize(pd.Series(other))[0])


def _called(words: re.Pattern[str], name: Any) -> bool:
    return words.search(str(name).replace("_", " ")) is not None


def called_like_subjects(name: Any) -> bool:
    """Whether the name says subjects, sites or identifiers: `patient_id`, `MouseID`, `Study site
    (code)`.
    """
    if SUBJECT_SOMEWHERE.search(str(name).lower()) is None:
        return False
    words = NEW_WORD.sub(" ", IN_BRACKETS.sub(" ", str(name)))
    plain = " ".join(re.sub(r"[\W_]+", " ", words).split())
    return SUBJECT.search(plain) is not None and HOW_MANY.fullmatch(plain) is None


def subject_columns(numbers: pd.DataFrame) -> list[Any]:
    """Columns of whole numbers that are called like subjects, sites or identifiers; indicators
    (`site=north`) were asked for.

    A number behind the name (ID1, site 2) makes it weak evidence: such a column must not be one of
    many alike, whole numbers all of them, and different in every row if it is.
    """
    likely = numbers.columns[(numbers.iloc[0] % 1 == 0).to_numpy()]
    found = []
    for name in likely:
        text = str(name)
        unnumbered = text.rstrip("0123456789")
        if "=" in text or not called_like_subjects(unnumbered):
            continue
        if np.any(numbers[name] % 1 != 0):
            continue
        if unnumbered == text or _alike(numbers[likely], name) <= MANY_ALIKE:
            found.append(name)
    return found


def _alike(whole: pd.DataFrame, name: Any) -> int:
    """How many columns are different in every row like this one, as far as the first rows tell; all
    if it is not.
    """
    if not whole[name].is_unique:
        return whole.shape[1]
    ordered = np.sort(whole.iloc[:FIRST_ROWS].to_numpy(), axis=0)
    return int(np.all(np.diff(ordered, axis=0) > 0, axis=0).sum())


def undeclared_design(
    text: pd.DataFrame,
    numbers: pd.DataFrame,
    labels: Floats,
    *,
    names: pd.Series | None = None,
    names_are: str = "",
    known: Sequence[pd.Series] = (),
) -> str:
    """The first column of subjects or pairs among text and whole numbers; of many, among those that
    are called so.

    Parameters
    ----------
    text, numbers : columns of the samples.
    labels : ±1.
    names : of the samples, where they are no column, and what `names_are` in words.
    known : columns about whose rows enough was said: the classes, blocks, what was said to be
        independent.
    """
    whole = numbers.columns[(numbers.iloc[0] % 1 == 0).to_numpy()]
    likely = [*whole] if len(whole) <= MOST_COLUMNS else subject_columns(numbers)
    columns = [*(text.iloc[:, j] for j in range(min(text.shape[1], MOST_COLUMNS))), *(numbers[name] for name in likely)]
    for column in columns:
        said = about_column(str(column.name), column, labels)
        if said and not any(same_partition(column, other) for other in known):
            return said
    if names is not None:
        said = about_column(str(names.name), names, labels, names_are)
        if not said and are_names(names.tolist(), numbers_too=True):
            said = about_names(names, labels, names_are, known)
        if said:
            return said
    for place in range(min(text.shape[1], MOST_COLUMNS)):
        column = text.iloc[:, place]
        if not are_names(column.tolist()):
            continue
        said = about_names(column, labels, known=known)
        if said:
            return said
    return ""


def about_groups(groups: pd.Series, labels: Floats, said: str) -> str:
    """The sentence with which a test stops if declared groups seem to be visits of fewer subjects
    (P07_V1, P07_V2), else nothing.

    Parameters
    ----------
    groups, labels : one for each row; groups that have one label each, if they are to be looked at.
    said : the setting as it was given.
    """
    first = ~groups.duplicated().to_numpy()
    units = groups[first]
    one_label_each = same_partition(groups, list(zip(groups, labels, strict=True)))
    if not one_label_each or not are_names(units.tolist(), numbers_too=True):
        return ""
    return about_names(units, labels[first], setting=said, rows="groups")


def named_index(table: Any) -> pd.Series | None:
    """The index of a data frame where it holds names, as a column called by the index's name, or
    `index`.
    """
    index = getattr(table, "index", None)
    if not isinstance(index, pd.Index) or isinstance(index, pd.MultiIndex):
        return None
    if not all(isinstance(one, str) for one in index):
        return None
    name = str(index.name)
    if index.name is None or name in {str(column) for column in table.columns}:
        name = "index"
    return pd.Series(index.tolist(), name=name, dtype=object)


def check_declared(role: str, column: pd.Series, labels: Floats, *, said: str = "") -> list[Finding]:
    """Stop where every row has a value of its own, so that nothing is grouped, and stems would
    group it; else a warning.

    Parameters
    ----------
    role : groups, pairs or blocks.
    column : what was declared as that.
    said : the setting as it was given; empty for an array.
    """
    if column.nunique() < len(column) or len(column) < 2:
        return []
    values = column.tolist()
    stems = find_stems(values) if are_names(values, numbers_too=True) else None
    design = None if stems is None else design_of_stems(stems, labels)
    role_of_stems = role if role == "blocks" else ""
    if design is not None:
        role_of_stems = design.role
    if stems is not None and role_of_stems:
        declared = role
        remedy = f"give the stems as {role_of_stems}"
        if said:
            declared = f"{role}={said!r}"
            stem_setting = f"{role_of_stems}={STEM + said!r}"
            remedy = f"set {stem_setting}, or say independent={said!r} instead if the rows are independent"
        what = f"{declared} has a value of its own in each of the {len(column)} rows"
        raise InputError(f"{what}; these have {stems.described()} ({stems.example(values)}): {remedy}.")
    if role != "groups":
        return []
    which = f" of {said!r}" if said else ""
    return [Finding("warning", f"every group{which} has one row, so that groups change nothing.")]


def confounded_columns(table: pd.DataFrame, labels: Floats, allowed_for: Sequence[pd.Series] = ()) -> list[Finding]:
    """Columns called like usual confounders that go with the classes: n·R² of the label on a number
    and its square, or on the categories (then it is Pearson's χ²); asymptotic. Nothing is said
    of a column that those `allowed_for` determine.
    """
    found = []
    for name in (one for one in table if _called(CONFOUNDER, one)):
        column = table[name]
        if any(_determines(given, column) for given in allowed_for):
            continue
        numeric = pd.api.types.is_numeric_dtype(column) and column.nunique() > 5
        scaled = ((column - column.mean()) / column.std()).clip(-3, 3).fillna(0.0) if numeric else column
        terms = np.column_stack([scaled, scaled**2]) if numeric else pd.get_dummies(column).to_numpy(dtype=float)
        terms = terms - terms.mean(axis=0)
        weights, _, rank, _ = np.linalg.lstsq(terms, labels, rcond=None)
        pvalue = float(chdtrc(max(rank, 1), np.sum((terms @ weights) ** 2) / labels.var()))
        # Text with a value of its own in many rows is no category.
        if pvalue <= ASSOCIATED and rank <= len(labels) / 5:
            remedy = f"adjust={str(name)!r} asks what the features show beyond it"
            found.append(Finding("warning", f"column {str(name)!r} goes with the classes (χ² test, p = {pvalue:.1g}); {remedy}."))
    return found


def _determines(given: pd.Series, column: pd.Series) -> bool:
    """Whether the categories of one column have one value of the other each, as those of `sex` have
    of `sex_code`.
    """
    categories, levels = pd.factorize(given)
    if 2 * len(levels) > len(given):
        return False
    return bool(pd.Series(pd.factorize(column)[0]).groupby(categories).nunique().max() == 1)


def near_rows(X: Floats, y: Floats, together: NDArray[np.int64], called: Sequence[Any]) -> list[Finding]:
    """Rows that are nearly equal though nothing says that they belong `together`; of large tables the first rows, some columns.

    Squared distances of independent rows scatter like χ² with as many degrees of freedom as their mean and variance say; pairs
    are told if the closest of all would hardly be so close.
    """
    values = X[:MOST_ROWS, :: -(-X.shape[1] // MOST_COLUMNS)]
    values = values[:, values.std(axis=0) > 0]
    values = np.clip((values - values.mean(axis=0)) / values.std(axis=0), -3.0, 3.0)
    first, second = np.triu_indices(len(values), 1)
    lengths = np.einsum("ij,ij->i", values, values)
    squares = np.maximum(lengths[first] + lengths[second] - 2 * (values @ values.T)[first, second], 0.0)
    mean, middle = max(float(squares.mean()), 1e-100), float(np.median(squares))
    freedom = 2 * mean**2 / max(float(squares.var()), 1e-6 * mean**2)
    # Columns of few values agree by chance.
    counts = (np.unique(column, return_counts=True)[1] for column in values.T)
    agree = np.prod([(count * (count - 1)).sum() / (2 * max(len(squares), 1)) for count in counts])
    near = (squares <= NEAR * middle) & (together[first] != together[second])
    near[near] = len(squares) * np.maximum(gammainc(freedom / 2, freedom / 2 * squares[near] / mean), agree) <= HARDLY
    of_one_class = "if they are of one subject, say which rows belong together with groups=COLUMN"
    if len(np.unique(together)) < len(together):
        of_one_class = "though nothing that was declared says that they belong together"
    of_both_classes = "though of opposite classes, as if samples were in both"
    found = []
    for alike, what in ((True, of_one_class), (False, of_both_classes)):
        which = np.flatnonzero(near & ((y[first] == y[second]) == alike))
        if not alike:
            # Equal rows of opposite classes are told by `examine`, as no rule separates them.
            # Adding zero makes −0 and 0 one.
            involved = {*first[which].tolist(), *second[which].tolist()}
            prints = {row: blake2b((X[row] + 0.0).tobytes()).digest() for row in involved}
            which = np.array([k for k in which if prints[first[k]] != prints[second[k]]], dtype=np.int64)
        if len(which):
            shown = "; ".join(f"{called[first[k]]} and {called[second[k]]}" for k in which[:3]) + "; …" * (len(which) > 3)
            found.append(Finding("warning", f"rows {shown} are nearly equal ({len(which)} such pairs); {what}."))
    return found
