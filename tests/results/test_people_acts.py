"""One action on one or many people: what each page says it would do, and what is done."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import Approval, Exclusion, Note
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now
from evalsite.people.models import Participant, ParticipantIdentity
from evalsite.studies.models import Study
from tests.site.test_staff_pages import member, url
from tests.support.factories import (
    answer_item,
    launch,
    make_annotator,
    make_participant,
    make_study,
)
from tests.support.planned import add_person, make_planned_study
from tests.support.tabs import Tab

pytestmark = pytest.mark.django_db


def foresee(
    client: Client, study: Study, people: list[Participant], name: str, **asked: Any
) -> Any:
    """What the page says that would happen to these people."""
    names = [person.pseudonym for person in people]
    return client.get(url(name, study), {"p": names, **asked}, follow=True)


def confirm(client: Client, study: Study, people: list[Participant], name: str, **sent: Any) -> Any:
    names = [person.pseudonym for person in people]
    return client.post(url(name, study), {"p": names, **sent}, follow=True)


def make_working(study: Study) -> Participant:
    me = make_annotator(study)
    assert claim_set(me)
    return me


def test_people_are_stopped_together_and_their_places_are_free(staff_client):
    study = launch(make_study(items=6, k=2, set_size=3))
    people = [make_working(study) for _ in range(2)]
    idle = make_annotator(study)

    page = foresee(staff_client, study, [*people, idle], "people-stop").text
    silent = confirm(staff_client, study, people, "people-stop")
    done = confirm(
        staff_client,
        study,
        [*people, idle],
        "people-stop",
        kind="ours",
        reason="Cut texts",
        message="Bye",
    ).text

    assert "Stop 2 people and hand out 6 unfinished items again" in page
    assert "Nothing changes" in page
    assert silent.status_code == 422
    assert "2 people stopped. Their places are free. 1 person was left out" in done
    assert not Slot.objects.leased().filter(study=study).exists()
    assert study.participants.filter(stopped_at__isnull=False).count() == 2
    assert AuditEntry.objects.filter(action="person stopped").count() == 1


def test_somebody_who_has_just_left_is_left_out_and_that_is_said(staff_client):
    study = launch(make_study(items=6, k=2, set_size=3))
    gone, here = make_working(study), make_working(study)
    Participant.objects.filter(pk=gone.pk).update(withdrawn_at=now())

    done = confirm(
        staff_client, study, [gone, here], "people-stop", kind="conduct", reason="A script"
    ).text
    again = confirm(
        staff_client, study, [gone, here], "people-stop", kind="conduct", reason="A script"
    )

    assert "1 person stopped." in done
    assert "1 person was left out" in done
    assert "Nothing would change for these people" in again.text


def test_people_are_excluded_together_with_one_reason(staff_client):
    study = make_planned_study()
    people = [add_person(study) for _ in range(2)]
    answer_item(people[0], study.items.practice().first())

    page = foresee(staff_client, study, people, "study-exclude").text
    none = confirm(staff_client, study, people, "study-exclude", reason="Came twice")
    done = confirm(staff_client, study, people, "study-exclude", reason="Came twice", basis="other")

    assert "Exclude 2 people: 6 of 6 answers would be left out" in page
    assert page.count('data-th="Answers">3</td>') == 2
    assert "baseline" not in page
    assert none.status_code == 422
    assert "This leaves 6 more answers out of results." in done.text
    assert "Nothing would change" in foresee(staff_client, study, people, "people-stop").text
    assert Exclusion.objects.active().count() == 2


def test_stopping_and_erasing_count_answers_without_practice_as_the_list_does(staff_client):
    study = make_planned_study()
    me = add_person(study)
    answer_item(me, study.items.practice().first())

    erase = staff_client.get(reverse("admin:person-erase", args=[study.pk, me.pseudonym]))
    stop = foresee(staff_client, study, [me], "people-stop")

    assert [page.context["answers"] for page in (erase, stop)] == [3, 3]


def test_all_people_of_a_list_are_those_of_that_list_alone(staff_client):
    study = launch(make_study(items=1))
    working, _other = make_working(study), make_participant(study)

    page = foresee(staff_client, study, [], "people-note", everyone="yes", show="working").text

    assert f"Add a note about <bdi>{working.pseudonym}</bdi>" in page


@pytest.mark.torture
@pytest.mark.slow
def test_five_hundred_people_are_acted_on_at_once(staff_client, django_assert_max_num_queries):
    study = make_study(items=1)
    Participant.objects.bulk_create(
        Participant(study=study, pseudonym=f"p-{number:04}", receipt=f"R-{number:08}")
        for number in range(500)
    )

    with django_assert_max_num_queries(14):
        page = foresee(staff_client, study, [], "people-note", everyone="yes").text
    confirm(
        staff_client, study, list(study.participants.all()), "people-note", text="From the fair"
    )

    assert "Add a note about 500 people" in page
    assert "and 450 more" in page
    assert Note.objects.count() == 500


@pytest.mark.parametrize("name", ["people-stop", "study-exclude", "people-note"])
def test_page_of_all_people_in_a_list_asks_at_most_15_times(
    staff_client, django_assert_max_num_queries, name
):
    study = launch(make_study(items=6, k=2, set_size=3))
    for _ in range(2):
        make_working(study)

    with django_assert_max_num_queries(15):
        page = staff_client.get(url(name, study), {"everyone": "yes", "show": "working"})

    assert page.status_code == 200


def test_as_many_people_as_a_page_lists_fit_into_an_address(staff_client):
    study = make_study(items=1)
    people = [make_participant(study) for _ in range(200)]

    page = foresee(staff_client, study, people, "people-note", q="", show="review")

    # a web server refuses a first line of more than 4,094 characters
    assert len(page.request["PATH_INFO"]) + len(page.request["QUERY_STRING"]) < 4_000
    assert "Add a note about 200 people" in page.text


def test_reading_a_page_never_shows_identities(staff_client):
    study = launch(make_study(items=2))
    me = make_annotator(study)
    ParticipantIdentity.objects.create(
        study=study, participant=me, platform="prolific", outside_id="5f0c0ffee5f0c0ffee5f0c0f"
    )

    page = foresee(staff_client, study, [me], "people-message")

    assert "5f0c0ffee" not in page.text
    assert not AuditEntry.objects.filter(action="identity view").exists()


def test_pay_is_decided_from_the_list_of_people(staff_client):
    study = launch(make_study(items=2, k=2, set_size=2, pay_per_set="1.80"))
    me = make_annotator(study)
    claim_set(me)
    Tab(me).finish()

    page = foresee(staff_client, study, [me], "people-pay", do="approve").text
    set_id = page.split('name="set" value="')[1].split('"')[0]
    staff_client.post(url("pay-decide", study), {"do": "approve", "set": set_id})

    assert "Approve 1 set by 1 person: £1.80" in page
    assert Approval.objects.get().state == "approved"


def test_a_message_is_copied_with_ids_and_seeing_them_is_kept(staff_client):
    study = make_study(items=1)
    me = make_participant(study)
    ParticipantIdentity.objects.create(
        study=study, participant=me, platform="prolific", outside_id="5f1e2d3c4b5a69788796a5b4"
    )

    page = confirm(staff_client, study, [me], "people-message").text
    editor = confirm(member(study, "editor"), study, [me], "people-message")

    assert "5f1e2d3c4b5a69788796a5b4" in page
    assert "Prolific: 1 ID<" in page
    assert "Nothing is sent from here." in page
    assert AuditEntry.objects.filter(action="identity view").count() == 1
    assert editor.status_code == 403


def test_a_note_has_its_author_and_only_they_delete_it(staff_client):
    study = make_study(items=1)
    me, editor = make_participant(study), member(study, "editor")

    for _ in range(2):
        confirm(staff_client, study, [me], "people-note", text="Asked <b>twice</b>")
    note = Note.objects.get()
    person = staff_client.get(f"/admin/studies/{study.pk}/people/{me.pseudonym}/").text
    address = f"/admin/studies/{study.pk}/notes/{note.pk}/delete/"
    editor.post(address)
    kept = Note.objects.count()
    staff_client.post(address)

    assert "<b>jane:</b>" in person
    assert "Asked &lt;b&gt;twice&lt;/b&gt;" in person
    assert (kept, Note.objects.count()) == (1, 0)


def test_people_of_another_study_are_never_touched(staff_client):
    study, other = make_study(items=1), launch(make_study(items=6, k=2, title="Other"))
    stranger = make_working(other)

    page = confirm(staff_client, study, [stranger], "people-stop", kind="ours", reason="x")

    assert page.redirect_chain == [(url("study-people", study), 302)]
    stranger.refresh_from_db()
    assert stranger.stopped_at is None


def test_viewers_get_no_form_and_no_action():
    study = make_planned_study()
    me, viewer = add_person(study), member(study, "viewer")

    assert foresee(viewer, study, [me], "study-exclude").status_code == 403
    assert "formaction" not in viewer.get(url("study-people", study)).text
    person = viewer.get(f"/admin/studies/{study.pk}/people/{me.pseudonym}/")
    assert person.status_code == 200
    assert "Add a note" not in person.text


def test_an_archived_study_offers_nothing_to_do_with_its_people(staff_client):
    study = launch(make_study(items=2))
    me, other = make_annotator(study), make_annotator(study)
    for one, item in zip((me, other), study.items.main(), strict=True):
        answer_item(one, item)
    for one in (me, other):
        confirm(staff_client, study, [one], "study-exclude", reason="Twice", basis="other")
    pages = [
        url("study-people", study),
        url("study-exclusions", study),
        f"{url('study-people', study)}{me.pseudonym}/",
    ]
    acts = ("formaction", "take-back/", "exclusions/new/")
    before = [any(one in staff_client.get(address).text for one in acts) for address in pages]
    Study.objects.update(state=Study.State.ARCHIVED)

    after = [any(one in staff_client.get(address).text for one in acts) for address in pages]

    assert (before, after) == ([True] * 3, [False] * 3)
