"""One way to break each promise about the database, for the tests of fsck."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid4

from django.db import connection

from evalsite.core.jobs.models import Job
from evalsite.handout.claims import claim_set
from evalsite.handout.models import TOP_UP_FROM, Annotation, Draft, Rating, Slot
from evalsite.lib.clock import now
from evalsite.participation.sets import finish_set
from evalsite.people.models import ItemSet, Participant, Visit
from evalsite.people.recruiting import store_open_link
from evalsite.studies.models import Item, Study, StudyVersion
from tests.support.factories import add_batch, answer_item, launch, make_annotator, make_study


@dataclass
class World:
    """A live study with one finished set, one open set with a report; and another study."""

    study: Study
    other: Study
    done: Participant
    busy: Participant

    @property
    def answer(self) -> Annotation:
        return Annotation.objects.counted().filter(participant=self.done).earliest("pk")

    @property
    def report(self) -> Annotation:
        return Annotation.objects.get(outcome="reported")

    @property
    def unstarted(self) -> Slot:
        return Slot.objects.free().filter(study=self.study).earliest("pk")

    def change(self, row, **fields) -> None:
        type(row)._default_manager.filter(pk=row.pk).update(**fields)

    def copy(self, row, **fields):
        """The row once more, with these fields changed."""
        values = {one.attname: getattr(row, one.attname) for one in row._meta.concrete_fields}
        values.pop("id")
        return type(row)._default_manager.create(**values | fields)


def make_world() -> World:
    """Studies in which people are at work, with not one breach."""
    study = launch(make_study(items=4, k=2, set_size=4))
    other = launch(make_study(items=2, title="Another study"))
    done, busy = make_annotator(study), make_annotator(study)
    first, second = claim_set(done), claim_set(busy)
    for item in Item.objects.filter(pk__in=first.item_ids):
        answer_item(done, item, item_set=first)
    finish_set(participant=done, item_set=first)
    items = Item.objects.filter(pk__in=second.item_ids).order_by("pk")
    for item in items[:2]:
        answer_item(busy, item, item_set=second)
    said = {"outcome": "reported", "reason": "other", "rows": ()}
    answer_item(busy, items[2], item_set=second, **said)
    return World(study, other, done, busy)


def highlight(world: World, start: int, end: int, **fields) -> Rating:
    """A highlight of a rated output, which fits its text."""
    output = world.answer.item.outputs.first()
    values = {"criterion": "highlights", "output": output, "text": output.text[start:end]}
    values |= {"start": start, "end": end, **fields}
    return Rating.objects.create(study=world.study, annotation=world.answer, **values)


def drop(model, *names: str) -> None:
    """The database doesn't refuse such rows any more; the end of the test puts that right."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA ignore_check_constraints = ON")
            return
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for name in names:
            cursor.execute(f'ALTER TABLE {model._meta.db_table} DROP CONSTRAINT "{name}"')


# --- one way to break each promise --------------------------------------------------------

BREAKS: dict[str, Callable[[World], object]] = {}


def breaks(function: Callable[[World], object]) -> Callable[[World], object]:
    """This function breaks the promise of its name."""
    BREAKS[function.__name__] = function
    return function


@breaks
def state_against_the_launch(world):
    world.change(world.study, launched_at=None)


@breaks
def version_that_was_changed(world):
    StudyVersion.objects.filter(study=world.study).update(content={"texts": {}})


@breaks
def batch_open_at_the_wrong_time(world):
    world.study.batches.update(opened_at=None)


@breaks
def outputs_that_are_not_numbered(world):
    world.study.items.main().first().outputs.filter(position=1).update(position=7)


@breaks
def repeat_of_a_wrong_item(world):
    practice = world.study.items.practice().first()
    world.copy(practice, key="again", kind="repeat", repeat_of_id=practice.pk)


@breaks
def withdrawal_that_nobody_recorded(world):
    world.copy(world.answer.item, key="gone", kind="withdrawn")


@breaks
def job_that_has_stopped(world):
    Job.objects.create(study_id=world.study.pk, kind="launch", state="failed", message="Full.")


@breaks
def done_without_answer(world):
    world.change(world.answer, slot=None, status="surplus")


@breaks
def answer_in_a_place_not_done(world):
    lease = {"state": 1, "lease_until": now()}
    world.change(world.answer.slot, **lease)


@breaks
def place_with_several_answers(world):
    # of another study, as the database allows
    world.copy(world.answer, study_id=world.other.pk, key=uuid4())


@breaks
def answer_in_anothers_place(world):
    world.change(world.answer.slot, participant=make_annotator(world.study))


@breaks
def answer_in_a_place_of_another_item(world):
    one, two = Annotation.objects.counted().filter(participant=world.done)[:2]
    world.change(one, slot=None, status="surplus")
    world.change(two, slot=one.slot)


@breaks
def place_in_an_impossible_state(world):
    drop(Slot, "slot_state_agrees_with_its_holder")
    world.change(world.unstarted, lease_until=now())


