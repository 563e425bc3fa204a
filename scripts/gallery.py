"""Runs the examples of docs/gallery and keeps what they print and draw beside them.

An example NAME.py prints its numbers and saves the picture NAME.svg. Its page NAME.md shows the
script, NAME.txt (what it prints) and the picture; the site is built from these files, without running
anything.

    python scripts/gallery.py                  runs all examples and says what differs
    python scripts/gallery.py --write          puts what they print and draw into docs/gallery
    python scripts/gallery.py NAME …           these examples only
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from chanceline._io import write_text
from examples import empty_folder, matches, run_python

GALLERY = Path(__file__).resolve().parents[1] / "docs" / "gallery"
# Coordinates in an SVG file: paths, and the places of markers and letters.
COORDINATES = re.compile(r'\b(?:d|x|y)="([^"]*)"')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
DRAWN_BY = re.compile(r"Matplotlib v[\w.]+")
# Points; pictures are about 460 wide.
TOLERANCE = 0.5


@dataclass(frozen=True)
class Example:
    """What an example prints and draws.

    Attributes
    ----------
    printed : its output.
    picture : its SVG file.
    """

    printed: str
    picture: str


def example_names() -> list[str]:
    """The names of all examples."""
    return [path.stem for path in sorted(GALLERY.glob("*.py"))]


def run_example(name: str) -> Example:
    """Run an example in an empty folder."""
    code = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    with empty_folder() as folder:
        printed = run_python(code, {"__name__": "example"})
        picture = (folder / f"{name}.svg").read_text(encoding="utf-8")
    plt.close("all")
    # Matplotlib ends lines of long paths with a blank.
    tidy_lines = [line.rstrip() for line in picture.splitlines()]
    return Example(printed, "\n".join(tidy_lines) + "\n")


def kept_example(name: str) -> Example:
    """What docs/gallery has of an example."""
    printed = (GALLERY / f"{name}.txt").read_text(encoding="utf-8")
    picture = (GALLERY / f"{name}.svg").read_text(encoding="utf-8")
    return Example(printed, picture)


def write_example(name: str, example: Example) -> None:
    """Keep an example in docs/gallery."""
    write_text(GALLERY / f"{name}.txt", example.printed)
    write_text(GALLERY / f"{name}.svg", example.picture)


def difference(kept: Example, new: Example) -> str:
    """What differs, in a word; empty if nothing does."""
    if not matches(kept.printed, new.printed):
        return "output"
    if not same_picture(kept.picture, new.picture):
        return "picture"
    return ""


def same_picture(kept: str, new: str) -> bool:
    """Whether two SVG files show the same, up to half a point.

    Another version of Matplotlib draws the same numbers otherwise: then nothing is compared.
    """
    if DRAWN_BY.findall(kept) != DRAWN_BY.findall(new):
        return True
    kept_places = coordinates(kept)
    new_places = coordinates(new)
    if kept_places.shape != new_places.shape:
        return False
    return bool(np.allclose(kept_places, new_places, rtol=0, atol=TOLERANCE))


def coordinates(picture: str) -> np.ndarray:
    """All coordinates of an SVG file, (numbers,)."""
    attributes = " ".join(COORDINATES.findall(picture))
    return np.array([float(number) for number in NUMBER.findall(attributes)])


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the examples of the gallery.")
    parser.add_argument("--write", action="store_true", help="keep what they print and draw")
    parser.add_argument("names", nargs="*", help="these examples only")
    options = parser.parse_args()
    os.environ["MPLBACKEND"] = "Agg"
    n_different = 0
    for name in options.names or example_names():
        new = run_example(name)
        if options.write:
            write_example(name, new)
            continue
        found = difference(kept_example(name), new)
        if found:
            n_different += 1
            print(f"{name}: its {found} differs\n{new.printed}")
    return min(n_different, 1)


if __name__ == "__main__":
    sys.exit(main())
