"""Every page of a participant in a browser: quiet, and large enough to press."""

import pytest

from tests.support.browsing import Watch, walk_to_the_end, walk_to_work
from tests.support.factories import launch, make_study

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


@pytest.mark.parametrize("has_touch", [True, False])
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
    assert len(sent) == 3  # the page, its style, its script
    assert all(url.startswith(str(live_server)) for url in sent)
