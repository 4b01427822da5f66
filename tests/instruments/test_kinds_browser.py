"""Kinds of questions in a browser: by keyboard, with sliders, ticks and conditions."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evalsite.data.demo import import_example
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from tests.support.browsing import find_faults_in_all_looks
from tests.support.factories import launch, make_annotator, make_study, make_user, mint_link

# they are installed where the contract of every kind runs (test_kinds.py)
KINDS = [key for key in sorted(installed_protocols()) if key.startswith("kinds_of")]

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def open_item(page: Page, live_server: Any, transactional_db: None) -> Callable[[str], Any]:
    def open_first(key: str) -> Any:
        draft = make_study(protocol=key, items=0, set_size=4, k=1)
        import_example(draft, by=make_user())
        study = launch(draft)
        page.goto(f"{live_server}{mint_link(make_annotator(study))}")
        page.click(".btn.main")
        page.wait_for_url("**/items/1/**")
        return study

    return open_first


@pytest.mark.parametrize("key", KINDS)
def test_pages_of_every_kind_are_accessible(page, open_item, key):
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    open_item(key)

    assert find_faults_in_all_looks(page) == []
    assert errors == []


@pytest.mark.parametrize("key", [key for key in KINDS if key.endswith("one")])
def test_every_kind_is_answered_by_keys_and_asked_only_where_it_applies(page, open_item, key):
    study = open_item(key)
    score, problems = page.locator("#score-all"), page.locator("#problems")
    expect(score).to_be_hidden()

    page.keyboard.press("2")  # quality: good
    page.keyboard.press("y")  # clear
    expect(score).to_be_visible()
    expect(problems).to_be_hidden()
    line = score.locator("[type=range]")
    expect(line).to_have_attribute("aria-valuetext", "No value yet")
    line.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[name=score]")).to_have_value("5")
    page.locator("#support-part").check()
    expect(problems).to_be_visible()
    page.locator("[id='problems.fact']").check()
    page.locator("[id='problems.nothing']").check()
    expect(page.locator("[id='problems.fact']")).not_to_be_checked()
    for name in ("said.1", "said.2", "said.3", "style.plain", "style.short"):
        page.locator(f"[name='{name}']").first.focus()
        page.keyboard.press("n")
    with page.expect_navigation():
        page.click(".dock .main")

    rows = Annotation.objects.get(study=study, item__kind="main").ratings.order_by("id")
    given = {(row.criterion, row.part): row.value for row in rows}
    assert given["quality", ""] == 2
    assert given["score", ""] == 5
    assert [given["problems", part] for part in ("fact", "nothing")] == [0, 1]
    assert [given["said", str(number)] for number in (1, 2, 3)] == [0, 0, 0]
    assert ("slips", "") not in given
