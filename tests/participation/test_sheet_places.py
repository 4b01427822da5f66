"""The sheet and its places: leases, late answers, consent, reports, checks and pilots."""

import re
from datetime import timedelta

import pytest

from evalsite.handout.models import Annotation, Draft, Rating, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.people.models import ItemSet
from evalsite.studies.models import Item
from tests.participation.test_consent import answer_consent, change_text, decline_new_text
from tests.support.batches import import_rows, make_rows
from tests.support.checks import add_checks, kinds_of, shape_of
from tests.support.factories import launch, make_annotator, make_study
from tests.support.sheet_pages import SHEET, Sheet, answer, given, make_sheet
from tests.support.tabs import after_the_lease

pytestmark = pytest.mark.django_db


# --- places, consent, reports -------------------------------------------------------------


def test_each_saved_answer_renews_all_places_and_a_draft_does_once_for_its_question():
    study = make_sheet()
    sheet = Sheet(study)
    sheet.keep(answer(1, 1, 1, 1))

    def lease_after(minutes: int, *answers) -> object:
        with standing_at(now() + timedelta(minutes=minutes)):
            sheet.keep(*answers)
        return Slot.objects.leased().latest("lease_until").lease_until

    first = lease_after(10, answer(2, 1))
    same = lease_after(20, answer(2, 2))
    later = lease_after(30, answer(2, 2, 2, 2))

    assert first == same < later
    assert Slot.objects.leased().values("lease_until").distinct().count() == 1


def test_somebody_who_is_still_there_keeps_the_places_once_for_each_question_that_is_missing():
    sheet = Sheet(make_sheet(3))
    sheet.keep(answer(1, 1, 1, 1))

    ends, finals = [], []
    for minutes in (10, 20, 24):
        with standing_at(now() + timedelta(minutes=minutes)):
            said = sheet.keep().json()
        ends.append(said["lease_until"])
        finals.append(said["is_final"])

    assert ends[0] < ends[1] == ends[2]
    assert finals == [False, True, True]


def test_places_of_a_sheet_without_an_answer_are_kept_to_the_end_of_their_reservation():
    sheet = Sheet()
    reserved = ItemSet.objects.get().reserved_until

    with standing_at(now() + timedelta(minutes=10)):
        said = sheet.keep(answer(1, 1)).json()

    assert Slot.objects.leased().latest("lease_until").lease_until == reserved
    assert said["is_final"]


def test_late_answer_counts_if_its_place_is_still_free(promises):
    study = make_sheet()
    sheet = Sheet(study)

    with after_the_lease(study):
        said = sheet.keep(answer(1, 1, 1, 1))
        assert said.status_code == 200

    assert Annotation.objects.get().status == Annotation.Status.COUNTED


def lose(sheet: Sheet, place: int) -> None:
    """The item in this place goes to somebody else, who keeps it."""
    item = ItemSet.objects.get(participant=sheet.me).item_ids[place - 1]
    Slot.objects.filter(item=item).update(
        participant=make_annotator(sheet.me.study), lease_until=now().replace(year=2100)
    )


def test_late_answer_to_what_went_to_somebody_else_is_kept_as_surplus(promises):
    sheet = Sheet()
    lose(sheet, 2)

    sheet.save(answer(2, 1, 1, 1))
    partial = sheet.keep(answer(3, 1))

    assert Annotation.objects.get().status == Annotation.Status.SURPLUS
    assert partial.status_code == 200


def test_draft_for_a_place_that_went_to_somebody_else_says_so():
    sheet = Sheet()
    lose(sheet, 2)

    assert sheet.keep(answer(2, 1)).status_code == 409
    assert Draft.objects.get().values == {"appropriateness": "1"}


def test_what_went_to_somebody_else_is_no_part_of_the_sheet_any_more():
    study = make_sheet()
    sheet = Sheet(study)
    sheet.keep(answer(1, 1, 1, 1))
    lose(sheet, 2)

    assert "Continue" in sheet.open().html
    sheet.client.post(f"{sheet.home}start/")

    sheet.open()
    assert [int(place) for place in re.findall(r'data-part="(\d)"', sheet.html)] == [1, 3, 4]
    assert (
        sheet.save(answer(3, 1, 1, 1), answer(4, 1, 1, 1))
        .headers["Location"]
        .endswith("/review/?was=saved")
    )


def test_sheet_whose_places_have_lapsed_offers_to_continue():
    study = make_sheet()
    sheet = Sheet(study)

    with after_the_lease(study):
        assert "start/" in sheet.open().html
        assert 'data-part="1"' not in sheet.html


