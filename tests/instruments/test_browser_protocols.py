"""Every protocol in a browser: by keyboard alone, by touch alone, accessible at every width."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from evalsite.data.demo import import_example
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.scales.likert import Likert
from evalsite.instruments.scales.magnitude import Magnitude
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Study
from tests.support.browsing import (
    LOOKS,
    MAIN,
    Watch,
    find_faults_in_all_looks,
    find_faults_in_turn,
    press_tab_to,
    take_a_set,
    walk_to_the_end,
    walk_to_work,
)
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db(transaction=True)

# a review with three responses; a set of any other protocol
SET_SIZE = 3


@pytest.fixture
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


def of_protocols(*usual: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("config", each_protocol(*usual), indirect=True)


@pytest.fixture
def study(transactional_db: None, config: Instrument) -> Study:
    draft = make_study(protocol=config.key, items=0, set_size=SET_SIZE, k=1)
    import_example(draft, by=make_user())
    return launch(draft)


def keys_of(config: Instrument) -> list[str]:
    """What is pressed on a page of this protocol to answer all of it: one key a question."""
    keys = []
    for criterion in config.criteria:
        if isinstance(criterion.scale, Magnitude):
            keys += ["9", "Enter"] * config.item.outputs.most
        elif isinstance(criterion.scale, Likert):
            keys.append(str(criterion.scale.maximum))
        else:
            keys.append({"decision": "a", "preference": "1"}[criterion.scale.kind])
    return keys


def counted_in(study: Study) -> int:
    return Annotation.objects.filter(study=study).counted().count()


def ratings_of(config: Instrument) -> int:
    """How many values an answered item holds."""
    return sum(config.item.outputs.most if one.per_output else 1 for one in config.criteria)


# boxes, points with a decision, and a preference
@pytest.mark.one_case
@of_protocols("magnitude", "rrgen", "pairwise")
def test_a_whole_set_is_rated_by_keyboard_alone(page, live_server, config, study):
    watch = Watch(page)
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    for place in range(1, SET_SIZE + 1):
        page.wait_for_url(f"**/items/{place}/**")
        keys = keys_of(config)
        # the last Enter of a page with boxes saves by itself
        keys = keys if keys[-1] == "Enter" else [*keys, "Enter"]
        for key in keys[:-1]:
            page.keyboard.press(key)
        with page.expect_navigation():
            page.keyboard.press(keys[-1])
    page.wait_for_url("**/review/**")
    press_tab_to(page, MAIN)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator("#code")).to_have_text(study.item_sets.get().code)
    annotations = Annotation.objects.filter(study=study).counted()
    assert [one.ratings.count() for one in annotations] == [ratings_of(config)] * SET_SIZE
    assert watch.found == []


def test_four_criteria_and_accept_take_five_keys_and_enter():
    config = installed_protocols()["rrgen"]

    assert keys_of(config) == ["7", "7", "7", "7", "a"]


def tap_all(page: Page) -> None:
    """Every question is answered by taps; a number on the keyboard that the phone shows."""
    for question in page.locator("[data-question]").all():
        radios = question.locator("label.pt")
        if radios.count():
            radios.first.tap()
            expect(radios.first.locator("input")).to_be_checked()
        else:
            box = question.locator("input")
            box.tap()
            expect(box).to_be_focused()
            # as a phone's keyboard does: the text comes without key presses
            page.keyboard.insert_text("90")
            expect(box).to_have_value("90")


# radio buttons, and boxes
@pytest.mark.one_case
@of_protocols("pairwise", "magnitude")
def test_a_whole_set_is_rated_by_touch_alone(browser, live_server, config, study):
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    tap(page, MAIN)

    for place in range(1, SET_SIZE + 1):
        page.wait_for_url(f"**/items/{place}/**")
        tap_all(page)
        tap(page, MAIN)
    page.wait_for_url("**/review/**")
    tap(page, MAIN)

    expect(page.locator("#code")).to_have_text(study.item_sets.get().code)
    assert counted_in(study) == SET_SIZE
    context.close()


def tap(page: Page, selector: str) -> None:
    with page.expect_navigation():
        page.locator(selector).first.tap()


# The other pages are the same for all protocols: they are looked at with one of them.
OWN_PAGES = ("instructions", "practice", "item", "keys", "ignored item", "review")
# in the suite pages are looked at wide and light, narrow and dark by turns
by_turns = pytest.mark.parametrize(
    ("config", "is_by_turns"),
    [
        ("rrgen", True),
        *(
            pytest.param(key, False, marks=pytest.mark.torture)
            for key in sorted(installed_protocols())
        ),
    ],
    indirect=["config"],
)


@pytest.mark.one_case
@of_protocols(*installed_protocols())
def test_axe_finds_no_fault_on_an_item(page, live_server, config):
    take_a_set(page, str(live_server), make_short(config))

    assert find_faults_in_turn(page) == []


@by_turns
def test_axe_finds_no_fault_on_any_page_before_work(page, live_server, config, is_by_turns):
    base, study = str(live_server), make_short(config)

    found = find_faults_of(walk_to_work(page, base, study), page, config, is_by_turns)

    assert {"instructions", "practice explained"} <= {*found}
    assert {step: faults for step, faults in found.items() if faults} == {}


@pytest.mark.torture
@by_turns
def test_axe_finds_no_fault_on_any_page_from_the_first_item_on(
    page, live_server, config, is_by_turns
):
    take_a_set(page, str(live_server), make_short(config))

    found = find_faults_of(walk_to_the_end(page), page, config, is_by_turns)

    assert {"item", "item with errors", "review"} <= {*found}
    assert {step: faults for step, faults in found.items() if faults} == {}


def make_short(config: Instrument) -> Study:
    """A live study of this protocol with sets of 3, and with the aids that it has."""
    draft = make_study(protocol=config.key, items=0, set_size=3, k=1, is_aided=bool(config.aids))
    import_example(draft, by=make_user())
    return launch(draft)


def find_faults_of(
    steps: Iterator[str], page: Page, config: Instrument, is_by_turns: bool
) -> dict[str, list[str]]:
    """What is wrong with each page of the way that is this protocol's own."""
    return {
        step: find_faults_in_all_looks(page, [LOOKS[number % 2]] if is_by_turns else LOOKS)
        for number, step in enumerate(steps)
        if step.startswith(OWN_PAGES) or config.key == "rrgen"
    }
