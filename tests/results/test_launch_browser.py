"""Launch and Overview in a browser: accessible, by keyboard alone, and without scripts."""

from datetime import timedelta

import pytest
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.decisions.models import AnalysisPlan
from evalsite.fieldwork.launch import close_study, launch_study
from evalsite.lib.clock import now
from evalsite.studies.models import Study
from tests.results.test_overview import answer_all
from tests.results.test_overview_people import rate
from tests.site.test_setup_browser import COUNT, go_to, make_full
from tests.site.test_staff_browser import sign_in
from tests.support.browsing import Watch, find_faults_in_all_looks, press_tab_to
from tests.support.experts import invite
from tests.support.factories import launch, make_study, make_user
from tests.support.queues import run_waiting_jobs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# of the plan of the page, and a tenth more
MOST_WORDS = 219 * 1.1


def make_planned(user) -> Study:
    study = make_study(protocol="pairwise", items=20, k=5, title="Two prompts", by=user)
    first, second = study.systems.order_by("name").values_list("name", flat=True)[:2]
    criterion = study.config.criteria[0].key
    margin = {"system": second, "other": first, "criterion": criterion,
              "relation": "not_worse", "margin": 0.05}  # fmt: skip
    AnalysisPlan.objects.create(study=study, margins=[margin])
    return study


def test_launch_is_accessible_and_short_in_every_state(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    watch = Watch(page)
    ready = make_full(user, minutes_per_set=60, checks_per_person=2)
    invite(ready, "Ana Ruiz", "Ben Otte", "Chiara Conti")
    launching = make_study(items=2, by=user, title="Launching")
    job = launch_study(study=launching, by=user)
    Job.objects.filter(pk=job.pk).update(state="running", done=2, total=6, heartbeat_at=now())
    states = {
        "ready": ready,
        "missing": make_full(user, answers_kept_for=""),
        "plan": make_planned(user),
        "job": launching,
    }
    faults, words = {}, {}

    for state, study in states.items():
        go_to(page, live_server, "study-launch", study)
        faults[state] = find_faults_in_all_looks(page)
        words[state] = page.evaluate(COUNT)[0]

    assert {state: found for state, found in faults.items() if found} == {}
    assert watch.found == []
    assert words["ready"] <= MOST_WORDS


def test_overview_is_accessible_with_people_flags_and_comments(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = launch(make_study(items=6, k=3, title="Station announcements", by=user))
    Study.objects.filter(pk=study.pk).update(launched_at=now() - timedelta(days=6))
    ana, _, chiara = invite(study, "Ana Ruiz", "Ben Otte", "Chiara Conti")
    study.experts.update(created_at=now() - timedelta(days=4))
    rate(ana, 4, ago=timedelta(minutes=2))
    rate(chiara, 2, ago=timedelta(days=4))
    study.annotations.filter(participant=ana.link.participant).update(note="Word for word German.")
    panel = launch(make_study(items=30, title="A panel", by=user, pay_per_set="1.80"))
    answer_all(panel, 40, over=timedelta(hours=30))
    closed = launch(make_study(items=4, title="Closed", by=user))
    answer_all(closed, 12, over=timedelta(hours=3))
    close_study(study=closed, by=user)
    faults = {}

    for name, shown in (("people", study), ("panel", panel), ("closed", closed)):
        go_to(page, live_server, "study-overview", shown)
        faults[name] = find_faults_in_all_looks(page)

    assert {name: found for name, found in faults.items() if found} == {}


def test_study_is_launched_by_keyboard_alone(page, live_server):
    user = make_user("jane", is_superuser=True)
    sign_in(page, live_server, user)
    study = make_study(items=2, by=user)
    go_to(page, live_server, "study-launch", study)

    press_tab_to(page, "form[action$='/launch/start/'] button", most=60)
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Launching')")
    run_waiting_jobs()
    page.reload()

    assert page.url.endswith(reverse("admin:study-invite", args=[study.pk]))


def test_study_is_launched_without_scripts(browser, live_server):
    user = make_user("jane", is_superuser=True)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, live_server, user)
    study = make_study(items=2, by=user)
    go_to(page, live_server, "study-launch", study)
    line = page.input_value("#line")

    page.click("form[action$='/launch/start/'] button")
    page.wait_for_selector("h1:has-text('Launching')")
    run_waiting_jobs()
    go_to(page, live_server, "study-overview", study)

    assert page.input_value("#line-1").startswith(f"{line} at=")
    context.close()
