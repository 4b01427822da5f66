"""From “New study” to launch in a browser, with an instrument that is built by hand."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.building.gallery import FOLDER
from evalsite.studies.models import Instrument, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db(transaction=True)

FILE = FOLDER / "batches" / "summeval.jsonl"
CRITERIA = {
    "Coherence": "Do the sentences work together?",
    "Consistency": "Does the source support everything?",
    "Fluency": "Is each sentence well written?",
    "Relevance": "Is the important content there?",
}
COMMENT = "What else should we know?"
PRACTICE = {
    "in-source": "What is 2 + 2?",
    "out-0": "4",
    "answer-quality": "Certainly",
    "why": "It is right.",
}
# in place of what the texts that a study starts with leave open
MISSING = (
    "To compare two systems.",
    "until 2036, at our university",
    "Ethics board, 12/2026",
)
# of the keystroke-level model (Card, Moran and Newell 1980): seconds for a key (an average typist,
# 40 words a minute), to point and click, to decide, to move the hand between mouse and keyboard;
# and for a page to come
KEY, POINT, THINK, HOME, PAGE = 0.28, 1.3, 1.35, 0.4, 0.7


class Hand:
    """What somebody does with a mouse and a keyboard, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.keys = self.clicks = self.pages = self.moves = self.thoughts = 0
        self.is_typing = False

    @property
    def seconds(self) -> float:
        """The time that all of it takes someone who decides before each click."""
        pointing = self.clicks * POINT + (self.clicks + self.thoughts) * THINK
        return self.keys * KEY + pointing + self.moves * HOME + self.pages * PAGE

    def _reach(self, *, is_typing: bool) -> None:
        self.moves += is_typing != self.is_typing
        self.is_typing = is_typing

    def click(self, selector: str, **where: Any) -> None:
        self._reach(is_typing=False)
        self.page.click(selector, **where)
        self.clicks += 1

    def go(self, selector: str) -> None:
        self._reach(is_typing=False)
        follow(self.page, selector)
        self.clicks += 1
        self.pages += 1

    def type(self, text: str) -> None:
        """Type where the focus is; what is selected goes."""
        self._reach(is_typing=True)
        self.page.keyboard.type(text)
        self.keys += len(text)

    def press(self, *keys: str) -> None:
        self._reach(is_typing=True)
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1 + key.count("+")

    def turn(self, keys: str) -> None:
        """Press keys that lead to another page, after a decision."""
        with self.page.expect_navigation():
            self.press(keys)
        self.thoughts += 1
        self.pages += 1


def fill_in(page: Page, hand: Hand) -> None:
    """What the texts leave open is written: the first is selected from the list, Tab goes on."""
    missing = page.locator("#live-missing a")
    expect(missing).to_have_count(len(MISSING))
    for number, text in enumerate(MISSING):
        if number:
            hand.press("Tab")
        else:
            hand.click("#live-missing a >> nth=0")
            expect(page.get_by_text("Tab goes on to the next")).to_be_visible()
        hand.type(text)
    expect(page.locator("#live-missing")).to_be_hidden()
    hand.press("Tab")
    expect(page.locator("#id_consent")).not_to_be_focused()


@pytest.mark.torture
def test_summary_quality_is_built_by_hand_and_launched_in_under_three_minutes(page, live_server):
    jane = make_user(email="jane@example.org")
    sign_in(page, live_server, jane)
    watch, hand = Watch(page), Hand(page)
    page.goto(f"{live_server}{reverse('admin:index')}")
    hand.go("text=New study")
    hand.go("text=Build your own instrument")
    hand.type("Summary quality")
    hand.press("Tab")
    hand.type("Summary")
    hand.go("text=Start building")

    for number, (label, question) in enumerate(CRITERIA.items()):
        if number == 1:
            hand.go("text=Add a question")  # it says that Ctrl + Enter does so too
        elif number:
            hand.turn("Control+Enter")
        expect(page.locator(f"#q-{number}-label")).to_be_focused()
        hand.type(label)
        expect(page.locator(f"#q-{number} > summary b")).to_have_text(f"{number + 1}. {label}")
        hand.press("Enter")
        hand.type(question)
        if not number:
            hand.go("text=Keep only the labels at both ends")
            expect(page.locator("[name=q-0-p-points-0-label]")).to_be_focused()
            hand.type("worst")
            hand.press("Enter", "Enter", "Enter", "Enter")
            hand.type("best")
    hand.go("text=Add a comment box")
    expect(page.locator("#q-4-label")).to_be_focused()
    expect(page.locator("#q-4-label")).to_have_value("Comment")
    expect(page.locator("[name=q-4-required]")).not_to_be_checked()
    hand.press("Enter")
    hand.type(COMMENT)
    expect(page.locator("#kept")).to_contain_text("Draft kept")
    frame = page.frame_locator(".build-frame")
    for label in [*CRITERIA, COMMENT]:
        expect(frame.get_by_text(label, exact=True)).to_be_visible()
    assert find_faults_in_turn(page) == []
    hand.go("text=Save version 1")
    hand.go("text=Use in a study")
    hand.go("text=Create study")
    page.set_input_files("#id_file", FILE)
    hand.clicks += 3  # the button, the file and “Open” of the browser's own window
    hand.go("text=Look at the file")
    hand.go("button:has-text('Import ')")
    hand.go("text=Continue to the first page")
    fill_in(page, hand)
    hand.go("text=Save and continue to the launch checklist")
    hand.go("button:text-is('Launch')")
    run_waiting_jobs()

    study = Study.objects.get()
    assert [one.key for one in study.config.criteria] == [
        "coherence", "consistency", "fluency", "relevance", "comment_answer",
    ]  # fmt: skip
    assert Instrument.objects.get().newest == study.instrument
    assert study.launched_at is not None
    for text in MISSING:
        assert text in study.summary + study.consent
    assert "[REPLACE" not in study.summary + study.consent
    assert watch.found == []
    assert hand.seconds < 180, vars(hand)


def test_builder_needs_no_script(browser, live_server):
    page = browser.new_context(java_script_enabled=False).new_page()
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{reverse('admin:instrument-new')}")
    page.fill("#title", "Replies")
    follow(page, "text=Start building")

    preview = page.frame_locator(".build-frame")
    expect(preview.locator("main")).to_be_visible()
    page.check("[name=q-0-kind][value=decision]")
    follow(page, "[data-keep]")
    expect(preview.locator("main")).to_be_visible()
    page.fill("#q-0-p-yes", "Certainly")
    page.click("#practice > summary")
    for name, text in PRACTICE.items():
        page.fill(f"[name=practice-0-{name}]", text)
    # the texts of practice items go with their column
    page.fill("[name=in-0-name]", "question")
    page.screenshot()  # it waits for the page to be painted; a press before that may be lost
    follow(page, "noscript button, button[value=preview]")
    expect(preview.get_by_text("Certainly").first).to_be_visible()
    follow(page, "text=Save version 1")

    content = Instrument.objects.get().newest.content
    assert content["criteria"][0]["scale"]["yes"] == "Certainly"
    assert content["practice"][0]["inputs"] == {"question": PRACTICE["in-source"]}
    page.context.close()
