"""Answers that may not be shared stay in the team's files, and out of a bundle to publish."""

import csv
import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsite.annotation.models import Annotation
from evalsite.exports.bundle.format import REPORT, STUDY, Contents
from evalsite.exports.bundle.job import start_packing
from evalsite.exports.bundle.restore import restore_bundle
from evalsite.participants.models import Participant
from evalsite.results.report.computation import compute_report
from evalsite.results.report.datasheet import fill_datasheet, write_markdown
from evalsite.studies.models import Study
from tests.support.bundles import change, close, examine, make_full_study, pack, read_files
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)


def make_shared(protocol: str = "fluency", **fields: Any) -> tuple[Study, Participant]:
    """A study with one who doesn't share: somebody with answers, an exclusion and a bonus."""
    study = close(make_full_study(protocol, asks_to_share=True, **fields))
    counted = Annotation.objects.filter(study=study, status="counted").order_by("-id")
    person = counted[0].participant
    Participant.objects.filter(pk=person.pk).update(may_share=False)
    return study, person


def read_table(files: dict[str, bytes], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[f"data/{name}.csv"].decode(), newline="")))


def test_column_is_last_in_the_files_of_people_and_only_where_they_are_asked() -> None:
    study, person = make_shared()
    files = read_files(pack(study))
    unasked = read_files(pack(make_full_study("fluency")))

    for name in ("participants", "ratings", "ratings_wide", "annotations"):
        rows = read_table(files, name)
        said = {row["participant"]: row["may_share"] for row in rows}
        assert [*rows[0]][-1] == "may_share", name
        assert said.pop(person.pseudonym) == "no", name
        assert "yes" in said.values(), name
        assert "may_share" not in read_table(unasked, name)[0], name
    assert "may_share" not in read_table(files, "items")[0]
    assert b"ratings.csv,may_share," in files["codebook.csv"]
    assert "left_out" not in json.loads(files[STUDY])


@pytest.mark.parametrize("protocol", ["fluency", "pairwise"])
def test_bundle_to_publish_lacks_them_says_so_and_verifies(protocol: str) -> None:
    study, person = make_shared(protocol)
    answers = Annotation.objects.agreed().filter(study=study, participant=person).count()

    bundle = pack(study, is_public=True, has_entry_answers=False)
    files = read_files(bundle)
    report = examine(bundle)

    name = person.pseudonym.encode()
    assert answers
    assert [file for file, data in files.items() if name in data] == []
    assert json.loads(files[STUDY])["left_out"] == {"participants": 1, "annotations": answers}
    assert f"**1 participant with {answers} annotation".encode() in files["README.md"]
    assert report.faults == []
    assert any("1 participant with" in remark for remark in report.remarks)


def test_held_items_and_bonuses_that_rest_on_others_are_no_faults() -> None:
    study, person = make_shared("magnitude", max_sets=2, set_size=2, has_bonus=True)
    answer = Annotation.objects.filter(participant=person, status="counted")[0]
    other = Annotation.objects.filter(item=answer.item).exclude(participant=person)[0]
    for one in (answer, other):
        one.ratings.all().delete()
        one.highlights.all().delete()
    Annotation.objects.filter(pk__in=[answer.pk, other.pk]).update(
        outcome="reported", status="surplus", slot=None, reason="missing"
    )
    item = answer.item
    item.held_at = study.closed_at
    item.save()
    for slot in item.slots.all():
        slot.state, slot.participant = 0, None
        slot.save()
    Annotation.objects.filter(item=item, status="counted").update(status="surplus", slot=None)

    bundle = pack(study, is_public=True, has_entry_answers=False)

    assert examine(bundle).faults == []


def test_bundle_whose_count_was_changed_or_whose_people_were_is_refused() -> None:
    study, _ = make_shared()
    bundle = pack(study, is_public=True, has_entry_answers=False)

    negative = change(bundle, STUDY, lambda about: about["left_out"].update(participants=-1))
    unshared = change(
        bundle, "records/participants.jsonl", lambda rows: rows[0].update(may_share=False)
    )

    assert examine(negative).codes == ["study_invalid"]
    assert examine(unshared).faults


def test_public_bundle_is_loaded_elsewhere_as_a_study_of_those_who_share() -> None:
    study, _ = make_shared()
    bundle = pack(study, is_public=True, has_entry_answers=False)
    people = study.participants.filter(is_pilot=False, may_share=True).count()

    made = restore_bundle(file=io.BytesIO(bundle), owner=make_user("new"), by=None, is_copy=True)

    assert made.study.asks_to_share
    assert made.study.participants.count() == people
    assert any("left out" in remark for remark in made.remarks)


def test_report_and_datasheet_count_who_does_not_share() -> None:
    study, _ = make_shared()
    report = compute_report(study)
    asked = study.participants.filter(may_share__isnull=False, is_pilot=False).count()

    sheet = " ".join(write_markdown(fill_datasheet(study, report)).split())

    assert report.content["sharing"] == {"asked": asked, "not_sharing": 1}
    assert f"1 of {asked} participants did not agree that their answers are published" in sheet
    # its figures rest on everybody
    assert REPORT in read_files(pack(study))
    assert REPORT not in read_files(pack(study, is_public=True))


def test_page_offers_a_bundle_to_publish_with_how_many_it_lacks(
    staff_client: Client, researcher: Any, tmp_path: Any
) -> None:
    study, _ = make_shared(by=researcher)

    page = staff_client.get(reverse("admin:export-bundle", args=[study.pk])).text
    job = start_packing(study, Contents(is_public=True, has_entry_answers=False), by=None)
    call_command("export_bundle", str(study.pk), "--public", "-o", str(tmp_path / "public.zip"))

    assert 'value="public" checked' in page
    assert "leaves out 1 person who took part" in page
    assert job.subject == "data to publish"
    assert b'"left_out"' in read_files((tmp_path / "public.zip").read_bytes())[STUDY]
