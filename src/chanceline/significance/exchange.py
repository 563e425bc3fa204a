"""What the null hypothesis exchanges, in words for a methods paragraph."""

from __future__ import annotations

from chanceline._results import listed
from chanceline.significance.null_sizes import COIN_NULL
from chanceline.significance.plan import Plan
from chanceline.tables.wording import plural


def exchange_sentence(plan: Plan) -> str:
    """How labels are redrawn under the null: `the labels of 60 samples, permuted within 4 blocks`.

    With a model of covariates labels are drawn from it; under the null "coin" they are drawn by
    fair coins. Otherwise they are permuted: within pairs, within blocks, or freely.
    """
    sizes = plan.design.sizes
    labels = f"the labels of {units_in_words(plan)}"
    if plan.design.covariate_model is not None:
        covariate_names = listed(list(plan.data.covariates or {}))
        text = f"{labels}, drawn from a logistic model of {covariate_names}"
        text += ", with the number of positives kept"
        if sizes.blocks is not None:
            text += f" in each of {len(sizes.blocks)} blocks"
        return text
    if sizes.null == COIN_NULL:
        return f"{labels}, drawn by fair coins"
    if plan.data.pairs is not None:
        return f"{labels}, swapped within {len(sizes.blocks or ())} pairs"
    if sizes.blocks is not None:
        return f"{labels}, permuted within {len(sizes.blocks)} blocks"
    return f"{labels}, permuted, with the class sizes kept"


def units_in_words(plan: Plan) -> str:
    """`60 samples`, or `20 groups, whose rows keep one label`."""
    n_units = plan.design.sizes.n_units
    if plan.data.groups is not None:
        return f"{plural(n_units, 'group')}, whose rows keep one label"
    return plural(n_units, "sample")
