"""The jump menu: any place of a set in any order, and nothing that was entered is lost."""

import re

import pytest
from django.test import Client
from playwright.sync_api import expect

from evalsite.handout.models import Annotation, Draft, Slot
from evalsite.instruments.installed import get_protocol
from evalsite.lib.clock import now
from evalsite.lib.markdown import list_anchors, render_markdown
from evalsite.people.models import ItemSet
from tests.support.answering import Entered, make_live
from tests.support.browsing import MAIN, Watch, find_faults, follow, take_a_set
from tests.support.factories import make_annotator, mint_link
from tests.support.tabs import after_the_lease

pytestmark = pytest.mark.django_db(transaction=True)

ANSWERS = {"appropriateness": "4", "information_content": "2", "human_likeness": "5"}
HERE = ".jump [aria-current]"


def make_talks(items: int = 4, **fields):
    return make_live(get_protocol("dialogue"), items, **{"set_size": items, "k": 1, **fields})


class Tab:
    """A rating page in a browser without scripts."""

    def __init__(self, study=None) -> None:
        self.me = make_annotator(study or make_talks())
        self.home = mint_link(self.me)
        self.client = Client()
        self.show(self.client.post(f"{self.home}start/", follow=True))

    def show(self, page) -> "Tab":
        self.page = page
        return self

    def open(self, place: int) -> "Tab":
        return self.show(self.client.get(f"{self.home}sets/1/items/{place}/", follow=True))

    @property
    def html(self) -> str:
        return self.page.content.decode()

    @property
    def place(self) -> int:
        return self.page.context["place"]

    @property
    def entered(self) -> dict[str, str]:
        values = Entered(self.html).values
        return {name: values[name] for name in ANSWERS if values.get(name)}

    @property
    def done(self) -> list[int]:
        """The places that the menu shows as answered."""
        shown = re.findall(r'<li class="done"><button name="go" value="(\d+)"', self.html)
        assert self.html.count(", answered") == len(shown)  # in words too
        return [int(place) for place in shown]

    def press(self, go: object, **answers: str) -> "Tab":
        """A button of the page is pressed after these answers were given."""
        data = {"state": self.page.context["state"], **answers, "go": str(go)}
        address = f"{self.home}sets/1/items/{self.place}/"
        return self.show(self.client.post(address, data, follow=True))

    @property
    def is_at_review(self) -> bool:
        return "/review/" in self.page.redirect_chain[-1][0]


# --- what it offers -----------------------------------------------------------------------


def test_menu_leads_to_the_parts_of_the_instructions_and_to_every_question():
    tab = Tab()

    links = re.findall(
        r'<li class="word"><a href="([^"]+)" target="_blank" rel="noopener">([^<]+)', tab.html
    )
    places = re.findall(r'name="go" value="(\d+)" formnovalidate', tab.html)

    assert [label for _, label in links] == ["Instructions", "Specific Definitions"]
    instructions = tab.client.get(f"{tab.home}instructions/").content.decode()
    for address, _ in links:
        page, _, anchor = address.partition("#")
        assert page == f"{tab.home}instructions/"
        assert instructions.count(f'id="{anchor}"') == 1
    assert places == ["1", "2", "3", "4"]
    assert tab.html.count("aria-current") == 1
    assert 'value="1" formnovalidate aria-current="step"' in tab.html


def test_heading_that_a_study_has_taken_out_is_not_offered():
    tab = Tab(make_talks(instructions="Read.\n\n## Terms\n\nNone."))

    assert ">Instructions<" in tab.html
    assert "Specific Definitions" not in tab.html


def test_protocol_without_a_menu_shows_none_and_jumps_nowhere():
    study = make_live(get_protocol("fluency"), 4, set_size=4)
    tab = Tab(study)

    assert 'class="jump"' not in tab.html
    assert tab.press(3).page.status_code == 422


def test_pages_call_a_place_a_question():
    tab = Tab()

    assert "<title>Question 1 of 4: " in tab.html
    assert "<b>Question 1 of 4</b>" in tab.html
    assert "previous question" in tab.press(2).html
    report = tab.client.get(f"{tab.home}sets/1/items/2/report/").content.decode()
    assert "What is wrong with this question?" in report
    review = tab.client.get(f"{tab.home}sets/1/review/").content.decode()
    assert ">Question</th>" in review
    assert "Item" not in review


# --- jumping ------------------------------------------------------------------------------


def test_jump_opens_that_place_and_keeps_what_was_entered_as_a_draft(promises):
    tab = Tab()

    tab.press(3, appropriateness="2")

    assert (tab.place, tab.done) == (3, [])
    assert not Annotation.objects.exists()
    assert Draft.objects.get().values == {"appropriateness": "2"}
    assert tab.open(1).entered == {"appropriateness": "2"}


