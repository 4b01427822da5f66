"""The launch page: what is worth a look, the line that is frozen, and two people who launch."""

from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.decisions import plan_commitment
from evalsite.decisions.models import AnalysisPlan
from evalsite.decisions.plan_commitment import list_lines
from evalsite.decisions.system_names import rename_system
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.shares import count_apart
from evalsite.people.models import PilotComment
from evalsite.studies.models import Item, Membership, Output, Study, System
from evalsite.studies.setting_changes import change_settings
from tests.site.test_staff_pages import member, url
from tests.support.annotators import read_fields
from tests.support.experts import invite
from tests.support.factories import add_batch, make_annotator, make_study, make_user
from tests.support.races import at_once
from tests.support.rounds import make_round

pytestmark = pytest.mark.django_db

PLAN = {"primary": "informativeness", "exclusion_rule": "Whoever is fast."}


def read_line(client: Client, study: Study) -> str:
    line: str = client.get(url("study-launch", study)).context["line"]
    return line


def list_actions(client: Client, study: Study) -> list[str]:
    looks = client.get(url("study-launch", study)).context["looks"]
    return [look.action for look, _ in looks]


# --- the line -------------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.parametrize("plan", [{}, PLAN], ids=["no plan", "plan"])
@pytest.mark.parametrize("page", [2, 500], ids=["three pages of items", "one page"])
def test_line_before_the_launch_is_the_one_after_it_but_for_the_time(
    staff_client, monkeypatch, plan, page
):
    monkeypatch.setattr(plan_commitment, "_PAGE", page)
    study = make_study(items=5)
    if plan:
        AnalysisPlan.objects.create(study=study, **plan)

    before = read_line(staff_client, study)
    run_job(launch_study(study=study, by=make_user()))

    (after,) = list_lines(study)
    assert after.partition(" at=")[0] == before
    assert before.endswith(" version=1")


def test_line_follows_items_and_names_also_where_it_was_shown_before(staff_client):
    study = make_study(items=2)
    lines = [read_line(staff_client, study)]

    rename_system(study, System.objects.filter(study=study).first(), "Another", make_user())
    lines.append(read_line(staff_client, study))
    add_batch(study, items=1, first=7)
    lines.append(read_line(staff_client, study))
    Study.objects.update(k=7)
    lines.append(read_line(staff_client, study))

    assert len(set(lines)) == 4


def test_page_that_lacks_something_has_no_line_and_no_launch(staff_client):
    study = make_study(contact_email="")

    page = staff_client.get(url("study-launch", study))

    assert "evalsite-plan" not in page.text
    assert f'action="{url("study-launch-start", study)}"' not in page.text


# --- changed meanwhile ----------------------------------------------------------------------


def change_minutes(study: Study, by: Any) -> None:
    change_settings(study=study, values={"minutes_per_set": 77}, by=by)


def change_plan(study: Study, by: Any) -> None:
    AnalysisPlan.objects.create(study=study, changed_by=by, **PLAN)


def change_items(study: Study, by: Any) -> None:
    add_batch(study, items=1, first=7)


def change_checks(study: Study, by: Any) -> None:
    last = Item.objects.main().filter(study=study).last()
    Item.objects.filter(pk=last.pk).update(kind=Item.Kind.GOLD)


def change_name(study: Study, by: Any) -> None:
    rename_system(study, study.systems.first(), "Another", by)


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (change_minutes, "The settings were changed by zoe at"),
        (change_plan, "The plan was changed by zoe."),
        (change_items, "The items were changed: now 3 items and 3 systems."),
        (change_checks, "The items were changed: now 1 item and 3 systems."),
        (change_name, "The items were changed: now 2 items and 3 systems."),
    ],
)
def test_what_changed_since_the_page_was_opened_is_said_and_nothing_is_launched(
    staff_client, change, start
):
    study = make_study(items=2)
    zoe = make_user("zoe")
    Membership.objects.create(study=study, user=zoe, role="owner")
    opened = read_fields(staff_client.get(url("study-launch", study)).text)
    change(study, zoe)

    refused = staff_client.post(url("study-launch-start", study), opened)

    said = [str(message) for message in get_messages(refused.wsgi_request)]
    study.refresh_from_db()
    assert refused.url == url("study-launch", study)
    assert len(said) == 2
    assert said[0].startswith(start)
    assert (study.version, Job.objects.count()) == (None, 0)

    again = read_fields(staff_client.get(refused.url).text)
    staff_client.post(url("study-launch-start", study), again)
    study.refresh_from_db()
    assert study.version.number == 1


# --- who launches ---------------------------------------------------------------------------


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_people_who_launch_at_once_start_one_launch():
    study, people = make_study(items=2), [make_user("jane"), make_user("tom")]
    for user in people:
        Membership.objects.get_or_create(study=study, user=user, defaults={"role": "owner"})

    jobs = at_once([partial(launch_study, study=study, by=user) for user in people])

    assert jobs[0] == jobs[1]
    assert (study.versions.count(), study.plan_versions.count()) == (1, 1)
    assert AuditEntry.objects.filter(action="launch started").count() == 1
    assert Study.objects.get(pk=study.pk).revision == study.revision + 1


def test_second_of_two_people_sees_whose_launch_is_under_way(staff_client):
    study = make_study(items=2)
    tom = make_user("tom")
    Membership.objects.create(study=study, user=tom, role="owner")
    opened = read_fields(staff_client.get(url("study-launch", study)).text)
    launch_study(study=study, by=tom)

    page = staff_client.post(url("study-launch-start", study), opened, follow=True)

    assert page.context["job"].started_by == tom
    assert not list(get_messages(page.wsgi_request))


