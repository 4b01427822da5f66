"""Answers that may not be shared stay in the team's files, and out of a bundle to publish."""

import csv
import io
import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from evalsite.data.bundle import write
from evalsite.data.bundle.format import REPORT, STUDY, Contents
from evalsite.data.bundle.job import start_packing
from evalsite.data.bundle.restore import restore_bundle
from evalsite.handout.models import Annotation, Slot
from evalsite.people.models import Participant
from evalsite.results.document.text import render_text
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.report.bundled import compute_report as compute_bundled
from evalsite.results.report.computation import compute_report
from tests.support.bundles import (
    change,
    close,
    examine,
    make_full_study,
    pack,
    read_files,
    run_here,
)
from tests.support.factories import make_annotator, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)

FILES = ("participants", "ratings", "annotations")


@cache
def pack_shared() -> SimpleNamespace:
    """The bundles of a study in which one person doesn't share: made once, and rolled back.

    That person has answers, and one of the two reports for which an item is held.
    """
    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(write, "run_child", run_here)
        bonus = {"bonus": "2.00", "max_sets": 2, "set_size": 2}
        study = close(make_full_study("fluency", asks_to_share=True, **bonus))
        counted = Annotation.objects.filter(study=study, status="counted")
        item = counted.order_by("-id")[0].item
        answers = list(item.annotations.exclude(participant__withdrawn_at__isnull=False))
        assert len(answers) > 1
        for answer in answers:
            for rows in (answer.ratings, answer.revisions):
                rows.all().delete()
        reported = {"outcome": "reported", "reason": "missing", "note": "", "slot": None}
        item.annotations.filter(pk__in=[one.pk for one in answers]).update(
            status="surplus", **reported
        )
        Slot.objects.filter(item=item).update(state=0, participant=None, kept_until=None)
        item.held_at = study.closed_at
        item.save()
        person = answers[0].participant
        Participant.objects.filter(pk=person.pk).update(may_share=False)
        # somebody who arrived, and has shared nothing because they did nothing
        unasked = study.participants.filter(may_share=None, is_pilot=False).count()
        report = compute_report(study)
        found = SimpleNamespace(
            pseudonym=person.pseudonym,
            people=1 + unasked,
            asked=study.participants.filter(may_share__isnull=False, is_pilot=False).count(),
            answers=Annotation.objects.agreed().filter(participant=person).count(),
            sharing=report.content["sharing"],
            sheet=" ".join(render_text(make_datasheet(study, report)).split()),
            team=pack(study),
            public=pack(study, is_public=True, has_entry_answers=False),
        )
        transaction.set_rollback(True)
    return found


def read_table(bundle: bytes, name: str) -> list[dict[str, str]]:
    text = read_files(bundle)[f"data/{name}.csv"].decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.slow
def test_column_is_last_in_the_files_of_people() -> None:
    shared = pack_shared()

    for name in FILES:
        rows = read_table(shared.team, name)
        own = [column for column in rows[0] if column not in ("item_no", "group_no")]
        assert own[-1] == "may_share", name
        if name in ("participants", "annotations"):
            said = {row["participant"]: row["may_share"] for row in rows}
            assert said.pop(shared.pseudonym) == "no", name
            assert "yes" in said.values(), name
    assert "may_share" not in read_table(shared.team, "items")[0]
    assert b"ratings.csv,may_share," in read_files(shared.team)["codebook.csv"]
    assert "left_out" not in json.loads(read_files(shared.team)[STUDY])


def test_files_of_a_study_that_asks_nobody_are_as_they_were() -> None:
    files = read_files(pack(make_study()))

    assert b"may_share" not in files["codebook.csv"]
    assert b"asks_to_share" not in files[STUDY]


