"""People invited by name: their items are theirs until reassigned; two reminders at most."""

import re
from contextlib import suppress
from datetime import date, timedelta
from smtplib import SMTPServerDisconnected
from unittest.mock import patch

import pytest
from django.core import mail
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import run_job
from evalsite.fieldwork.invitation_mail import send_expert_mail
from evalsite.fieldwork.invitations import (
    Terms,
    change_terms,
    list_progress,
    list_takers,
    parse_people,
    reassign,
    remove_person,
    send_again,
)
from evalsite.fieldwork.invited_people import count_out_of_reach
from evalsite.fieldwork.kept_places import list_holders
from evalsite.fieldwork.launch import close_study, launch_study
from evalsite.fieldwork.live_changes import open_batch
from evalsite.handout.claims import claim_set
from evalsite.handout.leases import release_lapsed
from evalsite.handout.models import Annotation, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import Expert, ExpertMail, ItemSet, Participant, ParticipantLink
from evalsite.studies.models import Membership, Study
from tests.support.experts import HOST, Visitor, invite
from tests.support.factories import add_batch, launch, make_annotator, make_study, make_user
from tests.support.invariants import check_invariants
from tests.support.races import at_once
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


@pytest.fixture(name="mail_on")
def _mail_on(settings) -> None:
    settings.EMAIL_HOST, settings.DEFAULT_FROM_EMAIL = "mail.example.org", "eval@example.org"


def small(**fields) -> Study:
    return make_live(**{"items": 4, "set_size": 2, "is_practice_on": False, **fields})


# --- eight days ----------------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.slow
def test_three_experts_over_eight_days_lose_no_place_and_are_reminded_twice_at_most(mail_on):
    study, start = small(items=9, set_size=3, k=3), now()
    experts = invite(study, due_on=(start + timedelta(days=8)).date(), is_reminded=True)
    ana, ben, chen = (Visitor(expert) for expert in experts)
    # day by day: who rates how many items
    days = [
        {}, {ana: 4}, {ana: 5, ben: 1}, {}, {ben: 2}, {chen: 3}, {ben: 6}, {chen: 6},
    ]  # fmt: skip

    for day, work in enumerate(days):
        for hour in (1, 9, 17):
            with standing_at(start + timedelta(days=day, hours=hour)):
                send_expert_mail()
                # a panel works in the same study, and everything that lapsed goes to others
                passer_by = make_annotator(study)
                claim_set(passer_by)
                release_lapsed(study, but=passer_by)
        with standing_at(start + timedelta(days=day, hours=20)):
            for visitor, items in work.items():
                if not visitor.me.consented_to:
                    visitor.arrive()
                assert visitor.work(items) == items

    assert [(one.done, one.left) for one in list_progress(study)] == [(9, 0)] * 3
    assert not ItemSet.objects.exclude(lost_ids=[]).exists()
    counted = Annotation.objects.counted().filter(study=study)
    assert counted.count() == Slot.objects.done().count() == 27
    reminders = ExpertMail.objects.exclude(number=0)
    assert [one.mails.exclude(number=0).count() for one in experts] == [1, 1, 2]
    assert not reminders.filter(sent_at=None).exists()
    assert len(mail.outbox) == 3 + 4
    check_invariants(study)


@pytest.mark.slow
def test_an_assigned_place_survives_draft_saving_pauses_and_looking(mail_on):
    study = small()
    [expert] = invite(study, "Ana Costa")
    visitor = Visitor(expert).arrive()
    visitor.work(1)
    page = visitor.open(2).page

    visitor.client.post(f"{visitor.home}draft/", visitor.fields)
    visitor.save()
    visitor.open(1).save(("1", "2", "3"))

    assert 'data-lease-until=""' in page.text
    held = Slot.objects.leased().filter(participant=visitor.me)
    assert held.count() == held.filter(lease_until__year=9999).count() == 2
    with standing_at(now() + timedelta(days=400)):
        assert visitor.work(9) == 2
        assert not list_holders(study, before=now())
    check_invariants(study)


