"""From the list of studies to launch in a browser, with an instrument that is built by hand."""

import json
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.builder.gallery import FOLDER
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Instrument, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    Watch,
    choose_files,
    find_faults,
    find_faults_in_turn,
    find_overflow,
    follow,
    press_tab_to,
)
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
    "in-0": "What is 2 + 2?",
    "out-0": "4",
    "answer-0": "Certainly",
    "why": "It is right.",
}
# in place of what the texts that a study starts with leave open
MISSING = {"organisation": "Language Lab", "answers_kept_for": "10 years"}
# of the keystroke-level model (Card, Moran and Newell 1980): seconds for a key (an average typist,
# 40 words a minute), to point and click, to decide, to move the hand between mouse and keyboard;
# and for a page to come
KEY, POINT, THINK, HOME, PAGE = 0.28, 1.3, 1.35, 0.4, 0.7
# what is in sight before anything is opened, the preview apart
COUNT = """() => {
  const isInSight = (part) => !part.closest("[data-preview]") && !part.matches(".vh")
    && part.checkVisibility({ visibilityProperty: true }) && part.getBoundingClientRect().width > 1;
  const count = (selector) =>
    [...document.querySelectorAll(`main :is(${selector})`)].filter(isInSight).length;
  return {
    fields: count("input:not([type=hidden]), select, textarea"),
    buttons: count("button, a.btn"),
    menus: count("details.menu"),
  };
}"""
# controls, labels and buttons that are cut by the window or their box, or that lie over each other
BOXES = """() => {
  const parts = [...document.querySelectorAll(
    "main :is(label, legend, summary, input, select, textarea, .btn, .help, .error, th, td)")]
    .filter((part) => part.checkVisibility({ visibilityProperty: true })
      && !part.closest(".dock2, [data-preview]") && !part.matches(".vh, .vh *, [type=hidden]"));
  const name = (part) => part.name || part.id || part.textContent.trim().slice(0, 40);
  const found = [];
  const boxes = parts.map((part) => [part, part.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && box.height > 1);
  for (const [part, box] of boxes) {
    if (box.left < -1 || box.right > innerWidth + 1) found.push(`sideways: ${name(part)}`);
    if (part.matches(".btn, label, summary, legend") && part.scrollWidth > part.clientWidth + 1
      && getComputedStyle(part).display !== "inline") found.push(`cut: ${name(part)}`);
    if (part.matches("input, select, textarea") && box.width < 16) found.push(`thin: ${part.name}`);
  }
  const controls = boxes.filter(([part]) => part.matches("input, select, textarea, .btn, legend"));
  controls.forEach(([part, box], place) => {
    for (const [other, its] of controls.slice(place + 1)) {
      if (part.contains(other) || other.contains(part)) continue;
      const isOver = box.left < its.right - 1 && its.left < box.right - 1
        && box.top < its.bottom - 1 && its.top < box.bottom - 1;
      if (isOver) found.push(`over each other: ${name(part)} and ${name(other)}`);
    }
  });
  return found;
}"""


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
    """What people have to know is written into the boxes that say that it is missing."""
    for name, text in MISSING.items():
        expect(page.locator(f"#div_id_{name}.bad")).to_be_visible()
        hand.click(f"#id_{name}")
        hand.type(text)


@pytest.mark.torture
def test_summary_quality_is_built_by_hand_and_launched_in_under_three_minutes(page, live_server):
    jane = make_user(email="jane@example.org")
    sign_in(page, live_server, jane)
    watch, hand = Watch(page), Hand(page)
    page.goto(f"{live_server}{reverse('admin:index')}")
    hand.go("text=Choose an instrument")
    hand.go("text=Build your own")
    hand.type("Summary quality")
    hand.press("Tab")
    hand.type("Summary")
    hand.go("text=Start building")

    for number, (label, question) in enumerate(CRITERIA.items()):
        if number:
            hand.turn("Control+Enter")
        expect(page.locator(f"#id_criteria-{number}-label")).to_be_focused()
        hand.type(label)
        hand.press("Tab", "Tab")
        hand.type(question)
        if not number:
            hand.press("Tab")
            hand.type("1 worst")
            for line in ("2", "3", "4", "5 best"):
                hand.press("Enter")
                hand.type(line)
    hand.turn("Control+Enter")
    expect(page.locator("#id_criteria-4-label")).to_be_focused()
    hand.type("Comment")
    hand.press("Tab")
    hand.type("Text")
    expect(page.locator("#id_criteria-4-scale-lines")).to_be_attached()
    expect(page.locator("#id_criteria-4-kind")).to_be_focused()
    expect(page.locator("#id_criteria-4-required")).not_to_be_checked()
    hand.press("Tab")
    page.locator("#id_criteria-4-question").select_text()
    hand.type(COMMENT)
    expect(page.locator("#kept")).to_contain_text("Draft saved")
    frame = page.frame_locator(".build-frame")
    for label in [*CRITERIA, COMMENT]:
        expect(frame.get_by_text(label, exact=True)).to_be_visible()
    assert find_faults_in_turn(page) == []
    hand.go("text=Save version 1")
    hand.go("text=Use in a study")
    hand.go("text=Create the study")
    choose_files(page, FILE)
    hand.clicks += 3  # the button, the file and “Open” of the browser's own window
    hand.go("button:has-text('Import ')")
    hand.go("text=Continue to what people read")
    fill_in(page, hand)
    hand.go("button:text-is('Save')")
    hand.go("text=Launch…")
    hand.go("button:text-is('Launch')")
    run_waiting_jobs()

    study = Study.objects.get()
    assert [one.key for one in study.config.criteria] == [
        "coherence", "consistency", "fluency", "relevance", "comment_answer",
    ]  # fmt: skip
    assert Instrument.objects.get().newest == study.instrument
    assert study.launched_at is not None
    assert {name: getattr(study, name) for name in MISSING} == MISSING
    assert watch.found == []
    assert hand.seconds < 180, vars(hand)


