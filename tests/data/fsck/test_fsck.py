"""fsck: every kind of broken row is named, and a study that people made has none."""

from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from evalsite.core.jobs.models import Job
from evalsite.data.fsck import CHECKS, SITE_CHECKS, find_breaches, run_checks
from evalsite.handout.models import Rating, Slot
from evalsite.lib.clock import now
from evalsite.people.models import ItemSet
from evalsite.studies.models import Batch, Study
from tests.support.breaking import (
    BREAKS,
    World,
    highlight,
    item_without_its_k_places,
    make_world,
    row_of_two_studies,
)
from tests.support.factories import add_batch

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture(autouse=True)
def _checked_again() -> Iterator[None]:
    yield
    allow_no_breaches()


def allow_no_breaches() -> None:
    """The database checks its constraints again."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA ignore_check_constraints = OFF")


ALL = {check.key for check in (*CHECKS, *SITE_CHECKS)}


@pytest.mark.both_databases
def test_broken_rows_are_named(world):
    """In one world, which is as before after each of them."""
    checks = {check.key: check for check in (*CHECKS, *SITE_CHECKS)}
    named = {}

    for name, break_rows in BREAKS.items():
        with transaction.atomic():
            break_rows(world)
            fresh = Study.objects.select_related("version").get(pk=world.study.pk)
            named[name] = bool(list(run_checks([checks[name]], fresh)))
            transaction.set_rollback(True)
        allow_no_breaches()

    assert [name for name, is_named in named.items() if not is_named] == []
    assert find_breaches(world.study) == []


def test_set_that_lost_what_it_never_had_is_named(world):
    world.change(ItemSet.objects.get(participant=world.busy), lost_ids=[0])

    assert [one.check.key for one in find_breaches(world.study)] == ["set_of_impossible_items"]


@pytest.mark.parametrize(
    ("fields", "check"),
    [
        ({"criterion": "magnitude"}, "highlight_of_a_criterion_that_is_not_asked"),
        ({"turn": 1}, "highlight_that_does_not_fit"),
    ],
)
def test_mark_of_a_question_or_of_a_turn_is_named(world, fields, check):
    if "criterion" in fields:
        fields = {"criterion": world.study.config.criteria[0].key}

    highlight(world, 0, 5, **fields)

    assert [one.check.key for one in find_breaches(world.study)] == [check]


@pytest.mark.both_databases
def test_every_promise_is_broken_once_by_these_tests():
    # those of turns need a conversation; marks, corrected texts and orders a question:
    # test_turns.py, test_spans_saved.py, test_post_edit_saved.py and test_orders_page.py break them
    elsewhere = {
        "rating_of_a_turn_that_is_not_asked", "answer_without_all_turns",
        "answer_that_contradicts_its_marks", "edit_rate_that_contradicts_its_counts",
        "answer_that_is_no_order",
    }  # fmt: skip
    assert {*BREAKS, *elsewhere} == ALL


# --- what is right -------------------------------------------------------------------------


@pytest.mark.both_databases
def test_highlights_and_numbers_with_space_around_them_are_right(world):
    output = world.answer.item.outputs.first()
    fields = {"study": world.study, "annotation": world.answer, "output": output}
    world.change(output, text="Größe: \U0001f600 fine")
    mark = {"criterion": "highlights", "start": 7, "end": 13, "text": "\U0001f600 fine"}
    Rating.objects.create(**fields, **mark)
    world.change(world.answer.ratings.first(), text="\u00a0100 ")

    assert find_breaches(world.study) == []


def test_places_that_are_being_made_are_no_breach(world):
    Slot.objects.free().filter(study=world.study).delete()
    Job.objects.create(study_id=world.study.pk, kind="places", state="running", heartbeat_at=now())

    assert find_breaches(world.study) == []


# --- the command ---------------------------------------------------------------------------


def test_command_says_that_nothing_is_broken(world, capsys):
    call_command("fsck")
    call_command("fsck", str(world.study.pk))

    assert capsys.readouterr().out == "2 studies, no breach.\n1 study, no breach.\n"


def test_command_names_what_is_broken_with_what_to_do_and_ends_with_1(world, capsys):
    item_without_its_k_places(world)
    row_of_two_studies(world)

    with pytest.raises(SystemExit) as ended:
        call_command("fsck")

    told = capsys.readouterr().out
    assert ended.value.code == 1
    assert f"Restaurant descriptions ({world.study.pk}): Items don't have the places" in told
    assert "has 1 places of 2" in told
    assert "All studies: Rows belong to two studies at once: 2" in told
    assert "What to do: Something other than Evalsite has changed the database" in told
    assert told.endswith("2 studies, 2 breaches.\n")


def test_command_shows_twenty_examples_and_the_count(world, capsys):
    Batch.objects.filter(pk=add_batch(world.study, items=25, first=10).pk).update(opened_at=now())

    with pytest.raises(SystemExit):
        call_command("fsck", str(world.study.pk))

    told = capsys.readouterr().out
    assert told.count("has 0 places of 2") == 20
    assert "and 5 more" in told


@pytest.mark.parametrize("study", ["nonsense", "596b9e9e-63ca-440e-9383-557e224415c2"])
def test_command_says_that_there_is_no_such_study(study):
    with pytest.raises(CommandError, match="There is no study"):
        call_command("fsck", study)


def test_checking_changes_nothing(world, django_assert_max_num_queries):
    with django_assert_max_num_queries(150) as asked:
        find_breaches(world.study)

    # DECLARE: PostgreSQL's cursor for a long list
    assert {query["sql"].split()[0] for query in asked.captured_queries} <= {"SELECT", "DECLARE"}
