"""An annotator in a browser: by keyboard, without scripts, offline, and back again."""

import pytest
from playwright.sync_api import expect

from evalsite.handout.models import Annotation, Draft, Rating
from tests.support.browsing import (
    MAIN,
    Watch,
    come_in,
    fill_scores,
    follow,
    press_and_stay,
    press_tab_to,
    take_a_set,
    walk_to_work,
)
from tests.support.factories import launch, make_study

pytestmark = pytest.mark.django_db(transaction=True)

BOX = "#informativeness-{}"


@pytest.fixture
def study(transactional_db):
    return launch(make_study(items=2, set_size=2))


def type_scores(page, *scores):
    """Numbers and Enter, and nothing else."""
    for score in scores:
        page.keyboard.type(str(score))
        page.keyboard.press("Enter")


def press_enter(page):
    """Enter, and the page that it leads to."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


def values(page):
    return [page.input_value(BOX.format(number)) for number in (1, 2, 3)]


def scores_of(annotation):
    ratings = annotation.ratings.select_related("output")
    return {rating.output.text: rating.value for rating in ratings}


def test_the_whole_way_can_be_gone_by_keyboard_alone(page, live_server, study):
    watch = Watch(page)
    page.goto(f"{live_server}/join/{study.pk}/")
    press_tab_to(page, MAIN)
    press_enter(page)
    press_tab_to(page, "button[value=agree]")
    press_enter(page)
    press_tab_to(page, "#first_language")
    page.keyboard.type("English")
    press_tab_to(page, "[name=variety][value=american]")
    page.keyboard.press("Space")
    press_tab_to(page, MAIN)
    press_enter(page)
    press_tab_to(page, MAIN)
    press_enter(page)
    for number in (1,):
        page.wait_for_url(f"**/practice/{number}/")
        type_scores(page, 100, 90, 80)
        expect(page.locator(MAIN).first).to_be_focused()
        press_enter(page)
    for place in (1, 2):
        page.wait_for_url(f"**/items/{place}/**")
        type_scores(page, 70, 100, 90)
    page.wait_for_url("**/review/**")
    press_tab_to(page, MAIN)
    press_enter(page)

    expect(page.locator("#code")).to_have_text(study.item_sets.get().code)
    assert Annotation.objects.filter(study=study).counted().count() == 2
    assert sorted(Rating.objects.filter(annotation__status="counted").values_list("value")) == [
        (70,), (70,), (90,), (90,), (100,), (100,)
    ]  # fmt: skip
    assert watch.found == []


@pytest.mark.torture
def test_the_whole_way_can_be_gone_without_scripts(browser, live_server, study):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()

    come_in(page, str(live_server), study)
    fill_scores(page, 70, "12.5", "")
    follow(page, MAIN)
    assert page.title().startswith("Error: ")
    page.fill(BOX.format(2), "100")
    page.fill(BOX.format(3), "90")
    follow(page, MAIN)
    assert page.url.endswith("/items/2/?was=saved&after=1")
    fill_scores(page, 1, 2, 3)
    with page.expect_navigation():
        # means the main button, not Back that stands before it
        page.press(BOX.format(3), "Enter")

    assert "/review/" in page.url
    follow(page, MAIN)
    assert page.inner_text("#code") == study.item_sets.get().code
    assert page.is_hidden("text=Copy")
    context.close()


def test_a_refused_page_leads_to_each_fault(page, live_server, study):
    take_a_set(page, str(live_server), study)
    fill_scores(page, 70, "", "12.5")

    press_and_stay(page)

    assert page.title().startswith("Error: ")
    summary = page.locator(".problem[role=alert]").first
    expect(summary).to_be_focused()
    assert values(page) == ["70", "", "12.5"]
    summary.get_by_text("Score for utterance 3 must be a whole number").click()
    box = page.locator(BOX.format(3))
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    message = page.locator(f"#{box.get_attribute('aria-describedby').split()[0]}")
    expect(message).to_contain_text("must be a whole number")
    # the page was not sent again: going back asks for nothing
    fill_scores(page, 70, 80, 90)
    follow(page, MAIN)
    page.go_back()
    assert values(page) == ["70", "80", "90"]


@pytest.mark.torture
def test_back_shows_the_answer_and_a_change_is_kept(page, live_server, study):
    take_a_set(page, str(live_server), study)
    type_scores(page, 70, 100, 90)
    page.wait_for_url("**/items/2/**")

    follow(page, "button[value=back]")
    assert values(page) == ["70", "100", "90"]
    texts = page.locator(".trio .text").all_inner_texts()
    page.reload()
    assert values(page) == ["70", "100", "90"]
    fill_scores(page, 60)
    follow(page, MAIN)

    expect(page.locator("#status")).to_contain_text("1 saved.")
    page.go_back()
    assert values(page) == ["60", "100", "90"]
    annotation = Annotation.objects.get(study=study)
    assert annotation.revisions.count() == 1
    # each score is still of the text under which it was typed
    assert [scores_of(annotation)[text] for text in texts] == [60, 100, 90]


@pytest.mark.torture
def test_a_draft_comes_back_on_another_device(page, browser, live_server, study):
    take_a_set(page, str(live_server), study)
    address = page.url
    fill_scores(page, 70, "1e3")
    expect(page.locator("#status")).to_contain_text("answered, saved")

    elsewhere = browser.new_context().new_page()
    elsewhere.goto(address)

    assert values(elsewhere) == ["70", "1e3", ""]
    elsewhere.context.close()


@pytest.mark.torture
def test_a_draft_made_offline_is_sent_when_the_network_is_back(page, live_server, study):
    take_a_set(page, str(live_server), study)
    page.context.set_offline(True)
    fill_scores(page, 70)
    expect(page.locator("#status")).to_contain_text("Not saved yet")
    assert not Draft.objects.filter(study=study).exists()

    page.context.set_offline(False)

    expect(page.locator("#status")).to_contain_text("answered, saved")
    assert Draft.objects.get(study=study).values["informativeness-1"] == "70"


def test_answers_that_never_reached_the_server_survive_a_reload(page, live_server, study):
    take_a_set(page, str(live_server), study)
    page.route("**/draft/", lambda route: route.abort())
    fill_scores(page, 70, 80)
    expect(page.locator("#status")).to_contain_text("Not saved yet")

    page.reload()

    assert values(page) == ["70", "80", ""]


@pytest.mark.torture
def test_a_save_that_fails_keeps_the_page_and_can_be_tried_again(page, live_server, study):
    take_a_set(page, str(live_server), study)
    page.context.set_offline(True)
    fill_scores(page, 70, 100, 90)
    expect(page.locator("#status")).to_contain_text("Not saved yet")

    page.click(MAIN)
    failed = page.locator("#unsaved")
    expect(failed).to_be_visible()
    expect(failed).to_contain_text("Your answers are still on this page")
    assert values(page) == ["70", "100", "90"]
    page.context.set_offline(False)
    failed.get_by_role("button", name="Try again").click()

    page.wait_for_url("**/items/2/**")
    assert Annotation.objects.filter(study=study).counted().count() == 1


@pytest.mark.torture
def test_an_answer_in_memory_never_covers_one_that_was_saved(page, live_server, study):
    take_a_set(page, str(live_server), study)
    type_scores(page, 70, 100, 90)
    page.wait_for_url("**/items/2/**")
    follow(page, "button[value=back]")
    fill_scores(page, 60)
    follow(page, MAIN)
    expect(page.locator("#status")).to_contain_text("1 saved.")

    follow(page, "button[value=back]")

    assert values(page) == ["60", "100", "90"]
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes('draft'))") == []


@pytest.mark.torture
def test_the_open_link_offers_to_go_on(page, live_server, study):
    come_in(page, str(live_server), study)

    page.goto(f"{live_server}/join/{study.pk}/")
    follow(page, "text=Continue where you left off")

    assert "/items/1/" in page.url
    assert study.participants.count() == 1


@pytest.mark.torture
def test_keys_open_their_list_and_can_be_switched_off(page, live_server, study):
    take_a_set(page, str(live_server), study)

    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.uncheck("[data-switch=keys]")
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("x")
    page.keyboard.press("7")
    assert values(page) == ["", "", ""]
    page.reload()
    page.keyboard.press("x")
    expect(page.locator("#reporting")).to_be_hidden()

    page.get_by_role("button", name="Keys").click()
    page.check("[data-switch=keys]")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Keys")).to_be_focused()
    page.keyboard.press("x")
    expect(page.locator("#reporting")).to_be_visible()


@pytest.mark.torture
def test_single_keys_are_dead_in_a_box(page, live_server, study):
    take_a_set(page, str(live_server), study)

    page.focus(BOX.format(1))
    page.keyboard.type("x?jk")

    assert values(page)[0] == "x?jk"
    assert "/items/1/" in page.url


@pytest.mark.torture
def test_a_reserved_place_is_asked_for_before_it_lapses_and_kept_once(page, live_server, study):
    page.clock.install()
    take_a_set(page, str(live_server), study)
    dialog = page.locator("#still")
    page.clock.fast_forward("09:00")
    expect(dialog).to_be_hidden()

    page.clock.fast_forward("02:00")
    expect(dialog).to_be_visible()
    with page.expect_response("**/draft/") as answered:
        page.keyboard.press("Enter")

    expect(dialog).to_be_hidden()
    assert answered.value.status == 200
    page.clock.fast_forward("30:00")
    expect(dialog).to_be_hidden()


def test_device_and_times_travel_with_the_answer(page, live_server, study):
    page.set_viewport_size({"width": 400, "height": 800})
    take_a_set(page, str(live_server), study)

    fill_scores(page, 70, 100, 90)
    follow(page, MAIN)

    annotation = Annotation.objects.counted().get(study=study)
    assert annotation.device == "narrow-portrait"
    assert 0 < annotation.active_ms <= annotation.client_ms


@pytest.mark.torture
def test_aids_say_ratio_order_and_sameness_and_copy_as_uploaded(page, live_server):
    study = make_study(items=1, set_size=1, is_aided=True)
    item = study.items.main().get()
    item.outputs.update(text="The same text.")
    take_a_set(page, str(live_server), launch(study))

    fill_scores(page, 70, 100, 50)

    assert page.locator("[data-ratio]").all_inner_texts() == [
        "0.7 x the standard",
        "same as the standard",
        "half the standard",
    ]
    expect(page.locator("p[data-order]")).to_have_text("Your order: 2 > 1 > 3")
    expect(page.locator("[data-identical]")).to_have_text("Utterances 1, 2 and 3 are identical")
    copied = page.evaluate(
        "getSelection().selectAllChildren(document.querySelector('.task .mr'));"
        "getSelection().toString()"
    )
    assert copied == item.inputs["mr"]
    assert page.locator(".task .mr").text_content() == item.inputs["mr"]


@pytest.mark.torture
def test_exact_pages_carry_no_aid(page, live_server, study):
    for step in walk_to_work(page, str(live_server), study, with_errors=False):
        assert page.locator(".aid, .chip").count() == 0, step
    assert page.locator(".aid, .chip").count() == 0


@pytest.mark.torture
def test_the_error_summary_has_the_focus_on_a_later_item_too(page, live_server, study):
    come_in(page, str(live_server), study)
    fill_scores(page, 1, 2, 3)
    follow(page, MAIN)
    fill_scores(page, "0", 2, 3)

    press_and_stay(page)

    assert page.title().startswith("Error: ")
    assert page.evaluate("document.activeElement.className") == "problem"
