"""The header counts records right whatever was done to items, in a process that counted before."""

import io
from typing import Any

import pytest

from evalsite.data.items import importer
from evalsite.data.items.importer import import_batch, undo_batch
from evalsite.fieldwork.item_changes import correct_output, put_item_back, withdraw_item
from evalsite.results.progress import count_edge
from evalsite.studies.copying import copy_study
from evalsite.studies.models import Batch, Item, Output, Study
from tests.support.checking import check_file
from tests.support.factories import launch, make_study
from tests.support.queues import run_waiting_jobs

pytestmark = pytest.mark.django_db


def load(study: Study, ids: str, systems: tuple[str, ...] = ("alpha", "beta")) -> Batch:
    """Import these items, each rated once for each system."""
    rows = (
        f"{key},name[A],{system},Text {key} of {system}.\n" for key in ids for system in systems
    )
    content = "".join([f"item,{study.config.columns[0].name},system,output\n", *rows])
    checked = check_file(io.BytesIO(content.encode()), study=study)
    assert [str(fault) for fault in checked.faults] == []
    return import_batch(study=study, checked=checked, file_name="a.csv", sha256=ids, by=None)


def count(study: Study) -> tuple[int, int]:
    """Return records and items as the header of a new request counts them."""
    edge = count_edge(Study.objects.get(pk=study.pk))
    return edge.records, edge.items


def test_records_are_counted_after_files_come_and_go() -> None:
    study = make_study(items=0, protocol="fluency")
    counts = [count(study)]
    first = load(study, "abc")
    counts.append(count(study))
    second = load(study, "de")
    counts.append(count(study))
    undo_batch(batch=first, by=None)
    counts.append(count(study))
    load(study, "fgh", ("alpha",))
    counts.append(count(study))
    undo_batch(batch=second, by=None)
    counts.append(count(study))

    assert counts == [(0, 0), (3, 6), (5, 10), (2, 4), (5, 7), (3, 3)]


@pytest.mark.parametrize("is_launched", [False, True])
@pytest.mark.parametrize("protocol", ["fluency", "magnitude"])
def test_what_is_being_stored_is_not_counted(
    protocol: str, is_launched: bool, monkeypatch: Any
) -> None:
    study = make_study(items=0, protocol=protocol)
    first = load(study, "abc", ("alpha", "beta", "gamma"))
    if is_launched:
        launch(study)
    before = count(study)
    with monkeypatch.context() as patched:
        patched.setattr(importer, "_ITEMS_AT_ONCE", 1)
        patched.setattr(importer, "_clear", lambda batch: None)
        patched.setattr(importer, "_show", lambda *arguments, **named: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            load(study, "de", ("alpha", "beta", "gamma"))
    during = count(study)

    assert Item.all_objects.filter(study=study, batch__isnull=False).exclude(batch=first).exists()
    assert before == during
    assert before[0] == 3


def test_records_are_counted_after_items_are_withdrawn_put_back_and_corrected() -> None:
    study = make_study(items=0, protocol="fluency")
    load(study, "abc")
    by = study.memberships.get().user
    launch(study)
    parts = list(study.items.main())
    counts = [count(study)]
    for part in parts[:2]:
        withdraw_item(item=part, reason="Wrong.", by=by)
        counts.append(count(study))
    # one back and another out: as many items as before
    put_item_back(item=parts[0], reason="Right.", by=by)
    withdraw_item(item=parts[2], reason="Wrong.", by=by)
    counts.append(count(study))
    run_waiting_jobs()
    output = Output.objects.get(item=parts[5])
    correct_output(output=output, text="Another text.", reason="Typo.", by=by)
    counts.append(count(study))

    assert counts == [(3, 6), (3, 5), (2, 4), (3, 4), (3, 4)]


def test_records_of_a_copy_are_its_own() -> None:
    study = make_study(items=0, protocol="fluency")
    load(study, "abc")
    by = study.memberships.get().user
    assert count(study) == (3, 6)
    copy = copy_study(study=study, title="Copy", by=by, with_items=True)
    load(copy, "de")

    assert (count(study), count(copy)) == ((3, 6), (5, 10))
