"""The gallery: every example prints and draws what its page shows."""

from __future__ import annotations

import ast
import re

import pytest

import gallery

NAMES = gallery.example_names()
# Examples that simulate many tables, seconds each.
LONG = {
    "eeg-decoding",
    "permutation-test-score",
    "repeated-measures",
    "sample-size",
    "selection-inside-cross-validation",
}
MAX_PICTURE_SIZE = 60_000  # bytes


def check(name):
    new = gallery.run_example(name)
    assert gallery.difference(gallery.kept_example(name), new) == "", new.printed


@pytest.mark.parametrize("name", [name for name in NAMES if name not in LONG])
def test_examples_print_and_draw_what_is_shown(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONG))
def test_long_examples_print_and_draw_what_is_shown(name):
    check(name)


def claim_of(name):
    """The sentence that an example's script begins with, without its full stop."""
    code = (gallery.GALLERY / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(code)).removesuffix(".")


@pytest.mark.parametrize("name", NAMES)
def test_pages_show_claim_script_output_and_picture(name):
    page = (gallery.GALLERY / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {claim_of(name)}\n")
    assert f'--8<-- "docs/gallery/{name}.py"' in page
    assert f'--8<-- "docs/gallery/{name}.txt"' in page
    assert re.search(rf"!\[[^]]+\]\({name}\.svg\)", page)


def test_the_index_has_every_example_with_its_claim():
    index = (gallery.GALLERY / "index.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"({name}.svg)<br>{claim_of(name)}]({name}.md)" in index
    assert len(NAMES) == 10


def test_pictures_are_small():
    for name in NAMES:
        assert (gallery.GALLERY / f"{name}.svg").stat().st_size <= MAX_PICTURE_SIZE, name


def test_the_checker_sees_what_changed():
    kept = gallery.kept_example("survival")
    first_path = re.search(r'd="M ([\d.]+) ', kept.picture)[1]
    moved = kept.picture.replace(f"M {first_path} ", f"M {float(first_path) + 1} ", 1)
    longer = kept.picture.replace("</svg>", '<path d="M 1 2"/></svg>')
    of_other_version = moved.replace("Matplotlib v", "Matplotlib v0.")
    assert gallery.difference(kept, kept) == ""
    assert gallery.difference(kept, gallery.Example("something else", kept.picture)) == "output"
    assert gallery.difference(kept, gallery.Example(kept.printed, moved)) == "picture"
    assert gallery.difference(kept, gallery.Example(kept.printed, longer)) == "picture"
    assert gallery.difference(kept, gallery.Example(kept.printed, of_other_version)) == ""
