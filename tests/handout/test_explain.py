"""How the databases find the next set: by the indexes that were made for it, at any size."""

import json
import re
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from evalsite.handout.claims import claim_set
from evalsite.handout.models import Slot
from evalsite.studies.items import item_keys
from evalsite.studies.models import Item, Study
from tests.support.factories import answer_item, launch, make_annotator, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

ITEMS, K = 7_000, 3
MOST_BUFFERS = 200
SEARCHES = re.compile(r"^(SELECT|UPDATE)\b.*annotation_slot", re.S)
FREE, HELD, MET = "slot_free", "slot_held", "one_slot_of_an_item_per_participant"
only_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="is about SQLite")
only_postgresql = pytest.mark.skipif(
    "connection.vendor != 'postgresql'", reason="is about PostgreSQL"
)


@pytest.fixture
def study(db: None) -> Study:
    """A live study of 21,000 slots, a third of which is done, in statistics that are up to date."""
    study = make_study(items=0, k=K, set_size=10)
    batch = study.batches.create(file_name="a.csv", sha256="0" * 64, rows=ITEMS)
    Item.objects.bulk_create(
        Item(study=study, batch=batch, inputs={}, **item_keys(study, key=f"i{n}", group=f"i{n}"))
        for n in range(ITEMS)
    )
    launch(study)
    diligent = make_annotator(study)
    Slot.objects.filter(no=0).update(state=2, participant=diligent)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study


def claim_again(study: Study) -> list[str]:
    """The searches among the slots by somebody who has worked before and takes another set."""
    me = make_annotator(study)
    first = claim_set(me)
    for item in Item.objects.filter(pk__in=first.item_ids):
        answer_item(me, item, item_set=first)
    me.item_sets.update(finished_at="2026-01-01T00:00Z")
    before = transaction.savepoint()
    with CaptureQueriesContext(connection) as captured:
        second = claim_set(me)
    assert len(second.item_ids) == 10
    # explained on the rows that it found, not on those that it left
    transaction.savepoint_rollback(before)
    searches = [query["sql"] for query in captured if SEARCHES.match(query["sql"])]
    assert len(searches) >= 3
    return searches


def is_head_search(sql: str) -> bool:
    return sql.startswith("SELECT") and "NOT" in sql and "ORDER BY" in sql and '"pos" >' in sql


def explain(sql: str, how: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"{how} {sql}")
        return list(cursor.fetchall())


@pytest.mark.slow
@only_sqlite
def test_sqlite_finds_a_set_by_index_and_never_reads_all_slots(study):
    searches = claim_again(study)

    plans = {sql: [row[3] for row in explain(sql, "EXPLAIN QUERY PLAN")] for sql in searches}

    for sql, plan in plans.items():
        assert [step for step in plan if re.match(r"SCAN (annotation_slot|U\d)", step)] == [], sql
    heads = [" / ".join(plan) for sql, plan in plans.items() if is_head_search(sql)]
    assert heads
    for plan in heads:
        assert FREE in plan
        assert MET in plan


@only_postgresql
def test_postgresql_finds_a_set_by_index_in_few_buffers_and_never_reads_all_slots(study):
    searches = claim_again(study)

    plans = {}
    for sql in searches:
        with transaction.atomic():
            ((plan,),) = explain(sql, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)")
            plans[sql] = plan if isinstance(plan, list) else json.loads(plan)
            transaction.set_rollback(True)

    for sql, (plan,) in plans.items():
        nodes = list(walk(plan["Plan"]))
        whole = [one for one in nodes if one["Node Type"] == "Seq Scan"]
        assert [one for one in whole if one["Relation Name"] == Slot._meta.db_table] == [], sql
        if is_head_search(sql):
            used = {one["Index Name"] for one in nodes if "Index Name" in one}
            assert {FREE, MET} <= used
            top = plan["Plan"]
            assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < MOST_BUFFERS
    assert any(map(is_head_search, plans))


def walk(node: dict[str, Any]) -> Any:
    yield node
    for child in node.get("Plans", []):
        yield from walk(child)
