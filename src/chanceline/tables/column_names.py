"""What the name of a column says about it: subjects, identifiers of rows, dates, confounders."""

from __future__ import annotations

import re
from typing import Any

SUBJECT_WORDS = (
    r"(patients?|subjects?|participants?|persons?|donors?|animals?|mouse|mice|rats?|individuals?|"
    r"volunteers?|famil(y|ies)|twins?|pairs?|litters?|cages?|(cell.?)?lines?|cultures?|sites?|"
    r"cent(re|er)s?|hospitals?|clinics?|batch(es)?|plates?|slides?|specimens?|ids?|barcodes?)"
)
# Most names have none of these words anywhere, which is seen at once (in small letters).
SUBJECT_WORD_SOMEWHERE = re.compile(SUBJECT_WORDS)
# A column of subjects is called so at the end of its name: `mouse`, `study site`, `patient number`,
# but not `patient age`.
SUBJECT_AT_END = re.compile(
    rf"(?<![a-z]){SUBJECT_WORDS}( (ids?|no|nr|num|number|code|key|name|label|index))*$",
    re.IGNORECASE,
)
# How many there are is a measurement: `number of sites`, `n lines`.
NUMBER_OF_THINGS = re.compile(r"(n|no|nr|num|number|count|total)( of)? (\w+ )*\w+s", re.IGNORECASE)
BRACKETED_PART = re.compile(r"\(.*?\)|\[.*?\]")
CASE_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")  # MouseID
SEPARATORS = re.compile(r"[\W_]+")

ROW_IDENTIFIER = re.compile(
    r"(?i:(^|[\s_.\-])(ids?|index|idx|uuid|key|row|rownames?|row name|no|nr|number|code|barcode|"
    r"accession|mrn|order|"
    r"(sample|subject|patient|participant|donor|specimen|case|record|run|injection)"
    r"(id|no|nr|number)?)$|^unnamed: \d+$)"
    r"|[a-z]I[Dd]$"
)
DATE_WORD = re.compile(r"(?i:(^|[\s_.\-])(date|datum|datetime|timestamp)([\s_.\-]|$))|[a-z]Date$")
CONFOUNDER = re.compile(
    r"(?<![a-z])(age|sex|gender|bmi|weight|height|sites?|cent(re|er)|hospital|clinic|batch|plate|"
    r"run|lane|chip|array|operator|scanner|instrument|platform|cohort|country|ethnicity|race|"
    r"smok(er|ing)|rin(?! ?\d)|depth|order)(?![a-z])",
    re.IGNORECASE,
)


def is_called_subject(name: Any) -> bool:
    """Whether a column's name ends in a word for subjects, sites or identifiers: `patient_id`,
    `MouseID`, `Study site (code)`; but `number of sites` is a measurement.
    """
    # Most names have no such word anywhere: one quick search shows that.
    text = str(name)
    if SUBJECT_WORD_SOMEWHERE.search(text.lower()) is None:
        return False

    # The words of the name with one space between them: `Mouse ID` of `MouseID (code)`.
    without_brackets = BRACKETED_PART.sub(" ", text)
    split_at_capitals = CASE_BOUNDARY.sub(" ", without_brackets)
    without_separators = SEPARATORS.sub(" ", split_at_capitals)
    words = " ".join(without_separators.split())

    ends_in_subject = SUBJECT_AT_END.search(words) is not None
    is_number_of_things = NUMBER_OF_THINGS.fullmatch(words) is not None
    return ends_in_subject and not is_number_of_things


def is_called_identifier(name: Any) -> bool:
    """Whether the name says that the column tells rows apart: `sample_id`, `row`, `SampleID`."""
    return ROW_IDENTIFIER.search(str(name).strip()) is not None


def is_called_date(name: Any) -> bool:
    """Whether the name says a date: `sampling date`, `visitDate`."""
    return DATE_WORD.search(str(name)) is not None


def is_called_confounder(name: Any) -> bool:
    """Whether the column is called like a usual confounder: `age`, `scanner`, `Batch_2`."""
    return CONFOUNDER.search(str(name).replace("_", " ")) is not None
