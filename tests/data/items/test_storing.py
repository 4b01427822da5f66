"""Items are stored in portions that nothing shows, and shown by one update; kill -9 leaves none."""

import io
import os
import re
import signal
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.core.jobs.models import STALE_AFTER
from evalsite.data.fsck import find_breaches
from evalsite.data.importing import insert_rows
from evalsite.data.items import importer
from evalsite.data.items.importer import import_batch, prune_batches, undo_batch
from evalsite.data.models import MetricScore
from evalsite.data.study_deletion import why_kept
from evalsite.fieldwork.launch import launch_study
from evalsite.lib.clock import now
from evalsite.studies.items import ItemNumbers, item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support import keep
from tests.support.checking import check_file
from tests.support.factories import launch, make_study

SYSTEMS = ("alpha", "beta", "gamma")
ITEMS = 5
HOSTILE = [
    "N", '"', "\\N", "\\.", "a\\tb", "a\tb", "1\n2\r\n3\r", "\\", "\\\\n", "“é”\u2028 😀", "%s",
    "%", "?", "'; --",
]  # fmt: skip


def write_file(items: int = ITEMS, prefix: str = "n", systems: tuple[str, ...] = SYSTEMS) -> str:
    rows = (
        f"{prefix}{number},name[A],{system},Text {number} of {system}.\n"
        for number in range(items)
        for system in systems
    )
    return "".join(["item,mr,system,output\n", *rows])


def load(study: Study, content: str = "", sha256: str = "1") -> Batch:
    checked = check_file(io.BytesIO((content or write_file()).encode()), study=study)
    assert [str(fault) for fault in checked.faults] == []
    return import_batch(study=study, checked=checked, file_name="a.csv", sha256=sha256, by=None)