# --- who gets what -------------------------------------------------------------------------------


def test_all_items_take_free_places_first_and_then_one_more_each():
    study = small(k=2)
    claim_set(make_annotator(study))

    invite(study)

    per_item = [item.slots.count() for item in study.items.main()]
    assert sum(per_item) == 3 * 4 + 2
    entries = AuditEntry.objects.filter(action="items topped up")
    assert sum(one.detail["slots"] for one in entries) == sum(per_item) - 8
    check_invariants(study)


def test_a_share_is_even_and_keeps_items_of_an_input_together():
    study = make_study(items=7, k=1)
    for item in study.items.main().filter(key__in=["item-001", "item-002", "item-003"]):
        item.group = "one input"
        item.save()
    study = launch(study)

    experts = invite(study, rates="share")

    shares = [
        set(expert.link.participant.slots.values_list("item__group", flat=True))
        for expert in experts
    ]
    assert sorted(one.link.participant.slots.count() for one in experts) == [2, 2, 3]
    assert not shares[0] & shares[1] | shares[1] & shares[2]
    assert Slot.objects.assigned().count() == 7


def test_a_column_gives_each_the_items_that_carry_their_name_or_address():
    study = make_study(items=4)
    named = ["ana  costa", "ben@example.org", "Ana Costa", ""]
    for item, who in zip(study.items.main(), named, strict=True):
        item.extra = {"rater": who}
        item.save()
    study = launch(study)

    ana, ben = invite(study, "Ana Costa", "Ben Okafor", rates="column", selection="rater")

    assert [one.link.participant.slots.count() for one in (ana, ben)] == [2, 1]
    with pytest.raises(ValidationError) as refused:
        invite(study, "Chen Li", rates="column", selection="rater")
    assert refused.value.code == "no_items"
    assert study.experts.count() == 2


def test_one_item_of_an_input_per_person_is_respected():
    study = make_study(items=2, groups="once")
    study.items.main().update(group="same")
    study = launch(study)

    with pytest.raises(ValidationError) as refused:
        invite(study, "Ana Costa")

    assert refused.value.code == "once"
    assert not Expert.objects.exists()
    assert not Participant.objects.exists()


def test_names_and_addresses_are_read_in_every_usual_form():
    text = "Eva Lind, eva@x.org\n\n Farid   Haddad \nbo@x.org\nAl <al@x.org>"

    assert parse_people(text) == [
        ("Eva Lind", "eva@x.org"), ("Farid Haddad", ""), ("bo@x.org", "bo@x.org"),
        ("Al", "al@x.org"),
    ]  # fmt: skip
    wrongs = [
        ("", "nobody"), ("Eva, eva@", "address"), ("x" * 121, "long_name"),
        ("Eva Lind\n\neva  LIND <e@x.org>", "twice"), ("Änne\nÄNNE", "twice"),
        ("\n".join(f"P {number}" for number in range(201)), "too_many"),
    ]  # fmt: skip
    for wrong, code in wrongs:
        with pytest.raises(ValidationError) as refused:
            parse_people(wrong)
        assert refused.value.code == code


@pytest.mark.parametrize("is_launched", [True, False])
def test_who_is_invited_already_is_refused_and_nobody_else_is_invited(is_launched):
    study = small() if is_launched else make_study(items=4)
    invite(study, "Änne Costa")

    with pytest.raises(ValidationError) as refused:
        invite(study, "ÄNNE costa", "Ben Okafor")

    assert refused.value.code == "known"
    assert study.experts.count() == 1


