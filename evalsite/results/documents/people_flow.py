"""How many people came, were turned away and why, left, were excluded, and are analysed."""

from collections import Counter
from dataclasses import dataclass

from django.db.models import Case, Count, Exists, OuterRef, Q, Value, When

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Origin, Participant, Refusal
from evalsite.quality.top_up import excluded_answers
from evalsite.studies.models import Item, Study

_ANSWERED = ("excluded", "analysed")


@dataclass(frozen=True, kw_only=True)
class PeopleFlow:
    """People who came to a study by where they ended; pilots and imported raters are left out."""

    ends: dict[str, int]
    simulated: int

    @property
    def arrived(self) -> int:
        return sum(self.ends.values())

    @property
    def answered(self) -> int:
        return sum(self.ends.get(end, 0) for end in _ANSWERED)


def count_people(study: Study) -> PeopleFlow:
    """Count the people of a study by where they ended."""
    mine = Annotation.objects.counted().agreed().filter(
        participant=OuterRef("pk"), item__kind=Item.Kind.MAIN
    )  # fmt: skip
    kept = mine.exclude(pk__in=excluded_answers(study).order_by().values("pk"))
    end = Case(
        When(Exists(kept), then=Value("analysed")),
        When(Exists(mine), then=Value("excluded")),
        # whoever withdraws may leave their answers
        When(withdrawn_at__isnull=False, then=Value("withdrew")),
        When(refused_for=Refusal.QUOTA, then=Value("quota")),
        When(refused_for=Refusal.EARLIER, then=Value("earlier")),
        When(is_eligible=False, then=Value("not_eligible")),
        When(is_checked=False, then=Value("failed_check")),
        When(is_qualified=False, then=Value("not_qualified")),
        When(consented_to="", then=Value("not_agreed")),
        default=Value("no_answers"),
    )
    people = Participant.objects.filter(~Q(origin=Origin.IMPORTED), study=study, is_pilot=False)
    counts = people.order_by().annotate(end=end).values_list("end", "origin")
    flow, simulated = Counter[str](), 0
    for reached, origin, number in counts.annotate(n=Count("pk")):
        flow[reached] += number
        simulated += number if origin == Origin.SIMULATED else 0
    return PeopleFlow(ends=dict(flow), simulated=simulated)
