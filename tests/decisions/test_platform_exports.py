"""A platform's own list of submissions: odd files, unknown ids, and places that come free."""

import csv
import io
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.urls import reverse

from evalsite.decisions.pay import approve_sets, describe_sets, list_payable, reject_sets
from evalsite.decisions.platform_exports import (
    apply_statuses,
    fill_export,
    join_table,
    read_table,
)
from evalsite.handout.models import Slot
from evalsite.people.models import Recruitment, Visit
from tests.decisions.test_pay import BAD, LONG, begin, ids, work
from tests.support.factories import make_user
from tests.support.invariants import check_invariants
from tests.support.rounds import Person

pytestmark = pytest.mark.django_db

HEADER = "Submission id,Participant id,Status,Completion code"


def write(*rows: str, header: str = HEADER, separator: str = ",") -> bytes:
    return "\n".join([header, *rows]).replace(",", separator).encode()


def read(recruitment: Recruitment, data: bytes) -> Any:
    joined = join_table(recruitment, read_table(data))
    return apply_statuses(recruitment=recruitment, joined=joined, by=make_user())


def row_of(person: Person, status: str) -> str:
    return f"{person.visit.visit_id},{person.visit.person_id},{status},"


def test_returned_and_timed_out_people_are_marked_and_their_places_freed_once():
    recruitment = begin(places=3)
    back, slow, done = (Person(recruitment, n, n).enter() for n in range(3))
    back.rate(most=1)
    done.finish()
    held = Slot.objects.leased().count()
    data = write(row_of(back, "RETURNED"), row_of(slow, "TIMED-OUT"), row_of(done, "APPROVED"))

    first, second = read(recruitment, data), read(recruitment, data)

    assert (first.returned, first.timed_out, first.unknown, first.freed) == (1, 1, 0, held)
    assert second.freed == 0
    assert [p.visit.reported for p in (back, slow, done)] == ["returned", "timed_out", ""]
    assert not Slot.objects.leased().exists()
    # the round has room for those whom the platform sends instead
    assert Slot.objects.free().count() == 16 - 1 - 4
    [left] = [one for one in ids(recruitment.study) if one != done.me.item_sets.get().pk]
    assert left == back.me.item_sets.get().pk
    check_invariants(recruitment.study)
    # a later file takes it back
    read(recruitment, write(row_of(slow, "AWAITING REVIEW")))
    assert slow.visit.reported == ""


@pytest.mark.one_case
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_separators_marks_unknown_columns_and_odd_names_are_read(separator, start):
    recruitment = begin()
    person = Person(recruitment).enter()
    row = f"x,{person.visit.visit_id.upper()}, returned ,{person.visit.person_id}"
    data = start + write(row, header="Age?,SUBMISSION_ID,status,participant-id",
                         separator=separator)  # fmt: skip

    assert read(recruitment, data).returned == 1


def test_a_file_in_utf_16_and_short_rows_are_read():
    recruitment = begin()
    person = Person(recruitment).enter()
    text = f"{HEADER}\r\n{person.visit.visit_id},,RETURNED\r\n\r\n"

    assert read(recruitment, text.encode("utf-16")).returned == 1


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "no_rows"),
        (b"\n\n", "no_rows"),
        (HEADER.encode(), "no_rows"),
        (b"\x00\x01\x02", "no_rows"),
        (b"a,b\n1,2", "columns"),
        (write("0" * 24 + "," + "1" * 24 + ",RETURNED,"), "other_study"),
        (("a," * 501 + "\n1").encode(), "size"),
    ],
)
def test_what_cannot_be_read_changes_nothing(data, code):
    recruitment = begin()
    Person(recruitment).enter()

    with pytest.raises(ValidationError) as refused:
        read(recruitment, data)

    assert refused.value.code == code
    assert not Visit.objects.exclude(reported="").exists()


def test_ten_thousand_rows_with_ids_of_another_study_take_few_queries(
    django_assert_max_num_queries,
):
    recruitment = begin()
    person = Person(recruitment).enter()
    others = [f"{n:024x},{n + 50_000:024x},RETURNED," for n in range(1, 10_000)]
    data = write(*others, row_of(person, "RETURNED"))

    with django_assert_max_num_queries(25):
        joined = read(recruitment, data)

    assert (joined.returned, joined.unknown) == (1, 9_999)


def test_another_submission_of_the_same_person_is_not_taken_for_this_one():
    recruitment = begin()
    person = Person(recruitment).enter()

    with pytest.raises(ValidationError):
        read(recruitment, write(f"{'0' * 24},{person.visit.person_id},RETURNED,"))

    assert person.visit.reported == ""


def test_rounds_of_a_second_study_are_never_touched():
    recruitment, other = begin(), begin()
    person = Person(other).enter()
    Person(recruitment, 1, 1).enter()

    with pytest.raises(ValidationError):
        read(recruitment, write(row_of(person, "RETURNED")))

    assert person.visit.reported == ""
    assert person.me.slots.leased().exists()


def test_codes_join_whatever_their_case_spaces_and_hyphens_and_get_decisions():
    recruitment = begin("mturk")
    for number, scores in enumerate(("90 90 90", BAD, "90 90 90")):
        Person(recruitment, number, number).enter().finish(scores=scores)
    study = recruitment.study
    good, bad, waiting = ids(study)
    codes = dict(study.item_sets.values_list("pk", "code"))
    approve_sets(study=study, set_ids=[good], by=make_user())
    reject_sets(study=study, set_ids=[bad], reason="checks", message=LONG, by=make_user())
    typed = [codes[good].lower().replace("-", " "), codes[bad], codes[waiting], "none"]
    rows = [f"A{n},{n},{code},é" for n, code in enumerate(typed)]
    data = write(*rows, header="WorkerId,AssignmentId,Answer.surveycode,Comment")

    table = read_table(data)
    filled = fill_export(recruitment, table, join_table(recruitment, table))

    lines = [*csv.DictReader(io.StringIO(filled))]
    assert [line["Approve"] for line in lines] == ["x", "", "", ""]
    assert [line["Reject"] for line in lines] == ["", LONG.strip(), "", ""]
    assert [line["Answer.surveycode"] for line in lines] == typed


def test_a_file_is_uploaded_on_the_page_of_pay(staff_client):
    recruitment = begin()
    person = Person(recruitment).enter()
    address = reverse("admin:pay-export", args=[recruitment.study_id])
    file = ContentFile(write(row_of(person, "RETURNED")), name="prolific_export.csv")

    for sent in ({"round": "1", "file": file}, {"round": "9", "file": file}, {"round": "1"}, {}):
        response = staff_client.post(address, sent)
        assert response.status_code in (302, 404)

    assert person.visit.reported == "returned"


def test_late_work_of_somebody_who_timed_out_is_kept_and_paid_by_a_bonus_line():
    recruitment = begin()
    person = Person(recruitment).enter()
    read(recruitment, write(row_of(person, "TIMED-OUT")))
    person.client.post(f"{person.home}instructions/")
    person.client.post(f"{person.home}start/")
    person.finish()

    [one] = describe_sets(recruitment.study, list_payable(recruitment.study))
    assert (one.is_full, one.is_bonus) == (True, True)
    check_invariants(recruitment.study)


def test_finished_work_of_people_who_returned_keeps_its_answers():
    recruitment = begin()
    person = work(recruitment)

    joined = read(recruitment, write(row_of(person, "RETURNED")))

    assert joined.freed == 0
    assert person.me.annotations.counted().count() == 4
