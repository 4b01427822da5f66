"""Whole ways through a round in a browser, without scripts too: accessible at both widths."""

from typing import Any

import pytest
from playwright.sync_api import Page

from evalsite.people.platforms import Outcome
from evalsite.people.recruiting import create_code
from evalsite.people.visits import end_visit
from tests.support.browsing import MAIN, Watch, answer_all, find_faults_in_turn, follow
from tests.support.rounds import REFUSED, Person, make_round
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(name="recruitment")
def _recruitment() -> Any:
    study = make_live(items=1, set_size=1, is_practice_on=False, is_eligibility_on=False)
    return make_round(study, "prolific", places=2)


def address_of(person: Person, base: str) -> str:
    return f"{base}{person.address}?" + "&".join(f"{k}={v}" for k, v in person.query.items())


@pytest.mark.torture
def test_from_the_link_to_the_code_every_page_is_accessible(page: Page, live_server, recruitment):
    watch = Watch(page)
    page.goto(address_of(Person(recruitment), str(live_server)))
    faults = [find_faults_in_turn(page)]

    for _ in range(3):
        follow(page, MAIN)
    answer_all(page)
    follow(page, MAIN)
    follow(page, MAIN)

    faults.append(find_faults_in_turn(page))
    link = page.get_by_role("link", name="Return to Prolific").get_attribute("href")
    code = recruitment.codes.get(outcome="completed").code
    assert link == f"https://app.prolific.com/submissions/complete?cc={code}"
    assert page.locator("#code").inner_text() == code
    assert [one for one in faults if one] == []
    assert watch.found == []
    assert page.context.cookies() == []


@pytest.mark.torture
def test_each_way_out_is_accessible_and_sets_no_cookie(page: Page, live_server, recruitment):
    watch = Watch(page)
    faults = {}
    for number, outcome in enumerate(REFUSED):
        for has_code in (True, False):
            if has_code:
                create_code(recruitment=recruitment, outcome=Outcome(outcome))
            else:
                recruitment.codes.filter(outcome=outcome).delete()
            person = Person(recruitment, number % 3, number % 3).start()
            end_visit(person.me, Outcome(outcome))
            page.goto(f"{live_server}{person.home}")
            faults[outcome, has_code] = find_faults_in_turn(page)

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []
    assert page.context.cookies() == []


@pytest.mark.one_case
@pytest.mark.parametrize("go", ["decline", "agree"])
def test_without_scripts_the_way_leads_to_a_code(browser, live_server, recruitment, go):
    create_code(recruitment=recruitment, outcome=Outcome.NO_CONSENT)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address_of(Person(recruitment), str(live_server)))
    page.click(MAIN)

    page.click(f"button[value={go}]")

    if go == "agree":
        page.click(MAIN)
        for box in page.locator("[data-question] input").all():
            box.fill("90")
        page.click(MAIN)
        page.click(MAIN)
    outcome = "completed" if go == "agree" else "no_consent"
    assert page.locator("#code").inner_text() == recruitment.codes.get(outcome=outcome).code
    context.close()


@pytest.mark.torture
@pytest.mark.parametrize(("is_phone", "shown"), [(True, "I’m on a phone"), (False, "Start")])
def test_a_phone_is_shown_the_way_out_in_place_of_start(browser, live_server, is_phone, shown):
    study = make_live(items=1, set_size=1)
    person = Person(make_round(study, "prolific", refuses_phones=True))
    context = browser.new_context(
        viewport={"width": 360, "height": 740}, has_touch=is_phone, is_mobile=is_phone
    )
    page = context.new_page()

    page.goto(address_of(person, str(live_server)))

    assert page.locator("button:visible").all_inner_texts() == [shown]
    context.close()


@pytest.mark.torture
def test_the_page_to_type_an_id_is_accessible_and_leads_on_by_keyboard(page: Page, live_server):
    study = make_live(items=1, set_size=1)
    recruitment = make_round(study, "prolific", takes_typed_ids=True)
    person = Person(recruitment)
    page.goto(f"{live_server}{person.address}")
    faults = [find_faults_in_turn(page)]

    page.fill("#typed", "me@example.org")
    follow(page, MAIN)
    faults.append(find_faults_in_turn(page))
    page.fill("#typed", person.query["PROLIFIC_PID"])
    with page.expect_navigation():
        page.keyboard.press("Enter")

    assert page.locator(MAIN).inner_text() == "Start"
    assert [one for one in faults if one] == []