def test_jump_from_a_page_that_is_complete_saves_it(promises):
    tab = Tab()

    tab.press(4, **ANSWERS)

    assert (tab.place, tab.done) == (4, [1])
    assert tab.page.context["status"] == "Question 1 saved."
    assert Annotation.objects.counted().count() == 1
    assert tab.press(1).entered == ANSWERS


def test_jump_from_an_answered_place_changes_nothing_that_was_not_changed():
    tab = Tab()
    tab.press(4, **ANSWERS).press(1)

    tab.press(2, **ANSWERS)

    assert tab.page.context["status"] == "Question 1 saved."
    assert Annotation.objects.get().revisions.count() == 0


def test_jump_with_a_value_that_the_page_does_not_offer_is_no_answer():
    tab = Tab()

    tab.press(2, **ANSWERS | {"appropriateness": "9"})

    assert tab.place == 2
    assert not Annotation.objects.exists()


@pytest.mark.one_case
@pytest.mark.parametrize(("go", "place"), [("0", 1), ("99", 4), ("00003", 3)])
def test_place_outside_the_set_is_the_nearest_inside(go, place):
    assert Tab().press(go).place == place


@pytest.mark.one_case
@pytest.mark.parametrize("go", ["", "-1", "3.0", "٣", "9" * 5000, "next", "<b>"])
def test_what_is_no_place_saves_and_goes_on(go):
    tab = Tab()

    assert tab.press(go).page.status_code == 422
    assert tab.press(go, **ANSWERS).place == 2


def test_place_that_went_to_somebody_else_is_not_offered():
    study = make_talks(items=3, set_size=3)
    tab = Tab(study)
    tab.press("next", **ANSWERS)
    lost = ItemSet.objects.get().item_ids[2]
    with after_the_lease(study):
        Slot.objects.filter(item=lost).update(
            participant=make_annotator(study), lease_until=now().replace(year=2100)
        )
        tab.client.post(f"{tab.home}start/")
        tab.open(2)

        assert re.findall(r'name="go" value="(\d+)"', tab.html) == ["1", "2"]
        assert tab.press("next", **ANSWERS).is_at_review


# --- save and next ------------------------------------------------------------------------


def test_next_is_the_next_in_order_then_the_first_missing_then_the_review():
    tab = Tab()
    tab.press(3)

    places = []
    while len(places) < 9 and not (places and tab.is_at_review):
        places.append(tab.place)
        tab.press("next", **ANSWERS)

    # 3 and 4 in order, then back to what was left out; with 2 nothing is missing
    assert places == [3, 4, 1, 2]


def test_change_of_an_answer_leads_back_to_the_review_once_all_are_given():
    tab = Tab()
    for _ in range(4):
        tab.press("next", **ANSWERS)
    tab.open(2)

    tab.press("next", **ANSWERS | {"appropriateness": "1"})

    assert tab.is_at_review
    assert "Your new answer is saved" in tab.html


def test_answered_place_on_the_way_is_shown_as_it_was_answered():
    tab = Tab()
    tab.press(2).press("next", **ANSWERS).press(1)

    tab.press("next", **ANSWERS)

    assert (tab.place, tab.entered) == (2, ANSWERS)


def test_review_lists_what_is_missing():
    tab = Tab()
    tab.press(3).press("next", **ANSWERS)

    tab.show(tab.client.get(f"{tab.home}sets/1/review/"))

    assert "Answer the others, then you can finish." in tab.html
    assert tab.html.count("Not answered") == 3
    assert "Finish</button>" not in tab.html
    assert f'<a class="btn main" href="{tab.home}sets/1/items/1/">Go to ' in tab.html


def test_refused_page_keeps_the_menu_and_the_true_progress():
    tab = Tab()
    tab.press(3).press("next", **ANSWERS)

    tab.press("next", appropriateness="2")

    assert tab.page.status_code == 422
    assert tab.done == [3]
    assert tab.page.context["progress"].words == "1 of 4 done"


def test_reported_place_counts_as_answered():
    tab = Tab()
    address = f"{tab.home}sets/1/items/1/report/"

    tab.show(tab.client.post(address, {"reason": "other"}, follow=True))

    assert (tab.place, tab.done) == (2, [1])


# --- headings -----------------------------------------------------------------------------


