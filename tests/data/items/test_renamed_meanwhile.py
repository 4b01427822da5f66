"""A system is renamed in one process while another imports a file that has its outputs."""

import io
import os
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connections

from evalsite.core.audit.models import AuditEntry
from evalsite.data.items import importer
from evalsite.data.items.importer import import_batch
from evalsite.data.models import Upload
from evalsite.data.uploads import begin_check, import_upload, keep_upload
from evalsite.decisions.system_names import rename_system
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.data.items.test_storing import load, write_file
from tests.support.checking import check_file
from tests.support.factories import make_study, make_user

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases, pytest.mark.slow]

TRIES = 4
REFUSED = 3


def run_together(*acts: Callable[[], Any]) -> list[int]:
    """Run each in a process of its own, all begun at one moment; return 0, or REFUSED, of each."""
    connections.close_all()
    wait, go = os.pipe()
    pids = []
    for act in acts:
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.close(go)
                # ends once the parent closes its side
                os.read(wait, 1)
                act()
                code = 0
            except ValidationError:
                code = REFUSED
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(wait)
    os.close(go)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def keep_second(study: Study, user: Any) -> Upload:
    content = write_file(items=6, prefix="m").encode()
    upload = keep_upload(study=study, file_name="b.csv", chunks=[content], by=user)
    begin_check(upload, by=user)
    return upload


@pytest.mark.parametrize("attempt", range(TRIES))
def test_nothing_is_lost_or_doubled(attempt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    study = make_study(items=0, by=user)
    load(study)
    # several transactions, between which the name may change
    monkeypatch.setattr(importer, "_ITEMS_AT_ONCE", 2)
    upload = keep_second(study, user)
    alpha = study.systems.get(name="alpha")

    renamed, imported = run_together(
        lambda: rename_system(study, alpha, "delta", user),
        lambda: import_upload(upload, by=user),
    )

    assert renamed == 0
    assert imported in (0, REFUSED)
    names = sorted(study.systems.values_list("name", flat=True))
    batches = Batch.objects.filter(study=study).count()
    assert batches == 1 + (imported == 0)
    # the file names alpha: after the new name it is another system, before it the same one
    assert names in (["beta", "delta", "gamma"], ["alpha", "beta", "delta", "gamma"])
    assert imported == 0 or names == ["beta", "delta", "gamma"]
    assert Item.objects.filter(study=study, batch__isnull=False).count() == 5 + 6 * (batches - 1)
    outputs = Output.objects.stored().filter(study=study, item__batch__isnull=False)
    assert outputs.count() == 3 * (5 + 6 * (batches - 1))
    assert not System.all_objects.filter(study=study, is_stored=False).exists()
    of_alpha = outputs.filter(system__name__in=["alpha", "delta"])
    assert of_alpha.count() == 5 + 6 * (batches - 1)
    log = AuditEntry.objects.filter(study_id=study.pk)
    assert log.filter(action="system renamed").count() == 1
    assert log.filter(action="batch imported").count() == batches
    # the file can be imported again, and only once
    if imported:
        begin_check(upload, by=user)
        import_upload(upload, by=user)
    assert Batch.objects.filter(study=study).count() == 2


@pytest.mark.parametrize(
    ("before", "after", "is_taken"),
    [("alpha", "delta", False), ("gamma", "omega", True), ("gamma", "Omega", True)],
)
def test_name_changes_between_the_portions_of_an_import(
    monkeypatch: pytest.MonkeyPatch, before: str, after: str, is_taken: bool
) -> None:
    user = make_user()
    study = make_study(items=0, by=user)
    load(study)
    monkeypatch.setattr(importer, "_ITEMS_AT_ONCE", 2)
    content = write_file(items=6, prefix="m", systems=("alpha", "beta", "omega"))
    checked = check_file(io.BytesIO(content.encode()), study=study)
    taken = []

    def rename(stored: int, total: int) -> None:
        if stored == 2:
            try:
                rename_system(study, study.systems.get(name=before), after, user)
            except ValidationError as error:
                taken.append(error.code)

    import_batch(study=study, checked=checked, file_name="b.csv", sha256="2", by=user, tell=rename)

    assert taken == (["system_confusable"] if is_taken else [])
    systems = {
        system.name: Output.objects.filter(system=system).count() for system in study.systems.all()
    }
    of_first = {"alpha": 11, "beta": 11, "gamma": 5, "omega": 6}
    if not is_taken:
        of_first[after] = of_first.pop(before)
    assert systems == of_first
