"""Saying what columns contain in a browser: at once where scripts run, by a button without them."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect

from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files
from tests.support.factories import make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)

COLUMNS = [f"extra{number}" for number in range(12)]
CONTENT = "\n".join(
    [
        ",".join(["id", "meaning", *COLUMNS, "TGen", "GPT-4", "Llama"]),
        *(
            ",".join([f"m{n}", f"name[{n}]", *COLUMNS, "One text.", "Two texts.", "Three texts."])
            for n in range(3)
        ),
    ]
)


def upload(page: Page, base: str, folder: Path) -> None:
    user = make_user()
    sign_in(page, base, user)
    study = make_study(items=0, by=user)
    path = folder / "a.csv"
    path.write_text(CONTENT)
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    if page.get_by_role("button", name="Continue", exact=True).is_visible():
        # without scripts a button sends the file
        page.set_input_files("#id_file", path)
        page.get_by_role("button", name="Continue", exact=True).click()
    else:
        choose_files(page, path)
    page.wait_for_selector("text=Cancel")


@pytest.mark.torture
def test_changed_select_takes_effect_at_once_and_keeps_its_place(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    watch = Watch(page)
    page.set_viewport_size({"width": 1280, "height": 500})
    upload(page, live_server.url, tmp_path)
    select = page.get_by_label("TGen holds")
    select.scroll_into_view_if_needed()
    before = page.evaluate("scrollY")

    with page.expect_navigation():
        select.select_option(label="Output of this system")

    expect(page.get_by_label("TGen holds")).to_be_focused()
    assert abs(page.evaluate("scrollY") - before) < 200
    assert page.get_by_label("TGen holds").input_value() == "output_of_this_system"
    assert page.get_by_role("button", name="Update the first item").count() == 0
    assert watch.found == []


@pytest.mark.torture
def test_without_scripts_a_button_sends_what_columns_contain(
    browser: Browser, live_server: Any, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    upload(page, live_server.url, tmp_path)

    page.get_by_label("meaning holds").select_option(label="Meaning representation")
    for name in ("TGen", "GPT-4", "Llama"):
        page.get_by_label(f"{name} holds").select_option(label="Output of this system")
    page.get_by_role("button", name="Update", exact=True).click()
    main = page.get_by_role("button", name="Import 3 items")

    expect(main).to_be_visible()
    context.close()