def test_somebody_who_has_withdrawn_cant_be_invited_again_nor_given_anything():
    study = small()
    [ana] = invite(study, "Ana Costa")
    Participant.objects.filter(pk=ana.link.participant_id).update(
        withdrawn_at=now(), stopped_at=now()
    )

    with pytest.raises(ValidationError) as again:
        invite(study, "Ana Costa")
    ana.refresh_from_db()
    with pytest.raises(ValidationError) as changed:
        change_terms(person=ana, terms=Terms(), by=make_user())

    assert (again.value.code, changed.value.code) == ("withdrawn", "left")


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_the_same_people_invited_ten_times_at_once_are_invited_once():
    study = small(k=1)

    def press() -> None:
        with suppress(ValidationError):
            invite(study)

    at_once([press for _ in range(10)])

    assert study.experts.count() == Participant.objects.count() == 3
    assert Slot.objects.count() == 12
    check_invariants(study)


# --- moving on -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_reassigned_items_go_to_a_person_without_them_and_late_answers_stay():
    study = small(k=1)
    ana, ben = invite(study, "Ana Costa", "Ben Okafor", rates="share")
    visitor = Visitor(ana).arrive()
    visitor.work(1)
    assert [one.pk for one in list_takers(ana)] == [ben.pk]
    page = visitor.client.get(visitor.home, follow=True)

    assert reassign(expert=ana, to=ben, by=make_user()) == 1

    assert visitor.open(2).page.status_code == 302
    late = visitor.show(page).save()
    assert late.status_code == 302
    assert [*visitor.me.annotations.values_list("status", flat=True)] == ["counted", "surplus"]
    assert Visitor(ben).arrive().work(9) == 3
    assert study.items.main().filter(slots__state=2).count() == 4
    assert visitor.client.get(visitor.home, follow=True).status_code == 200
    check_invariants(study)


def test_reassigning_offers_nobody_who_has_one_of_the_items_and_can_free_them():
    study = small(k=3)
    ana, ben, _ = invite(study)
    assert list_takers(ana) == []

    with pytest.raises(ValidationError) as refused:
        reassign(expert=ana, to=ben, by=make_user())
    moved = [reassign(expert=ana, to=None, by=make_user()) for _ in range(2)]

    assert refused.value.code == "has_items"
    assert moved == [4, 0]
    assert Slot.objects.free().count() == 4
    # their link asks for nothing that would lead nowhere
    for method in (Client().get, Client().post):
        assert "Your items were given to someone else." in method(f"/p/{ana.link.token}/").text
    assert not ParticipantLink.objects.exists()


def test_who_had_begun_and_has_nothing_left_is_not_asked_to_wait():
    study = small()
    ana, _ = invite(study, "Ana Costa", "Ben Okafor")
    visitor = Visitor(ana).arrive()

    reassign(expert=ana, to=None, by=make_user())
    page = visitor.client.get(visitor.home, follow=True)

    assert "Your items were given to someone else." in page.text


def test_closing_ends_the_work_and_keeps_nothing():
    study = small()
    [expert] = invite(study, "Ana Costa")
    visitor = Visitor(expert).arrive()
    visitor.work(1)

    close_study(study=study, by=make_user())

    assert not Slot.objects.leased().exists()
    # what is answered is finished, and nothing else is asked
    page = visitor.client.get(visitor.home, follow=True)
    assert page.redirect_chain[-1][0].endswith("sets/1/review/")
    visitor.client.post(f"{visitor.home}sets/1/review/")
    assert visitor.me.item_sets.get().finished_at is not None
    assert visitor.work(9) == 0


# --- links, pay, e-mail --------------------------------------------------------------------------


def test_a_link_starts_nothing_before_start_is_pressed_and_says_what_is_to_do():
    study = small()
    [expert] = invite(study, "Ana Costa", due_on=date(2126, 11, 30))

    page = Client().get(f"/p/{expert.link.token}/")

    assert "30 November 2126" in page.text
    assert not ParticipantLink.objects.exists()
    assert not list_progress(study)[0].has_started
    Client().post(f"/p/{expert.link.token}/")
    assert list_progress(study)[0].has_started


