"""The plan and what is hidden by it, in a browser: accessible, and no wider than a phone."""

import pytest
from django.urls import reverse

from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_turn, follow
from tests.support.factories import make_user
from tests.support.planned import AT_LEAST_TWO, ONE_POINT, add_person, make_planned_study
from tests.support.reports import keep_report

pytestmark = pytest.mark.django_db(transaction=True)


def walk(page, live_server):
    """From the plan with a dry run to results that were revealed."""
    user = make_user(is_superuser=True)
    sign_in(page, live_server, user)
    study = make_planned_study(rules=[AT_LEAST_TWO, ONE_POINT], by=user)
    add_person(study)
    lazy = add_person(study, score=70)
    keep_report(study)

    def show(name):
        page.goto(f"{live_server}{reverse(f'admin:{name}', args=[study.pk])}")

    show("setup-plan")
    follow(page, "button[value=add-question]")
    page.evaluate("document.querySelectorAll('main details').forEach(d => d.open = true)")
    page.click("button[value=run]")
    page.wait_for_selector("tfoot")
    yield "plan with a dry run"
    for name in ("study-results", "study-export", "results-items", "study-exclusions"):
        show(name)
        yield name
    follow(page, "text=Apply the rules…")
    assert lazy.pseudonym in page.text_content("main")
    yield "rules"
    show("study-close-confirm")
    yield "closing"
    show("study-results")
    follow(page, "text=Reveal results now")
    page.wait_for_selector(".messagelist")


@pytest.mark.torture
def test_plan_and_hidden_results_have_no_fault_of_accessibility(page, live_server):
    watch = Watch(page)

    faults = {step: find_faults_in_turn(page) for step in walk(page, live_server)}

    assert {step: found for step, found in faults.items() if found} == {}
    assert watch.found == []
