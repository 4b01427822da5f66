"""Rows of participants_ids.csv: who the participants are on the platforms they came from.

Only for those who may see identities; no bundle and no other export holds any of it.
"""

from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from django.db.models import Count, QuerySet

from evalsite.core.audit.models import AuditEntry
from evalsite.data.files.columns import write_time, yes_no
from evalsite.handout.models import Annotation
from evalsite.lib.csv_writer import guard_cell, write_rows
from evalsite.lib.transactions import consistent_cut
from evalsite.people.models import ItemSet, Participant, ParticipantIdentity, Visit
from evalsite.people.visits import read_rounds, with_last_round
from evalsite.studies.models import Item, Study

IDS_FILE = "participants_ids.csv"
COLUMNS = (
    "study", "participant", "platform", "person_id", "visit_id", "platform_study_id",
    "arrived_at", "notes", "state", "sets_finished", "answers", "completion_codes", "pilot",
)  # fmt: skip
_VIEWED = "identity view"


def find_identities(study: Study) -> QuerySet[ParticipantIdentity]:
    return ParticipantIdentity.objects.filter(study=study)


def find_last_view(study: Study) -> AuditEntry | None:
    """Return when this file was downloaded last, and by whom."""
    return AuditEntry.objects.filter(study_id=study.pk, action=_VIEWED).first()


def write_identities(study: Study, *, by: Any, for_spreadsheets: bool = False) -> str:
    """Return the file, and record in the log who took it.

    There is a row for each visit, and one for each identity that came without any.
    """
    with consistent_cut():
        rows = list(_list_rows(study))
    if for_spreadsheets:
        rows = [[guard_cell(cell) for cell in row] for row in rows]
    text = write_rows([COLUMNS, *rows])
    AuditEntry.objects.record(
        _VIEWED,
        by=by,
        study_id=study.pk,
        file=IDS_FILE,
        rows=len(rows),
        sha256=sha256(text.encode()).hexdigest(),
        for_spreadsheets=for_spreadsheets,
    )
    return text


def _list_rows(study: Study) -> Iterator[list[str]]:
    visits: defaultdict[tuple[int, str], list[Visit]] = defaultdict(list)
    for visit in Visit.objects.filter(study=study).order_by("id"):
        visits[visit.participant_id, visit.platform].append(visit)
    people = _People(study)
    identities = ParticipantIdentity.objects.filter(study=study).select_related("participant")
    for identity in identities.order_by("participant_id", "id"):
        cells = {
            "study": str(study.pk),
            "platform": identity.platform,
            "person_id": identity.outside_id,
            **people.describe(identity.participant),
        }
        came = visits[identity.participant_id, identity.platform]
        # two ids of one platform may be one person's, where ratings were imported
        for visit in [visit for visit in came if visit.person_id.lower() == identity.outside_id]:
            shown = cells | _describe_visit(visit)
            yield [shown[column] for column in COLUMNS]
        if not came:
            yield [cells.get(column, "") for column in COLUMNS]


def _describe_visit(visit: Visit) -> dict[str, str]:
    return {
        "person_id": visit.person_id,
        "visit_id": visit.visit_id,
        "platform_study_id": visit.platform_study_id,
        "arrived_at": write_time(visit.arrived_at),
        "notes": "; ".join(visit.flags),
    }


class _People:
    """What the file says of each participant, whichever their visits."""

    def __init__(self, study: Study) -> None:
        self._rounds = read_rounds(study)
        people = with_last_round(Participant.objects.filter(study=study)).order_by()
        self._last_rounds: dict[int, int | None] = dict(people.values_list("pk", "last_round"))
        self._codes: defaultdict[int, list[str]] = defaultdict(list)
        sets = ItemSet.objects.filter(study=study)
        finished = sets.filter(finished_at__isnull=False).order_by("participant_id", "number")
        for participant_id, code in finished.values_list("participant_id", "code"):
            self._codes[participant_id].append(code)
        self._working = set(
            sets.filter(finished_at__isnull=True).values_list("participant_id", flat=True)
        )
        answered = Annotation.objects.agreed().filter(study=study, item__kind=Item.Kind.MAIN)
        by_person = answered.order_by().values_list("participant")
        self._answers: dict[int, int] = dict(by_person.annotate(n=Count("pk")))

    def describe(self, participant: Participant) -> dict[str, str]:
        codes = self._codes.get(participant.pk, [])
        # a code of the round's own is what participants are shown
        fixed = self._rounds.code_of(self._last_rounds.get(participant.pk))
        shown = [fixed] if codes and fixed else codes
        return {
            "participant": participant.pseudonym,
            "state": self._find_state(participant),
            "sets_finished": str(len(codes)),
            "answers": str(self._answers.get(participant.pk, 0)),
            "completion_codes": " ".join(shown),
            "pilot": yes_no(participant.is_pilot),
        }

    def _find_state(self, participant: Participant) -> str:
        if participant.withdrawn_at is not None:
            return "withdrawn"
        if participant.pk in self._working:
            return "working"
        if participant.pk in self._codes:
            return "finished"
        if participant.is_eligible is False:
            return participant.get_refused_for_display() or "not eligible"
        if participant.is_checked is False:
            return "failed check"
        if participant.is_qualified is False:
            return "not qualified"
        return "started" if participant.consented_to else "no consent"
