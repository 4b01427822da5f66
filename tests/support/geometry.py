"""Rendered boxes of participants' pages: nothing that is judged is ever hidden.

The rules, measured in a browser by `geometry.js`:

- whole: no text to be judged, and no input, is in a box that scrolls or clips, or in a closed fold
- column: an answer that names an output stands under it, and a box of an output stays inside it
- word: no word of an answer or a button is broken
- covered: what has the focus is in the window, with nothing over it
- reach: from each question, each text is in view, or one visible link away
- sideways: the page isn't wider than its window
- tap: what is pressed with a finger has 44 by 44 pixels
- save: in a large window, Save is close to the last answer
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

Size = tuple[int, int]

_RULES = Path(__file__).with_name("geometry.js").read_text(encoding="utf-8")
WIDE, PHONE, LARGE = (1280, 800), (360, 740), (1920, 1080)
_MORE = [LARGE, (1024, 768), (768, 1024), (320, 640), (640, 400)]
_TOUCHED = {(768, 1024), PHONE, (320, 640)}
WINDOWS = [WIDE, PHONE, *(pytest.param(size, marks=pytest.mark.torture) for size in _MORE)]
each_window = pytest.mark.parametrize("window", WINDOWS, ids=lambda size: f"{size[0]}x{size[1]}")


@contextmanager
def open_window(browser: Browser, window: Size, *, has_scripts: bool = True) -> Iterator[Page]:
    """Open a page of this size, on a phone or a tablet with touch."""
    width, height = window
    is_touched = window in _TOUCHED
    context = browser.new_context(
        viewport={"width": width, "height": height},
        has_touch=is_touched,
        is_mobile=is_touched,
        reduced_motion="reduce",
        java_script_enabled=has_scripts,
    )
    try:
        yield context.new_page()
    finally:
        context.close()


def find_hidden(page: Page, window: Size, *, has_scripts: bool = True) -> list[str]:
    """Return what is wrong with the boxes of this page, one line a fault."""
    page.wait_for_load_state()
    if has_scripts and page.locator("[data-ask-if]").count():
        # a script of its own hides what isn't asked
        page.wait_for_load_state("networkidle")
    faults = page.evaluate(f"() => ({_RULES}).measure()")
    if window in _TOUCHED:
        faults += page.evaluate(f"() => ({_RULES}).taps()")
    if window == LARGE and has_scripts:
        faults += page.evaluate(f"() => ({_RULES}).save()")
    faults += page.evaluate(f"has => ({_RULES}).focus(has)", has_scripts)
    lines = [f"{fault['rule']}: {fault['where']}: {fault['what']}" for fault in faults]
    return list(dict.fromkeys(lines))
