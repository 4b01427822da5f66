"""Importing ratings in a browser, from a file with faults to an undone import."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.studies.models import Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, choose_files, find_faults_in_turn, follow
from tests.support.factories import make_study, make_user
from tests.support.imported import rows_for, write_csv

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "a-participant-with-a-very-long-name-that-nobody-broke-" * 3
HOSTILE = "</td><script>alert(1)</script>{{7*7}}"


def send(page: Page, path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    choose_files(page, path)
    page.wait_for_selector("text=Cancel")


def walk(page: Page, base: str, folder: Path) -> Iterator[str]:
    """From an empty list to an undone import, one page after another."""
    user = make_user()
    sign_in(page, base, user)
    study: Study = make_study(items=3, k=2, by=user)
    ratings = f"{base}{reverse('admin:ratings-list', args=[study.pk])}"
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    page.click("details.fold:has-text('Ratings collected elsewhere') > summary")
    follow(page, "text=Ratings collected elsewhere")
    yield "none yet"
    page.click("text=Paste rows")
    follow(page, "text=Continue with these rows")
    page.wait_for_selector(".problem")
    yield "nothing chosen"
    rows = rows_for(study, [LONG, "w2", "w3"])
    bad = [row | {"system": HOSTILE} if number % 4 == 0 else row for number, row in enumerate(rows)]
    send(page, folder / "bad.csv", write_csv(bad))
    yield "faults"
    page.goto(ratings)
    send(page, folder / f"{LONG.replace('-', '_')}.csv", write_csv(rows[:-1]))
    with page.expect_navigation():
        page.select_option("#id_keeps_incomplete", "True")
    page.wait_for_selector("text=Answers per item")
    yield "preview"
    preview = page.url
    page.goto(ratings)
    yield "waiting"
    page.goto(preview)
    follow(page, "text=Import 9 answers")
    page.wait_for_selector(".problem")
    yield "no choice"
    page.check("#id_has_persons_1")
    follow(page, "text=Import 9 answers")
    page.wait_for_selector("text=Imported 26 rows")
    yield "imported"
    page.goto(f"{base}{reverse('admin:study-overview', args=[study.pk])}")
    yield "overview"
    page.goto(ratings)
    follow(page, "text=Undo…")
    page.wait_for_selector("text=Undo this import")
    yield "undo"
    follow(page, "text=Undo this import")
    page.wait_for_selector("text=are gone")
    yield "undone"


@pytest.mark.torture
def test_pages_of_ratings_complain_of_nothing_and_fit(
    page: Page, live_server: Any, tmp_path: Path
) -> None:
    watch, dialogs = Watch(page), []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    steps = walk(page, live_server.url, tmp_path)

    faults = {step: find_faults_in_turn(page) for step in steps}

    assert watch.found == []
    assert dialogs == []
    assert {step: found for step, found in faults.items() if found} == {}
