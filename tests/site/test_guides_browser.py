"""The guides of Help, walked step by step; `make pictures` takes their pictures again."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.contrib.auth.models import User
from django.urls import reverse
from PIL import Image
from playwright.sync_api import Page, ViewportSize

from evalsite.core.accounts.models import fill_in_profile
from evalsite.data.demo import add_demo_crowd, make_demo_study
from evalsite.instruments.installed import find_folder
from evalsite.people.models import Expert
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support.browsing import Watch, choose_files, follow, take_a_set
from tests.support.factories import FIXTURES, make_user
from tests.support.queues import run_waiting_jobs

pytestmark = [pytest.mark.torture, pytest.mark.django_db(transaction=True), pytest.mark.slow]

PASSWORD = "a long pass phrase"
DOCS = site_settings.BASE_DIR / "docs"
IS_TAKING_PICTURES = os.environ.get("EVALSITE_TEST_PICTURES") == "yes"
SIZE, COLOURS = ViewportSize(width=1024, height=640), 48
# to the part that the picture is of, or to the top
SCROLL = """at => window.scrollTo(0, at === "main" ? 0
  : document.querySelector(at).getBoundingClientRect().top + window.scrollY - 24)"""
SENTENCES = (
    (
        "Der Zug nach Köln fährt heute von Gleis 7 ab.",
        "The train to Cologne leaves from platform 7 today.",
        "The train after Cologne drives today of rail 7.",
    ),
    (
        "Der Speisewagen befindet sich in der Mitte des Zuges.",
        "The dining car is in the middle of the train.",
        "The food carriage finds itself in the middle of the train.",
    ),
    (
        "Dieser Zug hält nicht in Bonn.",
        "This train does not stop in Bonn.",
        "This train holds not in Bonn.",
    ),
    (
        "Bitte achten Sie auf Ihr Gepäck.",
        "Please keep an eye on your luggage.",
        "Please respect your luggage.",
    ),
)
ANSWERS = {
    "Answer the customer.": "Your refund is on its way. It takes 5 days.",
    "Answer in two sentences, and say what happens next.": (
        "We’ve approved your refund today.\n\n1. Your bank gets it in **2 days**.\n"
        "2. You see it in 5 days."
    ),
}


@dataclass
class Guide:
    """A guide that is followed in a browser: what it says at each step is on the page."""

    name: str
    page: Page
    steps: list[str] = field(default_factory=list)

    def take(self, title: str, *words: str, at: str = "main") -> None:
        """The step has this title; its words are in the guide, and on the page that is open."""
        number = len(self.steps)
        heading, text = list_steps(self.name)[number]
        assert heading == title
        self.steps.append(title)
        shown = self.page.locator("body").inner_text()
        values = self.page.eval_on_selector_all(
            "input:not([type=hidden]), option:checked, img",
            "all => all.map(one => one.value || one.alt || '')",
        )
        for word in words:
            assert word.casefold() in text.casefold(), (title, word)
            assert word.casefold() in f"{shown} {values}".casefold(), (title, word)
        picture = re.search(r"images/(guide-[a-z0-9-]+\.png)", text)
        if picture and IS_TAKING_PICTURES:
            self.page.evaluate(SCROLL, at)
            write_picture(self.page.screenshot(animations="disabled"), DOCS / "images" / picture[1])

    def skip(self, title: str) -> None:
        """The step is as in another guide."""
        assert list_steps(self.name)[len(self.steps)][0] == title
        self.steps.append(title)

    def has_ended(self) -> bool:
        return self.steps == [heading for heading, _ in list_steps(self.name)]


def list_steps(name: str) -> list[tuple[str, str]]:
    """Return the heading of each step of a guide, and what it says."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    parts = re.split(r"^\d+\. ## (.+)$", text.partition("\n## ")[0], flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def write_picture(screenshot: bytes, path: Path) -> None:
    """Write a picture in few colours: it has to be small."""
    picture = Image.open(BytesIO(screenshot)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


@pytest.fixture
def begin(page: Page, live_server: Any, settings: Any, tmp_path: Path) -> Callable[[str], Guide]:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()

    def sign_in(name: str) -> Guide:
        user = make_user("jane", email="jane@example.org", first_name="Jane", last_name="Mori")
        user.set_password(PASSWORD)
        user.save()
        fill_in_profile(user, {"organisation": "Language Lab"})
        page.set_viewport_size(SIZE)
        page.goto(f"{live_server}{reverse('admin:index')}")
        page.fill("#id_login", "jane")
        page.fill("#id_password", PASSWORD)
        follow(page, "main button[type=submit]")
        return Guide(name, page)

    return sign_in


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """Sixty announcements of a station, translated by two systems."""
    names = ("source.txt", "system-a.txt", "system-b.txt")
    for place, name in enumerate(names):
        lines = [f"{SENTENCES[n % 4][place]} {'' if n < 4 else n + 1}".strip() for n in range(60)]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [tmp_path / name for name in names]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_promptfoo(tmp_path / "results.json")


def write_promptfoo(path: Path) -> Path:
    """Write what promptfoo writes of two prompts and twenty questions."""
    rows = [
        {
            "prompt": {
                "raw": f"{prompt}\n\nWhere is my refund for order {number}?",
                "label": prompt,
            },
            "promptIdx": place,
            "provider": {"id": "openai:gpt", "label": "gpt"},
            "response": {"output": answer},
            "vars": {"question": f"Where is my refund for order {number}?"},
            "testCase": {"vars": {"question": f"Where is my refund for order {number}?"}},
            "success": True,
            "testIdx": number - 1,
        }
        for number in range(1, 21)
        for place, (prompt, answer) in enumerate(ANSWERS.items())
    ]
    prompts = [{"raw": prompt, "label": prompt, "provider": "gpt"} for prompt in ANSWERS]
    content = {"evalId": "eval-refunds", "results": {
        "version": 3, "prompts": prompts, "results": rows, "stats": {},
    }}  # fmt: skip
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def go_to(guide: Guide, live_server: Any, name: str) -> None:
    guide.page.goto(f"{live_server}{reverse(f'admin:{name}', args=[Study.objects.get().pk])}")


def test_three_colleagues_get_links_as_the_guide_says(begin, live_server, texts):
    guide = begin("start-colleagues")
    page, watch = guide.page, Watch(guide.page)

    guide.take("Drop your files", "Studies", "Drop")
    choose_files(page, texts)
    guide.take("Check item 1", "60 items, 2 systems", "Item 1", "Continue")
    follow(page, "main button.main")
    guide.take("Choose what people are asked", "box for comments", at=".picks")
    follow(page, "main button.main")
    page.check("#id_has_notice_0")
    guide.take(
        "Read what people will read", "What people read", "Short notice", "Save and invite people",
        "Work", "Quality", "Plan",
    )  # fmt: skip
    follow(page, "button[value=invite]")
    page.fill("#id_names", "Anna Weiss\nBen Otte\nChiara Conti")
    page.wait_for_selector("#live-launch:has-text('3')")
    guide.take("Type three names", "Invite", "Everything")
    follow(page, "button[value=launch]")
    guide.take("Launch", "Launch", "Frozen", "What it comes to".removeprefix("What "))
    follow(page, "main form button.main")
    run_waiting_jobs()
    go_to(guide, live_server, "study-invite")
    page.evaluate("document.querySelectorAll('main .fold').forEach(fold => { fold.open = true; })")
    guide.take("Send the links", "link", "message")

    assert guide.has_ended()
    assert Study.objects.get().is_launched
    assert Expert.objects.count() == 3
    assert watch.found == []


def test_two_prompts_are_compared_as_the_guide_says(begin, live_server, results):
    guide = begin("start-prompts")
    page, watch = guide.page, Watch(guide.page)

    page.goto(f"{live_server}{reverse('admin:study-new')}")
    choose_files(page, [results])
    for place, name in enumerate(("v1", "v2")):
        field = page.locator("main table input").nth(place)
        field.fill(name)
        field.press("Tab")
        page.wait_for_selector(f"main .panel :text-is('{name}')")
    guide.take("Drop the file", "promptfoo", "prompts")
    follow(page, "main button.main")
    guide.take("Choose “Two replies: graded preference”", at=".picks")
    assert "Two replies: graded preference" in page.locator("main").inner_text()
    page.check("[name=instrument][value='gallery:arena_preference']")
    follow(page, "main button.main")
    page.check("#id_has_notice_0")
    guide.take("Read what people will read", "Short notice", "What people read")
    follow(page, "button[value=invite]")
    go_to(guide, live_server, "setup-plan")
    page.select_option("[name=question-0-system]", label="v2")
    page.select_option("[name=question-0-relation]", label="is not worse than")
    page.select_option("[name=question-0-other]", label="v1")
    page.fill("[name=question-0-margin]", "20")
    page.wait_for_selector(".adds b")
    guide.take("Say what would decide", "is not worse than", "Hid", "20", "items")
    guide.skip("Invite five colleagues and launch")

    assert guide.has_ended()
    assert watch.found == []


def test_people_come_from_prolific_as_the_guide_says(begin, live_server, texts):
    guide = begin("start-prolific")
    page, watch = guide.page, Watch(guide.page)

    choose_files(page, texts)
    follow(page, "main button.main")
    guide.take("Create the study")
    follow(page, "main button.main")
    page.fill("#id_answers_kept_for", "10 years")
    guide.take("Choose the consent page", "consent page", "How long", "ethics approval")
    follow(page, "button[value=continue]:visible")
    page.fill("#id_pay_per_set", "1.05")
    guide.take("Set the work", "Minutes", "Pay")
    follow(page, "button[value=continue]:visible")
    follow(page, "main a[href*='/checks/']")
    follow(page, "main button.main")
    for box in page.locator("[data-question] .number").all():
        box.fill("90")
    follow(page, "main button.main")
    page.select_option("#id_checks_per_person", "1")
    follow(page, "main button[value=save]:visible")
    guide.take("Add checks and a question", "Make a check", "Quality")
    go_to(guide, live_server, "study-pilot")
    guide.take("Try it yourself", "Try it")
    go_to(guide, live_server, "study-launch")
    guide.take("Launch", "Launch")
    follow(page, "main form button.main")
    run_waiting_jobs()
    go_to(guide, live_server, "study-invite")
    page.click("summary:has-text('A panel')")
    follow(page, "form[action$='/prolific/'] button")
    guide.take("Paste two things into Prolific", "Prolific", "code", "Turn")

    assert guide.has_ended()
    assert Study.objects.get().is_launched
    assert watch.found == []


def test_readme_shows_the_pages_of_today(begin, live_server):
    guide = begin("start-colleagues")
    page, watch = guide.page, Watch(guide.page)
    replies, dialogue = (
        make_demo_study(find_folder(key).instrument, by=User.objects.get())
        for key in ("rrgen", "dialogue")
    )
    add_demo_crowd(dialogue)
    compute_report(dialogue)
    pictures = {}

    def take(name: str, height: int, *words: str) -> None:
        page.set_viewport_size(ViewportSize(width=1280, height=height))
        shown = page.locator("body").inner_text()
        for word in words:
            assert word in shown
        pictures[name] = page.screenshot(animations="disabled")

    choose_files(page, [FIXTURES / "instruments/batches/adequacy_fluency.csv"])
    follow(page, "main button.main")
    take("choose", 1000, "What will people be asked?", "Translation: adequacy and fluency")
    page.goto(f"{live_server}{reverse('admin:study-results', args=[dialogue.pk])}")
    take("results", 1000, "Results")
    take_a_set(page, str(live_server), replies)
    for question, point in enumerate((5, 6, 3)):
        page.locator("[data-question]").nth(question).locator("input[type=radio]").nth(
            point
        ).check()
    take("rating", 800, "SEMANTIC RELEVANCE", "Save and next")

    readme = (site_settings.BASE_DIR / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"docs/images/([a-z]+)\.png", readme)) == set(pictures)
    assert watch.found == []
    if IS_TAKING_PICTURES:
        for name, picture in pictures.items():
            write_picture(picture, DOCS / "images" / f"{name}.png")
