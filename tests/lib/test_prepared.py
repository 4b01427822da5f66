"""Queries whose SQL is kept say the same as those that Django builds again."""

import threading
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.signals import post_init, pre_init
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.lib.clock import now, standing_at
from evalsite.lib.prepared import Prepared, PreparedInsert
from evalsite.people.models import Participant
from evalsite.studies.models import Item
from tests.support.factories import launch, make_annotator, make_study

pytestmark = pytest.mark.django_db

slot_of = Prepared(
    lambda item, no: Slot.objects.select_related("item__batch", "participant").filter(
        item=item, no=no
    )
)
items_of = Prepared(lambda study, *keys: Item.objects.filter(study=study, key__in=keys))
keys_of = Prepared(lambda study: Item.objects.main().filter(study=study).values_list("key", "gold"))
held_before = Prepared(
    lambda study, moment: Item.objects.filter(study=study, held_at__lt=moment).values_list("key")
)
locked = Prepared(lambda pk: Participant.objects.select_for_update().filter(pk=pk))


def columns_of(row: Model) -> dict:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


@pytest.mark.both_databases
def test_a_prepared_query_finds_the_same_rows_with_the_same_related_rows():
    launch(make_study(items=3))
    for expected in Slot.objects.select_related("item__batch"):
        found = slot_of.one(expected.item_id, expected.no)

        with CaptureQueriesContext(connection) as queries:
            assert columns_of(found) == columns_of(expected)
            assert columns_of(found.item) == columns_of(expected.item)
            assert columns_of(found.item.batch) == columns_of(expected.item.batch)
            assert found.participant is None
        assert len(queries) == 0


def test_each_run_fills_in_its_own_values():
    studies = [launch(make_study(items=2)) for _ in range(2)]

    found = [
        {item.pk for item in items_of.all(study.pk, "item-001", "item-002")} for study in studies
    ]

    assert found == [set(study.items.main().values_list("pk", flat=True)) for study in studies]
    assert [item.key for item in items_of.all(studies[0].pk, "item-002")] == ["item-002"]
    assert items_of.all(studies[0].pk, "%s", "'; --") == []


def test_single_columns_come_as_tuples():
    study = make_study(items=2)

    assert sorted(keys_of.all(study.pk)) == [("item-001", {}), ("item-002", {})]


@pytest.mark.both_databases
@pytest.mark.parametrize("microsecond", [0, 1, 999_999])
def test_a_moment_parts_the_rows_as_it_does_in_a_plain_query(microsecond):
    moment = datetime(2026, 1, 2, 3, 4, 5, microsecond, tzinfo=UTC)
    study = make_study(items=3)
    for number, item in enumerate(study.items.order_by("key")):
        item.held_at = moment + timedelta(microseconds=number - 1)
        item.save()

    assert held_before.all(study.pk, moment) == [("item-001",)]


@pytest.mark.both_databases
@pytest.mark.parametrize("number", [10**30, -(10**30), 2**63])
def test_a_number_that_no_column_holds_finds_nothing(number):
    assert slot_of.one(number, 0) is None


@pytest.mark.parametrize("value", [None, 1.5, b"x", [1]])
def test_a_value_that_a_query_cannot_carry_is_refused(value):
    with pytest.raises(TypeError):
        slot_of.one(value, 0)


@pytest.mark.parametrize("moment", [None, datetime(2026, 1, 2, tzinfo=UTC)])
@pytest.mark.parametrize("clock", [now, timezone.now])
def test_a_query_that_would_keep_the_moment_of_its_first_run_is_refused(moment, clock):
    late = Prepared(lambda study: Slot.objects.filter(study=study, lease_until__lt=clock()))

    with standing_at(moment) if moment else nullcontext(), pytest.raises(TypeError):
        late.all(make_study().pk)


@pytest.mark.both_databases
def test_a_query_that_can_find_nothing_finds_nothing():
    study = make_study(items=2)

    assert items_of.all(study.pk) == []


def test_columns_that_are_left_out_are_read_when_they_are_asked_for():
    study = launch(make_study(items=1))
    me = make_annotator(study)
    found = Prepared(
        lambda pk: Participant.objects.filter(pk=pk).select_related("study").defer("study__texts")
    ).one(me.pk)

    assert found.study.get_deferred_fields() == {"texts"}
    assert found.study.consent == study.consent


def test_no_model_has_an_init_or_a_listener_that_a_prepared_query_would_leave_out():
    ours = [model for model in apps.get_models() if model.__module__.startswith("evalsite.")]

    assert [model for model in ours if model.__init__ is not Model.__init__] == []
    assert [
        model for model in ours if pre_init.has_listeners(model) or post_init.has_listeners(model)
    ] == []


def test_a_row_that_is_found_can_be_saved_as_any_other():
    study = launch(make_study(items=1))
    item = items_of.all(study.pk, "item-001")[0]

    item.held_at = datetime(2026, 1, 2, tzinfo=UTC)
    item.save()

    assert Item.objects.get(pk=item.pk).held_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert Item.objects.count() == study.items.count()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_rows_are_locked_inside_a_transaction_only():
    me = make_annotator(make_study())

    with transaction.atomic():
        assert locked.one(me.pk) == me
    with pytest.raises(TransactionManagementError):
        locked.one(me.pk)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_every_connection_has_statements_of_its_own():
    study = launch(make_study(items=2))
    found: list[list[str]] = []

    def look() -> None:
        found.append(sorted(item.key for item in items_of.all(study.pk, "item-001", "item-002")))
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    look()

    assert found == [["item-001", "item-002"]] * 4


@pytest.mark.both_databases
def test_inserted_rows_are_as_those_that_django_creates():
    study = launch(make_study(items=2))
    me = make_annotator(study)
    item, other = study.items.main()
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    values = {
        "study": study, "participant": me, "status": "surplus", "order_shown": [1, 0],
        "started_at": moment, "submitted_at": moment, "note": "50 % “é” 😀", "is_aided": True,
    }  # fmt: skip
    made = Annotation(item=item, key="00000000-0000-0000-0000-000000000001", **values)

    PreparedInsert(Annotation).run([made])
    usual = Annotation.objects.create(
        item=other, key="00000000-0000-0000-0000-000000000002", **values
    )

    differing = {"id", "item_id", "key"}
    stored, expected = (columns_of(Annotation.objects.get(pk=one.pk)) for one in (made, usual))
    assert {k: v for k, v in stored.items() if k not in differing} == {
        k: v for k, v in expected.items() if k not in differing
    }
    assert stored["item_id"] == item.pk


@pytest.mark.both_databases
def test_several_rows_are_inserted_in_one_statement_and_know_their_keys():
    study = launch(make_study(items=1))
    item = study.items.main().get()
    annotation = Annotation.objects.create(
        study=study, item=item, participant=make_annotator(study), status="surplus",
        key="00000000-0000-0000-0000-000000000001",
        started_at=datetime(2026, 1, 2, tzinfo=UTC), submitted_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    ratings = [
        Rating(study=study, annotation=annotation, criterion="x", output=output, value=number)
        for number, output in enumerate(item.outputs.all())
    ]

    with CaptureQueriesContext(connection) as queries:
        PreparedInsert(Rating).run(ratings)
        PreparedInsert(Rating).run([])

    assert len(queries) == 1
    assert [columns_of(Rating.objects.get(pk=rating.pk)) for rating in ratings] == [
        columns_of(rating) for rating in ratings
    ]