def test_who_finishes_a_set_reads_how_many_of_their_items_are_left_and_until_when():
    study = small(items=5, max_sets=1)
    visitor = Visitor(invite(study, "Ana Costa", due_on=date(2126, 11, 30))[0]).arrive()

    visitor.work(2)
    page = visitor.client.get(f"{visitor.home}finish/").text
    visitor.work(2)
    later = visitor.client.get(f"{visitor.home}finish/").text

    assert "3 of your items are left" in page
    assert "30 November 2126" in page
    assert "1 of your items is left" in later
    assert "another set" not in page + later


@pytest.mark.one_case
@pytest.mark.parametrize(("pay", "shown"), [(None, False), ("2.50", True)])
def test_an_unpaid_study_shows_experts_no_pay_and_no_code(pay, shown):
    study = small(pay_per_set=pay)
    visitor = Visitor(invite(study, "Ana Costa")[0])
    texts = [visitor.client.get(visitor.home).text]
    visitor.arrive()

    for _ in range(4):
        visitor.work(1)
        texts.append(visitor.client.get(visitor.home, follow=True).text)
    texts += [visitor.client.get(f"{visitor.home}{one}/").text for one in ("finish", "stop")]

    words = " ".join(texts)
    code = visitor.me.item_sets.first().code
    assert (code in words) == ("£" in words) == shown
    assert bool(re.search(r"\bpa(?:y|id)\b", words)) == shown


def test_mail_that_fails_is_kept_reported_and_sent_later(mail_on, staff_client):
    study, start = small(), now()
    Membership.objects.get_or_create(study=study, user=make_user(), role="owner")
    invite(study, "Ana Costa")
    backend = "django.core.mail.backends.locmem.EmailBackend"
    down = patch(f"{backend}.send_messages", side_effect=SMTPServerDisconnected)

    with down:
        for minute in (0, 1, 11):
            with standing_at(start + timedelta(minutes=minute)):
                send_expert_mail()

    waiting = ExpertMail.objects.get()
    assert (waiting.tries, waiting.sent_at, mail.outbox) == (2, None, [])
    page = staff_client.get(reverse("admin:study-invite", args=[study.pk]))
    assert "SMTPServerDisconnected" in page.text
    for hours in (9, 10):
        with standing_at(start + timedelta(hours=hours)):
            send_expert_mail()
    assert len(mail.outbox) == 1
    assert study.experts.get().link.token in mail.outbox[0].body
    assert mail.outbox[0].body.count(HOST) == 1
    assert mail.outbox[0].reply_to == ["jane@example.org"]


def test_without_a_mail_server_nothing_is_queued():
    invite(small(), "Ana Costa", is_reminded=True)

    send_expert_mail()

    assert not ExpertMail.objects.exists()


@pytest.mark.parametrize("state", ["paused", "closed"])
def test_nobody_is_reminded_of_a_study_that_doesnt_run(mail_on, state):
    study, start = small(), now()
    invite(study, "Ana Costa", is_reminded=True)
    send_expert_mail()
    Study.objects.update(state=state, closed_at=now())

    with standing_at(start + timedelta(days=4)):
        send_expert_mail()

    assert len(mail.outbox) == 1


# --- pages ---------------------------------------------------------------------------------------


def test_the_page_says_what_it_would_add_before_it_does(staff_client):
    study = small(k=1)
    address = reverse("admin:study-invite", args=[study.pk])
    form = {"names": "Ana Costa\nBen Okafor", "rates": "all", "due_on": "2126-11-30"}

    shown = staff_client.post(address, form | {"do": "preview"})
    assert shown.context["forecast"].added == 4
    assert not Expert.objects.exists()
    for _ in range(2):
        # pressed twice
        assert staff_client.post(address, form | {"do": "add", "newest": ""}).status_code == 302

    assert study.experts.count() == 2
    assert {expert.due_on for expert in study.experts.all()} == {date(2126, 11, 30)}
    again = staff_client.post(address, form | {"do": "add", "newest": study.experts.last().pk})
    assert again.status_code == 422


