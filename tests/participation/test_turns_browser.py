"""Conversations in a browser: their turns are rated one by one, each under its own words."""

import json

import pytest
from playwright.sync_api import expect

from evalsite.core.jobs.services import run_job
from evalsite.data.items.importer import import_file
from evalsite.fieldwork.launch import launch_study
from evalsite.handout.models import Rating
from tests.support.browsing import find_faults_in_turn, find_overflow
from tests.support.factories import make_annotator, make_user, mint_link
from tests.support.instruments import GALLERY, make_built_study

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.mark.torture
def test_turns_are_rated_by_keys_each_under_its_words_and_pages_are_accessible(
    page, live_server, tmp_path
):
    content = json.loads((GALLERY / "conversation_turns.json").read_bytes())
    study = make_built_study(content, k=1, set_size=1, is_practice_on=False)
    lines = (GALLERY / "batches" / "conversation_turns.jsonl").read_text().splitlines()
    several = [line for line in lines if "2;4" in line]
    (file := tmp_path / "several.jsonl").write_text("\n".join(several))
    import_file(study=study, path=file, by=None)
    run_job(launch_study(study=study, by=make_user()))
    study.refresh_from_db()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{live_server}{mint_link(make_annotator(study))}")
    page.click(".btn.main")
    page.wait_for_url("**/items/1/**")

    assert find_faults_in_turn(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert find_overflow(page, 360) == []
    page.set_viewport_size({"width": 1280, "height": 800})
    rated = page.locator(".turn:has([name^=turn_quality])")
    context = page.locator(".turn:not(:has(input))")
    assert rated.count() >= 2
    assert context.count() >= 1
    number = rated.first.get_attribute("id").removeprefix("turn-")
    problems = page.locator(f"[id='turn_problems-{number}']")
    expect(problems).to_be_hidden()
    page.keyboard.press("2")
    expect(problems).to_be_visible()
    problems.locator("input").first.check()
    # the link under a turn passes those that are answered
    after = rated.first.locator("[data-next-turn]")
    after.click()
    expect(rated.nth(1).locator("[name^=turn_quality]").first).to_be_focused()
    for one in range(1, rated.count()):
        rated.nth(one).locator("[name^=turn_quality][value='4']").check()
    after.click()
    expect(page.locator("[name=goal_reached]").first).to_be_focused()
    page.locator("[name=goal_reached]").first.check()
    page.locator("[name=overall][value='4']").check()
    with page.expect_navigation():
        page.click(".dock .main")

    given = Rating.objects.filter(annotation__study=study, criterion="turn_quality", part="")
    others = [4] * (len(given) - 1)
    assert [one.value for one in given.order_by("turn")] == [2, *others]
    assert given.order_by("turn")[0].turn == int(number)
    assert not Rating.objects.filter(criterion="overall").exclude(turn=0).exists()
