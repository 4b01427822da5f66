"""Nothing that is judged, and nothing a question refers to, is hidden, at any length and width."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.data.demo import import_example
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.schema import Instrument
from evalsite.studies.models import Output, Study
from tests.support.batches import import_rows, keep_first, make_rows
from tests.support.browsing import MAIN, answer_all, take_a_set
from tests.support.factories import launch, make_learner, make_study, make_user, mint_link
from tests.support.geometry import PHONE, WIDE, Size, each_window, find_hidden, open_window
from tests.support.instruments import make_built_study, read_gallery
from tests.support.long_texts import LAYOUTS, make_long_study, make_marco_study, read_marco
from tests.support.sheet_pages import SHEET

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PROTOCOLS = sorted(installed_protocols())
GALLERY = read_gallery()
# of a short item the page needs no more
MOST = {WIDE: WIDE[1], PHONE: 1600}
each_way = pytest.mark.parametrize(
    "has_scripts", [True, pytest.param(False, marks=pytest.mark.torture)], ids=["", "plain"]
)


def make_example(protocol: str, items: int = 1, **fields: object) -> Study:
    draft = make_study(protocol=protocol, items=0, set_size=items, k=1, **fields)
    import_example(draft, by=make_user())
    keep_first(draft, items)
    if items == 1:
        # the short one of its group, which is dealt by chance
        short = min(
            Output.objects.filter(item__in=draft.items.main()).order_by("pk"),
            key=lambda output: len(output.text),
        )
        draft.items.main().exclude(pk=short.item_id).delete()
    return launch(draft)


def open_items(page: Page, count: int) -> Iterator[int]:
    """Show each item of the set in view."""
    base = page.url.rpartition("/items/")[0]
    for place in range(1, count + 1):
        page.goto(f"{base}/items/{place}/")
        yield place


@pytest.mark.one_case
@each_way
@each_window
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_item_of_each_protocol_shows_all_it_asks_about(
    browser: Browser, live_server, protocol: str, window: Size, has_scripts: bool
) -> None:
    with open_window(browser, window, has_scripts=has_scripts) as page:
        take_a_set(page, str(live_server), make_example(protocol))
        faults = {"item": find_hidden(page, window, has_scripts=has_scripts)}
        if window in MOST and has_scripts:
            assert page.evaluate("document.documentElement.scrollHeight") <= MOST[window]
        page.click(MAIN)
        expect(page.locator(".problem")).to_be_visible()
        faults["refused"] = find_hidden(page, window, has_scripts=has_scripts)

    assert {step: lines for step, lines in faults.items() if lines} == {}


_MOVES = """
window.moves = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    for (const { node } of entry.sources) window.moves.push(node?.parentElement?.outerHTML);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
_AFTER_TWO_FRAMES = """() => new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve))))"""


