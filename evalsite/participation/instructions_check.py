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


def is_check_due(me: Participant) -> bool:
    """Return whether the questions are what this person has to answer, once they have read."""
    return me.study.is_check_on and me.is_checked is None and bool(me.study.config.comprehension)


@transaction.atomic
def answer_check(*, participant: Participant, answers: Mapping[int, str], attempt: int) -> None:
    """Store the answers of a try, and decide it; one that is over stays as it was."""
    me = lock_participant(participant)
    if me.withdrawn_at is not None:
        raise Withdrawn
    me.study = participant.study
    if me.is_checked is not None or attempt != me.check_tries + 1:
        return
    named = {f"check-{attempt}-{number}": text for number, text in answers.items()}
    record_answers(participant=me, answers=named)
    me.check_tries = attempt
    if all(result.is_met for result in compare_answers(me, answers)):
        me.is_checked = True
    elif attempt >= TRIES:
        me.is_checked = False
        me.stopped_at = now()
        release_places(me)
        end_visit(me, Outcome.FAILED_CHECK)
    me.save(update_fields=["check_tries", "is_checked", "stopped_at"])


def explain_check(me: Participant) -> list[QuestionResult]:
    """Return the questions as answered in the last try, if there was one."""
    if not me.check_tries:
        return []
    start = f"check-{me.check_tries}-"
    rows = Answer.objects.filter(participant=me, question__startswith=start)
    answers = {
        int(name.removeprefix(start)): value
        for name, value in rows.values_list("question", "value")
    }
    return compare_answers(me, answers)
