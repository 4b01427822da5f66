"""Visits: where a person came from last, how that ended, and what they hand back."""

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from math import ceil
from typing import Any

from django.db.models import Min, OuterRef, QuerySet, Subquery

from evalsite.lib.clock import now
from evalsite.lib.prepared import Prepared
from evalsite.people.models import (
    Consent,
    ItemSet,
    OutcomeCode,
    Participant,
    Recruitment,
    Visit,
)
from evalsite.people.platforms import Leave, Outcome
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import hourly_pay, minutes_per_set
from evalsite.studies.version_cache import read_content
from evalsite.studies.versions import get_identity_days, shown_content

# without a platform people may change their mind, wait for a place, and use another device
_REVISABLE = frozenset([Outcome.NO_CONSENT, Outcome.NO_PLACE, Outcome.WRONG_DEVICE])

# so short a time after consent is not paid
_UNPAID_SECONDS = 60
_PENNY = Decimal("0.01")
_ROUNDS = "evalsite_rounds"

_last_visit_of = Prepared(
    lambda pk: (
        Visit.objects.filter(participant=pk)
        .select_related("recruitment")
        .order_by("-arrived_at", "-id")[:1]
    )
)
_visit_of_link = Prepared(
    lambda pk: Visit.objects.filter(pk=pk).select_related("recruitment").order_by()
)


@dataclass(frozen=True, kw_only=True)
class WayOut:
    """What a person does to hand an outcome back."""

    # the name of the platform to go back to; "" if there is none
    platform: str = ""
    code: str = ""
    link: str = ""
    # whether the link carries the code, so that nobody needs to copy it
    hands_over: bool = False
    leave: Leave = Leave.CLOSE
    # whether the next set needs no further visit
    has_further_sets: bool = True
    # what the round promises for a set, if it is paid, and how long it is announced to take
    pay: Decimal | None = None
    minutes: int = 0

    @property
    def is_paid(self) -> bool:
        return self.pay is not None


def find_visit(participant: Participant) -> Visit | None:
    """Return the visit that this person is on: that of the link in use, or their last one."""
    if participant.later_visit_id is not None:
        return _visit_of_link.one(participant.later_visit_id)
    return _last_visit_of.one(participant.pk)


def name_platform(participant: Participant) -> str:
    """Return the name of the platform that this person came from last; "" if from none."""
    visit = find_visit(participant)
    return visit.recruitment.name_for_people if visit else ""


def describe_kept_id(participant: Participant) -> dict[str, Any]:
    """Return what pages say about the ID of this person that is kept; {} if none is."""
    if not participant.identities.exists():
        return {}
    return {
        "kept_id": {
            "platform": name_platform(participant),
            "days": _find_identity_days(participant),
        }
    }


def _find_identity_days(participant: Participant) -> int:
    """Return the days in the consent text that this person answered; the fewest, if several."""
    versions = participant.consents.filter(version__isnull=False).values_list("version", flat=True)
    contents = [read_content(participant.study_id, pk) for pk in versions] or [
        shown_content(participant.study)
    ]
    return min(map(get_identity_days, contents))


def end_visit(participant: Participant, outcome: Outcome) -> None:
    """Decide how the current visit of this person ended, unless that is decided."""
    visit = find_visit(participant)
    if visit is None or (outcome in _REVISABLE and not visit.recruitment.adapter.hands_back):
        return
    visit.recruitment.study = participant.study
    Visit.objects.filter(pk=visit.pk, outcome="").update(
        outcome=outcome, ended_at=now(), **_find_bonus(visit, outcome)
    )


def _find_bonus(visit: Visit, outcome: Outcome) -> dict[str, Any]:
    """Return what is due for the minutes since consent, if the platform pays nothing for them.

    At the rate of the round, and for no longer than a set is announced to take.
    """
    recruitment = visit.recruitment
    leaves, hourly = recruitment.adapter.exits[outcome], hourly_pay(recruitment.study)
    codes = recruitment.codes.filter(outcome=outcome).exclude(code="", link="")
    is_paid = leaves.is_paid and codes.exists()
    if not visit.person_id or not recruitment.adapter.hands_back or is_paid or not hourly:
        return {}
    consents = Consent.objects.filter(participant=visit.participant_id, is_given=True)
    agreed_at = consents.aggregate(first=Min("answered_at"))["first"]
    if agreed_at is None:
        return {}
    seconds = (now() - max(agreed_at, visit.arrived_at)).total_seconds()
    if seconds <= _UNPAID_SECONDS:
        return {}
    minutes = min(ceil(seconds / 60), minutes_per_set(recruitment.study))
    amount = (hourly * minutes / 60).quantize(_PENNY, rounding=ROUND_UP)
    return {"bonus": amount, "bonus_minutes": minutes}


