"""Uploading, previewing, importing and exporting in a browser, with texts that try to be code."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.instruments.installed import find_folder
from evalsite.studies.models import Item, Output, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_turn, follow, take_a_set
from tests.support.factories import launch, make_study, make_user
from tests.support.uploads import GOOD

pytestmark = pytest.mark.django_db(transaction=True)

HOSTILE = "</iframe><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}} \u202ereversed"


LONG = "a_file_of_outputs_that_somebody_named_without_any_place_to_break_it_" * 2


def upload(page: Page, base: str, study: Study, path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    page.goto(f"{base}{reverse('admin:upload-new', args=[study.pk])}")
    choose_files(page, path)
    page.wait_for_selector("text=Cancel")


def walk(page: Page, base: str, folder: Path) -> Iterator[str]:
    """From an empty study to its export, one page after another, faults included."""
    user = make_user()
    sign_in(page, base, user)
    study = make_study(items=0, by=user)
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    yield "no items"
    page.click("text=Paste rows")
    follow(page, "text=Continue with these rows")
    page.wait_for_selector(".problem")
    yield "nothing chosen"
    upload(page, base, study, folder / "bad.csv", GOOD.replace("Two.", "").replace("m1", "m 1", 1))
    yield "faults"
    lines = GOOD.replace("One.", HOSTILE).replace("name[A]", HOSTILE).splitlines()
    content = "\n".join(f"{line},{LONG}" for line in lines)
    upload(page, base, study, folder / f"{LONG}.csv", content)
    yield "preview"
    follow(page, "text=Import 1 item")
    page.wait_for_selector("text=Imported 3 rows as")
    upload(page, base, study, folder / f"{LONG}.csv", content)
    yield "the same file again"
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    page.click("details.fold:has-text('Undo') > summary")
    yield "items"
    follow(page, "text=Undo…")
    page.wait_for_selector("text=Undo this batch")
    yield "undo"
    follow(page, "text=Undo this batch")
    page.wait_for_selector("text=are gone")
    yield "undone"
    page.goto(f"{base}{reverse('admin:files-all', args=[study.pk])}")
    yield "export"
    follow(page, "text=Read the codebook")
    yield "codebook"


@pytest.mark.torture
def test_pages_of_files_are_accessible_quiet_run_nothing_and_fit_a_phone(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    watch, dialogs = Watch(page), []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.set_viewport_size({"width": 360, "height": 900})

    widths, faults = {}, {}
    for step in walk(page, live_server.url, tmp_path):
        widths[step] = page.evaluate("document.documentElement.scrollWidth")
        faults[step] = find_faults_in_turn(page)
        page.set_viewport_size({"width": 360, "height": 900})
        if folder := os.environ.get("SHOTS"):
            page.screenshot(path=f"{folder}/{step.replace(' ', '-')}.png", full_page=True)

    assert watch.found == []
    assert dialogs == []
    assert {step: width for step, width in widths.items() if width > 360} == {}
    # what axe finds
    assert {step: found for step, found in faults.items() if found} == {}


@pytest.mark.torture
def test_preview_stands_in_its_frame_with_the_participants_style(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    user = make_user()
    sign_in(page, live_server, user)
    study = make_study(items=0, by=user)

    upload(page, live_server.url, study, tmp_path / "a.csv", GOOD.replace("One.", HOSTILE))

    page.click("text=What people will see")
    frame = page.frame_locator("iframe[title='Page 1 as people will see it']")
    expect(frame.get_by_text("name[A]")).to_be_visible()
    expect(frame.get_by_text(HOSTILE)).to_be_visible()
    styles = frame.locator("body").evaluate(
        "body => [...body.ownerDocument.styleSheets].map(sheet => sheet.href)"
    )
    assert [style.endswith("evalsite.css") for style in styles] == [True]


@pytest.mark.torture
def test_one_item_of_the_preview_needs_no_scrolling_at_1280_pixels(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    user = make_user()
    sign_in(page, live_server, user)
    study = make_study(items=0, by=user)

    content = find_folder(study.protocol).example_batch.read_text(encoding="utf-8")
    upload(page, live_server.url, study, tmp_path / "a.csv", content)

    page.click("text=What people will see")
    frame = page.frame_locator("iframe[title='Page 1 as people will see it']")
    expect(frame.locator(".specimen")).to_have_count(3)
    heights = frame.locator("html").evaluate("one => [one.scrollHeight, one.clientHeight]")
    assert heights[0] <= heights[1], heights


# how the text of an element is kept apart from what stands beside it
ISOLATION = """element => {
  const style = getComputedStyle(element);
  return [element.dir, style.unicodeBidi, style.display];
}"""


@pytest.mark.torture
def test_bad_24_direction_of_a_text_ends_with_it_on_the_rating_page(
    page: Page, live_server: Any
) -> None:
    study = launch(make_study(items=1, set_size=1))
    text = "left \u202eoverride never closed \u2067 and isolate שלום"
    Output.objects.filter(item__study=study).update(text=text)
    Item.objects.filter(study=study).update(inputs={"mr": text})

    take_a_set(page, live_server.url, study)

    shown = page.get_by_text("override never closed")
    assert shown.count() == 4
    assert shown.evaluate_all(f"all => all.map({ISOLATION})") == [["auto", "isolate", "block"]] * 4
    # the label and the box after the text read from the left, as everything else
    directions = page.locator(".specimen label, .specimen input, .actions button").evaluate_all(
        "all => [...new Set(all.map(one => getComputedStyle(one).direction))]"
    )
    assert directions == ["ltr"]


@pytest.mark.torture
def test_ratings_are_downloaded_by_their_button(page: Page, live_server: Any) -> None:
    user = make_user()
    sign_in(page, live_server, user)
    study = make_study(items=1, by=user)
    page.goto(f"{live_server.url}{reverse('admin:files-all', args=[study.pk])}")

    with page.expect_download() as download:
        page.get_by_role("button", name="ratings: CSV", exact=True).click()

    assert download.value.suggested_filename == "restaurant-descriptions_ratings.csv"
    assert download.value.path().read_bytes().startswith(b"study,version,batch,item,")