def build_two_questions(page, live_server) -> Instrument:
    """Somebody builds two questions without a mouse."""
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{reverse('admin:instrument-new')}")
    page.fill("#title", "Chat replies, two questions")
    follow(page, "text=Start building")
    type_text = page.keyboard.type
    expect(page.locator("#id_criteria-0-label")).to_be_focused()
    type_text("Helpfulness")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    type_text("How far does the reply do what the person asked for?")
    page.keyboard.press("Tab")
    type_text("Not at all\nPartly\nCompletely")
    press_tab_to(page, "button[value='add:criteria']")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("#id_criteria-1-label")).to_be_focused()
    type_text("Problems")
    page.keyboard.press("Tab")
    type_text("Choose s")
    expect(page.locator("#id_criteria-1-scale-options-box")).to_be_visible()
    expect(page.locator("#id_criteria-1-kind")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    type_text("What is wrong with the reply?")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    type_text("Not true\nSomething missing\nNone")
    press_tab_to(page, "button[value=save]", most=60)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return Instrument.objects.get()


def test_two_questions_are_built_by_keyboard_with_little_in_sight(page, live_server):
    watch = Watch(page)
    instrument = build_two_questions(page, live_server)

    criteria = instrument.newest.content["criteria"]
    assert [question["key"] for question in criteria] == ["helpfulness", "problems"]
    assert [point["label"] for point in criteria[0]["scale"]["points"]] == [
        "Not at all", "Partly", "Completely",
    ]  # fmt: skip
    assert [option["key"] for option in criteria[1]["scale"]["options"]] == [
        "not_true", "something_missing", "none",
    ]  # fmt: skip
    assert page.evaluate(COUNT) == {"fields": 10, "buttons": 4, "menus": 2}
    frame = page.frame_locator(".build-frame")
    expect(frame.get_by_text("Something missing")).to_be_visible()
    form, preview = (
        page.locator(selector).bounding_box()
        for selector in (".build2 > .stack >> nth=0", ".build2 > .sticky")
    )
    assert preview["width"] > 0.9 * form["width"]
    size = "body => parseFloat(getComputedStyle(body).fontSize)"
    assert frame.locator("body").evaluate(size) >= 16
    assert watch.found == []


@pytest.mark.parametrize("width", [1280, 360])
def test_nothing_is_cut_or_overlaps_with_everything_open(page, live_server, client, width):
    """Of instruments with every kind of question that can be asked, and one that can't yet."""
    jane = make_user()
    client.force_login(jane)
    sign_in(page, live_server, jane)
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(reduced_motion="reduce")
    for key in ("helpsteer2_preference", "factual_checklist", "mqm"):
        content = json.loads((FOLDER / f"{key}.json").read_bytes())
        version, _ = import_instrument(data=content, by=jane)
        page.goto(f"{live_server}{reverse('admin:instrument', args=[version.instrument_id])}")
        page.evaluate("document.querySelectorAll('details:not(.menu)').forEach(d => d.open = true)")
        assert page.evaluate(BOXES) == []
        assert find_overflow(page, width) == []
        assert find_faults(page) == []


def test_builder_needs_no_script(browser, live_server):
    page = browser.new_context(java_script_enabled=False).new_page()
    sign_in(page, live_server, make_user())
    page.goto(f"{live_server}{reverse('admin:instrument-new')}")
    page.fill("#title", "Replies")
    follow(page, "text=Start building")

    preview = page.frame_locator(".build-frame")
    expect(preview.locator("main")).to_be_visible()
    page.select_option("#id_criteria-0-kind", "decision")
    follow(page, "[data-keep]")
    page.click("#id_criteria-0 > .fold > summary")
    page.fill("#id_criteria-0-scale-yes", "Certainly")
    page.click("#more > summary")
    page.click("#part-practising > summary")
    follow(page, "button[value='add:practice']")
    for name, text in PRACTICE.items():
        page.fill(f"[name=practice-0-{name}]", text)
    # the texts of practice items go with their column
    page.click("#part-page > summary")
    page.click("#id_item-inputs-0 > summary")
    page.fill("[name=item-inputs-0-name]", "question")
    page.screenshot()  # it waits for the page to be painted; a press before that may be lost
    follow(page, "noscript button, button[value=preview]")
    expect(preview.get_by_text("Certainly").first).to_be_visible()
    follow(page, "text=Save version 1")

    content = Instrument.objects.get().newest.content
    assert content["criteria"][0]["scale"]["yes"] == "Certainly"
    assert content["practice"][0]["inputs"] == {"question": PRACTICE["in-0"]}
    page.context.close()