def test_editors_read_whom_to_ask_and_cannot_launch(db):
    study = make_study(items=2)
    Study.objects.get(pk=study.pk).memberships.all().delete()
    for name in ("Jane Mori", "Tomás Silva"):
        first, last = name.split()
        user = make_user(first.lower())
        user.first_name, user.last_name = first, last
        user.save()
        Membership.objects.create(study=study, user=user, role="owner")
    editor = member(study, "editor")

    page = editor.get(url("study-launch", study)).text
    refused = editor.post(url("study-launch-start", study))

    assert "Ask Jane Mori or Tomás Silva to launch." in page
    assert refused.status_code == 403
    assert not Job.objects.exists()


def test_page_of_a_launch_under_way_promises_nothing_yet_and_leads_to_invite(staff_client):
    study = make_study(items=2)
    job = launch_study(study=study, by=study.memberships.get().user)
    Job.objects.filter(pk=job.pk).update(
        state="running", done=2, total=6, heartbeat_at=job.created_at
    )

    page = staff_client.get(url("study-launch", study))
    Job.objects.filter(pk=job.pk).update(state="waiting")
    run_job(job)

    assert "2 of 6 places made" in page.text
    assert "ersion 1" not in page.text
    assert staff_client.get(url("study-launch", study)).url == url("study-invite", study)


# --- worth a look -----------------------------------------------------------------------------


def test_nobody_tried_it_and_nobody_invited_are_worth_a_look_until_somebody_is(staff_client):
    study = make_study(items=2)
    before = list_actions(staff_client, study)

    make_annotator(study, is_pilot=True)
    make_round(study, "panel", places=40)

    after = list_actions(staff_client, study)
    assert {"Try it", "Invite"} <= set(before)
    assert not {"Try it", "Invite"} & set(after)


def test_open_comments_of_a_trial_are_worth_a_look(staff_client):
    study = make_study(items=2)
    tester = make_annotator(study, is_pilot=True)
    comments = [
        PilotComment.objects.create(
            study=study, participant=tester, kind="text", subject="consent", text=text
        )
        for text in ("Why?", "How?")
    ]

    both = list_actions(staff_client, study)
    PilotComment.objects.filter(pk=comments[0].pk).update(resolved_at=comments[0].created_at)
    one = list_actions(staff_client, study)
    PilotComment.objects.update(resolved_at=comments[0].created_at)
    none = list_actions(staff_client, study)

    assert ("Read them" in both, "Read it" in one) == (True, True)
    assert not {"Read them", "Read it"} & set(none)


@pytest.mark.parametrize(("target", "warns"), [("9.00", False), ("9.01", True), (None, False)])
def test_pay_under_the_target_is_worth_a_look(staff_client, target, warns):
    """2.25 for 15 minutes are 9 an hour."""
    study = make_study(
        items=2,
        pay_per_set=Decimal("2.25"),
        minutes_per_set=15,
        pay_target=target and Decimal(target),
    )

    assert ("Change the pay" in list_actions(staff_client, study)) is warns


def test_what_is_launched_is_said_with_its_figures(staff_client):
    study = make_study(items=20, k=5)
    margin = {"system": "neural", "other": "baseline", "criterion": "informativeness",
              "relation": "not_worse", "margin": 1.05}  # fmt: skip
    AnalysisPlan.objects.create(study=study, margins=[margin])

    page = staff_client.get(url("study-launch", study))

    assert len(page.context["questions"]) == 1
    assert "neural is not worse than baseline by more than a factor of 1.05" in page.text
    assert page.context["can_decide"].smallest in page.text
    assert "Change the plan" in list_actions(staff_client, study)
    assert Output.objects.filter(study=study).exists()


# --- people who are invited --------------------------------------------------------------------


def test_people_invited_are_said_with_what_they_rate_and_how_links_go_out(db, settings):
    study = make_study(items=4)
    invite(study, "Ana Costa", "Ben Okafor")
    owner, editor = member(study, "owner"), member(study, "editor")

    page, other = owner.get(url("study-launch", study)), editor.get(url("study-launch", study))

    assert "Ana Costa, Ben Okafor" in page.text
    assert "Costa" not in other.text
    assert (len(other.context["people"]), other.context["has_other_work"]) == (2, False)


def test_person_invited_meanwhile_is_said_before_the_launch(staff_client):
    study = make_study(items=4)
    opened = read_fields(staff_client.get(url("study-launch", study)).text)
    invite(study, "Ana Costa")

    refused = staff_client.post(url("study-launch-start", study), opened)

    said = " ".join(map(str, get_messages(refused.wsgi_request)))
    assert "The people invited were changed: now 1 person is invited by name." in said
    assert not Job.objects.exists()


@pytest.mark.parametrize(("k", "groups"), [(1, 2), (2, 1)])
def test_groups_of_people_who_share_no_input_are_worth_a_look(staff_client, k, groups):
    study = make_study(items=4, k=k)
    people = invite(study, "Ana Costa", "Ben Okafor", rates="share")

    looks = list_actions(staff_client, study)

    assert count_apart(study, people) == groups
    assert ("Change who rates what" in looks) is (groups > 1)


def test_what_keeps_people_from_their_items_is_missing(staff_client):
    study = make_study(items=4)
    [person] = invite(study, "Ana Costa")
    study.experts.filter(pk=person.pk).update(rates="numbers", selection="77")

    page = staff_client.get(url("study-launch", study))

    assert [check.url_name for check, _ in page.context["problems"]] == ["study-invite"]
    assert not page.context["line"]
