"""When a study opens, and when it closes by itself."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from evalsite.core.accounts.models import Profile
from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.decisions.closing import close_due_studies
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.lib.clock import now, standing_at
from evalsite.studies.models import Study
from evalsite.studies.setting_changes import PLACES, change_settings
from tests.studies.test_staff_settings import save
from tests.support.arriving import NOTHING, count_made, open_link, press_start
from tests.support.experts import invite
from tests.support.factories import (
    add_batch,
    answer_item,
    launch,
    make_annotator,
    make_study,
    make_user,
    mint_link,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
MAY = datetime(2099, 5, 1, 8, tzinfo=UTC)


def show_page(client, study: Study, name: str = "setup-work"):
    return client.get(reverse(f"admin:{name}", args=[study.pk]))


# --- before the opening -------------------------------------------------------------------


def opens_in_an_hour(**fields) -> Study:
    return launch(make_study(items=2, opens_at=now() + HOUR, **fields))


def test_until_it_opens_the_first_page_says_when_and_start_makes_nobody():
    study = opens_in_an_hour()
    Profile.objects.create(user=make_user(), time_zone="Europe/Berlin")
    Study.objects.filter(pk=study.pk).update(opens_at=MAY)
    study.refresh_from_db()

    page, pressed = open_link(study), press_start(study)

    assert page.status_code == pressed.status_code == 200
    assert "You can start on 1 May 2099, 10:00 (Europe/Berlin)" in page.text
    assert ">Start<" not in page.text
    assert count_made() == NOTHING
    with standing_at(MAY):
        assert ">Start<" in open_link(study).text
        assert press_start(study).status_code == 302


def test_links_of_their_own_say_when_too_and_give_no_work_before():
    study = opens_in_an_hour()
    (expert,) = invite(study, "Ana Costa")
    me = make_annotator(study)

    first = Client().get(f"/p/{expert.link.token}/")
    pressed = Client().post(f"/p/{expert.link.token}/")
    mine = Client().get(mint_link(me), follow=True)

    for page in (first, pressed, mine):
        assert "You can start on" in page.text
    assert claim_set(me) is None
    with standing_at(now() + 2 * HOUR):
        assert claim_set(me) is not None


def test_opening_date_is_in_the_future_and_before_the_closing_date(staff_client):
    study = make_study()

    early = save(staff_client, study, opens_at="2020-01-01T10:00")
    crossed = save(staff_client, study, opens_at="2099-05-02T10:00", closes_at="2099-05-01T10:00")

    assert "Choose a moment in the future." in early.text
    assert "Choose a moment after the opening." in crossed.text
    assert (study.opens_at, study.closes_at) == (None, None)


def test_opening_date_may_move_until_the_study_has_opened(staff_client, researcher):
    study = opens_in_an_hour()

    save(staff_client, study, opens_at="2099-05-01T08:00")
    moved = study.opens_at
    preview = show_page(staff_client, study, "setup-read").context["previews"][0].html
    Study.objects.filter(pk=study.pk).update(opens_at=None)
    study.refresh_from_db()
    page = show_page(staff_client, study)

    assert "You can start on 1 May 2099" in preview
    assert moved == MAY
    assert page.context["form"].fields["opens_at"].disabled
    assert "The study has opened, so this can’t be changed." in page.text
    # nor without the page
    with pytest.raises(ValidationError, match="has opened"):
        change_settings(study=study, values={"opens_at": MAY}, by=researcher)


def test_overview_says_when_it_opens(staff_client):
    study = opens_in_an_hour()
    Study.objects.filter(pk=study.pk).update(opens_at=MAY)

    page = staff_client.get(reverse("admin:study-overview", args=[study.pk]))

    assert "Opens on 1 May 2099" in page.text
    # people can be invited before
    assert 'id="join-link"' in page.text


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Opens at launch, and stays open until you close it"),
        ({"closes_when_full": True}, "Opens at launch, closes when all answers are in"),
        ({"opens_at": MAY}, "Opens on 1 May 2099, 08:00 UTC, and stays open until you close it"),
        (
            {"closes_at": MAY, "closes_when_full": True},
            "Opens at launch, closes when all answers are in, on 1 May 2099, 08:00 UTC at the "
            "latest",
        ),
    ],
)
def test_page_says_from_when_to_when(staff_client, fields, sentence):
    assert f">{sentence}.</p>" in show_page(staff_client, make_study(**fields)).text


# --- closing when all answers are in ------------------------------------------------------


def make_full(*, but: int = 0, **fields) -> Study:
    """A study of three items, answered but for so many of them."""
    study = launch(make_study(items=3, k=1, set_size=3, **{"closes_when_full": True, **fields}))
    me = make_annotator(study)
    item_set = claim_set(me)
    for item in study.items.main().order_by("pk")[: 3 - but]:
        answer_item(me, item, item_set=item_set)
    return study


def state_after_closing(study: Study) -> str:
    close_due_studies()
    study.refresh_from_db()
    return str(study.state)


@pytest.mark.both_databases
def test_study_closes_with_its_last_answer_if_that_is_chosen():
    chosen, other = make_full(), make_full(closes_when_full=False)

    assert (state_after_closing(chosen), state_after_closing(other)) == ("closed", "live")
    assert chosen.closed_at is not None
    entry = AuditEntry.objects.get(action="study closed")
    assert (entry.actor_name, entry.study_id) == ("last answer", chosen.pk)


def test_study_with_an_answer_to_come_stays_open():
    study = make_full(but=1)

    assert state_after_closing(study) == "live"
    Slot.objects.leased().update(state=0, participant=None, lease_until=None)
    assert state_after_closing(study) == "live"


def test_study_to_which_work_will_be_added_stays_open():
    waiting, widening = make_full(), make_full()
    add_batch(waiting, items=1, first=9)
    job = Job.objects.create(study_id=widening.pk, kind=PLACES, state=Job.State.FAILED)

    assert state_after_closing(waiting) == state_after_closing(widening) == "live"
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    assert state_after_closing(widening) == "closed"


# --- the description ----------------------------------------------------------------------


def test_description_is_for_the_team_alone(staff_client):
    words = "Do the tuned replies fit better?"
    study = launch(make_study(items=2, description=words))
    me = make_annotator(study)
    client, home = Client(), mint_link(me)

    shown = [open_link(study).text, client.get(home, follow=True).text]

    assert words in show_page(staff_client, study, "study-team").text
    assert not any(words in page for page in shown)
    assert study.version is not None
    assert words not in str(study.version.content)
