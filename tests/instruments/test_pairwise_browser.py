"""Comparing two responses in a browser: exact by default, and what its aids add."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.studies.models import Study
from tests.support.batches import import_rows
from tests.support.browsing import (
    LOOKS,
    MAIN,
    Watch,
    answer_all,
    find_faults,
    follow,
    read_clipboard,
    take_a_set,
)
from tests.support.exports import export, read
from tests.support.factories import launch, make_study

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "pairwise" not in installed_protocols(), reason="protocols.pairwise is not installed."
    ),
]

DIALOGUE = "user: a museum near [hotel_name] ?\nsystem: which [ area_ ] ?\nuser: any -s , please ."
FIRST = "[attraction_name] is [open_ , with [value_count] museum -s , [x] [A_b] ] free ."
SECOND = "[attraction_name] is open_ , with [value_count] rooms ."


def make_live(first: str = FIRST, second: str = SECOND, **fields: Any) -> Study:
    study = make_study(protocol="pairwise", items=0, set_size=1, k=1, **fields)
    rows = [
        {"item": "i1", "dialogue": DIALOGUE, "system": system, "output": text}
        for system, text in (("alpha", first), ("beta", second))
    ]
    import_rows(study, rows)
    return launch(study)


def response(page: Page, text: str) -> Locator:
    """The response that holds this text, on whichever side it stands."""
    (found,) = [one for one in page.locator(".pair .text").all() if one.text_content() == text]
    return found


def copy(page: Page, element: Locator) -> str:
    """What [Copy] gives of this element."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    element.evaluate("one => getSelection().selectAllChildren(one)")
    page.keyboard.press("Control+c")
    return read_clipboard(page)


def test_every_sign_stays_as_it_was_uploaded_unless_aids_are_on(
    page: Page, live_server: Any
) -> None:
    watch = Watch(page)
    take_a_set(page, live_server.url, make_live(FIRST, FIRST))

    assert page.locator(".pair .text").all_text_contents() == [FIRST, FIRST]
    assert page.locator(".pair .text").all_inner_texts() == [FIRST, FIRST]
    assert page.locator(".dialogue .text").all_inner_texts() == [
        line.partition(": ")[2] for line in DIALOGUE.split("\n")
    ]
    assert page.locator(".chip, u, .aid").count() == 0
    assert page.get_by_text("identical").count() == 0
    assert watch.found == []


@pytest.mark.torture
def test_chips_show_names_and_are_read_aloud_as_filled_in_later(
    page: Page, live_server: Any
) -> None:
    watch = Watch(page)
    take_a_set(page, live_server.url, make_live(is_aided=True))

    chips = response(page, FIRST).locator(".chip")
    before = "one => getComputedStyle(one, '::before').content"
    assert [one.evaluate(before) for one in chips.all()] == ['"attraction name"', '"value count"']
    assert [one.get_attribute("title") for one in chips.all()] == [
        "[attraction_name]",
        "[value_count]",
    ]
    named = page.get_by_role("img", name="attraction name, filled in later", exact=True)
    expect(named).to_have_count(2)
    expect(page.get_by_text("Grey words stand for real values.")).to_be_visible()
    assert page.locator(".dialogue .chip").count() == 1
    assert watch.found == []


@pytest.mark.torture
def test_copy_of_a_chip_gives_what_was_uploaded(page: Page, live_server: Any) -> None:
    take_a_set(page, live_server.url, make_live(is_aided=True))

    for text in (FIRST, SECOND):
        assert copy(page, response(page, text)) == text
        assert response(page, text).text_content() == text


@pytest.mark.torture
def test_brackets_that_are_no_slot_stay_as_they_are(page: Page, live_server: Any) -> None:
    take_a_set(page, live_server.url, make_live(is_aided=True))

    inner = response(page, FIRST).inner_text()

    assert " is [open_ , with " in inner
    assert inner.endswith(" museum -s , [x] [A_b] ] free .")
    assert page.locator(".dialogue .text").nth(1).inner_text() == "which [ area_ ] ?"


@pytest.mark.torture
def test_words_of_one_response_only_are_underlined(page: Page, live_server: Any) -> None:
    take_a_set(page, live_server.url, make_live(is_aided=True))

    first = response(page, FIRST).locator("u").all_text_contents()
    second = response(page, SECOND).locator("u").all_text_contents()

    assert first == ["[open_", "museum", "-s", "[x]", "[A_b]", "]", "free"]
    assert second == ["open_", "rooms"]
    expect(page.get_by_text("Words that appear in only one response")).to_be_visible()
    expect(page.get_by_text("Both responses are identical.")).to_be_hidden()


@pytest.mark.torture
def test_identical_responses_are_said_to_be_so(page: Page, live_server: Any) -> None:
    take_a_set(page, live_server.url, make_live("yes .", "yes .", is_aided=True))

    expect(page.get_by_text("Both responses are identical.")).to_be_visible()
    expect(page.get_by_text("Words that appear in only one response")).to_be_hidden()
    expect(page.get_by_text("Grey words stand for real values.")).to_be_visible()
    assert page.locator(".pair u").count() == 0


@pytest.mark.torture
@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(*LOOKS[0], marks=pytest.mark.torture), LOOKS[1]]
)
def test_axe_finds_no_fault_with_aids(
    page: Page, live_server: Any, width: int, scheme: Any
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    take_a_set(page, live_server.url, make_live(is_aided=True))

    assert find_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.torture
@pytest.mark.parametrize(("is_aided", "exported"), [(True, "yes"), (False, "no")])
def test_annotation_keeps_whether_it_was_aided(
    page: Page, live_server: Any, is_aided: bool, exported: str
) -> None:
    study = make_live(is_aided=is_aided)
    take_a_set(page, live_server.url, study)

    answer_all(page)
    follow(page, MAIN)

    assert Annotation.objects.get(study=study).is_aided is is_aided
    assert {row["aids"] for row in read(export(study))} == {exported}
