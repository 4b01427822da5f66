"""Importing a checked file: once, whole, and undone only while nobody has seen it."""

import io
import threading
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.utils import timezone

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import Job
from evalsite.data.items.importer import (
    check_open_for_items,
    find_same_file,
    import_batch,
    import_file,
    undo_batch,
)
from evalsite.data.uploads import keep_upload
from evalsite.handout.claims import deal_pilot_set
from evalsite.handout.models import Annotation, Draft
from evalsite.instruments.installed import find_folder
from evalsite.studies.models import Batch, Item
from tests.support.checking import check_file
from tests.support.factories import answer_item, launch, make_annotator
from tests.support.uploads import GOOD


@pytest.fixture
def study(make_study: Callable[..., Any]) -> Any:
    return make_study(items=0)


def load(study: Any, content: str = GOOD, sha256: str = "1", **fields: Any) -> Batch:
    checked = check_file(io.BytesIO(content.encode()), study=study)
    return import_batch(
        study=study, checked=checked, file_name="a.csv", sha256=sha256, by=None, **fields
    )


def test_batch_holds_what_the_file_holds(study: Any) -> None:
    text = 'He said "no",\r\n<b>twice</b> – e\u0301'
    content = GOOD.replace("One.", '"' + text.replace('"', '""') + '"')

    batch = load(study, content)

    item = batch.items.get()  # type: ignore[attr-defined]
    assert (batch.rows, item.key, item.inputs) == (3, "m1", {"mr": "name[A]"})
    assert [(one.position, one.system.name, one.text) for one in item.outputs.all()] == [
        (0, "alpha", text),
        (1, "beta", "Two."),
        (2, "gamma", "Three."),
    ]
    assert AuditEntry.objects.filter(study_id=study.pk, action="batch imported").count() == 1


def test_bad_17_same_file_again_changes_nothing(study: Any) -> None:
    first = load(study)

    again = load(study)

    assert again == first
    assert Item.objects.filter(batch__isnull=False).count() == 1
    assert AuditEntry.objects.filter(action="batch imported").count() == 1


def test_file_with_a_fault_is_refused_whole(study: Any) -> None:
    with pytest.raises(ValidationError, match="nothing was imported"):
        load(study, GOOD + "m2,name[B],alpha,Four.\n")

    assert not Batch.objects.exists()
    assert not Item.objects.filter(batch__isnull=False).exists()


def test_systems_of_several_batches_are_the_same(study: Any) -> None:
    load(study)
    load(study, GOOD.replace("m1", "m2"), "2")

    assert study.systems.count() == 3


@pytest.mark.both_databases
def test_bad_38_failure_half_way_leaves_nothing(study: Any, monkeypatch: Any) -> None:
    def break_off(*args: Any, **kwargs: Any) -> None:
        # all is stored by now but what the log says
        assert Item.objects.filter(batch__isnull=False).count() == 1
        raise ConnectionError

    monkeypatch.setattr(type(AuditEntry.objects), "record", break_off)

    with pytest.raises(ConnectionError):
        load(study)

    assert not Batch.objects.exists()
    assert not study.systems.exists()
    assert not Item.objects.filter(batch__isnull=False).exists()


def test_rows_that_wait_for_an_import_are_gone_after_it(study: Any) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("Only on SQLite rows wait in temporary tables.")
    checked = check_file(io.BytesIO(GOOD.encode()), study=study)
    load(study, GOOD.replace("One.", "Other."), "2")
    with pytest.raises(ValidationError, match="has changed since"):
        import_batch(study=study, checked=checked, file_name="a.csv", sha256="1", by=None)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM temp.sqlite_master")
        assert cursor.fetchone() == (0,)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_newcomers_of_the_study_do_not_wait_for_an_import(make_study: Callable[..., Any]) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one lock for all who write, whatever they write.")
    study = make_study(items=0)

    def come() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '5s'")
        study.participants.create()
        connection.close()

    with transaction.atomic():
        check_open_for_items(study)
        newcomer = threading.Thread(target=come)
        newcomer.start()
        newcomer.join()
        assert study.participants.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_bad_38_two_clicks_at_once_make_one_batch(make_study: Callable[..., Any]) -> None:
    study = make_study(items=0)
    content = GOOD + "".join(
        f"n{n},name[A],{name},Text.\n" for n in range(200) for name in ("alpha", "beta", "gamma")
    )
    found: list[Batch] = []

    def click() -> None:
        found.append(load(study, content))
        connection.close()

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == 1
    assert Batch.objects.filter(study=study).count() == 1
    assert Item.objects.filter(batch__isnull=False).count() == 201