def test_bundle_to_publish_lacks_who_does_not_share_says_so_and_verifies() -> None:
    shared = pack_shared()
    files = read_files(shared.public)

    report = examine(shared.public)

    name = shared.pseudonym.encode()
    left_out = {"participants": shared.people, "annotations": shared.answers}
    assert shared.answers
    assert [file for file, data in files.items() if name in data] == []
    assert json.loads(files[STUDY])["left_out"] == left_out
    assert f"{shared.answers} annotation".encode() in files["README.md"]
    assert report.faults == []
    assert any("left out" in remark for remark in report.remarks)


def test_count_that_cannot_be_is_found() -> None:
    edit = lambda about: about["left_out"].update(participants=-1)  # noqa: E731

    report = examine(change(pack_shared().public, STUDY, edit))

    assert report.codes == ["study_invalid"]


@pytest.mark.slow
@pytest.mark.usefixtures("checks_here")
def test_public_bundle_is_loaded_elsewhere_as_a_study_of_those_who_share() -> None:
    shared = pack_shared()

    made = restore_bundle(
        file=io.BytesIO(shared.public), owner=make_user("new"), by=None, is_copy=True
    )

    assert made.study.asks_to_share
    assert set(made.study.participants.values_list("may_share", flat=True)) == {True}
    assert any("left out" in remark for remark in made.remarks)


def test_report_and_datasheet_count_who_does_not_share() -> None:
    shared = pack_shared()

    assert shared.sharing == {"asked": shared.asked, "not_sharing": 1}
    said = f"1 of {shared.asked} participants didn’t agree to have their answers published"
    assert said in shared.sheet


def test_report_of_a_bundle_to_publish_is_computed_from_those_who_share() -> None:
    shared = pack_shared()
    team, public = (json.loads(read_files(one)[REPORT]) for one in (shared.team, shared.public))

    def find(kept: Any, name: str) -> list[float]:
        return [one["value"] for one in kept["figures"] if one["name"] == name]

    rows = read_table(shared.public, "ratings")
    people = {row["participant"] for row in rows if row["status"] == "counted"}
    assert find(public, "people_not_sharing") == [shared.people]
    assert max(find(public, "people")) <= len(people)
    assert find(public, "answers_in")[0] < find(team, "answers_in")[0]
    report = examine(shared.public)
    assert report.faults == []
    assert "Every figure of its report, computed again." in report.checks
    # nor in the report that begins the README
    assert not [remark for remark in report.remarks if "README.md" in remark]


def test_page_and_command_offer_a_bundle_to_publish(
    staff_client: Client, researcher: Any, tmp_path: Any
) -> None:
    study = make_study(asks_to_share=True, by=researcher)
    person = make_annotator(study)
    Participant.objects.filter(pk=person.pk).update(may_share=False)
    target = tmp_path / "public.zip"

    page = staff_client.get(reverse("admin:export-bundle", args=[study.pk]))
    job = start_packing(study, Contents(is_public=True, has_entry_answers=False), by=None)
    call_command("export_bundle", str(study.pk), "--public", "-o", str(target))

    assert page.context["form"].initial == {"contents": "public"}
    assert "leaves out 1 person who took part" in page.text
    assert job.subject == "data to publish"
    counts = json.loads(read_files(target.read_bytes())[STUDY])["left_out"]
    assert counts == {"participants": 1, "annotations": 0}


@pytest.mark.slow
def test_report_names_the_pairs_of_which_everybody_says_otherwise() -> None:
    study = close(make_full_study("magnitude"))
    basis = {"made_at": study.closed_at.isoformat(), "ratings_sha256": "0", "not_sharing": 2}
    team = compute_bundled(study, basis).computed
    pair = team["criteria"][0]["pairs"][0]
    pair["finding"]["code"] = "another"

    report = compute_bundled(study, basis, team)

    expected = [team["criteria"][0]["key"], pair["system_1"], pair["system_2"]]
    assert report.figures["basis"]["differing"] == [expected]
    assert "With the answers of people who don’t share them, the finding is another" in report.text