def test_background_never_sends_an_answer_under_a_text_that_has_changed():
    sheet = Sheet()
    change_text(sheet.me.study)

    said = sheet.keep(answer(1, 1, 1, 1))

    assert said.status_code == 200
    assert said.json()["parts"] == {}
    assert not Annotation.objects.exists()
    response = sheet.save(answer(1, 1, 1, 1))
    assert "/consent/?was=awaiting" in response.headers["Location"]
    assert Annotation.objects.get().awaits_consent


def test_whole_answer_that_waited_for_consent_is_sent_with_the_next_press(promises):
    sheet = Sheet()
    change_text(sheet.me.study)
    sheet.keep(answer(1, 1, 1, 1))
    answer_consent(sheet, "agree")
    sheet.open()

    sheet.save()

    assert given() == {1: [1, 1, 1]}


def test_nothing_of_somebody_who_declined_is_kept():
    sheet = Sheet()
    decline_new_text(sheet)

    assert sheet.keep(answer(1, 1, 1, 1)).status_code == 403
    assert not Draft.objects.exists()
    assert not Rating.objects.exists()


def test_page_of_somebody_who_has_withdrawn_leads_to_the_end():
    sheet = Sheet()
    sheet.client.post(f"{sheet.home}withdraw/", {"keep": "keep"})

    assert sheet.open().page.redirect_chain[-1][0].endswith("/withdrawn/")
    assert sheet.keep(answer(1, 1, 1, 1)).status_code == 302
    assert not Rating.objects.exists()


def test_answer_to_a_finished_set_is_final():
    sheet = Sheet()
    old = sheet.twin()
    sheet.follow(*(answer(place, 3, 3, 3) for place in (1, 2, 3, 4)))
    sheet.client.post(f"{sheet.home}sets/1/review/")

    response = old.save(answer(1, 1, 1, 1))
    page = old.client.get(response.headers["Location"], follow=True)

    assert "This answer is final" in page.content.decode()
    assert given()[1] == [3, 3, 3]


def test_reported_question_says_so_and_counts_as_done(promises):
    sheet = Sheet()
    report = re.search(r'class="report" href="([^"]+)"', sheet.part_of(2))[1]

    page = sheet.client.post(report, {"reason": "other"}, follow=True)

    sheet.show(page)
    assert sheet.page.redirect_chain[-1][0].endswith("#q3")
    assert sheet.done == [2]
    assert "You don’t have to rate this question." in sheet.part_of(2)
    assert sheet.save(answer(1, 1, 1, 1)).headers["Location"].endswith("#q3")


def test_state_of_another_person_or_another_place_saves_nothing():
    sheet = Sheet(make_sheet(k=2))
    other = Sheet(sheet.me.study)
    states = other.fields["q1-state"], sheet.fields["q2-state"], "", "x"

    for state in states:
        assert sheet.save(answer(1, 1, 1, 1), {"q1-state": state}).status_code == 404

    assert not Annotation.objects.exists()


def test_too_many_posts_show_the_page_with_all_that_was_entered(settings):
    sheet = Sheet()
    settings.SAVES_A_MINUTE = 1
    sheet.save()

    page = sheet.save(answer(1, 1, 1, 1), answer(2, 5))

    assert page.status_code == 429
    sheet.show(page)
    assert sheet.fields["q1-appropriateness"] == "1"
    assert sheet.fields["q2-appropriateness"] == "5"


def test_checks_take_places_on_the_sheet_and_are_not_announced():
    study = make_study(
        protocol="dialogue", items=0, set_size=8, k=1, checks_per_person=2, options=SHEET
    )
    import_rows(study, make_rows(study.config, 6))
    add_checks(study, 2, outputs=1)
    Item.objects.filter(kind="gold").update(
        gold={"human_likeness": "5"}, inputs={"dialogue": "A: Hello!\nB: Good evening."}
    )
    sheet = Sheet(launch(study))

    kinds = kinds_of(ItemSet.objects.get().item_ids)
    assert sorted(kinds) == ["gold", "gold", *["main"] * 6]
    parts = [re.sub(r"q\d+|items/\d+", "", sheet.part_of(place)) for place in range(2, 9)]
    assert len({str(shape_of(part)) for part in parts}) == 1
    assert "gold" not in sheet.html
    places = range(1, 9)
    assert "/review/" in sheet.save(*(answer(p, 1, 1, 1) for p in places)).headers["Location"]
    assert Annotation.objects.filter(status=Annotation.Status.CONTROL).count() == 2


def test_pilot_in_a_draft_sees_the_sheet():
    study = make_study(protocol="dialogue", items=0, set_size=2, k=1, options=SHEET)
    import_rows(study, make_rows(study.config, 2))
    sheet = Sheet(me=make_annotator(study, is_pilot=True))

    assert sheet.keep(answer(1, 1, 1, 1)).json()["lease_until"] is None
    assert sheet.save(answer(2, 1, 1, 1)).status_code == 302

    assert Annotation.objects.filter(status=Annotation.Status.PILOT).count() == 2
