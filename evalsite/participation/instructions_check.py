"""The check of the instructions: a few questions, two tries, all right in the end.

It is asked before practice and the qualification. Answers are `Answer` rows, one for each try.
"""

from collections.abc import Mapping

from django.db import transaction

from evalsite.handout.leases import lock_participant, release_places
from evalsite.lib.clock import now
from evalsite.participation.forms import QuestionResult
from evalsite.participation.qualification import compare_answers
from evalsite.people.models import Answer, Participant
from evalsite.people.platforms import Outcome
from evalsite.people.services import Withdrawn, record_answers
from evalsite.people.visits import end_visit
from evalsite.studies.qualification import TRIES


def is_check_due(participant: Participant) -> bool:
    """Return whether the questions are what this person has to answer, once they have read."""
    return (
        participant.study.is_check_on
        and participant.is_checked is None
        and bool(participant.study.config.comprehension)
    )


@transaction.atomic
def answer_check(*, participant: Participant, answers: Mapping[int, str], attempt: int) -> None:
    """Store the answers of a try, and decide it; one that is over stays as it was."""
    locked = lock_participant(participant)
    if locked.withdrawn_at is not None:
        raise Withdrawn
    locked.study = participant.study
    if locked.is_checked is not None or attempt != locked.check_tries + 1:
        return
    named = {f"check-{attempt}-{number}": text for number, text in answers.items()}
    record_answers(participant=locked, answers=named)
    locked.check_tries = attempt
    if all(result.is_met for result in compare_answers(locked, answers)):
        locked.is_checked = True
    elif attempt >= TRIES:
        locked.is_checked = False
        locked.stopped_at = now()
        release_places(locked)
        end_visit(locked, Outcome.FAILED_CHECK)
    locked.save(update_fields=["check_tries", "is_checked", "stopped_at"])


def explain_check(participant: Participant) -> list[QuestionResult]:
    """Return the questions as answered in the last try, if there was one."""
    if not participant.check_tries:
        return []
    start = f"check-{participant.check_tries}-"
    rows = Answer.objects.filter(participant=participant, question__startswith=start)
    answers = {
        int(name.removeprefix(start)): value
        for name, value in rows.values_list("question", "value")
    }
    return compare_answers(participant, answers)
