"""An exported file is of one moment, whatever happens while it is read or sent."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from evalsite.data.files import rows
from evalsite.data.files.rows import AnswerReader
from evalsite.data.files.selection import Selection
from evalsite.data.files.services import Choice, stream_file
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Rating, Revision
from evalsite.lib.transactions import consistent_cut, deferred_transaction
from evalsite.participation.consent import withdraw
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from tests.support.exports import export
from tests.support.factories import answer_item, launch, make_annotator, make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def meanwhile(change: Callable[[], Any]) -> None:
    """The change is committed, through another connection."""

    def run() -> None:
        change()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()


def answer_two(study: Study) -> tuple[Participant, ItemSet]:
    """Somebody has answered two of three items, with 100 each."""
    me = make_annotator(study)
    item_set = claim_set(me)
    assert item_set is not None
    for pk in item_set.item_ids[:2]:
        answer_item(me, Item.objects.get(pk=pk), item_set=item_set, score=100)
    return me, item_set


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    # a page for each annotation: the third is asked for after the first is given
    monkeypatch.setattr(rows, "PAGE", 1)
    return launch(make_study(items=3, k=2, set_size=3))


def change_all(me: Participant, item_set: ItemSet) -> None:
    """One answer is changed and one is added; somebody else withdraws theirs."""
    items = [Item.objects.get(pk=pk) for pk in item_set.item_ids]
    answer_item(me, items[1], item_set=item_set, score=7)
    answer_item(me, items[2], item_set=item_set, score=8)
    withdraw(participant=Participant.objects.exclude(pk=me.pk).get(), is_kept=False)


def test_revision_addition_and_withdrawal_while_the_rows_are_read_are_not_in_them(
    study: Study,
) -> None:
    me, item_set = answer_two(study)
    answer_two(study)

    with consistent_cut():
        groups = AnswerReader(study, Selection()).read_ratings()
        first = next(groups)
        meanwhile(lambda: change_all(me, item_set))
        rows = [row for _, rows in [first, *groups] for row in rows]

    assert [row.score.value for row in rows] == [100] * 12
    assert Revision.objects.exists()
    assert Rating.objects.filter(value=8).exists()
    assert Annotation.objects.filter(status="withdrawn").count() == 2


def test_what_happens_while_the_file_is_sent_is_not_in_it(study: Study) -> None:
    me, item_set = answer_two(study)
    answer_two(study)
    before = export(study)

    stream = stream_file(study, Choice(file="ratings"), by="a test")
    change_all(me, item_set)

    assert b"".join(stream) == before
    assert export(study) != before


def test_nothing_is_held_open_while_the_file_is_sent(study: Study) -> None:
    answer_two(study)

    stream = stream_file(study, Choice(file="ratings"), by="a test")

    assert next(stream)
    assert not connection.in_atomic_block
    with connection.cursor() as cursor:
        # refused inside a transaction, by either database
        cursor.execute("VACUUM")


def test_spooled_file_has_no_name_on_the_disk(study: Study) -> None:
    answer_two(study)
    before = set(settings.DATA_DIR.iterdir())

    stream = stream_file(study, Choice(file="ratings"), by="a test")

    assert next(stream)
    assert {path.name for path in set(settings.DATA_DIR.iterdir()) - before} <= {
        "test.sqlite3-wal",
        "test.sqlite3-shm",
    }


def test_reader_takes_no_lock_that_a_writer_waits_for(study: Study) -> None:
    me, item_set = answer_two(study)

    with consistent_cut():
        assert Annotation.objects.count() == 2
        meanwhile(
            lambda: answer_item(
                me, Item.objects.get(pk=item_set.item_ids[2]), item_set=item_set, score=9
            )
        )
        assert Annotation.objects.count() == 2

    assert Annotation.objects.count() == 3


def test_cut_is_a_transaction_in_which_others_begin_as_everywhere(study: Study) -> None:
    answer_two(study)

    with consistent_cut():
        assert connection.in_atomic_block
        with transaction.atomic():
            assert Annotation.objects.count() == 2

    assert not connection.in_atomic_block


def test_nothing_is_written_inside_a_cut(study: Study) -> None:
    with pytest.raises(DatabaseError), consistent_cut():
        Study.objects.update(title="Another")

    assert not Study.objects.filter(title="Another").exists()
    assert Study.objects.update(title="Another") == 1


def test_temporary_tables_are_written_in_a_transaction_that_locks_nothing(study: Study) -> None:
    with deferred_transaction(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE staged (no integer)")
        with transaction.atomic():
            cursor.execute("INSERT INTO staged VALUES (1)")
        meanwhile(lambda: Study.objects.update(title="Another"))

    assert Study.objects.filter(title="Another").exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM staged")
        assert cursor.fetchone() == (1,)
        cursor.execute("DROP TABLE staged")


def test_connection_serves_the_next_after_an_export_that_broke_off(study: Study) -> None:
    answer_two(study)
    answer_two(study)

    with consistent_cut():
        groups = AnswerReader(study, Selection()).read_ratings()
        next(groups)
        groups.close()

    assert Annotation.objects.count() == 4


def test_outputs_are_read_once_for_all_pages_of_ratings(study: Study) -> None:
    answer_two(study)
    answer_two(study)

    with CaptureQueriesContext(connection) as queries, consistent_cut():
        groups = list(AnswerReader(study, Selection()).read_ratings())

    assert len(groups) == 4
    assert len([one for one in queries if '"studies_output"' in one["sql"]]) == 1
