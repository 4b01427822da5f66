"""The launch: refused while something is missing, whole when it stands, steered by owners."""

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import begin_job
from evalsite.fieldwork.checklist import check_launch, check_people, people_needed
from evalsite.fieldwork.launch import (
    close_study,
    launch_study,
    pause_study,
    restart_launch,
    resume_study,
    run_launch,
)
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.studies.items import count_words
from evalsite.studies.models import Item, Membership, Output, Study
from tests.support.browsing import is_watched
from tests.support.factories import make_study, make_user
from tests.support.queues import run_waiting_jobs
from tests.support.rounds import make_round


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def problems(study: Study) -> str:
    return " ".join(check.problem for check in check_launch(study) if not check.is_met)


def press_launch(client, study: Study):
    """The page after [Launch], with its job done."""
    client.post(url("study-launch-start", study))
    run_waiting_jobs()
    study.refresh_from_db()
    return client.get(url("study-launch", study), follow=True)


# --- what is worth a look -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "minutes", "warns"), [(79, 10, False), (80, 10, True), (80, 11, False)]
)
def test_less_time_than_reading_takes_is_worth_a_look(staff_client, words, minutes, warns):
    """238 words a minute are the mean of silent reading (Brysbaert 2019): 10 x 3 x 79 take 9.96."""
    study = make_study(items=2, protocol="rrgen", set_size=10, minutes_per_set=minutes)
    Item.objects.filter(study=study).update(inputs={"review": ""})
    Output.objects.filter(study=study).update(text="word " * words)
    count_words(study)

    page = staff_client.get(url("study-launch", study)).text

    assert ("The texts of one set take about 11 minutes" in page) is warns
    assert ("You tell people 10; that is" in page) is warns


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"items": 0}, "There are no items yet."),
        ({"answers_kept_for": ""}, "How long you keep the answers is missing"),
        ({"consent": "Pay: [how much]"}, "The consent text has [how much]"),
        ({"contact_email": ""}, "Enter an e-mail address"),
        ({"options": {"standard_score": 0}}, "must be 1 or more"),
        ({"closes_at": now() - timedelta(hours=1)}, "The closing date is past."),
    ],
)
def test_launch_is_refused_with_the_reason(staff_client, fields, problem):
    study = make_study(**fields)

    response = press_launch(staff_client, study)

    assert problem in response.text
    assert (study.state, study.version) == ("draft", None)
    assert not Slot.objects.exists()
    assert not Job.objects.exists()


def test_launch_is_refused_without_practice_items_unless_practice_is_off(db):
    study = make_study()
    study.items.practice().delete()

    assert "there is no practice item" in problems(study)

    study.is_practice_on = False
    assert not problems(study)


def test_complete_study_has_nothing_left_to_do(db):
    assert not problems(make_study())


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({"items": 10}, 3),
        ({"items": 10, "k": 5}, 5),
        ({"items": 10, "set_size": 2, "max_sets": 1}, 15),
        ({"items": 10, "set_size": 10, "max_sets": 5}, 3),
    ],
)
def test_fewest_people_who_can_finish_a_design(db, fields, needed):
    assert people_needed(make_study(**fields))[0] == needed


def test_launch_says_how_many_people_would_do(db):
    study = make_study(items=10, set_size=2, max_sets=1)
    panel = make_round(study, "panel", places=14)

    assert "Invite at least 15 people." in check_people(study).remark
    assert not problems(study)

    panel.places = 15
    panel.save()
    assert not check_people(study).remark


# --- what a launch leaves behind ------------------------------------------------------------


def test_launch_makes_version_1_and_k_slots_for_each_item(staff_client):
    study = make_study(items=4, k=3)

    response = press_launch(staff_client, study)

    assert (study.state, study.version.number) == ("live", 1)
    assert study.launched_at is not None
    assert study.batches.get().opened_at is not None
    for item in study.items.main():
        assert sorted(item.slots.values_list("no", flat=True)) == [0, 1, 2]
    assert Slot.objects.filter(item__in=study.items.practice()).count() == 0
    assert url("study-invite", study) in response.text


def test_launch_is_written_into_the_log(staff_client, researcher):
    study = make_study()

    press_launch(staff_client, study)

    logged = AuditEntry.objects.filter(study_id=study.pk, actor=researcher)
    assert {"launch started", "study launched"} <= set(logged.values_list("action", flat=True))


def test_launch_pressed_twice_is_one_launch(staff_client):
    study = make_study(items=2)
    first = launch_study(study=study, by=study.memberships.get().user)
    second = launch_study(study=study, by=study.memberships.get().user)

    begin_job(first.pk)
    run_launch(first)
    run_launch(first)

    assert first == second
    assert Slot.objects.filter(study=study).count() == 6
    assert study.versions.count() == 1
    assert AuditEntry.objects.filter(action="study launched").count() == 1


def test_launched_study_is_not_launched_again(staff_client):
    study = make_study()
    press_launch(staff_client, study)

    response = press_launch(staff_client, study)

    assert "launched already" in response.text
    assert study.versions.count() == 1


def test_settings_opened_before_the_launch_are_not_saved_over_it(db):
    study = make_study()

    launch_study(study=study, by=study.memberships.get().user)

    assert Study.objects.get(pk=study.pk).revision == study.revision + 1