@pytest.mark.one_case
@pytest.mark.parametrize("window", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_moves_once_a_page_is_painted(
    browser: Browser, live_server, protocol: str, window: Size
) -> None:
    with open_window(browser, window) as page:
        take_a_set(page, str(live_server), make_example(protocol))
        page.add_init_script(_MOVES)
        page.reload()
        page.evaluate(_AFTER_TWO_FRAMES)

        assert page.evaluate("window.moves") == []
        if window == WIDE:
            # the heights of the stylesheet are right: correcting them takes as long as a layout
            assert page.locator("html").get_attribute("style") is None


@pytest.mark.torture
def test_pair_that_is_refused_leaves_the_window_to_its_texts(browser: Browser, live_server) -> None:
    with open_window(browser, WIDE) as page:
        study = make_long_study("pairwise")
        take_a_set(page, str(live_server), study)
        places = open_items(page, study.items.main().count())
        assert next(place for place in places if page.locator(".qs.pins").count())
        page.click(MAIN)
        expect(page.locator(".problem")).to_be_visible()

        expect(page.locator(".qs.pins")).to_have_count(0)
        assert find_hidden(page, WIDE) == []
        # the sentence of a question goes once it is answered
        expect(page.locator(".bad .error:visible")).to_have_count(2)
        page.locator(".bad [type=radio]").first.check()
        expect(page.locator(".bad .error:visible")).to_have_count(1)


@pytest.mark.torture
@each_window
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_practice_with_its_verdicts_shows_all_it_asks_about(
    browser: Browser, live_server, protocol: str, window: Size
) -> None:
    with open_window(browser, window) as page:
        page.goto(f"{live_server}{mint_link(make_learner(make_example(protocol)))}")
        answer_all(page)
        page.click(MAIN)
        expect(page.locator("#work input:enabled:not([type=hidden])")).to_have_count(0)

        assert find_hidden(page, window) == []


@pytest.mark.torture
@each_way
@each_window
def test_sheet_shows_all_it_asks_about(
    browser: Browser, live_server, window: Size, has_scripts: bool
) -> None:
    with open_window(browser, window, has_scripts=has_scripts) as page:
        study = make_example("dialogue", 3, options=SHEET)
        take_a_set(page, str(live_server), study)

        assert find_hidden(page, window, has_scripts=has_scripts) == []


@pytest.mark.torture
@each_way
@each_window
@pytest.mark.parametrize("content", GALLERY, ids=lambda content: content["key"])
def test_item_of_each_gallery_instrument_shows_all_it_asks_about(
    browser: Browser, live_server, content: dict, window: Size, has_scripts: bool
) -> None:
    study = make_built_study(content, k=1, set_size=1, is_practice_on=False)
    import_rows(study, make_rows(Instrument.model_validate(content), items=1))
    with open_window(browser, window, has_scripts=has_scripts) as page:
        take_a_set(page, str(live_server), launch(study))

        assert find_hidden(page, window, has_scripts=has_scripts) == []


@pytest.mark.torture
@each_way
@each_window
@pytest.mark.parametrize("layout", LAYOUTS)
def test_text_of_any_length_is_whole(
    browser: Browser, live_server, layout: str, window: Size, has_scripts: bool
) -> None:
    study = make_long_study(layout)
    with open_window(browser, window, has_scripts=has_scripts) as page:
        take_a_set(page, str(live_server), study)
        faults = {
            place: find_hidden(page, window, has_scripts=has_scripts)
            for place in open_items(page, study.items.main().count())
        }

    assert {place: lines for place, lines in faults.items() if lines} == {}


def count_characters(rows: list[dict[str, str]]) -> int:
    return len(rows[0]["dialogue"]) + sum(len(row["output"]) for row in rows)


@pytest.mark.torture
@each_window
def test_longest_real_pairs_are_whole(browser: Browser, live_server, window: Size) -> None:
    longest = sorted(read_marco(), key=count_characters)[-12:]
    check_pairs(browser, str(live_server), longest, window)


@pytest.mark.torture
@pytest.mark.parametrize("window", [WIDE, PHONE], ids=str)
@pytest.mark.parametrize("part", range(3))
def test_every_fifth_real_pair_is_whole(
    browser: Browser, live_server, window: Size, part: int
) -> None:
    check_pairs(browser, str(live_server), read_marco()[::5][part::3], window)


def check_pairs(browser: Browser, base: str, items: list, window: Size) -> None:
    study = make_marco_study(items)
    with open_window(browser, window) as page:
        take_a_set(page, base, study)
        faults = {place: find_hidden(page, window) for place in open_items(page, len(items))}

    assert len(faults) == len(items)
    assert {place: lines for place, lines in faults.items() if lines} == {}


@pytest.mark.parametrize(
    "width", [*(pytest.param(n, marks=pytest.mark.torture) for n in (360, 320)), 180]
)
def test_the_number_of_the_item_is_on_one_line_of_the_header(page, live_server, width):
    study = make_example("dialogue", items=4)
    page.set_viewport_size({"width": width, "height": 740})
    take_a_set(page, str(live_server), study)

    lines = page.locator(".where b").evaluate("""element => {
      const text = document.createRange();
      text.selectNodeContents(element);
      return new Set([...text.getClientRects()].map(({ top }) => top)).size;
    }""")
    assert lines == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