def test_names_are_shown_to_those_who_may_see_identities(client):
    study = small()
    invite(study, "Ana Costa")
    for name, fields in [("ed", {}), ("id", {"has_identities": True})]:
        user = make_user(name)
        Membership.objects.create(study=study, user=user, role="editor", **fields)
        client.force_login(user)
        page = client.get(reverse("admin:study-invite", args=[study.pk]))
        rows = client.post(reverse("admin:invited-links", args=[study.pk])).content.decode()
        token = study.experts.get().link.token
        for secret in ("Ana Costa", token):
            assert (secret in page.text) == (secret in rows) == bool(fields)
        assert "no-store" in page.headers["Cache-Control"]
    assert AuditEntry.objects.filter(action="links viewed").count() == 1


def test_the_list_of_experts_takes_as_many_queries_for_two_as_for_twenty(
    staff_client, django_assert_num_queries
):
    study = small(k=20)
    study.recruitments.update(is_on=False)
    address = reverse("admin:study-invite", args=[study.pk])
    invite(study, "Ana Costa", "Ben Okafor")
    with CaptureQueriesContext(connection) as few:
        staff_client.get(address)
    invite(study, *(f"Person {number}" for number in range(18)))

    assert len(few) <= 15
    with django_assert_num_queries(len(few)):
        staff_client.get(address)


def test_a_study_with_batches_that_open_later_assigns_what_is_open():
    study = small()
    add_batch(study, items=3, first=100)

    invite(study, "Ana Costa")

    assert Slot.objects.assigned().count() == 4


def test_an_expert_comes_from_the_instructions_to_the_first_item_and_takes_no_place():
    (expert,) = invite(small(), "Ana Costa")
    visitor = Visitor(expert).arrive()

    page = visitor.client.get(visitor.home, follow=True)

    assert page.redirect_chain[-1][0].endswith("/sets/1/items/1/")


def test_an_expert_without_a_set_is_told_that_the_items_are_kept():
    (expert,) = invite(small(), "Ana Costa")
    visitor = Visitor(expert).arrive()
    visitor.me.item_sets.all().delete()

    page = visitor.client.get(f"{visitor.home}start/").text

    assert "Your items are ready" in page
    assert "You can start now" not in page


# --- before launch ---------------------------------------------------------------------------


def start(study: Study) -> Study:
    """Launch by the product's own way, with its job."""
    run_job(launch_study(study=study, by=make_user(is_superuser=True)))
    study.refresh_from_db()
    assert study.is_launched
    return study


def test_people_invited_in_a_draft_have_links_at_once_and_their_items_from_launch_on(mail_on):
    study = make_study(items=4, k=1, set_size=2, is_practice_on=False)

    experts = invite(study)
    links = [expert.link.token for expert in experts]
    early = Client().get(f"/p/{links[0]}/")
    pressed = Client().post(f"/p/{links[0]}/")
    send_expert_mail()

    study.refresh_from_db()
    assert study.k == 3
    assert "has not started yet" in early.text
    assert early.status_code == pressed.status_code == 200
    assert not ParticipantLink.objects.exists()
    assert not Slot.objects.exists()
    assert mail.outbox == []
    study = start(study)
    send_expert_mail()
    assert [expert.link.token for expert in study.experts.order_by("pk")] == links
    assert [(row.done, row.left) for row in list_progress(study)] == [(0, 4)] * 3
    assert Slot.objects.count() == Slot.objects.assigned().count() == 12
    assert len(mail.outbox) == 3
    assert Visitor(experts[0]).arrive().work(9) == 4
    check_invariants(study)


@pytest.mark.both_databases
def test_a_share_in_a_draft_gives_each_item_its_answers_by_different_people():
    # by hand: 12 items x 2 answers / 4 people
    study = make_study(items=12, k=2)

    invite(study, "Ana Costa", "Ben Okafor", "Chen Li", "Dara Ek", rates="share")
    study = start(study)

    assert study.k == 2
    assert [row.left for row in list_progress(study)] == [6] * 4
    assert Slot.objects.count() == 24
    pairs = {
        tuple(item.slots.order_by("participant").values_list("participant", flat=True))
        for item in study.items.main()
    }
    # more pairs than two: the answers of all four can be compared
    assert len(pairs) > 2
    assert all(first != second for first, second in pairs)