def test_batch_of_an_upload_is_told_to_the_upload(study: Any) -> None:
    upload = keep_upload(study=study, file_name="a.csv", chunks=[GOOD.encode()], by=None)

    batch = load(study, upload_key=upload.pk)

    upload.refresh_from_db()
    assert upload.batch == batch


@pytest.mark.both_databases
def test_ids_taken_since_the_check_refuse_the_file(study: Any) -> None:
    checked = check_file(io.BytesIO(GOOD.encode()), study=study)
    load(study, GOOD.replace("One.", "Other."), "2")

    with pytest.raises(ValidationError, match="has changed since"):
        import_batch(study=study, checked=checked, file_name="a.csv", sha256="1", by=None)

    assert Batch.objects.count() == 1


def test_closed_study_takes_no_items(make_study: Callable[..., Any]) -> None:
    study = launch(make_study(items=1))
    type(study).objects.filter(pk=study.pk).update(state="closed", closed_at=timezone.now())

    with pytest.raises(ValidationError, match="Make a new study"):
        load(study)


def test_archived_draft_takes_no_items(study: Any) -> None:
    type(study).objects.filter(pk=study.pk).update(state="archived")

    with pytest.raises(ValidationError, match="Make a new study"):
        load(study)


def test_study_in_the_middle_of_its_launch_takes_and_gives_no_items(study: Any) -> None:
    batch = load(study)
    Job.objects.create(study_id=study.pk, kind="launch")

    with pytest.raises(ValidationError, match="being launched"):
        load(study, GOOD.replace("m1", "m2"), "2")
    with pytest.raises(ValidationError, match="being launched"):
        undo_batch(batch=batch, by=None)


# --- undo -----------------------------------------------------------------------------


@pytest.mark.both_databases
def test_undone_batch_leaves_nothing_but_the_log(study: Any) -> None:
    practice = study.items.count()
    batch = load(study)

    undo_batch(batch=batch, by=None)

    assert study.items.count() == practice
    assert not study.systems.exists()
    assert find_same_file(study, "1") is None
    assert AuditEntry.objects.filter(study_id=study.pk, action="batch undone").count() == 1


def test_systems_that_other_batches_need_survive_an_undo(study: Any) -> None:
    batch = load(study)
    load(study, GOOD.replace("m1", "m2").replace("gamma", "delta"), "2")

    undo_batch(batch=batch, by=None)

    assert {system.name for system in study.systems.all()} == {"alpha", "beta", "delta"}


def test_open_batch_cannot_be_undone(study: Any) -> None:
    batch = load(study)
    Batch.objects.update(opened_at=timezone.now())

    with pytest.raises(ValidationError, match="open to people"):
        undo_batch(batch=batch, by=None)

    assert batch.items.exists()  # type: ignore[attr-defined]


def test_batch_that_somebody_works_on_cannot_be_undone(
    study: Any, make_participant: Callable[..., Any]
) -> None:
    batch = load(study)
    item = batch.items.get()  # type: ignore[attr-defined]
    Draft.objects.create(study=study, item=item, participant=make_participant(study))

    with pytest.raises(ValidationError, match="worked on its items"):
        undo_batch(batch=batch, by=None)


def test_pilot_answers_go_with_a_batch_that_is_undone(study: Any) -> None:
    batch = load(study)
    me = make_annotator(study, is_pilot=True)
    item_set = deal_pilot_set(me)
    item = batch.items.get()  # type: ignore[attr-defined]
    answer_item(me, item, item_set=item_set)
    Draft.objects.create(study=study, item=item, participant=me)

    undo_batch(batch=batch, by=None)

    assert not Annotation.objects.filter(item__kind="main").exists()
    assert not study.item_sets.exists()
    assert AuditEntry.objects.get(action="batch undone").detail["pilot_answers"] == 1


# --- the command ------------------------------------------------------------------------