@pytest.fixture(autouse=True)
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five items are stored in three transactions."""
    monkeypatch.setattr(importer, "_ITEMS_AT_ONCE", 2)


@pytest.fixture
def study() -> Study:
    return make_study(items=0)


def die(*args: Any, **fields: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(call: int) -> Callable[..., Any]:
    """Return an `insert_rows` that kills its process instead of inserting for the n-th time."""
    calls = iter(range(1, call + 1))
    return lambda *args: die() if next(calls) == call else insert_rows(*args)


def kill_in(act: Callable[[], Any]) -> None:
    """Run this in a process of its own, which is killed in the middle of it."""
    connections.close_all()
    pid = os.fork()
    if not pid:
        try:
            act()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def count_rows(study: Study) -> dict[str, int]:
    """Count whatever is in the database, shown or not."""
    return {
        "batches": Batch.all_objects.filter(study=study).count(),
        "items": Item.all_objects.filter(study=study, batch__isnull=False).count(),
        "outputs": Output.objects.filter(study=study, item__batch__isnull=False).count(),
        "systems": System.all_objects.filter(study=study).count(),
    }


NOTHING = {"batches": 0, "items": 0, "outputs": 0, "systems": 0}
ALL = {"batches": 1, "items": ITEMS, "outputs": 3 * ITEMS, "systems": 3}


def count_shown(study: Study) -> dict[str, int]:
    return {
        "batches": study.batches.count(),
        "items": study.items.filter(batch__isnull=False).count(),
        "outputs": Output.objects.stored().filter(study=study, item__batch__isnull=False).count(),
        "systems": study.systems.count(),
    }


# --- killed ---------------------------------------------------------------------------------

MOMENTS = {
    # what is stored by then, in transactions that were committed
    "before the first item": (1, 0),
    "between items and outputs": (2, 0),
    "in the second transaction": (3, 2),
    "in the last transaction": (6, 4),
}


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", MOMENTS)
def test_import_that_is_killed_shows_nothing_and_can_be_done_again(
    study: Study, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    call, stored = MOMENTS[moment]

    with monkeypatch.context() as patched:
        patched.setattr(importer, "insert_rows", die_at(call))
        kill_in(lambda: load(study))

    assert count_rows(study)["items"] == stored
    assert count_shown(study) == NOTHING
    assert not AuditEntry.objects.filter(study_id=study.pk, action="batch imported").exists()

    load(study)

    assert count_rows(study) == count_shown(study) == ALL


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_import_that_is_killed_before_its_last_commit_shows_nothing(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(type(AuditEntry.objects), "record", die)
        kill_in(lambda: load(study))

    assert count_rows(study) == ALL
    assert count_shown(study) == NOTHING

    load(study)

    assert count_rows(study) == count_shown(study) == ALL


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_worker_deletes_what_a_killed_import_left(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(importer, "insert_rows", die_at(5))
        kill_in(lambda: load(study))
    prune_batches()
    early = count_rows(study)

    with time_machine.travel(now() + STALE_AFTER + timedelta(seconds=1)):
        prune_batches()

    assert early == {"batches": 1, "items": 4, "outputs": 12, "systems": 3}
    assert count_rows(study) == NOTHING


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_undo_that_is_killed_has_hidden_everything(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = load(study)
    portions = iter([importer._delete_portion])

    with monkeypatch.context() as patched:
        patched.setattr(importer, "_delete_portion", lambda batch: next(portions, die)(batch))
        kill_in(lambda: undo_batch(batch=batch, by=None))

    assert count_rows(study)["items"] == ITEMS - 2
    assert count_shown(study) == NOTHING

    prune_batches()

    assert count_rows(study) == NOTHING


# --- hidden ---------------------------------------------------------------------------------


def break_off(study: Study, content: str = "", sha256: str = "2") -> None:
    """Leave what an import leaves that is killed when all is stored, and nothing shown."""

    class Killed(Exception):
        """Stands in for kill -9, after which nothing is done."""

    def stop(*args: Any, **fields: Any) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(importer, "_clear", lambda batch: None)
        patched.setattr(importer, "_show", stop)
        with pytest.raises(Killed):
            load(study, content, sha256)


def look(study: Study, client: Client, folder: Path) -> dict[str, bytes]:
    """Return all files and pages of the study by name."""
    keep.keep_files(study, folder / "study")
    start = reverse("admin:study-overview", args=[study.pk])
    keep.keep_staff_pages(client, start, folder, {str(study.pk): "study"})
    for number, address in enumerate(
        [
            reverse("admin:metrics-template", args=[study.pk]),
            *(reverse(f"admin:studies_{name}_changelist") for name in ("batch", "item", "output")),
        ]
    ):
        page = keep.PageText(client.get(address).getvalue().decode())
        (folder / f"{number}").write_text(page.text)
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.django_db
def test_no_page_and_no_file_shows_what_is_being_stored(
    study: Study, admin_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "MOST_OF_A_KIND", 1)
    monkeypatch.setattr(keep, "LEFT_OUT", re.compile(f"^(?!.*{study.pk})"))
    with time_machine.travel(now(), tick=False):
        load(study)
        launch(study)
        before = look(study, admin_client, tmp_path / "before")
        break_off(study, write_file(7, "later", ("alpha", "beta", "delta")))
        after = look(study, admin_client, tmp_path / "after")

    assert count_rows(study)["items"] == ITEMS + 7
    assert find_breaches(study) == []
    assert len(before) > 150
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []


@pytest.mark.django_db
def test_scores_vanish_with_their_outputs(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = load(study)
    file = study.metric_files.create(file_name="m.csv", sha256="1")
    for output in Output.objects.filter(item__batch=batch):
        file.scores.create(output=output, metric="BLEU", value=1)
    monkeypatch.setattr(importer, "_delete", lambda batch: None)

    undo_batch(batch=batch, by=None)

    assert MetricScore.objects.filter(file__study=study).count() == 0
    assert MetricScore.all_objects.filter(file__study=study).count() == 3 * ITEMS

    monkeypatch.undo()
    prune_batches()

    assert MetricScore.all_objects.filter(file__study=study).count() == 0
    assert study.metric_files.count() == 0


@pytest.mark.django_db
def test_study_is_not_launched_or_deleted_while_a_file_is_stored(study: Study) -> None:
    by = study.memberships.get().user
    break_off(study)

    with pytest.raises(ValidationError, match="is being imported just now"):
        launch_study(study=study, by=by)
    assert "being imported" in why_kept(study)

    with (
        time_machine.travel(now() + STALE_AFTER + timedelta(seconds=1)),
        pytest.raises(ValidationError) as refused,
    ):
        launch_study(study=study, by=by)
    assert "is being imported just now" not in str(refused.value)


@pytest.mark.django_db
def test_numbers_of_items_stay_when_a_file_is_stored_or_given_up(study: Study) -> None:
    load(study)
    practice = Item.objects.filter(study=study, batch=None).count()
    break_off(study, write_file(3, "broken"))
    check = Item.objects.create(study=study, **item_keys(study, key="check-1", group="check"))

    def find_number() -> str:
        return ItemNumbers(study).find(check.pk)[0]

    numbers = [find_number()]
    load(study, write_file(3, "other"), "3")
    numbers.append(find_number())
    load(study, write_file(3, "broken"), "2")
    numbers.append(find_number())

    assert numbers == [str(practice + ITEMS + 3 + 1)] * 3


@pytest.mark.django_db
def test_import_that_is_begun_again_elsewhere_stops(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_portions = importer._list_portions

    def begin_again(items: Any) -> Any:
        portions = list_portions(items)
        yield next(portions)
        monkeypatch.undo()
        load(study)
        yield from portions

    monkeypatch.setattr(importer, "_list_portions", begin_again)

    batch = load(study)

    assert [*study.batches.all()] == [batch]
    assert count_rows(study) == count_shown(study) == ALL


@pytest.mark.django_db
def test_refused_import_leaves_nothing(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def close(study: Study) -> None:
        raise ValidationError("closed")

    monkeypatch.setattr(importer, "check_open_for_items", close)

    with pytest.raises(ValidationError, match="closed"):
        load(study)

    assert count_rows(study) == NOTHING


@pytest.mark.django_db
def test_system_of_another_batch_stays_when_one_is_undone(study: Study) -> None:
    load(study)
    later = load(study, write_file(3, "later", ("alpha", "beta", "delta")), "2")

    undo_batch(batch=later, by=None)

    assert [*study.systems.values_list("name", flat=True)] == [*SYSTEMS]
    assert count_rows(study) == ALL


# --- portions -------------------------------------------------------------------------------


@pytest.mark.django_db
def test_long_texts_are_stored_in_smaller_portions(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(importer, "_CHARACTERS_AT_ONCE", 100)
    calls = []
    monkeypatch.setattr(
        importer, "insert_rows", lambda *args: calls.append(1) or insert_rows(*args)
    )

    load(study)

    # an item has three texts of 16 to 17 characters and an input of 7: two fill a portion
    assert len(calls) == 2 * 3
    assert count_rows(study) == count_shown(study) == ALL


@pytest.mark.both_databases
@pytest.mark.django_db
def test_any_text_arrives_as_it_was(study: Study) -> None:
    item = Item.objects.create(study=study, **item_keys(study, key="a", group="a"))
    rows = [
        (study.pk.hex, item.pk, number, f"{text}{'x' * 5000}")
        for number, text in enumerate(HOSTILE * 50)
    ]

    ids = insert_rows(Output, ("study", "item", "position", "text"), iter(rows))

    outputs = Output.objects.filter(item=item).order_by("position")
    assert [*outputs.values_list("item_id", "position", "text")] == [row[1:] for row in rows]
    assert ids == [*outputs.values_list("pk", flat=True)]
    assert insert_rows(Output, ("study", "item"), []) == []
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows(Output, ("study", "item", "position", "text"), rows[:1])
    assert connection.is_usable()