def test_people_who_rate_a_share_leave_what_the_others_rate():
    # 2 answers of 6 items: one rates all, two share the rest
    study = make_study(items=6, k=2)
    invite(study, "Ana Costa")
    invite(study, "Ben Okafor", "Chen Li", rates="share")

    study = start(study)

    assert [row.left for row in list_progress(study)] == [6, 3, 3]


def test_numbers_and_a_limit_decide_what_people_rate():
    study = make_study(items=6, k=2)
    invite(study, "Ana Costa", rates="numbers", selection="1-2, 5, 90")
    study = start(study)
    keys = Slot.objects.assigned().order_by("item__key").values_list("item__key", flat=True)
    assert [*keys] == ["item-001", "item-002", "item-005"]

    # 4 items x 2 answers, 2 people with at most 3 each
    other = make_study(items=4, k=2, max_items=3)
    invite(other, "Ana Costa", "Ben Okafor")
    assert count_out_of_reach(other) == 2
    other = start(other)
    assert [row.left for row in list_progress(other)] == [3, 3]
    assert count_out_of_reach(other) == 2


def test_whoever_would_get_nothing_keeps_the_study_from_being_launched():
    study = make_study(items=4)
    study.items.main().update(extra={"rater": "Ana Costa"})
    invite(study, "Ana Costa", rates="column", selection="rater")
    study.items.main().update(extra={})

    with pytest.raises(ValidationError) as refused:
        launch_study(study=study, by=make_user(is_superuser=True))

    assert "Ana" not in str(refused.value)
    assert "nothing to rate" in str(refused.value)


@pytest.mark.parametrize(
    ("rates", "is_once", "told"),
    [("column", False, 1), ("all", False, 0), ("share", False, 0), ("all", True, 1)],
)
def test_header_of_a_draft_counts_what_its_launch_page_lists_of_people(
    staff_client, researcher, rates, is_once, told
):
    by = researcher
    study = make_study(items=4, by=by)
    study.items.main().update(extra={"rater": "Ana Costa"})
    invite(study, "Ana Costa", rates=rates, selection="rater" if rates == "column" else "", by=by)
    study.items.main().update(extra={})
    if is_once:
        # nobody may see two items of a group
        Study.objects.filter(pk=study.pk).update(groups=Study.Groups.ONCE)
        study.items.main().update(group="g1")

    page = staff_client.get(reverse("admin:setup-work", args=[study.pk]))
    listed = staff_client.get(reverse("admin:study-launch", args=[study.pk])).context["problems"]

    of_people = [check for check, _ in listed if check.url_name == "study-invite"]
    assert len(of_people) == told
    assert len(page.context["frame"].setup.problems) == len(listed)


def test_at_most_a_hundred_people_rate_everything():
    study = make_study(items=1)

    with pytest.raises(ValidationError) as refused:
        invite(study, *(f"Person {number}" for number in range(101)))

    assert refused.value.code == "most"


def test_who_has_not_started_can_be_removed_and_who_has_can_only_be_stopped():
    study = small(k=2)
    ana, ben = invite(study, "Ana Costa", "Ben Okafor")
    Visitor(ana).arrive()
    token = ben.link.token

    with pytest.raises(ValidationError) as refused:
        remove_person(person=ana, by=make_user())
    for _ in range(2):
        remove_person(person=ben, by=make_user())

    assert refused.value.code == "started"
    assert [expert.name for expert in study.experts.all()] == ["Ana Costa"]
    assert Slot.objects.assigned().count() == 4
    assert Participant.objects.count() == 1
    # whoever is invited next gets another link
    invite(study, "Chen Li")
    assert Client().get(f"/p/{token}/").status_code == 404


def test_removing_in_a_draft_leaves_no_trace_of_a_name():
    study = make_study(items=2)
    [ana] = invite(study, "Ana Costa")

    remove_person(person=ana, by=make_user())

    assert not Participant.objects.exists()
    assert "Ana" not in str([*AuditEntry.objects.values_list("detail", flat=True)])
    invite(study, "Ana Costa")


