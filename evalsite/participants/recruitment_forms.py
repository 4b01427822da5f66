"""What a researcher sets for a round: places and pay, its platform's settings, its links."""

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from evalsite.participants.models import OutcomeCode, Recruitment
from evalsite.platforms import Outcome
from evalsite.studies.forms import use_our_words
from evalsite.studies.summary_lines import count_of

_HTTPS = "Enter a link that begins with https://"
_CODE = RegexValidator(
    r"\A[0-9A-Za-z_-]{1,40}\Z", "Enter letters, digits, “-” and “_”, 40 characters at most."
)
# the least of these is 1
_WHOLE = frozenset(["places", "minutes", "sets_per_person"])


class RecruitmentForm(forms.ModelForm):
    """The settings of one round, the links of its outcomes included."""

    class Meta:
        model = Recruitment
        fields = (
            "places",
            "minutes",
            "reward",
            "is_paid_per_minute",
            "sets_per_person",
            "has_further_sets",
            "refuses_phones",
            "takes_typed_ids",
        )
        labels = {
            "minutes": "Minutes for a set",
            "reward": "Reward",
            "is_paid_per_minute": "The reward is for each announced minute",
            "has_further_sets": "Pay further sets as a bonus",
            "refuses_phones": "Not on phones",
            "takes_typed_ids": "People may type their ID",
        }
        help_texts = {
            "places": "How many people can have a place. Leave empty for no limit.",
            "minutes": "Leave empty for the study’s own.",
            "reward": "For a set. Leave empty for the study’s own.",
            "sets_per_person": (
                "One visit is one set. Above 1, allow as many submissions per person there, too."
            ),
            "has_further_sets": "In the same visit, instead of a new submission for each set.",
            "takes_typed_ids": (
                "If the link doesn’t carry it. A typed ID is marked, and never opens what "
                "somebody has started."
            ),
            "refuses_phones": "People on a phone are asked to open the study on a computer.",
        }

    def __init__(self, *args: Any, stored: list[OutcomeCode], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.adapter.hands_back:
            # who doesn't come from a platform makes no further submission
            del self.fields["sets_per_person"]
            self._offer_further_sets()
        if self.instance.adapter.person is None or not self.instance.adapter.needs_person:
            del self.fields["takes_typed_ids"]
        for name in _WHOLE & self.fields.keys():
            self.fields[name].widget.attrs["min"] = 1
        self._add_fields({code.outcome: code for code in stored})
        for field in self.fields.values():
            field.error_messages["required"] = "This can't be empty."
        use_our_words(self.fields.values())

    def _offer_further_sets(self) -> None:
        """Keep the limit of personal links; experts have what was assigned to them."""
        links = self.instance.personal_links if self.instance.pk is not None else None
        is_personal = self.instance.adapter.has_personal_links and links is not None
        if not is_personal or links is None or links.filter(expert__isnull=False).exists():
            del self.fields["has_further_sets"]
            return
        field, most = self.fields["has_further_sets"], self.instance.study.max_sets
        field.label = "Each person may do more than one set"
        field.help_text = "Without this, one set per link."
        if most is not None:
            field.help_text += f" The study allows each person {count_of(most, 'set')} at most."

    def _add_fields(self, codes: dict[str, OutcomeCode]) -> None:
        """Add what this round's platform asks for."""
        platform = self.instance.adapter
        for setting in platform.settings:
            self.fields[f"setting_{setting.name}"] = forms.CharField(
                label=setting.label,
                help_text=setting.help,
                required=setting.is_required,
                initial=self.instance.settings.get(setting.name, setting.initial),
                validators=[RegexValidator(rf"\A(?:{setting.pattern})\Z", setting.refusal)],
            )
        if platform.takes_own_code:
            self.fields["own_code"] = forms.CharField(
                label="Completion code",
                required=False,
                initial=getattr(codes.get(Outcome.COMPLETED), "code", ""),
                help_text="Leave empty to create a different code for each finished set.",
                validators=[_CODE],
            )
        for outcome, leaves in platform.exits.items():
            if leaves.takes_link:
                self.fields[f"link_{outcome}"] = self._make_link_field(outcome, codes)

    def _make_link_field(self, outcome: Outcome, codes: dict[str, OutcomeCode]) -> forms.URLField:
        name = LABELS[outcome] if self.instance.number else "finished"
        return forms.URLField(
            label=f"Link: {name.lower()}",
            required=False,
            max_length=500,
            assume_scheme="https",
            initial=getattr(codes.get(outcome), "link", ""),
            error_messages={"invalid": _HTTPS},
            help_text=self.instance.adapter.exits[outcome].advice,
            validators=[RegexValidator(r"\Ahttps://", _HTTPS, flags=re.IGNORECASE)],
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in _WHOLE:
            if cleaned.get(name) == 0:
                self.add_error(name, "Enter 1 or more.")
        for outcome, link in self.links().items():
            problem = self.instance.adapter.check_link(link) if link else ""
            if problem:
                self.add_error(f"link_{outcome}", ValidationError(problem, code="link"))
        return cleaned

    def values(self) -> dict[str, Any]:
        """Return the settings by the name of their column."""
        columns = {
            name: self.cleaned_data[name] for name in self.Meta.fields if name in self.fields
        }
        settings = dict(self._list_cleaned("setting_"))
        return columns | ({"settings": settings} if settings else {})

    def links(self) -> dict[Outcome, str]:
        return {Outcome(name): link for name, link in self._list_cleaned("link_")}

    def _list_cleaned(self, prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in self.cleaned_data.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), value


# as researchers read them
LABELS = {
    Outcome.COMPLETED: "Completed",
    Outcome.SCREENED_OUT: "Screened out",
    Outcome.FAILED_CHECK: "Failed the instructions check",
    Outcome.NO_CONSENT: "No consent",
    Outcome.NO_PLACE: "No place",
    Outcome.WRONG_DEVICE: "Wrong device",
}
