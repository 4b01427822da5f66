"""Answers with decimals in a browser: steps of a line, and conditions on half points."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation
from tests.instruments.test_decimals import HALVES, make_content
from tests.support.batches import import_rows
from tests.support.factories import launch, make_annotator, mint_link
from tests.support.instruments import make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def make_study() -> Any:
    content = make_content()
    question = {"question": "How much?", "per": "output"}
    scales = (
        ("quality", {"kind": "likert", "points": HALVES}),
        ("share", {"kind": "slider", "minimum": 0, "maximum": 1, "step": 0.1}),
        ("reason", {"kind": "text"}),
        ("doubt", {"kind": "text"}),
    )
    content["criteria"] = [
        question | {"key": key, "label": key.title(), "scale": scale} for key, scale in scales
    ]
    content["criteria"][2] |= {"ask_if": {"criterion": "quality", "at_least": 2}}
    content["criteria"][3] |= {"ask_if": {"criterion": "share", "is": [0.3]}}
    study = make_built_study(content, is_practice_on=False, k=1, set_size=1)
    columns = [column["name"] for column in content["item"]["inputs"]]
    cells = dict.fromkeys(columns, "A text")
    import_rows(study, [cells | {"item": "i1", "system": "alpha", "output": "An output"}])
    study.refresh_from_db()
    return launch(study)


def test_decimals_are_answered_by_keys_and_conditions_look_at_them(
    page: Page, live_server: Any, transactional_db: None
):
    study = make_study()
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    page.click(".btn.main")
    page.wait_for_url("**/items/1/**")
    reason, doubt = page.locator("[name=reason]"), page.locator("[name=doubt]")

    page.locator("[name=quality][value='1.5']").check()
    expect(reason).to_be_hidden()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[name=quality][value='2.5']")).to_be_checked()
    expect(reason).to_be_visible()
    line = page.locator("[type=range]")
    line.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("[name=share]")).to_have_value("0.3")
    expect(doubt).to_be_visible()
    reason.fill("It is good.")
    doubt.fill("I am not sure.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: "/items/1/" not in url)

    rows = Annotation.objects.get().list_rows()
    assert {row.criterion: row.value for row in rows if row.value} == {
        "quality": 2.5, "share": 0.3,
    }  # fmt: skip