@breaks
def two_places_of_an_item_for_one_person(world):
    taken = world.answer.slot
    # of another study, as the database allows
    world.copy(taken, no=7, study_id=world.other.pk)


@breaks
def place_number_twice(world):
    world.copy(world.unstarted, study_id=world.other.pk)


@breaks
def item_without_its_k_places(world):
    world.unstarted.delete()


@breaks
def place_before_its_batch_is_open(world):
    batch = add_batch(world.study, items=1, first=9)
    world.copy(world.unstarted, item_id=batch.items.get().pk)


@breaks
def place_of_a_control(world):
    world.copy(world.unstarted, item_id=world.study.items.practice().first().pk)


@breaks
def top_up_that_nobody_recorded(world):
    world.copy(world.unstarted, no=TOP_UP_FROM)


@breaks
def place_held_by_somebody_absent(world):
    world.change(world.busy, withdrawn_at=now())


@breaks
def more_than_k_count(world):
    item = world.answer.item
    for no in (7, 8):
        me = make_annotator(world.study)
        slot = world.copy(world.answer.slot, no=no, participant_id=me.pk)
        world.copy(world.answer, slot_id=slot.pk, participant_id=me.pk, key=uuid4())
    assert item.annotations.counted().count() > world.study.k


@breaks
def answered_twice(world):
    world.copy(world.report, study_id=world.other.pk, key=uuid4())


@breaks
def counted_without_a_place(world):
    drop(Annotation, "counted_annotations_hold_a_slot")
    world.change(world.answer, slot=None)


@breaks
def place_without_counting(world):
    drop(Annotation, "counted_annotations_hold_a_slot")
    world.change(world.answer, status="surplus")


@breaks
def report_that_counts(world):
    drop(Annotation, "reported_annotations_never_count")
    world.change(world.answer, outcome="reported")


@breaks
def status_against_the_item(world):
    world.change(world.report, status="control")


@breaks
def status_against_the_person(world):
    world.change(world.report, status="withdrawn")


@breaks
def unknown_status_or_outcome(world):
    world.change(world.report, status="lost")


@breaks
def order_that_is_none(world):
    world.change(world.answer, order_shown=[0, 1, 1])


@breaks
def held_against_its_reports(world):
    world.change(world.answer.item, held_at=now())


@breaks
def draft_that_should_be_gone(world):
    item = world.answer.item
    Draft.objects.create(
        study=world.study, item=item, participant=world.done, updated_at=now() - timedelta(hours=1)
    )


@breaks
def set_of_impossible_items(world):
    one = ItemSet.objects.get(participant=world.busy)
    world.change(one, item_ids=[*one.item_ids, one.item_ids[0]])


@breaks
def set_with_items_from_elsewhere(world):
    one = ItemSet.objects.get(participant=world.busy)
    world.change(one, item_ids=[*one.item_ids, world.other.items.main().first().pk])


@breaks
def finished_set_without_a_code(world):
    world.change(ItemSet.objects.get(participant=world.done), code="")


@breaks
def finished_set_with_open_places(world):
    world.change(ItemSet.objects.get(participant=world.busy), finished_at=now(), code="A")


@breaks
def visit_with_a_wrong_set(world):
    Visit.objects.create(
        study=world.study,
        participant=world.busy,
        recruitment=store_open_link(world.study),
        item_set=ItemSet.objects.get(participant=world.done),
    )


@breaks
def answer_outside_its_set(world):
    world.change(world.answer, place=9)


@breaks
def answer_with_another_number_of_ratings(world):
    world.answer.ratings.first().delete()


@breaks
def rating_of_what_was_not_rated(world):
    world.change(world.answer.ratings.first(), annotation=world.report)


@breaks
def rating_of_another_items_output(world):
    world.change(world.answer.ratings.first(), output=world.report.item.outputs.first())


@breaks
def criterion_that_is_not_asked(world):
    world.change(world.answer.ratings.first(), criterion="charm")


@breaks
def value_outside_its_scale(world):
    world.change(world.answer.ratings.first(), value=0, text="0")


@breaks
def rating_given_twice(world):
    world.copy(world.answer.ratings.first(), study_id=world.other.pk)


@breaks
def rating_of_a_kind_that_no_scale_has(world):
    world.copy(world.answer.ratings.first(), part="comment", value=None, text="A little dull.")


@breaks
def typed_text_that_says_another_number(world):
    world.change(world.answer.ratings.first(), text=" 70 ")


@breaks
def typed_text_that_is_missing(world):
    world.change(world.answer.ratings.first(), text="")


@breaks
def highlight_that_does_not_fit(world):
    highlight(world, 0, 5, text="Not there.")


@breaks
def highlight_given_twice(world):
    # of another study, as the database allows
    world.copy(highlight(world, 0, 5), study_id=world.other.pk)


@breaks
def highlight_of_a_criterion_that_is_not_asked(world):
    highlight(world, 0, 5, criterion="charm")


@breaks
def highlight_of_a_category_that_nothing_offers(world):
    highlight(world, 0, 5, detail={"severity": "major"})


@breaks
def row_of_two_studies(world):
    world.change(world.answer.ratings.first(), study=world.other)
