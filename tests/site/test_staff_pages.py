"""Who may open which staff page, and what the overview, the monitor and the list show."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet, Origin
from evalsite.studies.models import Item, Membership, Study
from tests.support.factories import add_batch, launch, make_participant, make_study, make_user

HOSTILE = "<script>alert(1)</script>{{ 7|add:7 }}"
MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)

# page -> what an owner, an editor, a viewer get; a stranger always gets 404
PAGES = {
    "setup-work": (200, 200, 403),
    # a draft has none
    "study-overview": (404, 404, 404),
    "study-progress": (200, 200, 200),
    "study-people": (200, 200, 200),
    "results-design": (200, 200, 200),
    "study-exclusions": (200, 200, 200),
    "study-exclude": (302, 302, 403),
    "setup-plan": (200, 200, 200),
    "study-pilot": (200, 200, 403),
    "study-launch": (200, 200, 403),
    "study-close-confirm": (200, 403, 403),
    "study-held": (200, 200, 403),
    "study-answers": (200, 200, 403),
    "study-delete-confirm": (200, 403, 403),
}
POSTS = {
    "setup-plan": (422, 422, 403),
    "setup-work": (422, 422, 403),
    "study-pilot-take": (303, 303, 403),
    "study-launch-start": (302, 403, 403),
    "study-launch-again": (302, 403, 403),
    "study-launch-offer": (302, 302, 403),
    "study-pause": (302, 302, 403),
    "study-resume": (302, 302, 403),
    "study-close": (302, 403, 403),
    "study-archive": (302, 403, 403),
    "study-unarchive": (302, 403, 403),
    "study-delete": (302, 403, 403),
    "study-answers-change": (302, 302, 403),
    "study-places-again": (302, 302, 403),
    "study-top-up": (302, 302, 403),
    "study-exclude": (302, 302, 403),
}
ROLES = ("owner", "editor", "viewer")


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def member(study: Study, role: str) -> Client:
    user = make_user(f"{role}-person")
    Membership.objects.get_or_create(study=study, user=user, role=role)
    return sign_in(user)


def url(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def answer(
    study: Study, item: Item, *, status: str = "counted", seconds: int = 30, by=None, **fields
):
    """An annotation of this item by somebody new, with a slot where it counts."""
    participant = by or make_participant(study, is_pilot=status == "pilot")
    slot = None
    if status == "counted":
        number = Slot.objects.filter(item=item).count()
        slot = Slot.objects.create(
            study=study,
            item=item,
            no=number,
            pos=number,
            arrangement=number,
            state=Slot.State.DONE,
            participant=participant,
        )
    return Annotation.objects.create(
        study=study,
        item=item,
        participant=participant,
        slot=slot,
        key=uuid4(),
        status=status,
        **{
            "started_at": MOMENT,
            "submitted_at": MOMENT + timedelta(seconds=seconds),
            **fields,
        },
    )


# --- who may open what ----------------------------------------------------------------


@pytest.mark.one_case
@pytest.mark.parametrize("name", PAGES)
def test_page_opens_for_those_whose_role_allows_it(db, name):
    study = make_study()

    given = tuple(member(study, role).get(url(name, study)).status_code for role in ROLES)

    assert given == PAGES[name]


@pytest.mark.parametrize("name", POSTS)
def test_post_is_taken_from_those_whose_role_allows_it(db, name):
    study = make_study()

    given = tuple(member(study, role).post(url(name, study)).status_code for role in ROLES)

    assert given == POSTS[name]


@pytest.mark.parametrize("name", [*PAGES, "study-pilot-take", "study-launch-start", "study-close"])
def test_bad_71_strangers_get_404_and_the_signed_out_the_login_page(db, name):
    study = make_study()
    owner_of_another = make_study(title="Another", by=make_user("stranger"))

    as_stranger = sign_in(make_user("stranger")).get(url(name, study))
    posted = sign_in(make_user("stranger")).post(url(name, study))
    signed_out = Client().get(url(name, study))

    assert owner_of_another.pk != study.pk
    assert (as_stranger.status_code, posted.status_code) == (404, 404)
    assert signed_out.status_code == 302
    assert signed_out.url.startswith(reverse("admin:login"))


@pytest.mark.parametrize("name", [name for name in POSTS if name not in PAGES])
def test_get_of_a_post_address_changes_nothing(staff_client, name):
    study = make_study()

    response = staff_client.get(url(name, study))

    assert response.status_code == 405
    assert "POST" in response.headers["Allow"]
    assert "Nothing was changed." in response.text
    assert study.participants.count() == 0


@pytest.mark.slow
def test_superuser_who_is_no_member_may_open_every_page(db):
    study = make_study()
    root = sign_in(make_user("root", is_superuser=True))

    answers = {name: root.get(url(name, study)).status_code for name in PAGES}

    assert answers == {name: of_owner for name, (of_owner, _, _) in PAGES.items()}


def test_bad_59_page_of_a_post_without_its_token_says_what_to_do(researcher):
    study = make_study()
    client = Client(enforce_csrf_checks=True)
    client.force_login(researcher, backend="django.contrib.auth.backends.ModelBackend")

    response = client.post(url("study-pilot-take", study))

    assert response.status_code == 403
    assert "Load the page again" in response.text


# --- overview and monitor -----------------------------------------------------------------


@pytest.mark.slow
def test_hostile_title_is_shown_as_text_on_every_page(staff_client):
    study = make_study(title=HOSTILE)
    launch(study)

    pages = [staff_client.get(reverse("admin:index"))]
    pages += [staff_client.get(url(name, study), follow=True) for name in PAGES]

    for page in pages:
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7|add:7 }}" in page.text


def test_overview_counts_answers_sets_people_and_time(staff_client):
    study = launch(make_study(items=2, pay_per_set="1.75", set_size=2))
    first, second = study.items.main()
    for seconds, item in ((10, first), (50, second), (60, second)):
        answer(study, item, seconds=seconds)
    done = answer(study, first, status="surplus", outcome="reported").participant
    ItemSet.objects.create(study=study, participant=done, number=1, finished_at=MOMENT)
    answer(study, first, status="pilot", seconds=9000)

    page = staff_client.get(url("study-overview", study))

    assert page.context["progress"].done == 3
    assert page.context["progress"].target == 6
    activity = page.context["activity"]
    assert (activity.finished_sets, activity.needed_sets) == (1, 3)
    assert (activity.left_early, activity.people) == (0, 1)
    assert activity_on(staff_client, study).reports == 1
    assert page.context["seconds"] == 50
    assert (page.context["spent"], page.context["planned"]) == ("£1.75", "£5.25")


def activity_on(client, study: Study):
    return client.get(url("study-progress", study)).context["activity"]


def test_people_who_withdrew_are_not_active_and_their_reports_not_counted(staff_client):
    study = launch(make_study(items=1))
    gone = make_participant(study, withdrawn_at=now())
    said = {"outcome": "reported", "submitted_at": now()}
    answer(study, study.items.main().first(), by=gone, status="withdrawn", **said)

    activity = activity_on(staff_client, study)

    assert (activity.active, activity.reports) == (0, 0)


def test_in_a_closed_study_only_who_holds_a_place_is_active(staff_client):
    study = launch(make_study(items=1))
    answer(study, study.items.main().first(), status="surplus", submitted_at=now())
    while_live = activity_on(staff_client, study).active
    Study.objects.update(state="closed")
    closed = activity_on(staff_client, study).active
    holds = {"participant": make_participant(study), "lease_until": now() + timedelta(hours=1)}
    Slot.objects.filter(pk=Slot.objects.free().first().pk).update(state=1, **holds)

    assert (while_live, closed) == (1, 0)
    assert activity_on(staff_client, study).active == 1


def test_last_answer_is_one_that_counts(staff_client):
    study = launch(make_study(items=1))
    answer(study, study.items.practice().first(), status="control", submitted_at=now())

    none = staff_client.get(url("study-overview", study)).context["progress"].last_ago
    answer(study, study.items.main().first(), submitted_at=now())
    page = staff_client.get(url("study-overview", study))

    assert none == ""
    assert "last one just now" in page.text


def test_problem_reports_are_no_surplus(staff_client):
    study = make_study(items=1)
    item = study.items.main().first()
    answer(study, item, status="surplus")
    answer(study, item, status="surplus", outcome="reported")

    activity = staff_client.get(url("study-progress", study)).context["activity"]

    assert (activity.surplus, activity.reports) == (1, 1)


def test_records_are_for_administrators(staff_client):
    assert staff_client.get(reverse("admin:records")).status_code == 403


def test_records_link_no_tables_of_the_machinery(db):
    root = sign_in(make_user("root", is_superuser=True))

    linked = [app["app_label"] for app in root.get(reverse("admin:records")).context["apps"]]

    assert "studies" in linked
    assert not {"account", "mfa", "django_tasks_database"} & set(linked)


def test_overview_says_when_only_some_answers_are_simulated(staff_client):
    study = make_study(items=1)
    answer(study, study.items.main().first(), origin=Origin.SIMULATED)
    answer(study, study.items.main().first())

    page = staff_client.get(url("study-overview", study))

    assert "Some of these answers are simulated." in page.text


def test_overview_says_when_answers_are_simulated(staff_client):
    study = make_study(items=1)
    answer(study, study.items.main().first(), origin=Origin.SIMULATED)

    assert "simulated" in staff_client.get(url("study-overview", study)).text
    assert "simulated" in staff_client.get(url("study-progress", study)).text


@pytest.mark.parametrize("name", ["study-overview", "study-progress"])
def test_page_takes_the_same_queries_for_many_rows_as_for_few(
    staff_client, django_assert_max_num_queries, name
):
    study = make_study(items=2)
    answer(study, study.items.main().first())
    with django_assert_max_num_queries(40) as few:
        staff_client.get(url(name, study))
    add_batch(study, items=40, first=10)
    for item in study.items.main():
        answer(study, item)

    with django_assert_max_num_queries(len(few.captured_queries)):
        staff_client.get(url(name, study))


def test_progress_puts_items_with_the_fewest_answers_first(staff_client):
    study = make_study(items=3)
    first, second, third = study.items.main()
    answer(study, first)
    answer(study, first)
    answer(study, third)

    page = staff_client.get(url("study-progress", study))

    assert [item.key for item in page.context["items"]] == [second.key, third.key, first.key]
    assert [system["done"] for system in page.context["systems"]] == [3, 3, 3]
    assert [system["target"] for system in page.context["systems"]] == [9, 9, 9]


def test_progress_shows_one_batch_when_asked(staff_client):
    study = make_study(items=2)
    batch = add_batch(study, items=1, first=9)

    page = staff_client.get(url("study-progress", study), {"batch": str(batch.pk)})

    assert [item.key for item in page.context["items"]] == ["item-009"]


def test_progress_takes_a_broken_filter_for_none(staff_client):
    study = make_study(items=2)

    page = staff_client.get(url("study-progress", study), {"batch": "x" * 5000, "page": "-7"})

    assert page.status_code == 200
    assert len(page.context["items"]) == 2


# --- pilot --------------------------------------------------------------------------------


def test_pilot_leads_to_the_pages_of_participants(staff_client):
    study = make_study(items=1)

    response = staff_client.post(url("study-pilot-take", study))

    assert response.status_code == 303
    assert response.url.startswith("/p/")
    assert study.participants.get().is_pilot
    assert Client().get(response.url, follow=True).status_code == 200


def test_practice_is_not_among_the_answers_of_a_pilot(staff_client):
    study = make_study(items=1)
    me = make_participant(study, is_pilot=True)
    answer(study, study.items.practice().first(), by=me, status="pilot")
    answer(study, study.items.main().first(), by=me, status="pilot")

    [pilot] = staff_client.get(url("study-pilot", study)).context["pilots"]

    assert pilot.given == 1


def test_pilot_needs_an_item(staff_client):
    study = make_study(items=0)

    response = staff_client.post(url("study-pilot-take", study), follow=True)

    assert "Upload a batch first." in response.text
    assert not study.participants.exists()
