"""A file that was uploaded before there is a study: what is found in it, and the study of it."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.urls import reverse

from evalsite.core.jobs.models import Job
from evalsite.core.jobs.services import report_progress, restart_job, start_job
from evalsite.data.importing import Report
from evalsite.data.items import importer, new_study
from evalsite.data.items.importer import ITEMS
from evalsite.data.items.new_study import create_study_from
from evalsite.data.items.open_inputs import find_kind
from evalsite.data.models import Upload
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import (
    begin_check,
    find_report,
    keep_upload,
    open_upload,
    prune_uploads,
    read_report,
)
from evalsite.instruments.installed import get_protocol
from evalsite.lib.clock import now
from evalsite.studies.instruments import import_instrument
from evalsite.studies.models import Batch, Item, Output, Study, System
from evalsite.studies.services import create_study
from tests.support.factories import make_user
from tests.support.instruments import read_instrument
from tests.support.queues import run_waiting_jobs
from tests.support.races import at_once

pytestmark = pytest.mark.django_db

TRANSLATIONS = """\
id,source,reference,system,translation,domain,comet
s1,Der Hund schläft.,The dog is sleeping.,alpha,The dog sleeps.,news,0.81
s1,Der Hund schläft.,The dog is sleeping.,beta,A dog is asleep.,news,0.79
s2,Es regnet heute.,It is raining today.,alpha,It rains today.,chat,0.92
s2,Es regnet heute.,It is raining today.,beta,Today it rains.,chat,0.90
"""
TURNS = [{"role": "user", "content": "Is it open?"}]
CHATS = "".join(
    json.dumps({"id": f"c{n}", "messages": TURNS, "model": model, "response": f"**Yes**, {model}."})
    + "\n"
    for n in (1, 2)
    for model in ("alpha", "beta")
)
TRIPLES = "A | capital | B\nA | founded | 1200"
DATA = json.dumps(
    [{"id": "d1", "data": TRIPLES, "alpha": "B is A's capital.", "beta": "A has B as its capital."}]
)
SOURCE = {"source": "source"}
ODD = """\
nr,die_frage,model,answer
1,Wie hoch ist der Turm?,alpha,90 Meter hoch.
2,Wer hat ihn gebaut?,alpha,Das weiß niemand.
"""


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def upload(text: str, file_name: str = "a.csv", by: Any = None) -> Upload:
    by = by or make_user()
    kept = keep_upload(study=None, file_name=file_name, chunks=[text.encode()], by=by)
    begin_check(kept, by=by)
    kept.refresh_from_db()
    return kept


def report_of(kept: Upload) -> Report:
    report = read_report(kept)
    assert report is not None
    return report


def inputs_of(text: str) -> dict[str, str]:
    summary = report_of(upload(text)).summary
    return {one["column"]: one["kind"] for one in summary["inputs"]}


def adopt(key: str, by: Any = None) -> Any:
    version, _ = import_instrument(data=read_instrument(key), by=by or make_user())
    return version


# --- what is found ------------------------------------------------------------------------


def test_inputs_and_systems_are_found_without_an_instrument() -> None:
    report = report_of(upload(TRANSLATIONS))

    assert report.is_importable
    assert inputs_of(TRANSLATIONS) == {"source": "text", "reference": "text"}
    assert report.summary["system_names"] == ["alpha", "beta"]
    assert (report.summary["groups"], report.summary["has_ids"]) == (2, True)
    assert report.mapping["translation"] == "output"
    assert report.kept == "Kept but not shown: comet (numbers); domain."


def test_the_first_inputs_are_listed_with_the_outputs_of_all_systems() -> None:
    first, second = report_of(upload(TRANSLATIONS)).summary["examples"]

    assert first["inputs"] == {
        "source": "Der Hund schläft.",
        "reference": "The dog is sleeping.",
    }
    assert first["outputs"] == [["alpha", "The dog sleeps."], ["beta", "A dog is asleep."]]
    assert second["key"] == "s2"


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        (CHATS, {"messages": "conversation"}),
        (DATA, {"data": "table"}),
        (ODD, {"die_frage": "text"}),
        ("prompt,alpha,beta\nWhat is it?,It is a tower.,It is a bridge.\n", {"prompt": "text"}),
        # what the names of columns don't show is asked
        ("what,alpha,beta\nWhat is it?,It is a tower.,It is a bridge.\n", {}),
    ],
)
def test_inputs_are_what_the_file_holds(text: str, inputs: dict[str, str]) -> None:
    assert inputs_of(text) == inputs


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["A text.", "Another: one."], "text"),
        (["# Heading\n\n- one\n- two", "A **word**."], "markdown"),
        ([json.dumps(TURNS)], "conversation"),
        ([TRIPLES], "table"),
        ([json.dumps([{"a": 1, "b": 2}])], "table"),
        (["A | capital | B"], "text"),
        (["[1, 2]"], "text"),
        (["[" * 2_000], "text"),
        ([""], "text"),
    ],
)
def test_kinds_are_told_by_the_texts(cells: list[str], kind: str) -> None:
    assert find_kind(cells) == kind


def test_what_outputs_are_is_measured() -> None:
    summary = report_of(upload(CHATS)).summary

    assert summary["markdown"] == 1
    assert summary["output_words"] == 2


def test_what_was_chosen_beats_every_guess_without_an_instrument() -> None:
    kept = upload(TRANSLATIONS)
    kept.mapping = FileMapping(fields={"source": "", "domain": "input_of_this_name"})
    kept.save(update_fields=["mapping"])

    begin_check(kept, by=None)

    names = [one["column"] for one in report_of(kept).summary["inputs"]]
    assert names == ["reference", "domain"]


def test_faults_and_questions_are_found_without_an_instrument() -> None:
    lost = report_of(upload(TRANSLATIONS.replace("A dog is asleep.", "")))
    text = TRANSLATIONS.replace("The dog sleeps.", "<think>Hm.</think>The dog sleeps.")
    asked = report_of(upload(text))

    assert [code for *_, code in lost.faults] == ["output_empty"]
    assert [one["key"] for one in asked.decisions] == ["outputs_reasoning"]


# --- making the study ---------------------------------------------------------------------


def test_a_study_is_made_with_all_items_under_the_instruments_names() -> None:
    kept, jane = upload(TRANSLATIONS), make_user()

    study = create_study_from(
        kept, by=jane, inputs={"document": "source"}, title="MT", instrument=adopt("summeval")
    )

    assert study is not None
    items = Item.objects.filter(study=study).main()
    assert items.count() == 4
    assert items.first().inputs == {"document": "Der Hund schläft."}
    # what the instrument doesn't show stays with the items
    assert items.first().extra["reference"] == "The dog is sleeping."
    assert Batch.objects.get().study == study
    assert study.seed == kept.seed
    kept.refresh_from_db()
    assert (kept.study, kept.batch) == (study, Batch.objects.get())
    assert kept.mapping.fields["source"] == "document"
    assert not kept.path.exists()


def test_two_clicks_make_one_study() -> None:
    kept, jane, version = upload(TRANSLATIONS), make_user(), adopt("da_sqm")
    same = Upload.objects.get(pk=kept.pk)

    first = create_study_from(kept, by=jane, inputs=SOURCE, title="MT", instrument=version)
    kept.path.write_bytes(TRANSLATIONS.encode())  # the second click had opened it already
    second = create_study_from(same, by=jane, inputs=SOURCE, title="MT", instrument=version)

    assert first == second
    assert Study.objects.count() == Batch.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_one_moment_make_one_study() -> None:
    kept, jane, version = upload(TRANSLATIONS), make_user(), adopt("da_sqm")
    kept.path.with_suffix(".copy").write_bytes(kept.path.read_bytes())

    def click() -> Any:
        return create_study_from(
            Upload.objects.get(pk=kept.pk), by=jane, inputs=SOURCE, title="MT", instrument=version
        )

    studies = at_once([click, click])

    assert studies[0] == studies[1]
    assert Study.objects.count() == Batch.objects.count() == 1
    assert Item.objects.main().count() == 4


def test_a_file_with_faults_makes_no_study_and_waits() -> None:
    kept = upload(TRANSLATIONS.replace("A dog is asleep.", ""))

    with pytest.raises(ValidationError) as refused:
        create_study_from(
            kept, by=make_user(), inputs=SOURCE, title="MT", instrument=adopt("da_sqm")
        )

    assert refused.value.messages[0].startswith("line 3")
    assert not Study.objects.exists()
    assert kept.path.exists()


def test_what_breaks_while_storing_leaves_no_study(monkeypatch: Any) -> None:
    kept, version = upload(TRANSLATIONS), adopt("da_sqm")

    def fail(*arguments: Any, **named: Any) -> None:
        raise OSError("The disk is full.")

    monkeypatch.setattr(ITEMS, "store", fail)
    with pytest.raises(OSError, match="full"):
        create_study_from(kept, by=make_user(), inputs=SOURCE, title="MT", instrument=version)

    kept.refresh_from_db()
    assert not Study.objects.exists()
    assert kept.study is None
    assert kept.path.exists()


def test_ids_of_practice_items_are_taken() -> None:
    assert get_protocol("magnitude").practice
    text = "item,mr,system1,output1,system2,output2,system3,output3\npractice-1,a,x,A,y,B,z,C\n"
    kept = upload(text)

    with pytest.raises(ValidationError):
        create_study_from(
            kept, by=make_user(), inputs={"mr": "mr"}, title="R", protocol="magnitude"
        )

    assert not Study.objects.exists()


def test_decisions_hold_for_the_study() -> None:
    kept = upload(TRANSLATIONS.replace("The dog sleeps.", "<think>Hm.</think>The dog sleeps."))
    kept.mapping = FileMapping(decisions={"outputs_reasoning": "leave-out"})
    kept.save(update_fields=["mapping"])
    begin_check(kept, by=None)

    create_study_from(kept, by=make_user(), inputs=SOURCE, title="MT", instrument=adopt("da_sqm"))

    texts = Output.objects.filter(item__kind="main").values_list("text", flat=True)
    assert "The dog sleeps." in texts


def test_the_mapping_serves_the_next_file_of_the_study() -> None:
    study = create_study_from(
        upload(ODD),
        by=make_user(),
        inputs={"prompt": "die_frage"},
        title="Q",
        instrument=adopt("helpsteer2"),
    )
    assert study is not None
    later = ODD.replace("alpha", "gamma").replace("1,", "3,").replace("2,", "4,")
    kept = keep_upload(study=study, file_name="b.csv", chunks=[later.encode()], by=make_user())

    begin_check(kept, by=None)

    assert kept.mapping.fields["die_frage"] == "prompt"
    assert report_of(kept).is_importable


def test_the_mapping_serves_the_next_file_of_the_same_person_before_there_is_a_study() -> None:
    jane, kim = make_user(), make_user("kim")
    kept = upload(TRANSLATIONS, by=jane)
    kept.mapping = kept.mapping.change(fields=report_of(kept).mapping | {"source": ""})
    kept.save(update_fields=["mapping"])

    later = upload(TRANSLATIONS.replace("s1", "s7"), "b.csv", by=jane)
    of_kim = upload(TRANSLATIONS, by=kim)

    assert later.mapping.fields["source"] == ""
    assert later.mapping.copied_from == "a.csv"
    assert of_kim.mapping == FileMapping()


def test_a_large_file_becomes_a_study_by_one_job(settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 1
    kept, jane, version = upload(TRANSLATIONS), make_user(), adopt("da_sqm")
    run_waiting_jobs()
    kept.refresh_from_db()

    for _ in range(2):
        assert (
            create_study_from(kept, by=jane, inputs=SOURCE, title="MT", instrument=version) is None
        )
    assert Job.objects.filter(kind=ITEMS.create_kind).count() == 1
    run_waiting_jobs()

    job = Job.objects.get(kind=ITEMS.create_kind)
    assert job.state == Job.State.DONE
    assert job.result == {"study": str(Study.objects.get().pk)}
    assert Item.objects.main().count() == 4
    assert System.objects.count() == 2


def test_a_large_study_whose_worker_was_killed_is_finished(settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 1
    kept, jane, version = upload(TRANSLATIONS), make_user(), adopt("da_sqm")
    run_waiting_jobs()
    kept.refresh_from_db()
    create_study_from(kept, by=jane, inputs=SOURCE, title="MT", instrument=version)
    study = create_study(by=jane, title="MT", instrument=version, seed=kept.seed)
    fields = kept.mapping.change(fields=report_of(kept).mapping | {"source": "source"})
    fields = fields.change(fields=fields.fields | {"reference": ""})
    Upload.objects.filter(pk=kept.pk).update(study=study, mapping=fields)

    run_waiting_jobs()

    assert Job.objects.get(kind=ITEMS.create_kind).state == Job.State.DONE
    assert Study.objects.get() == study
    assert Item.objects.main().filter(study=study).count() == 4


@pytest.mark.both_databases
def test_work_without_a_study_waits_once() -> None:
    first = start_job("check upload", study_id=None, by=None, subject="1")

    assert start_job("check upload", study_id=None, by=None, subject="1") == first
    assert start_job("check upload", study_id=None, by=None, subject="2") != first
    with pytest.raises(IntegrityError), transaction.atomic():
        Job.objects.create(kind="check upload", subject="1")


# --- whose it is, and for how long --------------------------------------------------------


def test_only_the_person_who_uploaded_a_file_opens_it() -> None:
    jane, kim = make_user(), make_user("kim")
    kept = upload(ODD, by=jane)

    assert open_upload(kept.pk, by=jane) == kept
    assert open_upload(kept.pk, by=kim) is None


def test_a_file_is_kept_for_a_day_after_it_was_last_opened(
    make_study: Callable[..., Any],
) -> None:
    jane = make_user()
    kept, left = upload(ODD, by=jane), upload(ODD, by=jane)
    with time_machine.travel(now() + timedelta(hours=20), tick=False):
        open_upload(kept.pk, by=jane)

    with time_machine.travel(now() + timedelta(hours=25), tick=False):
        prune_uploads()

    assert list(Upload.objects.values_list("pk", flat=True)) == [kept.pk]
    assert kept.path.exists()
    assert not left.path.exists()
    with time_machine.travel(now() + timedelta(hours=45), tick=False):
        prune_uploads()
    assert not Upload.objects.exists()


def test_a_file_with_faults_is_kept_as_long() -> None:
    kept = upload("item,system\n1,\n")

    with time_machine.travel(now() + timedelta(hours=23), tick=False):
        prune_uploads()

    assert kept.path.exists()
    assert find_report(kept).fault_count  # type: ignore[union-attr]


def test_files_without_a_study_count_as_those_of_their_person(settings: Any) -> None:
    settings.UPLOAD_PERSON_FILES = 1
    jane, kim = make_user(), make_user("kim")
    upload(ODD, by=jane)

    with pytest.raises(ValidationError) as refused:
        upload(ODD, by=jane)

    assert refused.value.code == "too_many_waiting"
    assert "New study" in refused.value.messages[0]
    upload(ODD, by=kim)
    with pytest.raises(ValueError, match="belongs"):
        keep_upload(study=None, file_name="a", chunks=[b"x"], by=None)


def test_a_study_hears_nothing_of_other_peoples_files(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0)
    upload(ODD)

    assert not study.uploads.exists()


def run_until(stops_at: int, monkeypatch: Any, error: Exception) -> None:
    """Work off the queue; the job fails once it has stored so many items."""

    def tell(job: Job, done: int, total: int) -> None:
        report_progress(job, done, total)
        if (done, total) == (stops_at, 4) and Job.objects.get(pk=job.pk).study_id:
            raise error

    monkeypatch.setattr(new_study, "report_progress", tell)
    run_waiting_jobs()


def begin_large(settings: Any) -> tuple[Upload, Any]:
    settings.UPLOAD_JOB_BYTES = 1
    kept, jane = upload(TRANSLATIONS), make_user()
    run_waiting_jobs()
    kept.refresh_from_db()
    create_study_from(kept, by=jane, inputs=SOURCE, title="MT", instrument=adopt("da_sqm"))
    return kept, jane


@pytest.mark.both_databases
def test_a_large_study_that_cannot_be_stored_is_removed_and_its_file_waits_as_before(
    settings: Any, monkeypatch: Any
) -> None:
    kept, jane = begin_large(settings)
    # each item in a transaction of its own
    monkeypatch.setattr(importer, "_ITEMS_AT_ONCE", 1)

    run_until(2, monkeypatch, ValidationError("The disk is full."))

    job = Job.objects.get(kind=ITEMS.create_kind)
    assert (job.state, job.message, job.study_id) == (Job.State.FAILED, "The disk is full.", None)
    assert not Study.objects.exists()
    assert not Item.all_objects.exists()
    assert not Batch.all_objects.exists()
    waits = Upload.objects.get(pk=kept.pk)
    assert (waits.study, waits.mapping) == (None, kept.mapping)
    monkeypatch.undo()
    settings.UPLOAD_JOB_BYTES = 1
    restart_job(job, by=jane)
    run_waiting_jobs()
    assert Item.objects.main().count() == 4


def test_items_page_shows_how_much_of_a_large_study_is_stored(
    settings: Any, monkeypatch: Any, client: Any
) -> None:
    _kept, jane = begin_large(settings)
    client.force_login(jane)
    monkeypatch.setattr(importer, "_ITEMS_AT_ONCE", 1)
    shown = []

    def look(job: Job, done: int, total: int) -> None:
        report_progress(job, done, total)
        if study := Study.objects.first():
            page = client.get(reverse("admin:batch-list", args=[study.pk])).text
            launch = client.get(reverse("admin:study-launch", args=[study.pk]))
            studies = client.get(reverse("admin:index")).text
            words = f"{done:,} of {total:,} items"
            shown.append((words in page, f"Storing {words}" in studies, launch.status_code))
            assert study.items.count() == len(study.config.practice)

    monkeypatch.setattr(new_study, "report_progress", look)
    run_waiting_jobs()

    assert shown == [(True, True, 200)] * 4
    assert "Storing" not in client.get(reverse("admin:index")).text
