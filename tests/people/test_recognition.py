"""People of earlier studies: recognised by a keyed hash, kept out or required."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.handout.models import Slot
from evalsite.lib.clock import now, standing_at
from evalsite.participation.consent import withdraw
from evalsite.people.models import EarlierStudyRule, Participant, ParticipantMark
from evalsite.people.recognition import forget_marks
from evalsite.people.recruiting import find_obstacles
from evalsite.studies.models import Membership, Study
from tests.support.annotators import read_fields
from tests.support.arriving import P, Q, join, make_rounds, prolific
from tests.support.factories import launch, make_study, make_user

pytestmark = pytest.mark.django_db

FITTING = {"first_language": "English", "variety": "british"}


def make_live(**fields) -> Study:
    return make_rounds(launch(make_study(k=9, **fields)))


def agree(home: str):
    fields = read_fields(Client().get(f"{home}consent/").text)
    return Client().post(f"{home}consent/", fields | {"go": "agree"})


def take_part(study: Study, person: str = P) -> Participant:
    """Arrive by this id, agree, and answer what is asked."""
    home = join(study, prolific(person))
    agree(home)
    Client().post(f"{home}questions/", FITTING)
    return study.participants.latest("pk")


def follow(earlier: Study, rule: str, **fields) -> Study:
    study = make_live(**fields)
    EarlierStudyRule.objects.create(study=study, earlier=earlier, rule=rule)
    return study


def holds(me: Participant) -> bool:
    return Slot.objects.leased().filter(participant=me).exists()


@pytest.mark.parametrize("is_eligibility_on", [True, False])
@pytest.mark.parametrize(("rule", "expected"), [("bar", [False, True]), ("require", [True, False])])
def test_people_of_an_earlier_study_are_kept_out_or_required(rule, expected, is_eligibility_on):
    earlier = make_live()
    take_part(earlier, P)
    study = follow(earlier, rule, is_eligibility_on=is_eligibility_on)

    people = [take_part(study, person) for person in (P.upper(), Q)]

    assert [holds(one) for one in people] == expected
    refused = people[expected.index(False)]
    assert (refused.is_eligible, refused.refused_for) == (False, "earlier")
    assert refused.visits.get().outcome == "screened_out"


def test_answers_that_do_not_fit_decide_first():
    earlier = make_live()
    take_part(earlier)
    study = follow(earlier, "bar")
    home = join(study, prolific(P))
    agree(home)

    Client().post(f"{home}questions/", FITTING | {"variety": "none"})

    assert study.participants.get().refused_for == ""


def test_only_who_agreed_to_a_text_that_says_so_is_remembered():
    silent, told = make_live(recognise_days=0), make_live()

    take_part(silent)
    assert not ParticipantMark.objects.exists()
    home = join(told, prolific(Q))
    Client().post(f"{home}consent/", {"go": "decline"})
    assert not ParticipantMark.objects.exists()
    me = take_part(told)

    [mark] = ParticipantMark.objects.all()
    assert (mark.participant, len(mark.digest)) == (me, 64)
    assert P not in mark.digest


def test_mark_ends_with_its_time_and_with_the_answers():
    study = make_live(recognise_days=10)
    take_part(study, P)
    other = take_part(study, Q)

    withdraw(participant=other, is_kept=False)
    assert ParticipantMark.objects.count() == 1
    with standing_at(now() + timedelta(days=9)):
        forget_marks()
    assert ParticipantMark.objects.count() == 1
    with standing_at(now() + timedelta(days=11)):
        forget_marks()
    assert not ParticipantMark.objects.exists()


def test_people_are_recognised_after_the_secret_key_was_rotated(settings):
    earlier = make_live()
    take_part(earlier)
    study = follow(earlier, "bar")

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key, as long and as random as the one that was before it"

    assert not holds(take_part(study))


def test_round_on_prolific_needs_a_screen_out_code_for_this_too():
    study = follow(make_live(), "bar", is_eligibility_on=False)
    recruitment = study.recruitments.get(platform="prolific")

    def codes() -> set[str]:
        return {one.code for one in find_obstacles(recruitment, recruitment.codes.all())}

    assert "no_screen_out_code" in codes()
    recruitment.codes.create(outcome="screened_out", code="SSSSSSSS")
    assert "no_screen_out_code" not in codes()


# --- the researcher's pages -------------------------------------------------------------


def address(name: str, study: Study) -> str:
    return reverse(f"admin:{name}", args=[study.pk])


def test_rules_are_set_for_the_researchers_own_studies_alone(staff_client, researcher):
    own, earlier = make_live(by=researcher), make_live(by=researcher, title="Hotels")
    foreign = make_live(by=make_user("someone"), title="A secret study")

    page = staff_client.get(address("study-earlier", own))
    for _ in range(2):
        staff_client.post(
            address("study-earlier", own),
            {f"rule-{earlier.pk}": "bar", f"rule-{foreign.pk}": "bar", f"rule-{own.pk}": "bar"},
        )

    assert "Hotels" in page.text
    assert "A secret study" not in page.text
    assert [one.earlier for one in own.earlier_rules.all()] == [earlier]
    assert AuditEntry.objects.filter(action="rules on earlier studies changed").count() == 1
    staff_client.post(address("study-earlier", own), {f"rule-{earlier.pk}": ""})
    assert not own.earlier_rules.exists()


def test_block_list_takes_identities_in_that_study_and_is_logged(staff_client, researcher):
    own, earlier = make_live(by=researcher), make_live(by=make_user("someone"))
    take_part(earlier, P)
    take_part(earlier, Q)
    membership = Membership.objects.create(study=earlier, user=researcher, role="editor")

    def ask():
        return staff_client.post(address("block-list", own), {"earlier": str(earlier.pk)})

    assert ask().status_code == 403
    membership.has_identities = True
    membership.save()
    page = ask()
    membership.delete()

    assert f"{P}\n{Q}" in page.text
    assert AuditEntry.objects.filter(action="identity view", study_id=earlier.pk).count() == 1
    assert ask().status_code == 404
