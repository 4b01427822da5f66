"""What browser tests share: the way through a study page by page, and what to look for there."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

from playwright.sync_api import ConsoleMessage, Page, expect

from evalsite.studies.models import Study
from tests.support.factories import make_annotator, mint_link

MAIN = ".actions .main:visible, .dock .main"
AXE = (Path(__file__).parents[1] / "vendor" / "axe.min.js").read_text(encoding="utf-8")
# Every page is looked at in both: wide and light, narrow and dark.
LOOKS = [(1280, "light"), (360, "dark")]
# in one of them by turns, but in `make torture` in both
_IS_BY_TURNS = os.environ.get("EVALSITE_TEST_LOOKS") != "all"
_seen: WeakKeyDictionary[Page, int] = WeakKeyDictionary()
# the narrowest phone, and a window of 1280 by 800 at 200 %
TIGHT = [(320, 640), (640, 400)]
FINISH_TRANSITIONS = """() => document.getAnimations()
  .filter(one => one instanceof CSSTransition).forEach(one => one.finish())"""
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"]


class Watch:
    """Everything a page complained of: scripts, the content policy, missing files."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        # a form that was refused is answered with 422, and the browser says so
        if message.type in ("error", "warning") and "status of 422" not in message.text:
            self.found.append(message.text)


class Line:
    """The way from a browser to the live server, which may be down as after `kill -9` of it."""

    def __init__(self, page: Page, url: str) -> None:
        self.context = page.context
        self.url = url

    def cut(self) -> None:
        """Every connection is refused."""
        self.context.route("**/*", lambda route: route.abort("connectionrefused"))

    def mend(self) -> None:
        self.context.unroute("**/*")


def press_tab_to(page: Page, selector: str, most: int = 40) -> None:
    """The control has the focus, reached as by somebody without a mouse."""
    control = page.locator(selector).first
    for _ in range(most):
        page.keyboard.press("Tab")
        if control.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError(f"{selector} cannot be reached with Tab")


def follow(page: Page, selector: str) -> None:
    """The control is pressed, and the page that it leads to is there."""
    with page.expect_navigation():
        page.click(selector)


def choose_files(page: Page, files: Any) -> None:
    """These files are chosen in the box, which sends them by itself."""
    with page.expect_navigation():
        page.set_input_files("#id_file", files)


def is_watched(response: Any) -> bool:
    """Whether the page follows a job: by its script, and without scripts by coming again."""
    html = response.content.decode()
    reloads = '<noscript><meta http-equiv="refresh"' in html
    # a live page has the script alone
    assert "staff-watch." in html or not reloads
    assert "Refresh" not in response.headers
    return reloads


def fill_scores(page: Page, *scores: object) -> None:
    for number, score in enumerate(scores, start=1):
        page.fill(f"#informativeness-{number}", str(score))