def test_running_launch_shows_its_progress_and_is_followed(staff_client):
    study = make_study()
    job = launch_study(study=study, by=study.memberships.get().user)
    Job.objects.filter(pk=job.pk).update(state="running", heartbeat_at=now(), done=2, total=6)

    page = staff_client.get(url("study-launch", study))

    assert "of 6 places made" in page.text
    assert is_watched(page)
    assert "Start again" not in page.text


@pytest.mark.one_case
@pytest.mark.parametrize(
    "state",
    [
        {"state": "failed", "message": "Stopped by an error: OSError."},
        {"state": "running", "heartbeat_at": now() - timedelta(minutes=10)},
        {"state": "waiting", "created_at": now() - timedelta(minutes=10)},
    ],
)
def test_stopped_launch_says_so_and_starts_again(staff_client, state):
    study = make_study(items=2)
    job = launch_study(study=study, by=study.memberships.get().user)
    Job.objects.filter(pk=job.pk).update(**state)

    page = staff_client.get(url("study-launch", study))
    staff_client.post(url("study-launch-again", study))
    run_waiting_jobs()

    study.refresh_from_db()
    assert "Start again" in page.text
    assert state.get("message", "stopped responding") in page.text
    assert study.state == "live"
    assert Slot.objects.filter(study=study).count() == 6


def test_launch_that_runs_is_not_started_again(db):
    study = make_study()
    owner = study.memberships.get().user
    job = launch_study(study=study, by=owner)
    Job.objects.filter(pk=job.pk).update(state="running", heartbeat_at=now())

    with pytest.raises(ValidationError, match="still running"):
        restart_launch(study=study, by=owner)


def test_study_is_called_launching_while_the_launch_runs(staff_client):
    study = make_study()
    launch_study(study=study, by=study.memberships.get().user)

    page = staff_client.get(url("study-launch", study))

    assert ">Launching</p>" in page.text
    assert ">Launching</p>" in staff_client.get(reverse("admin:index")).text


def test_launch_says_what_is_final_and_that_no_pilot_was_taken(staff_client):
    study = make_study()
    before = staff_client.get(url("study-launch", study)).text
    staff_client.post(url("study-pilot-take", study))

    after = staff_client.get(url("study-launch", study)).text

    assert "This can’t be undone" in before
    assert "Nobody has tried it yet" in before
    assert "Nobody has tried it yet" not in after


# --- pause, resume, close --------------------------------------------------------------------


@pytest.fixture
def live_study(staff_client) -> Study:
    study = make_study()
    press_launch(staff_client, study)
    return study


def test_owner_pauses_resumes_and_closes(staff_client, live_study):
    states = []
    for name in ("study-pause", "study-resume", "study-close"):
        staff_client.post(url(name, live_study))
        live_study.refresh_from_db()
        states.append(live_study.state)

    assert states == ["paused", "live", "closed"]
    assert live_study.closed_at is not None
    logged = AuditEntry.objects.filter(study_id=live_study.pk).values_list("action", flat=True)
    assert {"study paused", "study resumed", "study closed"} <= set(logged)


def test_closing_asks_first(staff_client, live_study):
    page = staff_client.get(url("study-close-confirm", live_study))

    live_study.refresh_from_db()
    assert "Close the study?" in page.text
    assert live_study.state == "live"


def test_closed_study_says_so_and_offers_no_button(staff_client, live_study):
    staff_client.post(url("study-close", live_study))

    page = staff_client.get(url("study-overview", live_study))

    assert "Closed" in page.text
    assert url("study-pause", live_study) not in page.text


def test_closed_study_invites_nobody_and_offers_no_change_that_it_refuses(staff_client, live_study):
    staff_client.post(url("study-close", live_study))

    invite = staff_client.get(url("study-invite", live_study)).text
    items = staff_client.get(url("study-setup", live_study), follow=True).text

    assert "Nobody new can take part" in invite
    assert 'name="names"' not in invite
    assert 'value="begin"' not in invite
    assert "This study is closed, so it takes no further items." in items
    assert url("upload-new", live_study) not in items


def test_closed_study_is_not_piloted(staff_client, live_study):
    staff_client.post(url("study-close", live_study))

    page = staff_client.get(url("study-pilot", live_study))
    staff_client.post(url("study-pilot-take", live_study))

    assert url("study-pilot-take", live_study) not in page.text
    assert not live_study.participants.exists()


@pytest.mark.parametrize("service", [pause_study, resume_study, close_study])
def test_study_that_is_not_launched_is_not_steered(db, service):
    study = make_study()

    with pytest.raises(ValidationError, match="another state"):
        service(study=study, by=study.memberships.get().user)


@pytest.mark.parametrize("service", [pause_study, resume_study])
def test_viewers_neither_pause_nor_resume(db, service):
    study = make_study()
    viewer = make_user("viewer")
    Membership.objects.create(study=study, user=viewer, role=Membership.Role.VIEWER)

    with pytest.raises(PermissionDenied):
        service(study=study, by=viewer)


@pytest.mark.parametrize("service", [launch_study, restart_launch, close_study])
def test_only_owners_launch_and_close(db, service):
    study = make_study()
    editor = make_user("editor")
    Membership.objects.create(study=study, user=editor, role=Membership.Role.EDITOR)

    with pytest.raises(PermissionDenied):
        service(study=study, by=editor)
