"""How far studies are: counted from rows, and on a page of many only as far as is cheap."""

import json
import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.audit.models import AuditEntry
from evalsite.decisions.models import Exclusion
from evalsite.decisions.top_up import top_up
from evalsite.handout.models import Annotation, Draft, Slot
from evalsite.lib.clock import now
from evalsite.results import progress
from evalsite.results.progress import activity_of, outline_progress, progress_of
from evalsite.studies.items import item_keys
from evalsite.studies.models import Item, Study
from tests.handout.test_changing_k import answer_all
from tests.handout.test_explain import explain, only_postgresql, only_sqlite, walk
from tests.support.factories import launch, make_annotator, make_study
from tests.support.imported import load, rows_for
from tests.support.tabs import make_live

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(researcher: Any) -> Study:
    """Two items with two answers each, all that were asked for."""
    study = make_live(items=2, k=2, set_size=2)
    answer_all(study, people=2)
    return study


def test_target_counts_added_places_whatever_the_log_says(researcher: Any, study: Study) -> None:
    first = study.participants.earliest("pk")
    Exclusion.objects.create(study=study, participant=first, reason="too fast")
    top_up(study=study, by=researcher)
    AuditEntry.objects.all().delete()

    assert (progress_of(study).done, progress_of(study).target) == (4, 6)
    assert outline_progress([study])[study.pk].target == 6


@pytest.mark.both_databases
def test_outline_of_a_study_says_what_its_progress_says(researcher: Any, study: Study) -> None:
    draft = make_study(items=3, k=2, title="Draft")
    waiting = launch(make_study(items=1, title="Waiting"))
    imported = make_study(items=3, k=2, title="Imported")
    load(imported, rows_for(imported, ["w1", "w2"]))
    studies = [study, draft, waiting, imported]

    outlines = outline_progress(studies)

    for one in studies:
        found, exact = outlines[one.pk], progress_of(one)
        assert (found.done, found.target, found.last_at) == (
            exact.done, exact.target, exact.last_at
        )  # fmt: skip
        assert not found.has_more_done
        assert not found.more_than
    assert outlines[study.pk].last_at is not None
    assert outlines[imported.pk].done == 6
    assert outlines[imported.pk].last_at is None


def test_more_answers_and_items_than_are_counted_are_said_to_be_more(
    staff_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "COUNTED_TO", 3)
    make_study(items=4, k=2, title="Draft")

    page = staff_client.get(reverse("admin:index")).text

    assert ">more than 3 of 4 answers<" in page
    assert "more than 3 items" in page


def test_answers_of_a_study_with_more_than_are_counted_are_not_counted(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make_live(items=1, k=2, set_size=1)
    monkeypatch.setattr(progress, "COUNTED_TO", 3)

    with CaptureQueriesContext(connection) as captured:
        outline_progress([study, small])

    counting = [query["sql"] for query in captured if "GROUP BY" in query["sql"]]
    answers, items = [sql.replace("-", "") for sql in counting]
    assert (study.pk.hex in answers, small.pk.hex in answers) == (False, True)
    assert (study.pk.hex in items, small.pk.hex in items) == (True, True)


def test_as_many_answers_as_are_counted_are_not_said_to_be_more(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "COUNTED_TO", 4)

    found = outline_progress([study])[study.pk]

    assert (found.done, found.has_more_done) == (4, False)


def test_studies_page_asks_as_often_for_many_studies_as_for_one(study: Study) -> None:
    counts = []
    for more in (0, 12):
        for number in range(more):
            make_study(items=1, title=f"Study {number}")
        studies = list(Study.objects.all())
        with CaptureQueriesContext(connection) as captured:
            outline_progress(studies)
        counts.append(len(captured))

    assert counts == [4, 4]


# --- by index -------------------------------------------------------------------------------

# SQLite chooses an index by its rules, PostgreSQL by what each way would cost
ITEMS = 6_000 if connection.vendor == "postgresql" else 3_000


@pytest.fixture
def large(db: None) -> Study:
    """A study of many answers and drafts, of which ten are of the last minutes."""
    study = make_study(items=0, k=1)
    batch = study.batches.create(file_name="a.csv", sha256="0" * 64, rows=ITEMS)
    Item.objects.bulk_create(
        Item(study=study, batch=batch, inputs={}, **item_keys(study, key=f"i{n}", group=f"i{n}"))
        for n in range(ITEMS)
    )
    launch(study)
    me, old = make_annotator(study), now() - timedelta(days=1)
    Slot.objects.update(state=2, participant=me)
    moments = [old] * (ITEMS - 10) + [now()] * 10
    slots = list(Slot.objects.order_by("pk"))
    Annotation.objects.bulk_create(
        Annotation(
            study=study, item_id=slot.item_id, participant=me, slot=slot, key=uuid4(),
            status="counted", started_at=at, submitted_at=at,
        )
        for slot, at in zip(slots, moments, strict=True)
    )  # fmt: skip
    Draft.objects.bulk_create(
        Draft(study=study, item_id=slot.item_id, participant=me, updated_at=at)
        for slot, at in zip(slots, moments, strict=True)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return study


def list_queries(study: Study) -> list[str]:
    """What the Studies page and the overview ask of answers, drafts and places."""
    with CaptureQueriesContext(connection) as captured:
        outline_progress([study])
        activity_of(study)
    told = [query["sql"] for query in captured]
    return [sql for sql in told if "submitted_at" in sql or "updated_at" in sql or '"no"' in sql]


@pytest.mark.torture
@pytest.mark.slow
@only_sqlite
def test_sqlite_finds_who_is_active_and_the_last_answer_by_index(large: Study) -> None:
    plans = {
        sql: [row[3] for row in explain(sql, "EXPLAIN QUERY PLAN")] for sql in list_queries(large)
    }

    steps = [step for plan in plans.values() for step in plan]
    # U0, inside another query: batches that aren't shown, and leased places; both partial indexes
    # are short
    scans = [step for step in steps if re.match(r"SCAN (U0|annotation_)", step)]
    assert set(scans) == {"SCAN U0 USING INDEX batch_hidden", "SCAN U0 USING INDEX slot_held"}
    for index in ("annotation_by_time", "draft_by_time", "slot_topped_up", "item_held"):
        assert [step for step in steps if index in step]


@pytest.mark.both_databases
@only_postgresql
def test_postgresql_finds_who_is_active_by_index(large: Study) -> None:
    (sql,) = [sql for sql in list_queries(large) if "updated_at" in sql]

    ((plan,),) = explain(sql, "EXPLAIN (FORMAT JSON)")
    (top,) = plan if isinstance(plan, list) else json.loads(plan)

    nodes = list(walk(top["Plan"]))
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert {"annotation_by_time", "draft_by_time"} <= used
    whole = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    assert Draft._meta.db_table not in whole
    # what the header counts: all answers
    assert whole.count(Annotation._meta.db_table) <= 1
