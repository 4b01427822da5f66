"""Held items: shown with what people said of them, and handed out again when released."""

from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from evalsite.core.accounts.models import Profile
from evalsite.core.audit.models import AuditEntry
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation
from evalsite.participation.consent import withdraw
from evalsite.participation.held_items import release_item
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Membership, Study
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.standing import give_standing

HOSTILE = "<script>alert(1)</script>{{ 7|add:7 }}"

pytestmark = pytest.mark.django_db


def make_held(study: Study, item: Item, *, people: int = 2) -> Item:
    """The item, after this many people have reported it."""
    for _ in range(people):
        me = give_standing(make_annotator(study))
        item_set = claim_set(me)
        said = {"outcome": "reported", "reason": "missing", "note": HOSTILE, "rows": ()}
        answer_item(me, item, item_set=item_set, **said)
    item.refresh_from_db()
    assert item.held_at is not None
    return item


@pytest.fixture
def study() -> Study:
    return launch(make_study(items=3, set_size=3))


@pytest.fixture
def held(study: Study) -> Item:
    return make_held(study, study.items.main().first())


def page_of(study: Study) -> str:
    return reverse("admin:study-held", args=[study.pk])


def release_url(study: Study, item: Item) -> str:
    return reverse("admin:item-release", args=[study.pk, item.pk])


def test_held_item_is_shown_with_its_reports_as_text(staff_client, study, held):
    page = staff_client.get(page_of(study)).text

    assert held.key in page
    assert "text missing or broken" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7|add:7 }}" in page
    assert HOSTILE not in page
    assert held.outputs.first().text in page


def test_reports_carry_the_time_of_the_readers_zone(staff_client, researcher, study, held):
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    Annotation.objects.filter(item=held).update(submitted_at=noon)
    Profile.objects.create(user=researcher, time_zone="Europe/Berlin")

    page = staff_client.get(page_of(study)).text

    assert "1 July 2026, 14:00 Europe/Berlin time" in page


def test_monitor_and_overview_lead_to_the_held_items(staff_client, study, held):
    for name in ("study-progress", "study-overview"):
        assert page_of(study) in staff_client.get(reverse(f"admin:{name}", args=[study.pk])).text


def test_released_item_is_handed_out_again_and_the_log_says_so(
    staff_client, researcher, study, held
):
    response = staff_client.post(release_url(study, held), follow=True)

    held.refresh_from_db()
    assert held.held_at is None
    assert "No item is held." in response.text
    assert held.pk in claim_set(make_annotator(study)).item_ids
    entry = AuditEntry.objects.get(action="item released")
    assert (entry.actor, entry.study_id, entry.detail) == (
        researcher,
        study.pk,
        {"item": held.key},
    )


def report(study: Study, item: Item) -> Participant:
    """Somebody who has been dealt the item and has reported it."""
    me = give_standing(make_annotator(study))
    said = {"outcome": "reported", "reason": "missing", "rows": ()}
    answer_item(me, item, item_set=claim_set(me), **said)
    item.refresh_from_db()
    return me


def test_two_further_reports_hold_a_released_item_again(researcher, study, held):
    release_item(item=held, by=researcher)

    report(study, held)

    assert held.held_at is None
    make_held(study, held, people=1)


def test_report_taken_back_never_holds_a_released_item(researcher, study, held):
    first = Participant.objects.filter(study=study).first()
    item_set = first.item_sets.get()
    release_item(item=held, by=researcher)
    report(study, held)

    answer_item(first, held, item_set=item_set)

    held.refresh_from_db()
    assert held.held_at is None


def test_item_is_not_held_by_the_report_of_somebody_who_left_with_their_answers(study, held):
    withdraw(participant=Participant.objects.filter(study=study).first(), is_kept=False)

    held.refresh_from_db()
    assert held.held_at is None


def test_item_released_twice_is_released_once(staff_client, researcher, study, held):
    release_item(item=held, by=researcher)

    response = staff_client.post(release_url(study, held), follow=True)

    assert "is not held any more" in response.text
    assert AuditEntry.objects.filter(action="item released").count() == 1
    with pytest.raises(ValidationError, match="not held"):
        release_item(item=held, by=researcher)


@pytest.mark.parametrize(("role", "status"), [("editor", 302), ("viewer", 403)])
def test_editors_release_and_viewers_do_not(client, study, held, role, status):
    user = make_user("another")
    Membership.objects.create(study=study, user=user, role=role)
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    assert client.post(release_url(study, held)).status_code == status
    held.refresh_from_db()
    assert (held.held_at is None) == (status == 302)


def test_item_of_another_study_is_not_released(staff_client, held):
    other = make_study(items=0)

    assert staff_client.post(release_url(other, held)).status_code == 404
    held.refresh_from_db()
    assert held.held_at is not None


def test_looking_at_the_address_of_release_releases_nothing(staff_client, study, held):
    assert staff_client.get(release_url(study, held)).status_code == 405


def test_page_of_more_held_items_takes_as_many_queries(
    staff_client, study, django_assert_num_queries, django_assert_max_num_queries
):
    first, *rest = study.items.main()
    make_held(study, first)
    with django_assert_max_num_queries(30) as few:
        staff_client.get(page_of(study))
    for item in rest:
        make_held(study, item)

    with django_assert_num_queries(len(few)):
        staff_client.get(page_of(study))
