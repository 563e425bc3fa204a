"""The design of a study in a short paragraph: classes, what belongs together, what is exchanged."""

from __future__ import annotations

import numpy as np

from chanceline.significance.plain_sentence import joined_by_and
from chanceline.significance.result import SeparationTest
from chanceline.tables.dataset import Dataset
from chanceline.tables.wording import plural

NOTHING_DECLARED = (
    "No groups, blocks, pairs or covariates were declared: every sample counts by itself."
)


def design_in_words(result: SeparationTest, data: Dataset | None = None) -> list[str]:
    """Describe the design of a study in sentences.

    They say which classes there are, what the user declared about dependent samples and covariates,
    and which labels the test exchanges.

    Parameters
    ----------
    result : the result of the test.
    data : the table tested, from which the names of columns are taken; None if it is not known.
    """
    # A sentence about something that was not declared is empty.
    sentences = [
        groups_in_words(result, data),
        blocks_in_words(result, data),
        covariates_in_words(result),
    ]
    declared = [sentence for sentence in sentences if sentence]
    if not declared:
        declared = [NOTHING_DECLARED]
    return [
        classes_in_words(result),
        *declared,
        f"If features and labels were unrelated, these could change places: {result.exchange}.",
    ]


def classes_in_words(result: SeparationTest) -> str:
    """How many samples there are of each class, and which of the two is the positive one."""
    negative, positive = result.class_names
    n_negatives = result.n_samples - result.positives
    samples = f"{plural(result.n_samples, 'sample')} with {plural(result.n_features, 'feature')}"
    sizes = f"{result.positives} {positive} and {n_negatives} {negative}"
    return (
        f"{samples}: {sizes}. The positive class is {positive}: the rule predicts it, and signs of "
        "weights, AUC and sensitivity speak of it."
    )


def groups_in_words(result: SeparationTest, data: Dataset | None) -> str:
    """Which samples share a label and are left out together; empty where each stands alone."""
    if result.n_units == result.n_samples:
        return ""
    column = _column_of("groups", data)
    groups = f"{plural(result.n_units, 'group')}{column}"
    return f"Samples belong to {groups}; those of a group have one label and are kept together."


def blocks_in_words(result: SeparationTest, data: Dataset | None) -> str:
    """The sentence about blocks or pairs; empty if there are none.

    Only samples of the same block (such as a hospital) or pair are compared with each other. `data`
    is the table tested; None if it is not known.
    """
    if result.n_blocks == 1:  # all samples are compared with each other
        return ""
    if data is not None and data.pairs is not None:
        pairs = f"{plural(result.n_blocks, 'pair')}{_column_of('pairs', data)}"
        return f"Samples are compared within {pairs}."
    blocks = plural(result.n_blocks, "block")
    if data is not None:
        blocks += _origin_of_blocks(result, data)
    return f"Samples are compared within {blocks}."


def _origin_of_blocks(result: SeparationTest, data: Dataset) -> str:
    """Words that follow "6 blocks" and say where these come from; may be empty.

    Blocks are declared by a column of the table. If the test adjusts for categories (such as sex),
    it splits every declared block by them.
    """
    in_column = _column_of("blocks", data)  # such as " (column hospital)"
    n_declared = 1  # if no blocks are declared, all samples are one block
    if data.blocks is not None:
        n_declared = len(np.unique(data.blocks))
    were_split = result.n_blocks > n_declared
    if not were_split:
        return in_column

    origin = ", which are made of the categories adjusted for"
    if data.blocks is not None:
        origin += f" and of {plural(n_declared, 'block')}{in_column}"
    return origin


def covariates_in_words(result: SeparationTest) -> str:
    """What the test adjusts for; empty if it does not."""
    if not result.covariates:
        return ""
    names = joined_by_and(result.covariates)
    return f"The question is what the features tell beyond {names}."


def _column_of(role: str, data: Dataset | None) -> str:
    """` (column patient)` where a column of that name gave the role; else nothing."""
    if data is None or role not in data.role_columns:
        return ""
    return f" (column {data.role_columns[role]})"
