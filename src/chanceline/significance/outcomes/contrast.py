"""A narrower question about an outcome: do these samples differ from those?"""

from __future__ import annotations

from dataclasses import dataclass

from chanceline._arrays import Ints


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two sides of an outcome that are compared.

    Attributes
    ----------
    words : what is compared, `A against B`.
    signs : (samples,) 1 and −1 for the two sides, 0 for samples that have no part in it.
    """

    words: str
    signs: Ints
