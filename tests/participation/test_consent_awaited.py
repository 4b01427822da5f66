"""An answer that waits for its person's consent is in no file, no count and no result."""

import pytest
from django.urls import reverse

from evalsite.data.files.rows import PAGE
from evalsite.data.files.services import count_rows
from evalsite.data.fsck import find_breaches
from evalsite.decisions.check_results import judge_checks
from evalsite.decisions.exclusions import excludable_answers
from evalsite.decisions.frozen_plans import count_answers
from evalsite.decisions.models import Exclusion
from evalsite.decisions.scale_use import count_reserved
from evalsite.fieldwork.item_changes import withdraw_item
from evalsite.handout.models import Annotation, Rating
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.people.models import Participant
from evalsite.results.people.lookup import describe_people, with_answers
from evalsite.results.progress import activity_of
from evalsite.results.report.computation import take_fingerprint
from evalsite.studies.models import Item, Study
from tests.participation.test_consent import answer_consent, change_text
from tests.support.bundles import examine, pack, read_files
from tests.support.exports import annotate, export, read
from tests.support.factories import launch, make_participant, make_study, make_user
from tests.support.tabs import Tab, open_tab

pytestmark = pytest.mark.django_db

FILES = ("ratings", "ratings_simple", "annotations", "participants")
WORDS = "what nobody agreed to"


def answer_then_await() -> Tab:
    """Somebody whose first answer counts, and whose second waits for a changed text."""
    tab = open_tab()
    tab.save()
    tab.open(2)
    change_text(tab.me.study)
    tab.post(SENT, to=tab.address_of(2))
    assert Annotation.objects.filter(awaits_consent=True).count() == 1
    return tab


SENT = {f"informativeness-{number}": "77" for number in (1, 2, 3)}


def read_all(study: Study) -> dict[str, list[dict[str, str]]]:
    return {file: read(export(study, file)) for file in FILES}


def test_no_export_holds_it_or_counts_it_before_its_person_agrees():
    tab = answer_then_await()
    study = tab.me.study

    files = read_all(study)

    assert {file: len(rows) for file, rows in files.items()} == {
        "ratings": 3,
        "ratings_simple": 3,
        "annotations": 1,
        "participants": 1,
    }
    assert files["participants"][0]["answers"] == "1"
    assert "77" not in {row["value"] for row in files["ratings"]}
    counts = count_rows(study)
    assert {file: counts[file] for file in FILES} == {file: len(files[file]) for file in FILES}


def test_exports_hold_it_once_its_person_has_agreed():
    tab = answer_then_await()

    answer_consent(tab, "agree")

    assert [row["status"] for row in read(export(tab.me.study, "annotations"))] == ["counted"] * 2


@pytest.mark.parametrize("wanted", [{"status": "surplus"}, {"with_pilot": True}])
def test_no_choice_of_rows_brings_it_into_a_file(wanted):
    study = answer_then_await().me.study

    rows = read(export(study, "annotations", **wanted))

    assert "surplus" not in {row["status"] for row in rows}


def test_a_page_of_answers_that_all_wait_hides_none_after_it():
    study = launch(make_study(items=3))
    me = make_participant(study)
    first, second, third = Item.objects.main().filter(study=study)
    start = (Annotation.objects.count() + 1) * PAGE
    annotate(study, me, first, status="surplus", id=start)
    annotate(study, me, second, status="surplus", id=start + PAGE, awaits_consent=True)
    annotate(study, me, third, status="surplus", id=start + 2 * PAGE)

    rows = read(export(study))

    assert [row["item"] for row in rows] == [first.key] * 3 + [third.key] * 3


@pytest.mark.slow
def test_no_bundle_holds_it_nor_a_decision_about_it():
    tab = answer_then_await()
    waiting = Annotation.objects.get(awaits_consent=True)
    Annotation.objects.filter(pk=waiting.pk).update(note=WORDS)
    Exclusion.objects.create(study=tab.me.study, annotation=waiting, reason=WORDS)
    study = Study.objects.get(pk=tab.me.study_id)

    bundle = pack(study)

    files = read_files(bundle)
    assert not [name for name, data in files.items() if WORDS.encode() in data]
    assert str(waiting.key).encode() not in b"".join(files.values())
    report = examine(bundle)
    assert report.faults == []
    assert report.about["counts"]["annotations"] == {"counted": 1}


