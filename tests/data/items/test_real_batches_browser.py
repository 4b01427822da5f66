"""Real files in a browser: uploaded as a researcher does it, and rated as an annotator does."""

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from evalsite.handout.models import Annotation
from evalsite.instruments.installed import installed_protocols
from evalsite.lib.dialogue import parse_dialogue, strip_markup
from evalsite.studies.models import Item, Study
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import (
    MAIN,
    Watch,
    answer_all,
    choose_files,
    find_faults,
    follow,
    take_a_set,
)
from tests.support.factories import launch, make_study, make_user
from tests.support.published import published_file
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db(transaction=True)

COMPARISONS = published_file("marco_pairwise/batch_long.csv")
NEXT_LINES = published_file("dialogues_in_html.csv")
UTTERANCES = published_file("rankme/batch_wide.csv")


def upload(page: Page, base: Any, protocol: str, file: Path, rows: str) -> Study:
    """A researcher has chosen the file, looked at it, and imported it as it was read."""
    if protocol not in installed_protocols():
        pytest.skip(f"protocols.{protocol} is not listed in PROTOCOLS.")
    user = make_user()
    sign_in(page, base, user)
    study = make_study(protocol=protocol, items=0, by=user, k=1, set_size=6)
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    choose_files(page, file)
    work_off(page)
    expect(page.locator("h1")).to_contain_text("right so far?")
    expect(page.locator("iframe")).to_have_count(5)
    follow(page, "button:has-text('Import ')")
    work_off(page)
    page.goto(f"{base}{reverse('admin:batch-list', args=[study.pk])}")
    expect(page.locator("main")).to_contain_text(file.name)
    assert study.items.exists()  # type: ignore[attr-defined]
    return study


def work_off(page: Page) -> None:
    """What a large file leaves to a job is done, and the page shows it."""
    run_waiting_jobs()
    page.reload()


def item_in_view(page: Page, study: Study) -> Item:
    """The item of the place that the address names."""
    place = int(page.url.split("/items/")[1].split("/")[0])
    item_set = study.item_sets.get()  # type: ignore[attr-defined]
    return Item.objects.get(pk=item_set.item_ids[place - 1])


def lines_in_view(page: Page) -> list[tuple[str, str]]:
    """Speaker and words of each turn of the dialogue, as the page has them."""
    turns = page.locator(".dialogue > li").all()
    return [
        (turn.locator("b").text_content() or "", turn.locator(".text").text_content() or "")
        for turn in turns
    ]


@pytest.mark.torture
def test_real_comparisons_are_uploaded_and_rated(page: Page, live_server: Any) -> None:
    watch = Watch(page)
    study = launch(upload(page, live_server, "pairwise", COMPARISONS, "2968"))
    seen = []

    take_a_set(page, live_server.url, study)
    for _ in range(4):
        item = item_in_view(page, study)
        turns = parse_dialogue(item.inputs["dialogue"])
        assert lines_in_view(page) == [(turn.speaker, turn.text) for turn in turns]
        shown = page.locator(".pair .text").all_text_contents()
        assert sorted(shown) == sorted(output.text for output in item.outputs.all())
        told = page.content()
        assert not any(
            name in told for name in ("MarCo", "HDSA", item.key, item.group, item.cluster)
        )
        assert find_faults(page) == []
        seen.append(item.pk)
        answer_all(page)
        follow(page, MAIN)

    assert watch.found == []
    assert list(Annotation.objects.order_by("pk").values_list("item_id", flat=True)) == seen
    assert {one.ratings.count() for one in Annotation.objects.all()} == {2}


@pytest.mark.torture
def test_real_next_lines_in_html_are_uploaded_and_rated(page: Page, live_server: Any) -> None:
    watch = Watch(page)
    study = launch(upload(page, live_server, "fluency", NEXT_LINES, "9"))
    systems = set(study.systems.values_list("name", flat=True))

    take_a_set(page, live_server.url, study)
    for _ in range(3):
        item = item_in_view(page, study)
        lines = lines_in_view(page)
        assert [speaker for speaker, _ in lines] == ["Person 1", "Person 2"] * 2 + ["Person 1"]
        assert "\n".join(": ".join(line) for line in lines) == strip_markup(item.inputs["dialogue"])
        (output,) = item.outputs.all()
        shown = page.locator(".specimen").inner_text()
        assert strip_markup(output.text).removeprefix("Person 2: ") in shown
        assert page.locator(".dialogue font, .specimen font, .specimen p p").count() == 0
        assert not any(name in page.content() for name in systems)
        assert find_faults(page) == []
        answer_all(page)
        follow(page, MAIN)

    assert watch.found == []
    assert systems == {"base_ppo", "supervised", "supervised_nlpo", "zero_shot"}
    assert {one.ratings.count() for one in Annotation.objects.all()} == {2}


@pytest.mark.torture
def test_real_wide_file_of_three_utterances_is_uploaded_and_rated(
    page: Page, live_server: Any
) -> None:
    study = launch(upload(page, live_server, "magnitude", UTTERANCES, "100"))

    take_a_set(page, live_server.url, study)
    item = item_in_view(page, study)
    told, shown = page.content(), page.locator(".specimen .text").all_text_contents()
    answer_all(page)
    follow(page, MAIN)

    assert not any(name in told for name in ("sheffield", "slug2slug"))
    assert all(output.text in shown for output in item.outputs.all())
    assert Annotation.objects.get().ratings.count() == 3
