"""Which annotations a researcher wants in a file."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q, QuerySet

from evalsite.annotation.models import Annotation
from evalsite.participants.models import Origin, Participant
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Study

_PILOT = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)
OUT, ONLY = "out", "only"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Pilots stay out unless asked for; anything else that is empty leaves nothing out.

    `excluded`: "out" leaves excluded annotations out, "only" all others. Days are of UTC, both
    included; imported annotations have no time here, so that a day leaves them out.
    """

    with_pilot: bool = False
    status: str = ""
    excluded: str = ""
    origin: str = ""
    kind: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def is_all(self) -> bool:
        """Nothing but pilots is left out."""
        return not (Selection.describe(self).keys() - {"with_pilot"})

    def describe(self) -> dict[str, Any]:
        """What is chosen, for the log: plain data, without what is left open."""
        chosen = {
            "status": self.status,
            "excluded": self.excluded,
            "origin": self.origin,
            "kind": self.kind,
            "since": self.since and self.since.isoformat(),
            "until": self.until and self.until.isoformat(),
        }
        return {"with_pilot": self.with_pilot} | {key: cell for key, cell in chosen.items() if cell}

    @property
    def query(self) -> str:
        """What is chosen, as the address of a page gives it."""
        return urlencode({name: cell for name, cell in Selection.describe(self).items() if cell})

    def name_parts(self) -> list[str]:
        """What is chosen, for the name of a file."""
        excluded = {OUT: "without-excluded", ONLY: "only-excluded"}.get(self.excluded, "")
        since = self.since and f"from-{self.since.isoformat()}"
        until = self.until and f"until-{self.until.isoformat()}"
        parts = [self.status, self.origin, self.kind, excluded, since, until]
        return [part for part in parts if part]

    def takes(self, *, status: str, origin: str, kind: str, submitted_at: str) -> bool:
        """Whether an annotation with these cells is wanted, whoever is excluded."""
        if (self.status and status != self.status) or (self.kind and kind != self.kind):
            return False
        if self.origin and origin != self.origin:
            return False
        if not (self.since or self.until):
            return True
        day = submitted_at[:10]
        is_late = self.since is None or day >= self.since.isoformat()
        is_early = self.until is None or day <= self.until.isoformat()
        return origin != Origin.IMPORTED and is_late and is_early

    def takes_excluded(self, is_excluded: bool) -> bool:
        return not self.excluded or is_excluded == (self.excluded == ONLY)

    def find_annotations(self, study: Study) -> QuerySet[Annotation]:
        """The annotations that are wanted, as rows of the database."""
        found = Annotation.objects.agreed().filter(study=study)
        if not self.with_pilot:
            found = found.exclude(_PILOT)
        named = {"status": self.status, "origin": self.origin, "item__kind": self.kind}
        found = found.filter(**{name: value for name, value in named.items() if value})
        if self.excluded:
            standing = Exclusion.objects.standing().filter(study=study)
            excluded = Q(id__in=standing.filter(annotation__isnull=False).values("annotation"))
            excluded |= Q(
                participant__in=standing.filter(participant__isnull=False).values("participant")
            )
            found = found.filter(excluded if self.excluded == ONLY else ~excluded)
        if self.since or self.until:
            found = found.exclude(origin=Origin.IMPORTED)
        if self.since:
            found = found.filter(submitted_at__gte=_begin(self.since))
        if self.until:
            found = found.filter(submitted_at__lt=_begin(self.until + timedelta(days=1)))
        return found

    def find_participants(self, study: Study) -> QuerySet[Participant]:
        """The participants that are wanted: status, kind and days are of annotations alone."""
        found = Participant.objects.filter(study=study)
        if not self.with_pilot:
            found = found.filter(is_pilot=False)
        if self.origin:
            found = found.filter(origin=self.origin)
        if self.excluded:
            standing = Exclusion.objects.standing().filter(study=study, participant__isnull=False)
            excluded = Q(id__in=standing.values("participant"))
            found = found.filter(excluded if self.excluded == ONLY else ~excluded)
        return found


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
