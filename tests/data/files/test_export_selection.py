"""Which rows a researcher chooses: in every file, its count, its name and the log."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files.selection import Selection
from evalsite.data.files.services import Choice, count_rows, name_file
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation
from evalsite.studies.models import Item, Study
from tests.support.exports import START, annotate, export, main_items, read, study

__all__ = ["study"]  # fixture

DAY = START.date()
NEXT = DAY + timedelta(days=1)


@pytest.fixture
def answers(
    study: Study, make_participant: Callable[..., Any], researcher: Any
) -> dict[str, Annotation]:
    """Answers of each sort, by what is special about them."""
    one, two = main_items(study)
    practice = Item.objects.practice().filter(study=study)[0]
    midnight = 11 * 60 + 30  # minutes after START
    made = {
        "plain": annotate(study, make_participant(study), one),
        "surplus": annotate(study, make_participant(study), one, status="surplus"),
        "pilot": annotate(study, make_participant(study, is_pilot=True), two, status="pilot"),
        "practice": annotate(study, make_participant(study), practice, status="control"),
        "simulated": annotate(
            study, make_participant(study, origin="simulated"), two, origin="simulated"
        ),
        "imported": annotate(study, make_participant(study), two, origin="imported"),
        "last of the day": annotate(study, make_participant(study), two, midnight - 1),
        "next day": annotate(study, make_participant(study), two, midnight),
        "excluded": annotate(study, make_participant(study), two),
        "of an excluded person": annotate(study, make_participant(study), two),
        "taken back": annotate(study, make_participant(study), two),
    }
    by = {"study": study, "decided_by": researcher, "reason": "why not"}
    Exclusion.objects.create(annotation=made["excluded"], **by)
    Exclusion.objects.create(participant=made["of an excluded person"].participant, **by)
    Exclusion.objects.create(annotation=made["taken back"], revoked_at=START, **by)
    return made


ALL = {
    "plain", "surplus", "practice", "simulated", "imported", "last of the day", "next day",
    "excluded", "of an excluded person", "taken back",
}  # fmt: skip
EXCLUDED = {"excluded", "of an excluded person"}
CHOICES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ALL),
    ({"with_pilot": True}, ALL | {"pilot"}),
    ({"with_pilot": True, "status": "pilot"}, {"pilot"}),
    ({"status": "surplus"}, {"surplus"}),
    ({"kind": "practice"}, {"practice"}),
    ({"origin": "simulated"}, {"simulated"}),
    ({"origin": "imported"}, {"imported"}),
    ({"excluded": "out"}, ALL - EXCLUDED),
    ({"excluded": "only"}, EXCLUDED),
    ({"since": NEXT}, {"next day"}),
    ({"until": DAY}, ALL - {"next day", "imported"}),
    ({"since": DAY, "until": DAY, "status": "counted", "excluded": "out"},
     {"plain", "simulated", "last of the day", "taken back"}),
    ({"since": NEXT + timedelta(days=1)}, set()),
]  # fmt: skip


@pytest.mark.one_case
@pytest.mark.parametrize(("chosen", "wanted"), CHOICES, ids=[str(one) for one, _ in CHOICES])
def test_files_hold_the_rows_that_are_chosen_and_their_counts_agree(
    study: Study, answers: dict[str, Annotation], chosen: dict[str, Any], wanted: set[str]
) -> None:
    names = {str(one.key): name for name, one in answers.items()}
    counts = count_rows(study, Selection(**chosen))

    for file in ("ratings", "annotations"):
        rows = read(export(study, file, **chosen))
        assert {names[row["annotation"]] for row in rows} == wanted, file
        assert counts[file] == len(rows), file
    for file in ("participants", "items"):
        assert counts[file] == len(read(export(study, file, **chosen))), file


def test_running_numbers_do_not_depend_on_the_choice(
    study: Study, make_participant: Callable[..., Any]
) -> None:
    one, two = main_items(study)
    me = make_participant(study)
    annotate(study, me, one)
    annotate(study, me, two, status="surplus")

    [row] = read(export(study, "annotations", status="surplus"))

    assert row["trial"] == "2"


def test_participants_are_chosen_by_origin_and_exclusion_alone(
    study: Study, answers: dict[str, Annotation]
) -> None:
    simulated = answers["simulated"].participant.pseudonym
    excluded = answers["of an excluded person"].participant.pseudonym

    def people(**chosen: Any) -> list[str]:
        return [row["participant"] for row in read(export(study, "participants", **chosen))]

    assert people(origin="simulated", status="surplus", kind="gold") == [simulated]
    assert people(excluded="only") == [excluded]
    assert excluded not in people(excluded="out")


def test_name_of_the_file_says_what_is_chosen(study: Study) -> None:
    choice = Choice(
        file="ratings", is_workbook=True, status="counted", kind="main", origin="own",
        excluded="out", since=date(2026, 11, 1), until=date(2026, 11, 30),
    )  # fmt: skip

    assert name_file(study, choice) == (
        "restaurant-descriptions_ratings_counted_own_main_without-excluded_"
        "from-2026-11-01_until-2026-11-30.xlsx"
    )


# --- the page -----------------------------------------------------------------------------


def test_page_says_what_each_choice_is_of(staff_client: Client, study: Study) -> None:
    chosen = {"kind": "main", "origin": "own", "with_pilot": "on"}

    html = staff_client.get(reverse("admin:files-all", args=[study.pk]), chosen).content.decode()

    assert "<span>main items, origin own, pilot answers included</span>" in html


def test_page_counts_the_rows_that_are_chosen_and_hands_the_choice_on(
    staff_client: Client, study: Study, answers: dict[str, Annotation]
) -> None:
    chosen = {"status": "surplus", "until": DAY.isoformat()}

    page = staff_client.get(reverse("admin:files-all", args=[study.pk]), chosen)
    html = page.content.decode()
    hidden = {field.name: field.value() for field in page.context["form"]}
    response = staff_client.post(
        reverse("admin:export-file", args=[study.pk, "ratings"]),
        {name: value for name, value in hidden.items() if value},
    )

    assert f"<span>status surplus, until {DAY.isoformat()}</span>" in html
    assert '<input type="hidden" name="status" value="surplus">' in html
    assert "<p>3 rows</p>" in html
    assert len(read(response.getvalue())) == 3
    detail = AuditEntry.objects.get(action="data exported").detail
    assert (detail["status"], detail["until"]) == ("surplus", DAY.isoformat())
    last = staff_client.get(reverse("admin:files-all", args=[study.pk])).content.decode()
    assert f"ratings.csv, status surplus, until {DAY.isoformat()}" in last


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"status": "fine"}, "is not one of the available choices"),
        ({"since": "yesterday"}, "Enter a valid date"),
        ({"since": "2026-12-02", "until": "2026-12-01"}, "The first day is after the last."),
    ],
)
def test_choice_that_cannot_be_read_is_told_and_nothing_is_sent(
    staff_client: Client, study: Study, chosen: dict[str, str], told: str
) -> None:
    page = staff_client.get(reverse("admin:files-all", args=[study.pk]), chosen)
    response = staff_client.post(reverse("admin:export-file", args=[study.pk, "ratings"]), chosen)

    assert told in page.content.decode()
    assert response.status_code == 302
    told_then = staff_client.get(response["Location"]).content.decode()
    assert "That choice of rows can&#x27;t be read. Choose again." in told_then
    assert not AuditEntry.objects.filter(action="data exported").exists()