def test_command_imports_a_file_and_knows_it_again(study: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", StringIO()
    path.write_text(GOOD.replace("output", "a=b"), encoding="utf-8")

    for _ in range(2):
        call_command("import_batch", str(study.pk), str(path), "--map", "a=b=output", stdout=out)

    assert out.getvalue().splitlines() == [
        "Imported 3 rows as 1 item.",
        "Systems: alpha, beta, gamma.",
        "Already uploaded as a.csv, 0 new.",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{study}", "{path}"], r"line 4 \(record 3\), output: The output is empty"),
        (["{study}", "{path}", "--map", "output"], "write output=FIELD"),
        (["{study}", "no-such-file.csv"], "There is no file"),
        (["no-study", "{path}"], "There is no study"),
    ],
)
def test_command_says_what_to_correct(
    study: Any, tmp_path: Path, arguments: list[str], words: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(GOOD.replace("Three.", ""), encoding="utf-8")

    with pytest.raises(CommandError, match=words):
        call_command("import_batch", *(one.format(study=study.pk, path=path) for one in arguments))


def test_command_takes_more_rows_than_a_page_if_told_so(
    study: Any, tmp_path: Path, settings: Any
) -> None:
    settings.UPLOAD_MAX_ROWS = 2
    path = tmp_path / "a.csv"
    path.write_text(GOOD, encoding="utf-8")

    with pytest.raises(CommandError, match="more than 2 rows"):
        call_command("import_batch", str(study.pk), str(path))
    call_command("import_batch", str(study.pk), str(path), "--no-limit", stdout=StringIO())

    assert Batch.objects.get().rows == 3


def test_command_lists_all_faults_in_a_file_and_tells_by_its_code(
    study: Any, tmp_path: Path
) -> None:
    path, faults = tmp_path / "a.csv", tmp_path / "faults.csv"
    rows = "".join(f"n{n},name[A],{name},\n" for n in range(50) for name in ("alpha", "beta", "c"))
    path.write_text(GOOD + rows, encoding="utf-8")

    with pytest.raises(CommandError, match="lines 5, 6 and 148 more, output: The ") as refused:
        call_command("import_batch", str(study.pk), str(path), "--faults", str(faults))
    with pytest.raises(CommandError) as unknown:
        call_command("import_batch", "no-study", str(path))

    assert len(faults.read_text().splitlines()) == 151
    assert (refused.value.returncode, unknown.value.returncode) == (1, 2)


def test_command_can_check_a_file_and_import_nothing(study: Any, tmp_path: Path) -> None:
    path, out = tmp_path / "a.csv", StringIO()
    path.write_text(GOOD.replace("One.", "Two."), encoding="utf-8")

    call_command("import_batch", str(study.pk), str(path), "--check", stdout=out)

    first, last = out.getvalue().splitlines()
    assert first.startswith(
        "Worth a look: Items in which two systems gave the same text (1 found)."
    )
    assert last.startswith("3 rows, 1 item, no faults. Nothing was imported")
    assert not Batch.objects.exists()


def test_protocols_example_batch_can_be_imported(study: Any, researcher: Any) -> None:
    batch = import_file(study=study, path=find_folder(study.protocol).example_batch, by=researcher)

    assert batch.items.count() >= 36  # type: ignore[attr-defined]
    assert batch.uploaded_by == researcher


# --- a wrong --map ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (["mr"], "FIELD is one of item, group"),
        (["mr=foo"], "(?s)no field “foo”.*item, group"),
        (["TGen=output"], "The file's columns are: item, mr, system, output"),
        (["mr=group", "mr=group"], "“mr” is mapped already"),
        (["mr=kind", "item=kind"], "another column is mapped to “kind”"),
        (["mr=foo", "TGen="], "(?s)no field “foo”.*no column “TGen”"),
    ],
)
@pytest.mark.parametrize("is_there", [False, True])
def test_wrong_map_is_refused_also_for_a_file_that_is_a_batch_already(
    study: Any, tmp_path: Path, maps: list[str], words: str, is_there: bool
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(GOOD, encoding="utf-8")
    if is_there:
        call_command("import_batch", str(study.pk), str(path), stdout=StringIO())

    with pytest.raises(CommandError, match=words):
        call_command("import_batch", str(study.pk), str(path), *(f"--map={one}" for one in maps))

    assert study.batches.count() == is_there