def test_headings_get_ids_that_are_unique_and_no_others():
    text = "# One\n\n## One\n\n## One <b>x</b>\n\n### *One*\n\n## מונחים\n\n## !\n"

    html = str(render_markdown(text, with_anchors=True))

    ids = re.findall(r'id="([^"]*)"', html)
    assert ids == [
        "part-one", "part-one-2", "part-one-bxb", "part-one-3", "part-מונחים", "part-heading",
    ]  # fmt: skip
    assert "<h1" not in html
    assert "<b>" not in html
    assert list_anchors(text)["One"] == "part-one"
    assert 'id="' not in str(render_markdown(text))


def test_ids_can_not_be_written_into_a_text():
    html = str(render_markdown('## <i id="main">x</i>\n\n<p id="main">', with_anchors=True))

    assert re.findall(r"<\w+ [^>]*>", html) == ['<h2 id="part-i-idmainxi">']


# --- in a browser -------------------------------------------------------------------------


def jump(page, number: int) -> None:
    page.click(".jump > summary")
    follow(page, f".jump button[value='{number}']")


def choose(page, *values: str) -> None:
    for name, value in zip(ANSWERS, values, strict=False):
        page.check(f"#{name}-{value}")


@pytest.mark.torture
def test_jumping_about_in_a_browser_loses_no_answer(page, live_server):
    study = make_talks()
    watch = Watch(page)
    take_a_set(page, str(live_server), study)

    choose(page, "2", "4")
    jump(page, 3)  # at once, before a draft is sent
    choose(page, "1", "2", "3")
    jump(page, 1)
    expect(page.locator("#appropriateness-2")).to_be_checked()
    expect(page.locator("#information_content-4")).to_be_checked()
    expect(page.locator(".jump .done")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("5")
    with page.expect_navigation():
        page.keyboard.press("Enter")  # the last of this page: saved, and the next in order
    expect(page.locator(HERE)).to_contain_text("2")
    for _ in range(3):
        if not page.locator("[type=radio]:checked").count():
            choose(page, "3", "3", "3")
        follow(page, MAIN)
    follow(page, MAIN)

    given = {
        annotation.place: [rating.value for rating in annotation.ratings.order_by("id")]
        for annotation in Annotation.objects.filter(study=study)
    }
    assert given == {1: [2, 4, 5], 2: [3, 3, 3], 3: [1, 2, 3], 4: [3, 3, 3]}
    assert ItemSet.objects.get().finished_at is not None
    assert watch.found == []


@pytest.mark.torture
def test_jump_waits_until_the_server_can_be_reached_and_then_goes_on_by_itself(page, live_server):
    take_a_set(page, str(live_server), make_talks())
    page.context.set_offline(True)
    choose(page, "2")
    expect(page.locator("#status")).to_contain_text("Not saved yet")

    page.click(".jump > summary")
    page.click(".jump button[value='3']")
    expect(page.locator("#unsaved")).to_be_visible()
    with page.expect_navigation():
        page.context.set_offline(False)

    expect(page.locator(HERE)).to_contain_text("3")
    assert Draft.objects.get().values == {"appropriateness": "2"}


@pytest.mark.torture
def test_menu_works_by_keyboard_and_enter_in_the_page_still_saves(page, live_server):
    take_a_set(page, str(live_server), make_talks())
    page.focus(".jump > summary")
    page.keyboard.press("Enter")
    page.focus(".jump [value='2']")

    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator(HERE)).to_contain_text("2")
    choose(page, "1", "1", "1")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator(HERE)).to_contain_text("3")
    assert Annotation.objects.get().place == 2


@pytest.mark.torture
@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.torture)])
def test_menu_has_no_fault_and_fits_the_page(page, live_server, width):
    page.set_viewport_size({"width": width, "height": 800})
    take_a_set(page, str(live_server), make_talks(items=11, set_size=11))
    choose(page, "1", "1", "1")
    follow(page, MAIN)

    assert find_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.click(".jump > summary")
    assert find_faults(page) == []
    for button in page.locator(".jump :is(a, button)").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44


@pytest.mark.torture
def test_menu_stays_at_the_top_while_one_reads_a_long_dialogue(page, live_server):
    study = make_talks()
    turns = "\n".join(f"{'AB'[n % 2]}: This is turn {n + 1} of this talk." for n in range(41))
    for item in study.items.main():
        item.inputs = {"dialogue": turns}
        item.save()
    page.emulate_media(reduced_motion="reduce")
    take_a_set(page, str(live_server), study)

    expect(page.get_by_text("This is turn 1 of")).to_be_in_viewport()
    expect(page.locator(".specimen")).to_be_in_viewport()
    page.locator("#human_likeness-5").focus()
    assert page.evaluate("scrollY") > 0
    expect(page.locator(".jump > summary")).to_be_in_viewport()
    page.click(".jump > summary")
    expect(page.locator(".jump [value='3']")).to_be_in_viewport()
    assert find_faults(page) == []