def answer_all(page: Page) -> None:
    """Every question of the page has an answer: the middle of its scale, or 90."""
    for question in page.locator("[data-question]").all():
        radios = question.locator("input[type=radio]")
        if count := radios.count():
            radios.nth(count // 2).check()
        else:
            question.locator("input").fill("90")


def take_a_set(page: Page, base: str, study: Study) -> None:
    """Somebody who has been admitted before has taken a set; its first item is in view."""
    page.goto(f"{base}{mint_link(make_annotator(study))}")
    follow(page, MAIN)


def come_in(page: Page, base: str, study: Study) -> None:
    """Somebody has agreed, answered, read and practised; the first item is in view."""
    for _ in walk_to_work(page, base, study, with_errors=False):
        pass


def walk_to_work(page: Page, base: str, study: Study, *, with_errors: bool = True) -> Iterator[str]:
    """The pages before the first item, one after another, faults included."""
    page.goto(f"{base}/join/{study.pk}/")
    yield "landing"
    follow(page, MAIN)
    yield "consent"
    if with_errors:
        page.evaluate("document.querySelector('[name=text]').value = 'another'")
        follow(page, "button[value=agree]")
        yield "consent with an error"
    follow(page, "button[value=agree]")
    if "/questions/" in page.url:
        yield "entry"
        if with_errors:
            follow(page, MAIN)
            yield "entry with errors"
        page.select_option("#first_language", "English")
        page.check("[name=variety][value=british]")
        follow(page, MAIN)
    yield "instructions"
    follow(page, MAIN)
    yield from walk_practice(page, with_errors=with_errors)
    if page.url.endswith("/start/"):
        yield "start"
        follow(page, MAIN)


def press_and_stay(page: Page) -> None:
    """What is refused is said on the very page, whether by a script or by a new page."""
    page.click(MAIN)
    expect(page.locator(".problem")).to_be_visible()


def walk_practice(page: Page, *, with_errors: bool) -> Iterator[str]:
    """The practice pages; those of the first item stand for those of all."""
    while "/practice/" in page.url:
        is_first = "/practice/1/" in page.url
        if is_first:
            yield "practice"
        if with_errors and is_first:
            press_and_stay(page)
            yield "practice with errors"
        answer_all(page)
        page.click(MAIN)
        # the verdicts come on this page, or without scripts on one of their own
        expect(page.locator("#work input:enabled:not([type=hidden])")).to_have_count(0)
        if is_first:
            yield "practice explained"
        follow(page, MAIN)


def open_menu(page: Page) -> None:
    """The links of the header are in view: on a phone they are behind one of them."""
    menu = page.locator(".menu > summary")
    if menu.is_visible():
        menu.click()


def walk_to_the_end(page: Page) -> Iterator[str]:
    """The pages from the first item to the end, one after another, faults included."""
    yield "item"
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    yield "keys"
    page.keyboard.press("Escape")
    page.click(MAIN)
    expect(page.locator(".problem")).to_be_focused()
    yield "item with errors"
    open_menu(page)
    page.click("#report")
    expect(page.locator("#reporting")).to_be_visible()
    yield "reporting"
    page.keyboard.press("Escape")
    page.goto(page.locator("#report").evaluate("link => link.href"))
    yield "report"
    follow(page, MAIN)
    yield "report with an error"
    follow(page, ".actions a:has-text('Back to the')")
    if page.locator("#ignore").count():
        yield from walk_ignoring(page)
    answer_all(page)
    yield "item filled in"
    follow(page, MAIN)
    while "/items/" in page.url:
        answer_all(page)
        follow(page, MAIN)
    yield "review"
    follow(page, MAIN)
    yield "finish"
    page.click("#feedback > summary")
    follow(page, "text=Send feedback")
    yield "finish with feedback"
    page.goto(page.url.replace("/finish/?feedback=saved", "/stop/"))
    yield "stop"
    follow(page, "text=Withdraw from this study")
    yield "withdraw"
    follow(page, MAIN)
    yield "withdraw with an error"
    page.check("#keep-keep")
    follow(page, MAIN)
    yield "withdrawn"


def walk_ignoring(page: Page) -> Iterator[str]:
    """The pages on which the item in view is ignored, and that is taken back."""
    item = page.url
    follow(page, "#ignore")
    yield "ignore"
    follow(page, MAIN)
    yield "ignore with an error"
    page.locator("[name=ignore]").last.check()
    follow(page, MAIN)
    yield "item after an ignored one"
    page.goto(item)
    yield "ignored item"
    follow(page, ".feedback button")
    page.goto(item)


UNPIN = """() => {
  for (const part of document.querySelectorAll("body *")) {
    if (getComputedStyle(part).position === "sticky") part.style.position = "static";
  }
}"""
PIN = """() => {
  for (const part of document.querySelectorAll("[style*='position: static']")) {
    part.style.position = "";
  }
}"""


def find_faults(page: Page) -> list[str]:
    """The faults of accessibility that axe finds, WCAG 2.2 A and AA."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    # a control that happens to be half under the lower bar is not too small
    page.evaluate(UNPIN)
    result: dict[str, Any] = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags},"
        " resultTypes: ['violations'], preload: false, selectors: false})",
        AXE_TAGS,
    )
    page.evaluate(PIN)
    return [
        f"{fault['id']}: {node['html'][:120]} ({node['failureSummary']})"
        for fault in result["violations"]
        for node in fault["nodes"]
        # by what is pinned, at this one place of the page
        if "partially obscured" not in str(node["failureSummary"])
    ]


def find_faults_in_all_looks(
    page: Page,
    looks: Sequence[tuple[int, str]] = tuple(LOOKS),
    tight: Sequence[tuple[int, int]] = tuple(TIGHT),
) -> list[str]:
    """Return what axe finds in a wide and a narrow window, and whether the page overflows it.

    The page stands in the wide window afterwards.
    """
    # a click returns as soon as its page begins, perhaps without one element yet
    page.wait_for_load_state()
    found = []
    for width, height in tight:
        page.set_viewport_size({"width": width, "height": height})
        found += find_overflow(page, width)
    for width, scheme in reversed(looks):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        # colours of links change little by little
        page.evaluate(FINISH_TRANSITIONS)
        found += [f"{width}: {fault}" for fault in find_faults(page)]
        found += find_overflow(page, width)
    return found


def find_faults_in_turn(page: Page) -> list[str]:
    """Return what axe finds on a page in the look whose turn it is, and overflows.

    The tests begin with different looks; a walk over many pages goes on with the other.

    The page stands in the wide window afterwards.
    """
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    number = _seen[page] = _seen.get(page, crc32(test.encode())) + 1
    if not _IS_BY_TURNS:
        return find_faults_in_all_looks(page)
    turn = number % 2
    found = find_faults_in_all_looks(page, [LOOKS[turn]], [TIGHT[turn]])
    page.set_viewport_size({"width": LOOKS[0][0], "height": 900})
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    return found + find_overflow(page, LOOKS[0][0])


def find_overflow(page: Page, width: int) -> list[str]:
    needed = page.evaluate("document.documentElement.scrollWidth")
    return [f"{width}: the page is {needed} pixels wide"] if needed > width else []


def read_clipboard(page: Page) -> str:
    """Return what was copied, pasted into a box of the test's own: pages may not read it."""
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('textarea'), {id: 'pasted'}))"
    )
    page.focus("#pasted")
    page.keyboard.press("Control+V")
    pasted = page.input_value("#pasted")
    page.evaluate("document.getElementById('pasted').remove()")
    return pasted
