"""Any order of arrivals, claims, answers, reports and absences: the promises always hold."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from evalsite.fieldwork.launch import pause_study, resume_study
from evalsite.handout.claims import claim_set, has_free_place, has_work
from evalsite.handout.leases import prolong_reservation
from evalsite.handout.models import Annotation, Rating, Revision, Slot
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import list_questions
from evalsite.lib.clock import now, standing_at
from evalsite.participation.consent import answer_consent, withdraw
from evalsite.participation.forms import RatingForm
from evalsite.participation.held_items import held_items, release_item
from evalsite.participation.ignored_items import ignore_item, reason_of, undo_ignoring
from evalsite.participation.saving import Saved, Submission, submit_annotation
from evalsite.participation.sets import finish_set, open_places, wanted_places
from evalsite.people.models import ItemSet, Participant
from evalsite.people.services import Withdrawn, has_agreed
from evalsite.studies.models import Item, Study
from tests.handout.test_changing_k import change
from tests.participation.test_consent import change_text
from tests.support.factories import launch, make_annotator, make_participant, make_study, make_user
from tests.support.ignoring import GROUP, ITEM, SCORES, add_reviews
from tests.support.invariants import check_invariants

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

GROUPS = ("together", "once", "free")
RATED, REPORTED = Annotation.Outcome.RATED, Annotation.Outcome.REPORTED
SKIPPED = Annotation.Outcome.SKIPPED
FINAL = (Saved.FINAL, Saved.ALREADY)
pick = st.integers(min_value=0, max_value=30)
scores = st.integers(min_value=1, max_value=5)


class Work(RuleBasedStateMachine):
    """A few people on a small study, one step after another, against the real services."""

    groups = "free"

    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        self.example.__enter__()
        self.moment = now()
        self.owner = make_user()
        study = make_study(
            protocol="rrgen",
            items=0,
            k=2,
            set_size=4,
            groups=self.groups,
            by=self.owner,
            seed="one",
        )
        self.study = launch(add_reviews(study, reviews=3, responses=2))
        self.people: list[Participant] = []
        for _ in range(3):
            self.newcomer()
        # the slot that the page named when its item was dealt, however long ago that was
        self.slots_shown: dict[tuple[int, int], int] = {}
        # what stands, as the people themselves would tell it
        self.answers: dict[tuple[int, int], tuple[str, int]] = {}
        self.gone: set[int] = set()
        self.texts = 0

    def teardown(self) -> None:
        try:
            self.check_that_a_crowd_finishes_it()
        finally:
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    # --- people come, take work, and go away -------------------------------------------

    @rule()
    def newcomer(self) -> None:
        if len(self.people) < 6:
            # nothing may depend on chance but the steps themselves
            name = f"p-{len(self.people)}"
            self.people.append(make_annotator(self.study, pseudonym=name))

    @rule()
    def somebody_opens_the_link(self) -> None:
        if len(self.people) < 6:
            name = f"p-{len(self.people)}"
            self.people.append(make_participant(self.study, pseudonym=name))

    @rule(who=pick, is_given=st.booleans())
    def decide_on_consent(self, who: int, is_given: bool) -> None:
        me = self.person(who)
        with standing_at(self.tick()):
            if me.pk in self.gone:
                with pytest.raises(Withdrawn):
                    answer_consent(participant=me, is_given=is_given)
                return
            had_agreed = has_agreed(me)
            answer_consent(participant=me, is_given=is_given)
            assert has_agreed(me) == (is_given or had_agreed)
        if not has_agreed(me):
            assert not me.slots.leased().exists(), "somebody who declined holds a place"
        self.read_answers(me)

    @rule(who=pick)
    def claim(self, who: int) -> None:
        me = self.person(who)
        with standing_at(self.tick()):
            may_work = self.is_open() and has_agreed(me)
            could = self.could_be_dealt(me) if may_work and me.pk not in self.gone else False
            is_promised = has_work(me, me.study) if may_work else None
            is_new = may_work and not me.item_sets.exists() and me.pk not in self.gone
            is_free = has_free_place(me.study)
            item_set = claim_set(me)
            assert item_set is not None or not could, "sent away while there was work"
            if is_promised is not None:
                assert is_promised == (item_set is not None)
            if is_new:
                assert is_free == (item_set is not None)
            if item_set is not None and not item_set.item_ids:
                pytest.fail("a set without an item")
            assert item_set is None or me.consented_to, "a place without consent"
            self.check_hold(me, item_set)
        for slot in Slot.objects.leased().filter(participant=me):
            self.slots_shown[me.pk, slot.item_id] = slot.pk

    def check_hold(self, me: Participant, item_set: ItemSet | None) -> None:
        """A reservation is held for 15 minutes and never beyond 30, a lease for 60."""
        held = me.slots.leased().filter(lease_until__gt=self.moment)
        ends = [slot.lease_until for slot in held]
        if item_set is None or not ends:
            return
        assert max(ends) <= self.moment + timedelta(minutes=60)
        if item_set.reserved_until is not None:
            assert max(ends) <= item_set.reserved_until
            assert item_set.reserved_until <= self.moment + timedelta(minutes=30)

    @rule(who=pick)
    def read_the_instructions(self, who: int) -> None:
        """Finishing them holds a reservation to its end, and nothing that is over or earned."""
        me = self.person(who)
        with standing_at(self.tick()):
            before = dict(me.slots.leased().values_list("pk", "lease_until"))
            item_set = me.item_sets.filter(finished_at=None).first()
            is_reserved = item_set is not None and item_set.reserved_until is not None
            is_over = not is_reserved or item_set.reserved_until <= self.moment
            prolong_reservation(me)
            after = dict(me.slots.leased().values_list("pk", "lease_until"))
        assert before.keys() == after.keys()
        expected = before if is_over else dict.fromkeys(before, item_set.reserved_until)
        assert after == expected

    @rule(minutes=st.sampled_from([1, 14, 16, 61, 61, 1440]))
    def time_passes(self, minutes: int) -> None:
        self.moment += timedelta(minutes=minutes)

    @rule(who=pick, is_kept=st.booleans())
    @precondition(lambda self: len(self.people) > len(self.gone) + 2)
    def leave_for_good(self, who: int, is_kept: bool) -> None:
        me = self.person(who)
        with standing_at(self.tick()):
            withdraw(participant=me, is_kept=is_kept)
        self.gone.add(me.pk)

    @rule(who=pick, other=pick, minutes=st.sampled_from([16, 31, 61]))
    def place_lapses_and_another_person_comes(self, who: int, other: int, minutes: int) -> None:
        self.claim(who)
        self.time_passes(minutes)
        self.claim(other)

    # --- answers, in time or late ----------------------------------------------------------

    @rule(who=pick, which=pick, score=scores)
    def answer(self, who: int, which: int, score: int) -> None:
        self.submit(self.person(who), which, RATED, score)

    @rule(who=pick, which=pick)
    def report(self, who: int, which: int) -> None:
        self.submit(self.person(who), which, REPORTED, 0)

    @rule(who=pick, which=pick)
    def skip(self, who: int, which: int) -> None:
        self.submit(self.person(who), which, SKIPPED, 0)

    @rule(which=pick)
    @precondition(lambda self: self.answers)
    def send_again(self, which: int) -> None:
        told = sorted(
            key for key, said in self.answers.items() if said[0] in (RATED, REPORTED, SKIPPED)
        )
        if not told:
            return
        participant_id, item_id = told[which % len(told)]
        outcome, score = self.answers[participant_id, item_id]
        me = self.fresh(next(one for one in self.people if one.pk == participant_id))
        before = stored()
        with standing_at(self.tick()):
            if me.pk in self.gone:
                with pytest.raises(Withdrawn):
                    self.send(me, item_id, outcome, score)
            elif has_agreed(me):
                assert self.send(me, item_id, outcome, score) is Saved.ALREADY
            else:
                return
        assert stored() == before

    @rule(who=pick, which=pick, reason=st.sampled_from([GROUP, ITEM]))
    def ignore(self, who: int, which: int, reason: str) -> None:
        me = self.person(who)
        item_set = me.item_sets.filter(finished_at=None).first()
        if item_set is None or me.pk in self.gone or not has_agreed(me):
            return
        places = open_places(item_set)
        item_id = item_set.item_ids[places[which % len(places)] - 1]
        with standing_at(self.tick()):
            ignore_item(
                participant=me,
                item_set=item_set,
                submission=self.submission(me, item_id, RATED, 0),
                reason=reason_of(self.study.config, reason),
            )
            if which % 2:
                undo_ignoring(participant=me, item_set=item_set, item_id=item_id)
        self.read_answers(me)

    @rule(who=pick)
    def finish(self, who: int) -> None:
        me = self.person(who)
        item_set = me.item_sets.filter(finished_at=None).first()
        if item_set is None or me.pk in self.gone or not has_agreed(me):
            return
        with standing_at(self.tick()):
            is_whole = not wanted_places(me, item_set)
            assert finish_set(participant=me, item_set=item_set) == is_whole
            assert finish_set(participant=me, item_set=item_set) == is_whole

    # --- the researcher ---------------------------------------------------------------------

    @rule(is_about_items=st.booleans())
    def researcher_steps_in(self, is_about_items: bool) -> None:
        item = held_items(self.study).first() if is_about_items else None
        if item is not None:
            with standing_at(self.tick()):
                release_item(item=item, by=self.owner)
            return
        move = pause_study if self.is_open() else resume_study
        move(study=self.study, by=self.owner)

    @rule(k=st.sampled_from([1, 2, 3]))
    def researcher_changes_k(self, k: int) -> None:
        if k != self.k:
            with standing_at(self.tick()):
                change(self.study, k)

    @rule()
    def researcher_changes_the_consent_text(self) -> None:
        self.texts += 1
        change_text(self.study, f"Text {self.texts}")
        self.study.refresh_from_db()

    # --- what must hold -----------------------------------------------------------------------

    @invariant()
    def counts_are_exact(self) -> None:
        """The heart of what fsck checks, in two queries; all of it is checked at the end."""
        slots = {slot.pk: slot for slot in Slot.objects.all()}
        annotations = list(Annotation.objects.all())
        counted = [one for one in annotations if one.status == Annotation.Status.COUNTED]
        done = {slot.pk for slot in slots.values() if slot.state == Slot.State.DONE}
        assert sorted(one.slot_id for one in annotations if one.slot_id) == sorted(done)
        assert {one.pk for one in annotations if one.slot_id} == {one.pk for one in counted}
        for one in counted:
            slot = slots[one.slot_id]
            assert (slot.participant_id, slot.item_id) == (one.participant_id, one.item_id)
        pairs = [(one.participant_id, one.item_id) for one in annotations]
        held = [(slot.participant_id, slot.item_id) for slot in slots.values() if slot.state]
        assert len({*pairs}) == len(pairs)
        assert len({*held}) == len(held)
        assert max(Counter(one.item_id for one in counted).values(), default=0) <= self.k

    @invariant()
    def everything_that_was_told_is_stored(self) -> None:
        present = {me.pk for me in self.people} - self.gone
        told = {key: said for key, said in self.answers.items() if key[0] in present}
        assert told == stored_answers(present)

    def check_that_a_crowd_finishes_it(self) -> None:
        """Whatever was done before, new people bring every item to exactly k answers."""
        check_invariants(self.study)
        if not self.is_open():
            resume_study(study=self.study, by=self.owner)
        self.moment += timedelta(days=1)
        with standing_at(self.moment):
            while item := held_items(self.study).first():
                release_item(item=item, by=self.owner)
            for _ in range(40):
                if Slot.objects.done().count() == Slot.objects.count():
                    break
                me = make_annotator(self.study)
                while item_set := claim_set(me):
                    for place in open_places(item_set):
                        self.send(me, item_set.item_ids[place - 1], RATED, 3)
                    assert finish_set(participant=me, item_set=item_set)
        check_invariants(self.study)
        for item in Item.objects.main().filter(study=self.study):
            assert item.annotations.counted().count() == self.k

    # --- the hands -------------------------------------------------------------------------------

    def tick(self) -> datetime:
        """The moment of the next step: no two happen at once."""
        self.moment += timedelta(seconds=1)
        return self.moment

    def person(self, who: int) -> Participant:
        return self.fresh(self.people[who % len(self.people)])

    def fresh(self, me: Participant) -> Participant:
        """This person as a request would read them."""
        return Participant.objects.select_related("study__version").get(pk=me.pk)

    @property
    def k(self) -> int:
        return Study.objects.get(pk=self.study.pk).k

    def is_open(self) -> bool:
        return Study.objects.get(pk=self.study.pk).state == Study.State.LIVE

    def could_be_dealt(self, me: Participant) -> bool:
        """Whether some item wants an answer that this person may give, told without the dealing."""
        if ItemSet.objects.filter(participant=me, finished_at=None).exists():
            return False
        taken = {*Slot.objects.filter(participant=me).values_list("item_id", flat=True)}
        taken |= {*Annotation.objects.filter(participant=me).values_list("item_id", flat=True)}
        slots = Slot.objects.filter(study=self.study, item__held_at=None).select_related("item")
        wanted = [
            slot
            for slot in slots.exclude(state=Slot.State.DONE)
            if slot.state == Slot.State.FREE or slot.lease_until < self.moment
        ]
        if self.groups == "once":
            met = {*Item.objects.filter(pk__in=taken).values_list("group", flat=True)}
            return any(slot.item.group not in met for slot in wanted)
        if self.groups == "together":
            mine = {slot.pos for slot in wanted if slot.item_id in taken}
            return any(slot.pos not in mine for slot in wanted)
        return any(slot.item_id not in taken for slot in wanted)

    def submit(self, me: Participant, which: int, outcome: str, score: int) -> None:
        """An item of any set of this person's is answered, whoever has its place by now."""
        item_ids = [item_id for one in me.item_sets.all() for item_id in one.item_ids]
        if not item_ids:
            return
        item_id = item_ids[which % len(item_ids)]
        with standing_at(self.tick()):
            if me.pk in self.gone:
                with pytest.raises(Withdrawn):
                    self.send(me, item_id, outcome, score)
                return
            if has_agreed(me):
                self.check_answer(me, item_id, outcome, score)
            else:
                self.send(me, item_id, outcome, score)
                self.read_answers(me)

    def check_answer(self, me: Participant, item_id: int, outcome: str, score: int) -> None:
        known = self.answers.get((me.pk, item_id))
        slots = Slot.objects.filter(item_id=item_id)
        has_place = slots.free().exists() or slots.leased().filter(participant=me).exists()
        standing = Annotation.objects.filter(participant=me, item_id=item_id).first()
        before = stored()
        saved = self.send(me, item_id, outcome, score)
        if known == (outcome, score):
            assert saved is Saved.ALREADY
        elif known is None:
            assert saved is Saved.SAVED
            annotation = Annotation.objects.get(participant=me, item_id=item_id)
            is_counted = has_place and outcome == RATED
            left = "skipped" if outcome == SKIPPED else "surplus"
            assert annotation.status == ("counted" if is_counted else left)
        else:
            is_final = standing.item_set.finished_at is not None
            assert saved is (Saved.FINAL if is_final else Saved.CHANGED)
        if saved in FINAL:
            assert stored() == before
        else:
            self.answers[me.pk, item_id] = (outcome, score)

    def send(self, me: Participant, item_id: int, outcome: str, score: int) -> Saved:
        submission = self.submission(me, item_id, outcome, score)
        return submit_annotation(participant=me, submission=submission)

    def submission(self, me: Participant, item_id: int, outcome: str, score: int) -> Submission:
        item = Item.objects.get(pk=item_id)
        item_set = next(
            (one for one in me.item_sets.order_by("-number") if item_id in one.item_ids), None
        )
        rows: tuple[AnswerRow, ...] = ()
        if outcome == RATED and score:
            given = SCORES | {"relevance": str(score)}
            config, outputs = self.study.config, list(item.outputs.all())
            questions = list_questions(config, item.inputs, outputs)
            form = RatingForm(given, config=config, questions=questions)
            assert form.is_valid(), form.errors
            rows = form.list_rows(item.pk)
        return Submission(
            item=item,
            outcome=outcome,
            reason="broken" if outcome == REPORTED else "",
            rows=rows,
            slot_id=self.slots_shown.get((me.pk, item_id)),
            item_set_id=item_set.pk if item_set else None,
            place=item_set.item_ids.index(item_id) + 1 if item_set else 0,
            version_id=self.study.version_id,
        )

    def read_answers(self, me: Participant) -> None:
        """After ignoring, whose words another test looks at, the people know what they said."""
        self.answers = {key: said for key, said in self.answers.items() if key[0] != me.pk}
        self.answers |= stored_answers({me.pk})


def stored_answers(people: set[int]) -> dict[tuple[int, int], tuple[str, int]]:
    """Outcome and first score, 0 if there is none, of each answer of these people."""
    relevance = Rating.objects.filter(criterion="relevance").order_by()
    scores = dict(relevance.values_list("annotation", "value"))
    answers = Annotation.objects.filter(participant__in=people).order_by()
    rows = answers.values_list("pk", "participant", "item", "outcome")
    return {(who, item): (outcome, scores.get(pk, 0)) for pk, who, item, outcome in rows}


def stored() -> list[list[dict[str, Any]]]:
    models = (Annotation, Rating, Revision, Slot, ItemSet)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def bounded(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def run(groups: str, *, examples: int, steps: int) -> None:
    machine = type("Work", (Work,), {"groups": groups})
    run_machine(machine, settings=bounded(examples, steps))


@pytest.mark.one_case
@pytest.mark.parametrize("groups", GROUPS)
def test_no_order_of_steps_breaks_a_promise(groups: str) -> None:
    run(groups, examples=2, steps=30)


@pytest.mark.torture
@pytest.mark.parametrize("groups", GROUPS)
def test_no_order_of_many_steps_breaks_a_promise(groups: str) -> None:
    run(groups, examples=30, steps=50)
