"""The summary in a browser: accessible, no wider than a phone, and its boxes where they belong."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.results.test_summary_page import make_margin
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import find_faults_in_turn, find_overflow
from tests.support.factories import make_study, make_user
from tests.support.planned import add_person, make_planned_study
from tests.support.reports import keep_report, make_pair, make_points

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

PLAN = {
    "people": 5, "inputs": 20, "inputs_needed": None, "people_needed": 15, "answers_each": 5.0,
    "more_answers": {"inputs": None, "people": 12_480},
}  # fmt: skip
# the card's and the table's parts, with how far each is right of, or left of, what holds it
OUTSIDE = """() => [...document.querySelectorAll(".decide *, .paper td > *")].filter((part) => {
  const box = part.getBoundingClientRect();
  const holder = part.closest(".decide, .scroll").getBoundingClientRect();
  const isShown = box.width && part.checkVisibility() && !part.closest("svg, .vh");
  return isShown && !part.closest(".scroll") && (box.right > holder.right + 1
    || box.left < holder.left - 1);
}).map((part) => `${part.tagName} ${part.textContent.slice(0, 40)}`)"""


def make_summaries(user: Any) -> Iterator[tuple[str, Study]]:
    pairs = [make_pair(*sides, "higher") for sides in combinations("abc", 2)]
    points = make_points(*pairs) | {"role": "primary"}
    two = make_points(make_pair("a", "b", "not_enough"), means=(3.9, 3.5))
    secondary = points | {"key": "tone", "label": "Human-likeness", "role": "secondary"}
    summaries = {
        "open": [two | {"margins": [make_margin("undecided", plan=PLAN)], "role": "primary"}],
        "no": [two | {"margins": [make_margin("fail")]}],
        "yes": [
            points | {"hypotheses": [
                {"system": "a", "relation": "better", "other": other, "outcome": "better"}
                for other in "bc"
            ]}, secondary,
        ],
        "no plan": [points | {"key": f"q{number}"} for number in range(9)],
    }  # fmt: skip
    for name, criteria in summaries.items():
        study = make_study(items=2, by=user, title=f"Of {name}")
        keep_report(study, criteria=criteria)
        yield name, study
    yield "empty", make_study(items=2, by=user, title="Empty")
    failed = make_planned_study(hides_results=False, by=user, title="Failed")
    hidden = make_planned_study(by=user, title="Hidden")
    for study in (failed, hidden):
        for _ in range(4):
            add_person(study)
    Job.objects.create(
        kind="analysis", study_id=failed.pk, state="failed", message="No room.", finished_at=now()
    )
    run_job(Job.objects.create(kind="analysis", study_id=hidden.pk))
    yield "failed", failed
    yield "hidden", hidden


def test_each_summary_is_accessible_and_fits_its_window(page: Page, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    faults: dict[str, list[str]] = {}

    for name, study in make_summaries(user):
        address = f"{live_server}{reverse('admin:study-results', args=[study.pk])}"
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            found = [*find_overflow(page, width), *page.evaluate(OUTSIDE)]
            faults[f"{name}, {width}"] = found
        faults[name] = find_faults_in_turn(page)

    assert len(faults) == 21
    assert {name: found for name, found in faults.items() if found} == {}


def test_a_card_stands_as_it_was_drawn(page: Page, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    _, study = next(make_summaries(user))
    page.set_viewport_size({"width": 1280, "height": 900})

    page.goto(f"{live_server}{reverse('admin:study-results', args=[study.pk])}")

    boxes = {
        name: page.locator(selector).first.bounding_box()
        for name, selector in {
            "navigation": ".side", "card": ".decide", "question": ".decide h2",
            "answer": ".decide .answer", "chart": ".decide .fig svg", "margin": ".decide .gate",
            "shade": ".decide .pass", "facts": ".decide .facts", "repeat": ".decide .btn",
            "findings": ".finds", "table": ".paper", "limits": ".todo",
        }.items()
    }  # fmt: skip
    assert [name for name, box in boxes.items() if box is None] == []
    card = boxes["card"]
    # beside the navigation, and one below the other, as drawn
    assert boxes["navigation"]["x"] + boxes["navigation"]["width"] < card["x"]
    order = ["question", "answer", "chart", "facts", "repeat", "findings", "table", "limits"]
    tops = [boxes[name]["y"] for name in order]
    assert tops == sorted(tops)
    # "yes" begins at the margin
    assert abs(boxes["shade"]["x"] - boxes["margin"]["x"]) < 2
    # three facts in one line
    facts = page.locator(".decide .facts > div").all()
    assert len({round(fact.bounding_box()["y"]) for fact in facts}) == 1


def test_copied_text_is_there_without_scripts(browser: Any, live_server: Any) -> None:
    user = make_user(is_superuser=True)
    study = make_study(items=2, by=user)
    keep_report(study)
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        sign_in(page, live_server, user)
        page.goto(f"{live_server}{reverse('admin:study-results', args=[study.pk])}")
        page.click("summary:has-text('The LaTeX')")

        assert not page.is_visible("[data-copy=paper-tex]")
        assert page.is_visible("#paper-tex")
    finally:
        context.close()