def complete_visit(participant: Participant, item_set: ItemSet) -> None:
    """End the current visit with this finished set."""
    visit = find_visit(participant)
    if visit is None or visit.outcome:
        return
    # a person may finish on a second visit what was dealt on the first
    Visit.objects.filter(item_set=item_set).exclude(pk=visit.pk).update(item_set=None)
    Visit.objects.filter(pk=visit.pk, outcome="").update(
        outcome=Outcome.COMPLETED, ended_at=now(), item_set=item_set
    )


def is_over(visit: Visit | None) -> bool:
    """Return whether this visit gives no more work."""
    if visit is None or not visit.outcome:
        return False
    return visit.outcome != Outcome.COMPLETED or not visit.recruitment.has_further_sets


def find_way_out(participant: Participant, outcome: Outcome, *, set_code: str = "") -> WayOut:
    """Return how this person hands back the outcome; `set_code` is that of completed work."""
    visit = find_visit(participant)
    recruitment = visit.recruitment if visit else Recruitment.objects.open_link(participant.study)
    recruitment.study = participant.study
    # a study's own link may not be stored yet
    codes = () if recruitment._state.adding else recruitment.codes.all()
    stored = {code.outcome: code for code in codes}
    leaves = recruitment.adapter.exits[outcome]
    fixed = stored[outcome].code if outcome in stored else ""
    link = stored[outcome].link if outcome in stored else ""
    if not link and leaves.instead in stored:
        link = stored[leaves.instead].link
    if not link and fixed:
        link = recruitment.adapter.link_from_code
    is_set_code_wanted = leaves.has_set_code or not link or "{code}" in link
    code = fixed or (set_code if is_set_code_wanted else "")
    return WayOut(
        platform=recruitment.name_for_people,
        code=code,
        link=recruitment.adapter.fill_link(
            link,
            code=code,
            person_id=visit.person_id if visit else "",
            visit_id=visit.visit_id if visit else "",
        ),
        hands_over="{code}" in link or bool(fixed and fixed in link),
        leave=leaves.otherwise,
        has_further_sets=recruitment.has_further_sets,
        pay=recruitment.study.pay_per_set,
        minutes=minutes_per_set(recruitment.study),
    )


def read_rounds(study: Study) -> "Rounds":
    """Return what the study's rounds give for completed work, and keep it with the study."""
    kept: Rounds | None = vars(study).get(_ROUNDS)
    if kept is not None:
        return kept
    completed = OutcomeCode.objects.filter(recruitment=OuterRef("pk"), outcome=Outcome.COMPLETED)
    rounds = study.recruitments.order_by().annotate(fixed=Subquery(completed.values("code")[:1]))
    codes: dict[int | None, str] = {}
    for pk, number, code in rounds.values_list("pk", "number", "fixed"):
        # the study's own link is round 0, and people without a visit came by it
        codes |= {pk: code or ""} | ({} if number else {None: code or ""})
    kept = vars(study)[_ROUNDS] = Rounds(codes=codes)
    return kept


def with_last_round(people: QuerySet[Participant]) -> QuerySet[Any]:
    """Return these people with the round of their last visit, which `Rounds.code_of` asks for."""
    visits = Visit.objects.filter(participant=OuterRef("pk")).order_by("-arrived_at", "-id")
    return people.annotate(last_round=Subquery(visits.values("recruitment")[:1]))


@dataclass(frozen=True)
class Rounds:
    """The code that each round gives other than a set's own ("": none)."""

    codes: dict[int | None, str]

    @property
    def shared_codes(self) -> set[str]:
        return set(self.codes.values()) - {""}

    def code_of(self, last_round: int | None) -> str:
        """Return the code of somebody whose last visit was in this round."""
        return self.codes.get(last_round, "")