def test_changing_what_a_person_rates_moves_unanswered_items_only():
    study = small(k=2)
    ana, _ben = invite(study, "Ana Costa", "Ben Okafor")
    visitor = Visitor(ana).arrive()
    visitor.work(1)
    answered = visitor.me.annotations.get().item

    left = change_terms(person=ana, terms=Terms(rates="numbers", selection="1-2"), by=make_user())

    mine = Slot.objects.filter(participant=visitor.me)
    assert mine.get(state=Slot.State.DONE).item == answered
    keys = {*mine.values_list("item__key", flat=True)} - {answered.key}
    assert keys <= {"item-001", "item-002"}
    assert left == len(keys)
    back = change_terms(person=ana, terms=Terms(), by=make_user())
    assert back == 3
    assert visitor.work(9) == 3
    check_invariants(study)


def test_a_person_can_rate_everything_instead_before_launch():
    study = make_study(items=4, k=1)
    ana, _ben = invite(study, "Ana Costa", "Ben Okafor", rates="share")

    assert change_terms(person=ana, terms=Terms(due_on=date(2126, 1, 1)), by=make_user()) == 4

    study.refresh_from_db()
    assert study.k == 1
    assert [row.left for row in list_progress(start(study))] == [4, 4]


def test_a_batch_that_is_opened_later_goes_to_people_who_rate_everything():
    study = small(k=2)
    invite(study, "Ana Costa")
    batch = add_batch(study, items=3, first=100)

    open_batch(batch=batch, by=make_user())
    for _ in range(2):
        run_job(Job.objects.filter(kind="places").latest("created_at"))

    assert [row.left for row in list_progress(study)] == [7]
    assert study.items.get(key="item-100").slots.count() == 2


def test_a_link_is_sent_again_once_however_often_the_button_is_pressed(mail_on):
    study = small()
    [ana] = invite(study, "Ana Costa")
    assert not send_again(person=ana, by=make_user())
    send_expert_mail()

    assert [send_again(person=ana, by=make_user()) for _ in range(2)] == [True, False]
    send_expert_mail()

    assert len(mail.outbox) == 2
    assert ExpertMail.objects.count() == 1


def test_people_can_be_named_on_the_page_of_a_draft(staff_client, mail_on):
    study = make_study(items=4, k=2)
    address = reverse("admin:study-invite", args=[study.pk])
    form = {"names": "Ana Costa <ana@example.org>\nBen\nChen", "rates": "all", "max_items": ""}

    shown = staff_client.post(address, form | {"do": "preview"})
    forecast = shown.context["forecast"]
    assert (forecast.answers, forecast.k, forecast.most) == (12, 2, 3)
    assert not study.experts.exists()
    added = staff_client.post(address, form | {"do": "launch"})

    assert added.headers["Location"] == reverse("admin:study-launch", args=[study.pk])
    page = staff_client.get(address)
    assert [row["total"] for row in page.context["rows"]] == [4, 4, 4]
    assert page.context["out_of_reach"] == 0
    for expert in study.experts.all():
        assert expert.link.token in page.text
    study.refresh_from_db()
    assert study.k == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"names": ""}, "names"),
        ({"names": "Ana\nana"}, "names"),
        ({"rates": "chosen"}, "column"),
        ({"rates": "chosen", "numbers": "3-1"}, "numbers"),
        ({"due_on": "2001-01-01"}, "due_on"),
        ({"max_items": "0"}, "max_items"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_nobody_is_invited(staff_client, changes, field):
    study = make_study(items=2)
    form = {"names": "Ana", "rates": "all", "do": "add"}

    page = staff_client.post(reverse("admin:study-invite", args=[study.pk]), form | changes)

    assert page.status_code == 422
    assert [*page.context["form"].errors] == [field]
    assert not Expert.objects.exists()
