"""The rows that a researcher wants in a file, and the form to choose them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation
from evalsite.people.models import Origin, Participant
from evalsite.studies.models import Item, Study

OUT, ONLY = "out", "only"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Pilots stay out unless asked for; anything else that is empty leaves nothing out.

    `only_shared` leaves out everyone who wasn't imported and hasn't agreed to share their answers.
    `is_masked` replaces e-mail addresses and long numbers in what people wrote.

    `excluded`: "out" leaves excluded annotations out, "only" all others. Days are in UTC, both
    included; imported annotations have no time here, so choosing a day leaves them out.
    """

    with_pilot: bool = False
    status: str = ""
    excluded: str = ""
    origin: str = ""
    kind: str = ""
    since: date | None = None
    until: date | None = None
    only_shared: bool = False
    is_masked: bool = False

    def describe(self) -> dict[str, Any]:
        """Return what is chosen, for the log: plain data, without what is left open."""
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
        """What is chosen, as in the address of a page."""
        return urlencode({name: cell for name, cell in Selection.describe(self).items() if cell})

    def name_parts(self) -> list[str]:
        """Return what is chosen, for the name of a file."""
        excluded = {OUT: "without-excluded", ONLY: "only-excluded"}.get(self.excluded, "")
        since = self.since and f"from-{self.since.isoformat()}"
        until = self.until and f"until-{self.until.isoformat()}"
        parts = [self.status, self.origin, self.kind, excluded, since, until]
        return [part for part in parts if part]

    def find_annotations(self, study: Study) -> QuerySet[Annotation]:
        """Return the annotations that are wanted."""
        return Annotation.objects.filter(self.make_condition(study), study=study)

    def make_condition(self, study: Study) -> Q:
        """Return the condition that an annotation of the study must meet."""
        named = {"status": self.status, "origin": self.origin, "item__kind": self.kind}
        fields = {name: value for name, value in named.items() if value}
        condition = Q(awaits_consent=False, **fields)
        if not self.with_pilot:
            condition &= ~Q(status=Annotation.Status.PILOT) & Q(participant__is_pilot=False)
        if self.only_shared:
            condition &= shared("participant__")
        if self.excluded:
            exclusions = Exclusion.objects.active().filter(study=study)
            excluded = Q(id__in=exclusions.filter(annotation__isnull=False).values("annotation"))
            excluded |= Q(
                participant__in=exclusions.filter(participant__isnull=False).values("participant")
            )
            condition &= excluded if self.excluded == ONLY else ~excluded
        if self.since or self.until:
            condition &= ~Q(origin=Origin.IMPORTED)
        if self.since:
            condition &= Q(submitted_at__gte=_begin(self.since))
        if self.until:
            condition &= Q(submitted_at__lt=_begin(self.until + timedelta(days=1)))
        return condition

    def find_participants(self, study: Study) -> QuerySet[Participant]:
        """Return the participants that are wanted: status, kind and days don't apply to them."""
        participants = Participant.objects.filter(study=study)
        if not self.with_pilot:
            participants = participants.filter(is_pilot=False)
        if self.only_shared:
            participants = participants.filter(shared())
        if self.origin:
            participants = participants.filter(origin=self.origin)
        if self.excluded:
            exclusions = Exclusion.objects.active().filter(study=study, participant__isnull=False)
            excluded = Q(id__in=exclusions.values("participant"))
            participants = participants.filter(excluded if self.excluded == ONLY else ~excluded)
        return participants


def shared(prefix: str = "") -> Q:
    """Return the condition of people whose answers may be published."""
    return Q(**{f"{prefix}may_share": True}) | Q(**{f"{prefix}origin": Origin.IMPORTED})


def count_not_sharing(study: Study) -> int:
    """Count the people who agreed to take part, but not that their answers are shared."""
    return Participant.objects.filter(study=study, is_pilot=False, may_share=False).count()


def _begin(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


# --- the form -------------------------------------------------------------------------------


def _choose(label: str, values: list[str]) -> forms.ChoiceField:
    choices = [("", "all"), *((value, value) for value in values)]
    return forms.ChoiceField(label=label, choices=choices, required=False)


def _day(label: str) -> forms.DateField:
    return forms.DateField(
        label=label, required=False, widget=forms.DateInput(attrs={"type": "date"})
    )


class PurposeForm(forms.Form):
    """What a CSV is for."""

    purpose = forms.ChoiceField(
        label="CSV",
        choices=[("", "exact, for analysis"), ("spreadsheets", "for spreadsheets")],
        required=False,
    )

    @property
    def is_for_spreadsheets(self) -> bool:
        return self.is_valid() and self.cleaned_data["purpose"] == "spreadsheets"


class SelectionForm(PurposeForm):
    """Which annotations are wanted. What is left open leaves nothing out, except pilots."""

    field_order = ("status", "kind", "origin", "excluded", "since", "until", "purpose")

    status = _choose("Status", Annotation.Status.values)
    kind = _choose("Kind of item", Item.Kind.values)
    origin = _choose("Origin", Origin.values)
    excluded = forms.ChoiceField(
        label="Excluded",
        choices=[("", "in, marked"), (OUT, "left out"), (ONLY, "only these")],
        required=False,
    )
    since = _day("Saved from (UTC)")
    until = _day("Saved up to (UTC)")
    with_pilot = forms.BooleanField(label="include pilot answers", required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        since, until = values.get("since"), values.get("until")
        if since and until and since > until:
            raise ValidationError("The first day is after the last. Swap them, or clear one.")
        if values.get("status") == Annotation.Status.PILOT and not self.errors:
            values["with_pilot"] = True
        return values

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: cell for name, cell in self.cleaned_data.items() if name != "purpose"}

    @property
    def selection(self) -> Selection:
        """What is chosen; everything except pilots, if the form can't be read."""
        return Selection(**self.chosen) if self.is_valid() else Selection()
