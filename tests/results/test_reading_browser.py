"""Comments and items in a browser: accessible, as wide as the window, texts whole, few words."""

import re
from html import unescape

import pytest
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.notes import add_notes
from evalsite.studies.models import Item, Study
from tests.results.test_answer_words import REPLIES, answer, make_row, make_study_of, prefer
from tests.results.test_comments_page import keep_reasons, make_shares
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn, find_overflow
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

# RESULTS.md allows 475 words, and a fifth more; what people wrote isn't ours
MOST_WORDS = 475 * 1.2
LONG = "A long comment. " * 200
WRITTEN = re.compile(
    r'<(tbody|script|svg)\b.*?</\1>|<ul class="said">.*?</ul>'
    r'|<div class="reader">.*?<h2 id="answers',
    re.DOTALL,
)


@pytest.fixture
def reading() -> tuple[Study, Item]:
    """A comparison with reasons, comments, a note, somebody excluded and a hostile name."""
    study, item = make_study_of("arena_preference", *REPLIES, prompt="Where is my **parcel**?")
    study.systems.filter(name="v2").update(name="<b>نظام v2 " + "long name " * 6)
    first, second = (str(output.pk) for output in item.outputs.order_by("position"))
    for number, text in enumerate(("Clear", "مرحبا بالعالم", LONG)):
        reasons = {first: ["incorrect"], second: ["useful"]}
        comment = ("preference", make_row(None, None, part="comment", text=text))
        answer(study, item, prefer(item, 1 + number % 2, 2, reasons=reasons), comment)
    out = answer(study, item, prefer(item, 0, 0, both="bad"), note="The parcel is odd")
    exclude(study=study, annotations=[out], reason="A slip", by=make_user())
    add_notes(study=study, text="See his others.", by=make_user(), items=[item])
    keep_reasons(study, make_shares(useful=(12, 28), short=(26, 3)))
    return study, item


def list_pages(study: Study, item: Item) -> list[str]:
    return [
        reverse("admin:results-comments", args=[study.pk]),
        f"{reverse('admin:results-comments', args=[study.pk])}?people=everyone&order=person",
        reverse("admin:results-items", args=[study.pk]),
        f"{reverse('admin:results-item', args=[study.pk, item.pk])}?people=everyone",
    ]


def test_pages_are_accessible_and_as_wide_as_the_window(page, live_server, reading):
    sign_in(page, live_server, make_user(is_superuser=True))

    faults = []
    for address in list_pages(*reading):
        page.goto(f"{live_server}{address}")
        faults += find_faults_in_turn(page)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            faults += find_overflow(page, width)

    assert faults == []


def test_texts_of_an_item_are_whole_and_a_long_comment_can_be_scrolled_by_keyboard(
    page, live_server, reading
):
    sign_in(page, live_server, make_user(is_superuser=True))
    comments, _, _, item = list_pages(*reading)
    page.set_viewport_size({"width": 390, "height": 900})

    page.goto(f"{live_server}{item}")
    hidden = page.eval_on_selector_all(
        ".reader *", "all => all.filter((one) => one.scrollHeight > one.clientHeight + 4"
        " && getComputedStyle(one).overflowY !== 'visible').map((one) => one.className)"
    )  # fmt: skip
    page.goto(f"{live_server}{comments}")
    box = page.locator(".scroll.long")
    box.focus()
    seen, whole = box.evaluate("box => [box.clientHeight, box.scrollHeight]")

    assert hidden == []
    assert page.evaluate("document.activeElement.className") == "scroll long"
    assert seen < whole
    assert box.inner_text().strip() == LONG.strip()


def test_the_next_item_is_one_link_away_and_a_note_can_be_added(page, live_server, reading):
    study, _item = reading
    sign_in(page, live_server, make_user(is_superuser=True))

    page.goto(f"{live_server}{reverse('admin:results-items', args=[study.pk])}")
    page.get_by_role("link", name="Read the first").click()
    page.get_by_label("Add a note").fill("Both are fine.")
    page.get_by_role("button", name="Add note").click()

    assert page.get_by_text("Both are fine.").is_visible()
    assert page.url.endswith("#notes")


def count_words(page: str) -> int:
    main = page.partition("<main")[2].partition("</main")[0].partition(">")[2]
    return len(unescape(re.sub(r"<[^>]+>", " ", WRITTEN.sub(" ", main))).split())


def test_pages_stay_within_their_words(staff_client, reading):
    words = {page: count_words(staff_client.get(page).text) for page in list_pages(*reading)}

    assert {page: number for page, number in words.items() if number > MOST_WORDS} == {}
    assert min(words.values()) > 50
