import pytest, json
from django.urls import reverse
from tests.site.test_staff_browser import sign_in
from tests.support.factories import make_user
from tests.support.browsing import find_faults_in_all_looks
from evalsite.studies.models import Instrument
from evalsite.studies.instruments import import_instrument
from tests.support.instruments import read_gallery
from tests.support.forms import read_form
from tests.building.test_builder import begin, post

pytestmark = pytest.mark.django_db(transaction=True)
COUNT = """() => {
  const main = document.querySelector("main");
  const inSight = (element) => !element.closest("[inert], iframe, [data-preview]")
    && element.checkVisibility({ visibilityProperty: true }) && !element.matches(".vh")
    && element.getBoundingClientRect().width > 1;
  const count = (selector) => [...main.querySelectorAll(selector)].filter(inSight).length;
  return {
    fields: count("input:not([type=hidden]), select, textarea"),
    buttons: count("button, a.btn"),
    menus: count("details.menu"),
    all_fields: main.querySelectorAll("input:not([type=hidden]), select, textarea").length,
    words: main.innerText.split(/\\s+/).length, height: document.documentElement.scrollHeight,
  };
}"""


def shoot(page, name):
    for w in (1280, 360):
        page.set_viewport_size({"width": w, "height": 900})
        page.screenshot(path=f"/tmp/b/{name}-{w}.png", full_page=True)


def test_count(page, live_server, client):
    jane = make_user()
    client.force_login(jane)
    instrument = begin(client, "Chat replies, two questions")
    sign_in(page, live_server, jane)
    a = f"{live_server}{reverse('admin:instrument', args=[instrument.pk])}"
    page.goto(a)
    shoot(page, "new")
    post(client, instrument, do="add:criteria")
    post(client, instrument, **{"do": "draft", "criteria-1-kind": "choices"})
    post(
        client,
        instrument,
        **{
            "do": "draft",
            "criteria-0-scale-points-box": "Not at all\nA little\nPartly\nMostly\nCompletely",
            "criteria-0-label": "Helpfulness",
            "criteria-0-question": "How far does the reply do what the person asked for?",
            "criteria-1-label": "Problems",
            "criteria-1-scale-options-box": "Not true\nSomething missing\nRude\nNone",
            "criteria-1-question": "What is wrong with the reply? Choose all that apply.",
        },
    )
    post(client, instrument, do="save")
    page.goto(a)
    shoot(page, "two")
    page.set_viewport_size({"width": 1280, "height": 900})
    print(page.evaluate(COUNT))
    instrument.refresh_from_db()
    print(
        json.dumps(instrument.newest.content["criteria"]) if instrument.newest else instrument.draft
    )
    page.click("#id_criteria-1 > .fold > summary")
    shoot(page, "more")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.click("#more > summary")
    for s in page.locator("#more .folds > .fold > summary").all():
        s.click()
    shoot(page, "allmore")
    page.set_viewport_size({"width": 360, "height": 900})
    print(
        page.evaluate(
            """() => [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 362).slice(0, 20).map(e => e.outerHTML.slice(0, 150))"""
        )
    )
    print(find_faults_in_all_looks(page))
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    print(find_faults_in_all_looks(page))
    page.set_viewport_size({"width": 1280, "height": 900})
    post(
        client,
        instrument,
        **{
            "do": "draft",
            "criteria-0-label": "",
            "criteria-0-scale-points-box": "0 Bad",
            "title": "",
            "criteria-1-key": "My key",
            "do": "save",
        },
    )
    page.goto(a)
    shoot(page, "faults")
    print(find_faults_in_all_looks(page))
