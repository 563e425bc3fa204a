"""A memory as one .npz file: plain arrays and a line of JSON, nothing that could run code when read."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from chanceline.errors import InputError
from chanceline.files import write_bytes
from chanceline.memory.network import AssociativeMemory, StorageReport

FORMAT = "chanceline memory 1"
REPORTED = ("fan_ins", "stabilities", "unsolved", "impossible")


def save(memory: AssociativeMemory, path: Path) -> None:
    """Write the file whole or not at all."""
    couplings, rule, report = memory.couplings, memory.rule, memory.report
    settings = {
        "format": FORMAT,
        "n_neurons": memory.n_neurons,
        "fan_in": memory.fan_in if isinstance(memory.fan_in, str | int) else float(memory.fan_in),
        "wiring": rule.wiring,
        "seed": rule.seed,
        "kappa": rule.kappa,
        "budget": rule.budget,
        "n_patterns": None if report is None else report.n_patterns,
    }
    arrays = {} if report is None else {name: getattr(report, name) for name in REPORTED}
    content = io.BytesIO()
    np.savez_compressed(
        content,
        settings=np.array(json.dumps(settings)),
        data=couplings.data,
        indices=couplings.indices,
        indptr=couplings.indptr,
        **arrays,
    )
    write_bytes(path, content.getvalue())


def load(path: Path) -> AssociativeMemory:
    """The memory in a file, checked."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays["settings"]))
        if settings.pop("format") != FORMAT:
            raise ValueError("another format")
        n, n_patterns = settings["n_neurons"], settings.pop("n_patterns")
        memory = AssociativeMemory(**settings)
        matrix = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
        matrix.check_format()
        memory = memory.with_couplings(matrix)
        if n_patterns is not None:
            memory.report = StorageReport(
                n, n_patterns, memory.rule.wiring, memory.rule.kappa, *(arrays[name] for name in REPORTED)
            )
    except OSError as error:
        raise InputError(f"No memory could be read from {path} ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a memory written by save ({error}).") from error
    return memory
