"""The pages of People in a browser: accessible, short, and no wider than a phone."""

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.decisions.people_figures import store_figures
from evalsite.handout.models import Annotation
from evalsite.studies.models import Study
from tests.decisions.test_pay import BAD, begin, work
from tests.results.test_overview_people import make_invited, rate
from tests.results.test_person_page import rate_alone
from tests.site.test_setup_browser import COUNT
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn
from tests.support.factories import make_user
from tests.support.planned import AT_LEAST_TWO, ONE_POINT, add_person, make_planned_study

pytestmark = pytest.mark.django_db(transaction=True)

# of a page of the report's side, and a fifth more
MOST_WORDS = 475 * 1.2
# what sticks out of the window, other than in a region that scrolls
FIND_WIDE = """() => [...document.querySelectorAll('main *')].filter(part =>
  !part.closest('.scroll, svg, .vh') && part.getBoundingClientRect().right > innerWidth + 1
).map(part => part.outerHTML.slice(0, 80))"""


def make_flagged() -> Study:
    """A planned study in which one of five people is flagged and another is excluded."""
    study = make_planned_study(rules=[AT_LEAST_TWO, ONE_POINT], items=6)
    people = [add_person(study) for _ in range(5)]
    Annotation.objects.filter(participant=people[0]).update(note="Two of these are the same.")
    figures = store_figures(study)
    for number, person in enumerate(people):
        failed = 2 if number == 0 else 0
        figures.people[str(person.pk)] |= {
            "attention": 2, "failed_attention": failed, "checks": 2, "failed_checks": failed,
            "agreement": 0.5 + number / 20, "shared": 6,
        }  # fmt: skip
    figures.save()
    exclude(study=study, participants=people[4:], reason="Came twice", by=None)
    return study


def list_pages() -> dict[str, str]:
    """The addresses of the pages of People, with rows of each kind."""
    invited, people = make_invited("Ana Ruiz", "Ben Otte")
    rate(people[0], 4, ago=timedelta(minutes=1))
    store_figures(invited)
    flagged, recruitment = make_flagged(), begin(set_size=8, items=16)
    work(recruitment)
    work(recruitment, 1, BAD)
    first, second = flagged.participants.order_by("pk")[:2]
    alone, raters = rate_alone()
    chosen = f"?p={first.pseudonym}&p={second.pseudonym}"
    return {
        "invited": reverse("admin:study-people", args=[invited.pk]),
        "people": reverse("admin:study-people", args=[flagged.pk]),
        "sorted": reverse("admin:study-people", args=[flagged.pk]) + "?sort=-seconds",
        "person": reverse("admin:study-person", args=[flagged.pk, first.pseudonym]),
        "columns": reverse("admin:study-person", args=[alone.pk, raters[0].pseudonym]),
        "exclude": reverse("admin:study-exclude", args=[flagged.pk]) + chosen,
        "stop": reverse("admin:people-stop", args=[flagged.pk]) + f"?p={first.pseudonym}",
        "message": reverse("admin:people-message", args=[flagged.pk]) + chosen,
        "exclusions": reverse("admin:study-exclusions", args=[flagged.pk]),
        "rules": reverse("admin:study-rules", args=[flagged.pk]),
        "pay": reverse("admin:study-pay", args=[recruitment.study_id]),
        "approve": reverse("admin:pay-decide", args=[recruitment.study_id]) + "?do=approve-passed",
    }


@pytest.mark.slow
def test_pages_of_people_are_accessible_short_and_fit_their_window(page, live_server):
    sign_in(page, live_server, make_user(is_superuser=True))
    watch = Watch(page)
    faults, words, wide = {}, {}, {}
    for name, address in list_pages().items():
        page.goto(f"{live_server}{address}")
        faults[name] = find_faults_in_turn(page)
        words[name] = page.evaluate(COUNT)[0]
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            wide[name, width] = page.evaluate(FIND_WIDE)

    assert {name: found for name, found in faults.items() if found} == {}
    assert {name: count for name, count in words.items() if count > MOST_WORDS} == {}
    assert {key: parts for key, parts in wide.items() if parts} == {}
    assert watch.found == []


def test_chosen_people_reach_the_page_of_an_action_and_a_column_sorts(page, live_server):
    sign_in(page, live_server, make_user(is_superuser=True))
    study = make_flagged()
    page.goto(f"{live_server}{reverse('admin:study-people', args=[study.pk])}")
    boxes = page.locator("[name=p]")
    chosen = [boxes.nth(number).input_value() for number in (0, 2)]
    for number in (0, 2):
        boxes.nth(number).check()

    page.click("text=Note…")

    assert all(pseudonym in page.inner_text("table") for pseudonym in chosen)
    assert page.locator("tbody tr").count() == 2
    page.go_back()
    page.click("th a:has-text('Agreement')")
    assert page.locator("th[aria-sort]").inner_text().startswith("Agreement")
