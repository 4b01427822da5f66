"""What happened last in a study: sets that were finished, and what the team did."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Value
from django.utils import timezone
from django.utils.formats import date_format

from evalsite.audit.models import AuditEntry
from evalsite.participants.models import ItemSet
from evalsite.participants.recruiting import LINKS_VIEWED
from evalsite.studies.models import Study

LATEST = 9
# what is logged so often, or so late, that it says nothing here
_LEFT_OUT = ("pilot started", "identity view", "round created", LINKS_VIEWED)
# researchers know no rounds
_WORDS = {"round turned on": "recruiting turned on", "round turned off": "recruiting turned off"}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line: what the team did, or which set a participant finished."""

    at: datetime
    when: str
    action: str = ""
    actor: str = ""
    pseudonym: str = ""
    set_number: int = 0


def list_events(study: Study, moment: datetime) -> list[Event]:
    """Return the latest events, the newest first, in one query."""
    entries = AuditEntry.objects.filter(study_id=study.pk).exclude(action__in=_LEFT_OUT)
    sets = ItemSet.objects.filter(
        study=study, participant__is_pilot=False, finished_at__isnull=False
    )
    # the latest of each by key: SQLite takes no limit within a union
    entries = entries.filter(pk__in=entries.order_by("-id").values("pk")[:LATEST]).order_by()
    sets = sets.filter(pk__in=sets.order_by("-finished_at").values("pk")[:LATEST]).order_by()
    rows = entries.values_list("created_at", "action", "actor_name", Value(0)).union(
        sets.values_list("finished_at", Value(""), "participant__pseudonym", "number"), all=True
    )
    events = [
        Event(
            at=at,
            when=describe_time(at, moment),
            action=_WORDS.get(action, action),
            actor=name if action else "",
            pseudonym="" if action else name,
            set_number=number,
        )
        for at, action, name, number in rows
    ]
    return sorted(events, key=lambda event: event.at, reverse=True)[:LATEST]


def describe_time(at: datetime, moment: datetime) -> str:
    """Return the time of day today, the day within a week, and the date before that."""
    at, moment = timezone.localtime(at), timezone.localtime(moment)
    if at.date() == moment.date():
        return date_format(at, "H:i")
    return date_format(at, "D" if moment - at < timedelta(days=6) else "j M")
