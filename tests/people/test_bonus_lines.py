"""Minutes after consent that no outcome pays become a bonus line, marked as paid once."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.pay_files import PayFile
from evalsite.lib.clock import standing_at
from evalsite.people.models import Consent, Recruitment, Visit
from evalsite.studies.models import Membership, TeamRole
from tests.site.test_staff_pages import sign_in
from tests.support.factories import make_user
from tests.support.rounds import Person, make_round, panel_of, remove_code
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def begin(key: str = "prolific", **fields) -> Recruitment:
    """A round of a study that pays £10.50 an hour for sets of 12 minutes."""
    study = make_live(items=3, set_size=1, pay_per_set=Decimal("2.10"), minutes_per_set=12)
    return make_round(study, key, **fields)


def screen_out(recruitment: Recruitment, *, seconds: int, number: int = 0) -> Person:
    """Somebody who answers, so long after agreeing, what the study isn't for."""
    with standing_at(NOON):
        person = Person(recruitment, number).start().choose("agree")
    with standing_at(NOON + timedelta(seconds=seconds)):
        return person.answer(first_language="German")


def without_code(recruitment: Recruitment) -> Recruitment:
    Recruitment.objects.update(is_on=False)
    recruitment.refresh_from_db()
    remove_code(recruitment, "screened_out")
    Recruitment.objects.update(is_on=True)
    return recruitment


def url(name: str, recruitment: Recruitment) -> str:
    return reverse(f"admin:{name}", args=[recruitment.study_id, recruitment.number])


def read_files(client: Client, recruitment: Recruitment) -> dict[str, PayFile]:
    page = client.post(url("round-pay", recruitment))
    return {file.key: file for file, _ in page.context["files"]}


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("seconds", "minutes", "amount"),
    [
        (60, None, None),
        (61, 2, "0.35"),
        (6 * 60, 6, "1.05"),
        (7 * 60 - 1, 7, "1.23"),  # 1.225, rounded up
        (9 * 3600, 12, "2.10"),  # no longer than a set is announced to take
    ],
)
def test_time_that_no_outcome_pays_is_due_at_the_rounds_rate(seconds, minutes, amount):
    person = screen_out(without_code(begin()), seconds=seconds)

    visit = person.visit
    assert visit.outcome == "screened_out"
    assert (visit.bonus_minutes, visit.bonus) == (minutes, Decimal(amount) if amount else None)
    page = person.open()
    assert (f"£{amount}" in page.text) == (amount is not None)


def test_an_outcome_that_the_platform_pays_makes_no_bonus():
    person = screen_out(begin(), seconds=600)

    assert (person.visit.outcome, person.visit.bonus) == ("screened_out", None)


@pytest.mark.parametrize("reward", [None, Decimal(0)])
def test_a_study_without_pay_promises_no_bonus(reward):
    recruitment = without_code(begin())
    recruitment.study.__class__.objects.update(pay_per_set=reward)

    person = screen_out(recruitment, seconds=600)

    assert person.visit.bonus is None
    assert "bonus" not in person.open().text


def test_declining_makes_no_bonus_because_nobody_worked_after_consent():
    with standing_at(NOON):
        person = Person(begin()).start()
    with standing_at(NOON + timedelta(minutes=30)):
        person.choose("decline")

    assert person.visit.bonus is None
    assert not Consent.objects.get().is_given


def test_lines_are_pasted_and_marked_as_paid_once(staff_client):
    recruitment = without_code(begin())
    people = [screen_out(recruitment, seconds=360, number=number) for number in (0, 1)]
    visits = [person.visit for person in people]

    files = read_files(staff_client, recruitment)

    lines = [f"{visit.visit_id},1.05" for visit in visits]
    assert files["bonus"].text.splitlines() == lines
    assert files["bonus"].total == Decimal("2.10")
    assert AuditEntry.objects.filter(action="identity view").count() == 1
    # a third arises before the first two are marked
    third = screen_out(recruitment, seconds=120, number=2)
    sent = {"visit": [str(visit.pk) for visit in visits]}
    for _ in range(2):
        staff_client.post(url("round-pay-mark", recruitment), sent)
    assert AuditEntry.objects.filter(action="marked as paid").count() == 1
    assert [*Visit.objects.filter(bonus_marked_at=None)] == [third.visit]
    assert "Marked as paid on" in people[0].open().text
    left = read_files(staff_client, recruitment)["bonus"].text
    assert left.splitlines() == [f"{third.visit.visit_id},0.35"]


def test_bonuses_of_another_round_are_never_marked(staff_client):
    recruitment = without_code(begin())
    visit = screen_out(recruitment, seconds=360).visit
    other = begin("connect")

    staff_client.post(url("round-pay-mark", other), {"visit": [str(visit.pk), "x", "9" * 30]})

    visit.refresh_from_db()
    assert visit.bonus_marked_at is None


@pytest.mark.parametrize("role", TeamRole)
def test_ids_in_the_lines_are_for_those_who_may_see_identities(role):
    recruitment = without_code(begin())
    person = screen_out(recruitment, seconds=360)
    user = make_user(role.value)
    Membership.objects.get_or_create(study=recruitment.study, user=user, defaults=role.columns)
    client: Client = sign_in(user)
    sees = role in (TeamRole.EDITOR_WITH_IDENTITIES, TeamRole.OWNER)

    page = client.post(url("round-pay", recruitment))
    client.post(url("round-pay-mark", recruitment), {"visit": [str(person.visit.pk)]})

    assert page.status_code == (200 if sees else 403)
    assert (person.visit.visit_id in page.text) == sees
    assert (person.visit.bonus_marked_at is not None) == sees
    overview = client.get(panel_of(recruitment))
    assert person.visit.visit_id not in overview.text
