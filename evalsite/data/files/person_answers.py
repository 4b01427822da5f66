"""Rows of participants_answers.csv: what people said about themselves, apart from their ratings.

Only for those who may see identities.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.db.models import QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files.columns import write_time
from evalsite.lib.csv_writer import guard_cell, write_rows
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import Answer
from evalsite.studies.models import Study
from evalsite.studies.questions import list_person_questions

ANSWERS_FILE = "participants_answers.csv"
COLUMNS = (
    "study", "participant", "pilot", "asked", "question", "question_text", "answer", "answered_at",
)  # fmt: skip


def find_answers(study: Study) -> QuerySet[Answer]:
    """Return what people answered about themselves."""
    return Answer.objects.filter(study=study, question__in=list_person_questions(study))


def write_answers(study: Study, *, by: Any, for_spreadsheets: bool = False) -> str:
    """Return the file, and record in the log who took it."""
    with consistent_cut():
        rows = list(_list_rows(study))
    if for_spreadsheets:
        rows = [[guard_cell(cell) for cell in row] for row in rows]
    text = write_rows([COLUMNS, *rows])
    AuditEntry.objects.record(
        "answers view",
        by=by,
        study_id=study.pk,
        file=ANSWERS_FILE,
        rows=len(rows),
        sha256=sha256(text.encode()).hexdigest(),
        for_spreadsheets=for_spreadsheets,
    )
    return text


def _list_rows(study: Study) -> Iterator[list[str]]:
    asked = list_person_questions(study)
    answers = Answer.objects.filter(study=study, question__in=asked).select_related("participant")
    order = {name: place for place, name in enumerate(asked)}
    for answer in sorted(
        answers, key=lambda answer: (answer.participant_id, order[answer.question])
    ):
        when, question = asked[answer.question]
        yield [
            str(study.pk),
            answer.participant.pseudonym,
            "yes" if answer.participant.is_pilot else "no",
            when,
            question.key,
            question.label,
            answer.value,
            write_time(answer.answered_at),
        ]
