"""The pictures of docs/app.md: the page of a table on a desk, and that of a verdict on a phone (needs Chromium).

python scripts/app_images.py
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT / "tests" / "app"), str(ROOT / "tests" / "report")]


def write_image(page, name: str, width: int, height: int) -> None:
    """What the page shows on a screen of this size, in 128 colours."""
    target = IMAGES / f"{name}.png"
    page.screenshot(target, width, height)
    with Image.open(target) as picture:
        few_colours = picture.convert("RGB").quantize(128)
    few_colours.save(target, optimize=True)


def main() -> None:
    from driven_browser import driven_page
    from pages_client import small_table
    from served import served
    from test_browser import bring, look_again, read_verdict, select

    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as server,
        driven_page() as page,
    ):
        bring(page, server.address, small_table(Path(folder) / "patients.csv"))
        select(page, "#label", "outcome")
        look_again(page)
        write_image(page, "app-table", 1280, 1150)
        page.value("document.querySelector('button.main').click()")
        read_verdict(page)
        write_image(page, "app-run-phone", 390, 1100)
    print(f"pictures in {IMAGES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
