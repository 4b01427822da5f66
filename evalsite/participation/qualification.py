"""Taking the qualification: each answer counts once in its try, and the last one decides.

`Annotation.place` is the number of the try, from 1; practice leaves it at 0. Answers to questions
on the instructions are `Answer` rows, one for each try.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db import transaction

from evalsite.handout.leases import lock_participant, release_places
from evalsite.handout.models import Annotation
from evalsite.lib.clock import now
from evalsite.participation.feedback import explain_answers
from evalsite.participation.forms import QuestionResult
from evalsite.participation.saving import (
    Submission,
    keep_revision,
    replace_annotation,
    submit_annotation,
)
from evalsite.participation.screens import Screen, answered_screen
from evalsite.people.models import Answer, Participant
from evalsite.people.platforms import Outcome
from evalsite.people.services import Withdrawn, record_answers
from evalsite.people.visits import end_visit
from evalsite.studies.gold import Feedback, count_met
from evalsite.studies.models import Item
from evalsite.studies.qualification import TRIES, list_qualifying, needed_of, plan_qualification


@dataclass(frozen=True)
class Score:
    """How many comparisons were met in one try, and how many would have passed."""

    met: int
    asked: int
    needed: int


@dataclass(frozen=True)
class Explained:
    """One item of the qualification with its answer, and what gold says of it."""

    screen: Screen
    annotation: Annotation
    feedback: list[Feedback]


def current_try(participant: Participant) -> int:
    """Return the number of the try that this person is at, from 1."""
    return participant.tries + 1


def next_to_qualify(participant: Participant) -> int | None:
    """Return the number, from 1, of the first item without an answer in this try; None: none."""
    items = list_qualifying(participant.study)
    answered = set(
        Annotation.objects.filter(
            participant=participant, item__in=items, place=current_try(participant)
        ).values_list("item_id", flat=True)
    )
    return next((n for n, item in enumerate(items, start=1) if item.pk not in answered), None)


def has_begun(participant: Participant) -> bool:
    """Return whether an item has an answer in this try."""
    mine = Annotation.objects.filter(participant=participant, item__kind=Item.Kind.PRACTICE)
    return mine.filter(place=current_try(participant)).exists()


@transaction.atomic
def answer_item(*, participant: Participant, submission: Submission, attempt: int) -> None:
    """Store the answer in its try, unless it has one already or the try is over."""
    locked = _lock_for(participant, attempt)
    if locked is None:
        return
    answer = replace(submission, place=attempt)
    earlier = Annotation.objects.filter(participant=locked, item=answer.item).first()
    if earlier is None:
        submit_annotation(participant=locked, submission=answer)
    elif earlier.place < attempt:
        # the answer of the first try is kept, with its times
        keep_revision(earlier, attempt=earlier.place, started_at=earlier.started_at.isoformat())
        earlier.place, earlier.started_at = attempt, answer.started_at
        replace_annotation(earlier, locked, answer)
    _decide(locked)


@transaction.atomic
def answer_questions(*, participant: Participant, answers: Mapping[int, str], attempt: int) -> None:
    """Store the answers to the questions on the instructions, and decide their try."""
    locked = _lock_for(participant, attempt)
    if locked is None:
        return
    named = {_question_key(attempt, number): text for number, text in answers.items()}
    record_answers(participant=locked, answers=named)
    _decide(locked)


@transaction.atomic
def decide_try(*, participant: Participant) -> None:
    """Decide a try of which nothing is left to answer; any other stays open."""
    locked = _lock_for(participant, current_try(participant))
    if locked is not None:
        _decide(locked)


def _lock_for(participant: Participant, attempt: int) -> Participant | None:
    """Return the participant's row, locked; None where this try is not open any more."""
    locked = lock_participant(participant)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    locked.study = participant.study
    return locked if locked.is_qualified is None and attempt == current_try(locked) else None


def _decide(participant: Participant) -> None:
    """Let the try count, and pass or fail, once nothing is left to answer."""
    plan = plan_qualification(participant.study)
    if plan is None:
        return
    attempt = current_try(participant)
    if plan.is_on_instructions:
        if not _answers_of(participant, attempt):
            return
    elif next_to_qualify(participant) is not None:
        return
    participant.tries = attempt
    if plan.is_passed_by(score_of(participant).met):
        participant.is_qualified = True
        # once the suggestions have been read, if there is anything to read
        is_nothing_to_read = plan.is_on_instructions and all(
            result.is_met for result in explain_questions(participant)
        )
        participant.practised_at = now() if is_nothing_to_read else None
    elif attempt >= TRIES:
        participant.is_qualified = False
        # gets no more work, whatever page is asked for
        participant.stopped_at = now()
        release_places(participant)
        end_visit(participant, Outcome.FAILED_CHECK)
    participant.save(update_fields=["tries", "is_qualified", "practised_at", "stopped_at"])


# --- what came of it ------------------------------------------------------------------


def score_of(participant: Participant) -> Score:
    """Return how the last finished try went."""
    plan = plan_qualification(participant.study)
    if plan is not None and plan.is_on_instructions:
        answers = _answers_of(participant, participant.tries)
        met = sum(result.is_met for result in compare_answers(participant, answers))
        return Score(met, plan.asked, plan.needed)
    met, asked = count_met(line for item in explain_try(participant) for line in item.feedback)
    return Score(met, asked, needed_of(participant.study, asked))


def explain_try(participant: Participant) -> list[Explained]:
    """Return each item as it was answered in the last finished try, with what is suggested."""
    answered = {
        annotation.item_id: annotation
        for annotation in Annotation.objects.filter(
            participant=participant, item__kind=Item.Kind.PRACTICE, place=participant.tries
        )
        .select_related("item")
        .prefetch_related("ratings")
    }
    explained = []
    for item in list_qualifying(participant.study):
        if annotation := answered.get(item.pk):
            screen = answered_screen(annotation, participant.study)
            explained.append(
                Explained(screen, annotation, explain_answers(screen, annotation.list_rows()))
            )
    return explained


def explain_questions(participant: Participant) -> list[QuestionResult]:
    """Return the questions on the instructions as answered in the last finished try, if any."""
    return (
        compare_answers(participant, _answers_of(participant, participant.tries))
        if participant.tries
        else []
    )


def compare_answers(participant: Participant, answers: Mapping[int, str]) -> list[QuestionResult]:
    """Return the questions on the instructions with these answers, by the question's number."""
    return [
        QuestionResult(question, answers.get(number, ""), answers.get(number) == question.right)
        for number, question in enumerate(participant.study.config.comprehension, start=1)
    ]


def _answers_of(participant: Participant, attempt: int) -> dict[int, str]:
    """Return the answers to the questions on the instructions in this try, by their number."""
    start = _question_key(attempt, "")
    mine = Answer.objects.filter(participant=participant, question__startswith=start)
    return {
        int(question.removeprefix(start)): value
        for question, value in mine.values_list("question", "value")
    }


def _question_key(attempt: int, number: int | str) -> str:
    return f"qualification-{attempt}-{number}"
