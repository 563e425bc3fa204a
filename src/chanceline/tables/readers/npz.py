"""NumPy archives with X, y and perhaps the names of the features."""

from __future__ import annotations

from typing import IO

import numpy as np
import pandas as pd

from chanceline.errors import InputError
from chanceline.tables.raw_table import RawTable


def read_npz(file: IO[bytes], file_name: str, *, transpose: bool) -> RawTable:
    """The table of a NumPy archive: its array X as numbers, and y among the descriptions.

    Parameters
    ----------
    file : the archive, with arrays X and y and perhaps feature_names.
    file_name : the name of the file, for error messages.
    transpose : whether X has the shape (features, samples), and not (samples, features).
    """
    with np.load(file, allow_pickle=False) as archive:
        if "X" not in archive or "y" not in archive:
            arrays = ", ".join(archive.files) or "nothing"
            raise InputError(f"{file_name} must hold arrays X and y, but holds {arrays}.")
        X = archive["X"]
        y = archive["y"]
        stored_names = archive.get("feature_names")
    if transpose:
        X = X.T
    shapes_agree = X.ndim == 2 and y.shape == X.shape[:1]
    if not shapes_agree:
        remedy = ""
        if not transpose:
            remedy = "; set transpose=True if samples are columns"
        raise InputError(
            f"{file_name} needs X with two dimensions and a y for every row, but has "
            f"{X.shape} and {y.shape}{remedy}."
        )
    feature_names = [f"x{j}" for j in range(X.shape[1])]
    if stored_names is not None:
        feature_names = [str(feature) for feature in stored_names]
    label_name = "y"
    if label_name in feature_names:
        label_name = "label"  # no two columns may have the same name
    values = pd.DataFrame(X, columns=feature_names)
    return RawTable(values, descriptions=pd.DataFrame({label_name: y}))
