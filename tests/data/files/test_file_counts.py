"""The Files page reads how many rows each file has; the worker counts them."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsite.core.jobs.schedule import run_schedule
from evalsite.data.files.file_counts import count_changed_files
from evalsite.data.files.models import FileCounts
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.models import Annotation
from evalsite.studies.models import Study
from tests.support.factories import answer_item, launch, make_annotator, make_study, make_user
from tests.support.planned import ONE_POINT, make_planned_study

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def study(clock) -> Study:
    study = launch(make_study(items=4, is_demo=True, k=3))
    answer_item(make_annotator(study), study.items.main()[0])
    return study


@pytest.fixture
def staff(study) -> Client:
    client = Client()
    client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
    return client


def look(client: Client, study: Study):
    return client.get(reverse("admin:files-all", args=[study.pk]), follow=True)


def rows_of(page) -> dict[str, int | None]:
    return {entry["name"]: entry["rows"] for entry in page.context["data"]}


def test_page_shows_what_was_counted_and_when(staff, study, clock):
    before = look(staff, study)
    run_schedule()
    clock.shift(timedelta(minutes=5))
    counted = look(staff, study)
    answer_item(make_annotator(study), study.items.main()[0])
    later = look(staff, study)
    run_schedule()
    now = look(staff, study)

    assert before.text.count("not counted yet") == len(before.context["data"])
    # an answer about three outputs, with one criterion
    assert [rows_of(page)["ratings"] for page in (before, counted, later, now)] == [None, 3, 3, 6]
    assert rows_of(now)["annotations"] == 2
    assert counted.context["counted_at"] == later.context["counted_at"] == NOON
    assert now.context["counted_at"] == NOON + timedelta(minutes=5)


def test_page_reads_no_rating_and_needs_as_many_queries_for_many_as_for_few(staff, study, clock):
    run_schedule()
    few = read_queries(staff, study)
    for _ in simulate_crowd(study, participants=8, seed="files"):
        pass
    clock.shift(timedelta(minutes=5))
    run_schedule()
    look(staff, study)  # notes that the session was used

    many = read_queries(staff, study)

    assert FileCounts.objects.get().rows["ratings"] > 20
    assert len(many) == len(few)
    assert not [query for query in many if '"annotation_rating"' in query]


def read_queries(client: Client, study: Study) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        look(client, study)
    return [query["sql"] for query in queries]


@pytest.mark.parametrize("change", ["nothing", "withdrawal"])
def test_rows_are_counted_again_only_after_a_change(study, clock, change):
    clock.shift(timedelta(minutes=1))
    run_schedule()
    clock.shift(timedelta(minutes=5))
    if change == "withdrawal":
        person = Annotation.objects.get().participant
        type(person).objects.filter(pk=person.pk).update(withdrawn_at=NOON + timedelta(minutes=4))
    run_schedule()
    clock.shift(timedelta(minutes=5))
    run_schedule()

    counted_at = FileCounts.objects.get().counted_at
    assert counted_at == NOON + timedelta(minutes=6 if change == "withdrawal" else 1)


def test_counts_from_a_clock_that_was_ahead_are_made_again(study, clock):
    clock.shift(timedelta(days=365))
    run_schedule()
    clock.move_to(NOON + timedelta(minutes=5))
    answer_item(make_annotator(study), study.items.main()[0])

    count_changed_files()

    counts = FileCounts.objects.get()
    assert (counts.counted_at, counts.rows["annotations"]) == (NOON + timedelta(minutes=5), 2)


def test_hidden_files_say_how_many_rows_were_counted(clock, staff):
    study = make_planned_study(rules=[ONE_POINT])
    run_schedule()

    page = look(staff, study)

    assert "results/files_hidden.html" in [template.name for template in page.templates]
    assert [entry["rows"] for entry in page.context["pseudonymised"]] == [0, 0, 0]


def test_what_takes_long_to_count_is_counted_less_often(study, clock):
    run_schedule()
    FileCounts.objects.update(seconds=60)
    answer_item(make_annotator(study), study.items.main()[0])
    clock.shift(timedelta(minutes=29))
    run_schedule()
    early = FileCounts.objects.get().rows["annotations"]
    clock.shift(timedelta(minutes=2))
    run_schedule()

    assert (early, FileCounts.objects.get().rows["annotations"]) == (1, 2)
