"""In a real browser no text of a file runs, becomes markup, or turns the words beside it round."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.data.uploads import keep_upload
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Item
from tests.site.test_staff_browser import sign_in
from tests.support.batches import write_csv
from tests.support.browsing import MAIN, Watch, follow
from tests.support.factories import make_annotator, make_learner, make_study, make_user, mint_link
from tests.support.hostile import EVERYTHING, TITLE, hostile_rows, make_hostile
from tests.support.protocols import each_protocol

pytestmark = pytest.mark.django_db(transaction=True)

FIND_EVIL = """() => [
  ...(window.evil ? [`window.evil is ${window.evil}`] : []),
  ...[...document.querySelectorAll('*')]
    .filter(one => [...one.attributes].some(({name}) => /evil|^on/.test(name)))
    .map(one => one.outerHTML.slice(0, 120)),
]"""

# words of the site's own, in letters that run to the right, which stand the other way round
FIND_TURNED = """() => {
  const turned = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const left = (node, at) => {
    const range = document.createRange();
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect();
  };
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const found = /[a-z]{2,}/i.exec(node.data);
    const own = node.parentElement.closest('[dir], bdi, option, textarea, script, style');
    if (!found || own || !node.parentElement.getClientRects().length) continue;
    const first = left(node, found.index);
    const last = left(node, found.index + found[0].length - 1);
    if (first.top === last.top && first.width && first.left > last.left) turned.push(found[0]);
  }
  return turned;
}"""

# texts with marks of direction that no element keeps to itself
FIND_LOOSE = r"""() => {
  const loose = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!/[\u202a-\u202e\u2066-\u2069]/.test(node.data)) continue;
    const own = node.parentElement.closest('[dir], bdi, textarea');
    if (!own || own.querySelector('button, input, label, legend, h1, h2, h3, a')) {
      loose.push(node.parentElement.outerHTML.slice(0, 160));
    }
  }
  return loose;
}"""

# the first answer of each question
ANSWER = """() => {
  const seen = new Set();
  for (const one of document.querySelectorAll('#work input[type=radio]')) {
    if (!seen.has(one.name)) one.click();
    seen.add(one.name);
  }
  for (const one of document.querySelectorAll('#work input.number')) one.value = '70';
}"""


# their items have every kind of input, and outputs that are rated one by one or compared
@pytest.fixture(params=each_protocol("pairwise"))
def config(request: pytest.FixtureRequest) -> Instrument:
    return installed_protocols()[request.param]


class Guard(Watch):
    """What a page complained of, asked for, or let a text do."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.page = page
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self._look_at(request.url))

    def _dismiss(self, dialog: Any) -> None:
        self.found.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _look_at(self, url: str) -> None:
        if "evil" in url:
            self.found.append(f"request: {url}")

    def look(self) -> None:
        """Nothing happened, and the page at hand is as the site has built it."""
        for frame in self.page.frames:
            assert frame.evaluate(FIND_EVIL) == []
            assert frame.evaluate(FIND_TURNED) == []
            assert frame.evaluate(FIND_LOOSE) == []
        assert self.found == []


def test_bad_22_24_no_text_runs_or_turns_the_words_beside_it_while_rating(
    config, page, live_server
):
    study = make_hostile(config, is_short=True, is_aided=True)
    items = Item.objects.main().filter(study=study).count()
    guard = Guard(page)
    page.goto(f"{live_server.url}{mint_link(make_annotator(study))}")
    follow(page, MAIN)

    for _ in range(items):
        guard.look()
        page.click(MAIN)  # nothing is answered: the page shows what is missing
        page.locator(".problem").wait_for()
        guard.look()
        if config.has_note:
            page.fill("#note", EVERYTHING)
        page.evaluate(ANSWER)
        follow(page, MAIN)
    follow(page, "td.end a")
    guard.look()

    assert page.locator("main").inner_text().count("alert(") >= 2


@pytest.mark.torture
def test_bad_22_24_no_text_runs_or_turns_the_words_beside_it_in_practice(config, page, live_server):
    study = make_hostile(config, is_short=True, is_aided=True)
    number = Item.objects.practice().filter(study=study).count()
    home = mint_link(make_learner(study))
    guard = Guard(page)
    page.goto(f"{live_server.url}{home}practice/{number}/")

    guard.look()
    page.evaluate(ANSWER)
    # the verdict comes on this page, or on one of its own where a protocol has aids
    page.click(MAIN)
    page.locator(".feedback.wrapped").wait_for()
    guard.look()

    assert "(why)" in page.locator(".feedback.wrapped").inner_text()


@pytest.mark.torture
def test_bad_22_24_no_text_runs_or_turns_the_words_beside_it_before_the_import(
    config, page, live_server
):
    user = make_user()
    study = make_study(protocol=config.key, items=0, by=user, title=TITLE)
    sent = write_csv(hostile_rows(config, key="all", text=EVERYTHING)).encode()
    upload = keep_upload(study=study, file_name=TITLE, chunks=[sent], by=user)
    sign_in(page, live_server.url, user)
    guard = Guard(page)

    page.goto(f"{live_server.url}{reverse('admin:upload-preview', args=[study.pk, upload.pk])}")
    page.wait_for_load_state("load")
    guard.look()
    assert len(page.frames) > 1
    follow(page, "text=/^Import/")
    guard.look()

    assert "alert(" in page.locator("main").inner_text()
