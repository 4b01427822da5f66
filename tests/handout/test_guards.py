"""Each guard against races is needed: with it taken away, the harm that it prevents is seen.

A test that could not fail guards nothing, so every race here runs twice: as the product is, and
without the guard.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, OperationalError, connection, models, transaction

from evalsite.handout import claims
from evalsite.handout.claims import claim_set
from evalsite.handout.models import Annotation, Draft, Rating, Slot
from evalsite.lib.clock import now
from evalsite.participation.saving import save_draft
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Study
from tests.support.factories import answer_item, launch, make_annotator, make_study
from tests.support.invariants import find_breaches
from tests.support.races import Held, only_postgresql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]

only_sqlite = pytest.mark.skipif(
    "connection.vendor != 'sqlite'", reason="PostgreSQL locks rows, not the whole database."
)


def without(words: str, *, about: str = "") -> Callable[..., Any]:
    """A wrapper of every statement that leaves these words out of those about this table."""

    def run(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        return execute(sql.replace(words, "") if about in sql else sql, params, many, context)

    return run


def claim_without(words: str, me: Participant, *, about: str = "") -> ItemSet | None:
    with connection.execute_wrapper(without(words, about=about)):
        return claim_set(me)


# --- unique constraints -------------------------------------------------------------------


def copy_row(row: models.Model, **changes: Any) -> None:
    """The same row once more, but for these fields."""
    values = {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}
    del values["id"]
    type(row)._default_manager.create(**values | changes)


def second_slot_of_one_number(study: Study) -> None:
    copy_row(Slot.objects.free().first(), state=0)


def second_slot_for_one_person(study: Study) -> None:
    mine = Slot.objects.leased().first()
    other = Slot.objects.free().filter(item=mine.item)
    other.update(state=1, participant=mine.participant_id, lease_until=now())


def second_answer_of_one_person(study: Study) -> None:
    copy_row(Annotation.objects.get(), slot_id=None, status="surplus", key=uuid4())


def second_answer_in_one_slot(study: Study) -> None:
    copy_row(Annotation.objects.get(), participant_id=make_annotator(study).pk, key=uuid4())


def second_answer_under_one_key(study: Study) -> None:
    other = make_annotator(study).pk
    copy_row(Annotation.objects.get(), participant_id=other, slot_id=None, status="surplus")


def second_rating_of_one_output(study: Study) -> None:
    copy_row(Rating.objects.first())


def second_tie(study: Study) -> None:
    for _ in range(2):
        copy_row(Rating.objects.first(), output_id=None)


def second_mark_of_a_passage(study: Study) -> None:
    for _ in range(2):
        copy_row(Rating.objects.first(), value=None, start=0, end=4, text="Here")


def second_draft(study: Study) -> None:
    for _ in range(2):
        Draft.objects.create(
            study=study, item=Item.objects.first(), participant=Participant.objects.first()
        )


UNIQUE = {
    "slot_number_once_per_item": second_slot_of_one_number,
    "one_slot_of_an_item_per_participant": second_slot_for_one_person,
    "one_annotation_of_an_item_per_participant": second_answer_of_one_person,
    "one_annotation_per_slot": second_answer_in_one_slot,
    "one_annotation_per_key": second_answer_under_one_key,
    "one_rating_of_an_output_per_criterion_turn_and_part": second_rating_of_one_output,
    "one_rating_of_an_item_per_criterion_turn_and_part": second_tie,
    "one_mark_of_a_passage_per_criterion_turn_and_part": second_mark_of_a_passage,
}
DRAFT = "one_draft_per_participant_and_item"
MODELS = (Slot, Draft, Annotation, Rating)


def make_worked_study() -> Study:
    """One answer of one person, who holds another place; the rest is free."""
    study = launch(make_study(items=2, k=2, set_size=2))
    me = make_annotator(study)
    item_set = claim_set(me)
    item = Item.objects.get(pk=item_set.item_ids[0])
    answer_item(me, item, item_set=item_set, place=1)
    assert find_breaches(study) == []
    return study


def unique_constraints() -> dict[str, tuple[type[models.Model], models.UniqueConstraint]]:
    return {
        constraint.name: (model, constraint)
        for model in MODELS
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
    }


@contextmanager
def dropped(name: str) -> Iterator[None]:
    """The database does not know this constraint; afterwards it does again, on empty tables."""
    model, constraint = unique_constraints()[name]
    known = model._meta.constraints
    # SQLite makes the table again, as the model says
    model._meta.constraints = [one for one in known if one is not constraint]
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, constraint)
    try:
        yield
    finally:
        for table in (Rating, Annotation, Draft, Slot):
            table.objects.all().delete()
        model._meta.constraints = known
        with connection.schema_editor() as editor:
            editor.add_constraint(model, constraint)


def test_every_unique_constraint_of_the_act_of_rating_is_tried_here():
    assert unique_constraints().keys() == {*UNIQUE, DRAFT}


@pytest.mark.parametrize("name", UNIQUE)
def test_what_a_race_would_write_twice_is_refused_by_the_constraint_and_seen_without_it(name):
    study = make_worked_study()

    with pytest.raises(IntegrityError), transaction.atomic():
        UNIQUE[name](study)
    assert find_breaches(study) == []

    with dropped(name):
        UNIQUE[name](study)
        breaches = find_breaches(study)
    assert breaches != []


def test_two_drafts_of_one_item_are_refused_and_would_break_the_page():
    study = make_worked_study()
    draft = {"participant": Participant.objects.get(), "item": Item.objects.first()}

    with pytest.raises(IntegrityError), transaction.atomic():
        second_draft(study)

    with dropped(DRAFT):
        second_draft(study)
        with pytest.raises(Draft.MultipleObjectsReturned):
            save_draft(**draft, values={})


# --- locks ----------------------------------------------------------------------------------


@only_postgresql
@pytest.mark.parametrize("is_guarded", [True, False])
def test_without_skip_locked_one_person_would_wait_for_another(is_guarded):
    study = launch(make_study(items=12, k=1, set_size=3))
    people = [make_annotator(study) for _ in range(2)]
    words = "" if is_guarded else " SKIP LOCKED"

    race = Held(*(partial(claim_without, words, me) if words else partial(claim_set, me)
                  for me in people))  # fmt: skip
    sets = race.run()

    assert race.has_waited != is_guarded
    assert len({item for one in sets for item in one.item_ids}) == 6


@only_postgresql
@pytest.mark.parametrize("is_guarded", [True, False])
def test_without_the_lock_on_the_participant_two_tabs_would_write_against_one_another(
    is_guarded, monkeypatch
):
    study = launch(make_study(items=12, k=1, set_size=3))
    me = make_annotator(study)
    clashes = []
    claim = claims._claim

    def note_clash(*given: Any, **named: Any) -> ItemSet | None:
        try:
            return claim(*given, **named)
        except IntegrityError as error:
            clashes.append(error)
            raise

    monkeypatch.setattr(claims, "_claim", note_clash)
    table = Participant._meta.db_table
    one_tab = partial(claim_set, me)
    if not is_guarded:
        one_tab = partial(claim_without, " FOR NO KEY UPDATE", me, about=f'FROM "{table}"')

    first, second = Held(one_tab, one_tab).run()

    assert bool(clashes) != is_guarded
    # the constraints stand behind the lock: in the end there is one set, either way
    assert first.pk == second.pk


@only_sqlite
@pytest.mark.parametrize("is_guarded", [True, False])
def test_without_immediate_a_claim_would_be_refused_as_locked(is_guarded, monkeypatch):
    study = launch(make_study(items=3, set_size=3))
    me = make_annotator(study)
    lock = claims.lock_participant
    waited = []

    def lock_while_another_writes(participant: Participant) -> Participant:
        locked = lock(participant)
        # another process, at the moment between the first look of a claim and its first write
        with sqlite3.connect(connection.settings_dict["NAME"], timeout=0) as process:
            try:
                process.execute("UPDATE participants_participant SET cursor = 1")
            except sqlite3.OperationalError:
                waited.append(True)
        return locked

    monkeypatch.setattr(claims, "lock_participant", lock_while_another_writes)
    if is_guarded:
        assert claim_set(me) is not None
        assert waited
        return
    connection.ensure_connection()
    connection.transaction_mode = None

    with pytest.raises(OperationalError, match="locked"):
        claim_set(me)
    assert not waited
    connection.close()  # the next one begins with IMMEDIATE again