def measure(study: Study, me: Participant) -> dict[str, object]:
    """What pages and results say of this study, in which only this person has answered."""
    activity = activity_of(study)
    person = describe_people(study, list(with_answers(study.participants.filter(pk=me.pk))))[0]
    return {
        "surplus": activity.surplus,
        "reports": activity.reports,
        "standing reports": Annotation.objects.reports().count(),
        "excludable": excludable_answers(study).count(),
        "before the plan": count_answers(study, before=now()),
        "checks": len(judge_checks(study, Annotation.objects.agreed().filter(participant=me))),
        "reserved points": len(count_reserved(study, [me.pk])),
        "answers": person.answers,
    }


def test_results_and_quality_leave_it_out_before_its_person_agrees():
    study = make_study(items=3, protocol="rrgen")
    me = make_participant(study)
    rated, reported, gold = Item.objects.main().filter(study=study)
    Item.objects.filter(pk=gold.pk).update(kind="gold", gold={"relevance": "3, 3, 3"})
    waits = {"awaits_consent": True, "active_ms": 5_000}
    annotate(study, me, rated, status="surplus", **waits)
    annotate(study, me, gold, status="control", **waits)
    annotate(
        study, me, reported, status="surplus", outcome="reported", **waits
    ).ratings.all().delete()
    Rating.objects.update(criterion="relevance", value=3)

    before = measure(study, me)
    Annotation.objects.update(awaits_consent=False)
    after = measure(study, me)

    assert set(before.values()) == {0}
    assert 0 not in after.values()


def test_a_report_is_out_of_date_once_an_answer_that_waited_is_agreed_to():
    tab = answer_then_await()
    study = tab.me.study
    before = take_fingerprint(study)
    Annotation.objects.filter(awaits_consent=True).update(awaits_consent=False)

    assert take_fingerprint(study) != before


def test_the_page_of_a_person_does_not_show_it(staff_client):
    tab = answer_then_await()
    tab.me.study.memberships.all().update(user=staff_client_user(staff_client))

    page = staff_client.get(
        reverse("admin:study-person", args=[tab.me.study_id, tab.me.pseudonym])
    ).text

    counted, waiting = Annotation.objects.order_by("pk").values_list("item__key", flat=True)
    assert counted in page
    assert waiting not in page


def staff_client_user(client) -> int:
    return int(client.session["_auth_user_id"])


@pytest.mark.parametrize("is_kept", [True, False])
def test_withdrawing_deletes_what_waited_whatever_else_is_kept(is_kept):
    tab = answer_then_await()
    waiting = Annotation.objects.get(awaits_consent=True)
    Annotation.objects.filter(pk=waiting.pk).update(note=WORDS)

    withdraw(participant=tab.me, is_kept=is_kept)

    waiting.refresh_from_db()
    assert (waiting.status, waiting.awaits_consent, waiting.note) == ("withdrawn", False, "")
    assert not waiting.ratings.exists()
    assert Annotation.objects.counted().count() == int(is_kept)
    assert find_breaches(Study.objects.get(pk=tab.me.study_id)) == []


def test_fsck_names_what_waits_for_the_consent_of_somebody_who_has_left():
    tab = answer_then_await()
    withdraw(participant=tab.me, is_kept=True)
    withdrawn = Annotation.objects.filter(status="withdrawn")
    withdrawn.update(status="surplus", outcome="reported", awaits_consent=True)

    (breach,) = find_breaches(Study.objects.get(pk=tab.me.study_id))

    waiting = Annotation.objects.get(awaits_consent=True)
    assert waiting.item.key in str(breach)
    assert tab.me.pseudonym in str(breach)


@pytest.mark.parametrize("is_before", [True, False])
def test_agreeing_to_another_text_counts_nothing_of_withdrawn_items_and_deletes_nothing(is_before):
    tab = answer_then_await() if is_before else open_tab()
    if not is_before:
        tab.save()
        change_text(tab.me.study)
    study = tab.me.study
    for item in list(Item.objects.main().filter(study=study, annotations__isnull=False)):
        withdraw_item(item=item, reason="Cut off.", by=make_user())
    before = list(Annotation.objects.order_by("pk").values_list("pk", flat=True))

    answer_consent(tab, "agree")

    answers = Annotation.objects.order_by("pk")
    assert [(answer.pk, answer.status) for answer in answers] == [
        (pk, "withdrawn") for pk in before
    ]
    assert not Annotation.objects.filter(awaits_consent=True).exists()
    assert find_breaches(study) == []
