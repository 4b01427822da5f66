"""Every page of a participant in a browser: quiet, and large enough to press."""

import pytest

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.studies.models import Study
from tests.support.browsing import (
    Watch,
    find_faults_in_turn,
    walk_to_the_end,
    walk_to_work,
)
from tests.support.factories import (
    launch,
    make_annotator,
    make_participant,
    make_study,
    mint_link,
)

pytestmark = pytest.mark.django_db(transaction=True)

# of what is pressed with a finger, and with a mouse
SMALLEST = {True: 44, False: 32}

FIND_SMALL = """smallest => [...document.querySelectorAll(
    'label.pt, .btn, input.number, input[type=text], textarea, .top nav a, .top nav button')]
  .filter(one => one.getClientRects().length && !one.closest('dialog:not([open])'))
  .map(one => [one.getBoundingClientRect().height, one.outerHTML.slice(0, 90)])
  .filter(([height]) => height < smallest)"""


def walk(page, live_server, **fields):
    study = launch(make_study(items=2, set_size=2, pay_per_set="2.10", **fields))
    yield from walk_to_work(page, str(live_server), study)
    yield from walk_to_the_end(page)


@pytest.mark.torture
@pytest.mark.parametrize("has_touch", [True, pytest.param(False, marks=pytest.mark.torture)])
def test_pages_complain_of_nothing_fit_a_narrow_window_and_are_large_enough_to_press(
    browser, live_server, has_touch
):
    context = browser.new_context(
        viewport={"width": 320, "height": 700}, has_touch=has_touch, is_mobile=has_touch
    )
    page = context.new_page()
    watch = Watch(page)
    small, widths = {}, {}

    for step in walk(page, live_server, is_aided=True):
        small[step] = page.evaluate(FIND_SMALL, SMALLEST[has_touch])
        widths[step] = page.evaluate("document.documentElement.scrollWidth")

    assert "withdrawn" in widths
    assert {step: found for step, found in small.items() if found} == {}
    assert {step: width for step, width in widths.items() if width > 320} == {}
    assert watch.found == []
    assert context.cookies() == []
    context.close()


def test_rating_page_takes_few_requests_to_no_other_host(page, live_server):
    steps = walk(page, live_server)
    while next(steps) != "item":
        pass
    requests = []
    page.on("request", lambda request: requests.append(request.url))

    page.reload()

    sent = [url for url in requests if not url.startswith("data:")]
    assert len(sent) == 4  # the page, its style, its two scripts
    assert all(url.startswith(str(live_server)) for url in sent)


def find_pages_off_the_way() -> dict[str, str]:
    """The address of each page that only some people see, by what happened to them."""
    study = launch(make_study(items=4, set_size=2, k=2))
    me = make_annotator(study)
    claim_set(me)
    away = make_annotator(study)
    claim_set(away)
    free = {"state": Slot.State.FREE, "participant": None, "lease_until": None}
    Slot.objects.filter(participant=away).update(**free)
    test = launch(make_study(items=1, is_qualification_on=True))
    paused = launch(make_study(items=1))
    Study.objects.filter(pk=paused.pk).update(state=Study.State.PAUSED)
    declined = make_participant(study)
    return {
        "worked examples": f"{mint_link(me)}examples/",
        "a break": f"{mint_link(me)}sets/1/break/2/",
        "declined": f"{mint_link(declined)}consent/",
        "not eligible": mint_link(make_annotator(study, is_eligible=False)),
        "a failed test": mint_link(make_annotator(test, is_qualified=False)),
        "a place that is gone": f"{mint_link(away)}sets/1/items/1/",
        "paused": mint_link(make_annotator(paused)),
        "paused, at the door": f"/join/{paused.pk}/",
        "no id in the link": f"/join/{study.pk}/?PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D",
        "no such link": "/p/nobody/",
        "no such study": "/join/11111111-2222-4333-8444-555555555555/",
    }


@pytest.mark.torture
def test_axe_finds_no_fault_on_pages_off_the_usual_way(page, live_server):
    found, titles = {}, {}

    for name, address in find_pages_off_the_way().items():
        page.goto(f"{live_server}{address}")
        if name == "declined":
            page.click("[value=decline]")
            page.wait_for_url("**/declined/**")
        found[name] = find_faults_in_turn(page)
        titles[name] = page.title()

    assert {name: faults for name, faults in found.items() if faults} == {}
    # each of them is a page of its own, but for the two at whose links there is nothing
    assert len({*titles.values()}) >= len(titles) - 2, titles
