"""Set up: the form of a section, over some of a study's settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.utils import timezone

from evalsite.accounts.time_zones import name_zone
from evalsite.instruments.schema import Instrument
from evalsite.lib.clock import now
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Study
from evalsite.studies.set_size import FEWEST
from evalsite.studies.setting_changes import (
    DESIGN,
    SHOWN,
    digest_settings,
    has_opened,
    name_new_version,
)
from evalsite.studies.setup_sections import SECTIONS, Section

_MINUTES = "%Y-%m-%dT%H:%M"
_LEAST = {"minutes_per_set": 1, "bonus": Decimal("0.01"), "pay_target": Decimal("0.01")}


class MomentField(forms.DateTimeField):
    """A date and time as the clocks of a time zone show them."""

    zone: ZoneInfo = ZoneInfo("UTC")

    def to_python(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().prepare_value(value)


class SectionForm(forms.ModelForm):
    """The settings of one section of Set up."""

    # what was saved when the page was opened
    seen = forms.CharField(widget=forms.HiddenInput)
    is_new_version = forms.BooleanField(required=False)
    opens_at = MomentField(
        required=False,
        label="Opening date and time",
        help_text=(
            "Until then links work, but the first page says when people can start. Leave it empty "
            "to open at launch."
        ),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTES),
    )
    closes_at = MomentField(
        required=False,
        label="Closing date and time",
        help_text=(
            "Nobody new can start after it, and the study closes once nobody is at work. You can "
            "always close it yourself."
        ),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTES),
    )
    language = forms.CharField(
        max_length=35,
        validators=[
            RegexValidator(
                r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z",
                "Enter a language code, such as en, de or pt-BR.",
            )
        ],
        help_text=(
            "Of your items and texts, as a code such as en, de or pt-BR. Screen readers need it to "
            "pronounce them."
        ),
        widget=forms.TextInput(attrs={"list": "languages"}),
    )
    currency = forms.CharField(
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Enter three capital letters, such as GBP.")],
        help_text="Three letters, such as GBP, EUR or USD.",
    )

    class Meta:
        model = Study
        fields = [name for section in SECTIONS for name in section.fields]
        labels = {
            "description": "Description for colleagues",
            "closes_when_full": "Close when all answers are in",
            "contact_email": "Contact e-mail",
            "content_warning": "Content warning",
            "covers_items": "Cover each item",
            "consent": "Your own words",
            "has_notice": "A short notice on the first page",
            "responsible": "Responsible for the data",
            "complaints": "Complaints go to",
            "withdrawable_until": "Answers can be withdrawn until",
            "identity_days": "Names and IDs are deleted after",
            "k": "Answers per item",
            "max_sets": "Most sets per participant",
            "max_items": "Most items per participant",
            "check_every": "A check after every … items",
            "repeat_percent": "Hidden repeats in percent",
            "repeat_distance": "Least distance of a repeat",
            "has_bonus": "Bonus for all sets",
            "bonus": "Amount of the bonus",
            "groups": "Items of a group",
            "lease_minutes": "Minutes a place is kept",
            "is_practice_on": "Practice before rating",
            "may_skip_practice": "Practice can be skipped",
            "is_check_on": "Check of the instructions",
            "is_qualification_on": "Qualification before rating",
            "pass_mark": "Pass mark in percent",
            "is_eligibility_on": "Ask who may take part",
            "minimum_age": "Minimum age",
            "asks_to_share": "Ask whether answers may be shared",
            "recognise_days": "Days to recognise people in later studies",
            "is_aided": "Aids",
            "minutes_per_set": "Minutes per set",
            "pay_per_set": "Pay per set",
            "pay_target": "Your target per hour",
        }
        help_texts = {
            "description": "Participants never see it. The datasheet prints it.",
            "closes_when_full": (
                "Otherwise the study stays open: nobody new can start, and you can still ask for "
                "more answers."
            ),
            "organisation": "Who runs the study. It is shown on every page.",
            "headline": "One line above the summary on the first page. May be empty.",
            "summary": "What people will do, in two sentences.",
            "consent": "Markdown. They come before the sentences that follow your settings.",
            "has_notice": (
                "For colleagues who rate as part of their work: Start means that they have read "
                "it. Off: a consent page, on which people agree before anything is asked."
            ),
            "answers_kept_for": "For example “10 years”. Needed with a consent page.",
            "ethics_approval": "Leave empty if there is none. The sentence goes too.",
            "responsible": "Empty: the organisation.",
            "complaints": "Empty: the contact e-mail.",
            "withdrawable_until": "That day included. Empty: until the study closes.",
            "identity_days": "Days after the study closes, from 1 to 180.",
            "instructions": (
                "Markdown. Leave empty for the instrument's own instructions, which are shown "
                "below. To change a part of them, copy them into this box."
            ),
            "k": "How many different people answer each item.",
            "set_size": "How many items a person gets at a time. Checks and repeats come on top.",
            "max_sets": "Leave empty for no limit.",
            "max_items": (
                "Leave empty for no limit. Checks and repeats come on top, and are not counted."
            ),
            "check_every": (
                "A gold or attention item of your batches comes after every so many items of a "
                "set, at unpredictable positions. Checks never count in results. Leave "
                "empty for none."
            ),
            "repeat_percent": (
                "This share of a person’s items is shown to them a second time, with the outputs "
                "in another order, to see how steady they are. 10 is usual, 0 is off. Only people "
                f"who can get {FEWEST} items or more get repeats. Repeats never count in results."
            ),
            "repeat_distance": "How many items a repeat comes after its first showing, at least.",
            "has_bonus": (
                "Annotators who complete the maximum number of sets earn a bonus. They read "
                "about it before they start. You pay it; the People page shows who has earned it."
            ),
            "bonus": "In the currency of the pay. Leave empty to promise a bonus without a sum.",
            "groups": "Items that share one input, such as the replies to one review.",
            "lease_minutes": (
                "The longest time that unfinished places wait for a person. Each answer in a set "
                "keeps its places for 15 minutes more, or for longer if items take long, up to "
                "this time. Until a first answer, places are kept for 15 to 30 minutes at most."
            ),
            "expected_participants": (
                "If you know it. The checklist then says if this many can finish the design."
            ),
            "is_practice_on": (
                "Practice items come first, each explained once it is answered. They never count."
            ),
            "may_skip_practice": (
                "Adds a button to the practice pages, for people who know the task already."
            ),
            "is_qualification_on": (
                "Instead of practice, the practice items with a gold answer are asked as a test, "
                "with two tries. People who fail both get no work. Without gold answers, the test "
                "asks questions on the instructions."
            ),
            "pass_mark": "The share of answers in the test that must match the gold.",
            "is_check_on": (
                "After the instructions, people answer the instrument's questions about them. All "
                "must be right by the second try; otherwise the study ends for them. Nobody is "
                "rejected for it, and their minutes are paid as a bonus."
            ),
            "content_warning": (
                "What the texts may contain, in a sentence or two. Everyone reads it on the first "
                "page, and can then skip any item: it goes to someone else, and pay stays the same."
            ),
            "covers_items": "People see an item only when they ask for it, or skip it unseen.",
            "minimum_age": (
                "People confirm it when they agree to take part. Leave empty for no minimum."
            ),
            "asks_to_share": (
                "Adds a box to the consent page, which nobody has to tick. A bundle to publish "
                "leaves out people who didn't; your team's results and files have all answers."
            ),
            "recognise_days": (
                "A code made from the platform ID of everyone who agrees is kept this long, so "
                "that later studies can keep people out or require them. The consent text must "
                "say so. 0 keeps none."
            ),
            "minutes_per_set": "Shown on the first page. Empty: the instrument's estimate.",
            "pay_per_set": "Leave empty if nothing is paid.",
            "pay_target": "Only your team sees it.",
        }
        widgets = {
            "description": forms.Textarea(attrs={"rows": 3}),
            "summary": forms.Textarea(attrs={"rows": 3}),
            "content_warning": forms.Textarea(attrs={"rows": 2}),
            "consent": forms.Textarea(attrs={"rows": 6}),
            "withdrawable_until": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "instructions": forms.Textarea(attrs={"rows": 6}),
        }

    def __init__(self, *args: Any, section: Section, zone: ZoneInfo, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.zone = section, zone
        study, config = self.instance, self.instance.config
        self.is_frozen = study.version_id is not None
        for name in set(self.Meta.fields) - set(section.fields):
            del self.fields[name]
        for field in self.fields.values():
            field.error_messages["required"] = "This can't be empty."
        use_our_words(self.fields.values())
        self._use_least_values()
        self._fit_to(config)
        self._use_time_zone()
        if self.is_frozen:
            self._lock()
        if not (self.is_frozen and set(self.fields) & set(SHOWN)):
            del self.fields["is_new_version"]
        self.fields["seen"].initial = digest_settings(study, self.names)

    @property
    def names(self) -> list[str]:
        """Return the columns that this section saves."""
        has_options = self.section.has_options and self.instance.config.options_form is not None
        names = [name for name in self.section.fields if name in self.fields]
        return [*names, *(["options"] if has_options else [])]

    def _use_time_zone(self) -> None:
        local = now().astimezone(self.zone)
        note = f"In {name_zone(self.zone)}, where it is {local:%H:%M} now: your account’s."
        for name in {"opens_at", "closes_at"} & self.fields.keys():
            field = cast(MomentField, self.fields[name])
            field.zone = self.zone
            field.help_text = f"{field.help_text} {note}"

    def note_change(self) -> list[tuple[str, Any]]:
        """Take note of what someone else saved: what now differs from the fields, by label.

        Saving again replaces it.
        """
        saved = type(self)(
            instance=Study.objects.get(pk=self.instance.pk), section=self.section, zone=self.zone
        )
        self.data = {**{name: self.data[name] for name in self.data}, "seen": saved["seen"].value()}
        return [
            (str(self[name].label), saved[name].value())
            for name in self.section.fields
            if name in saved.fields and _as_typed(saved[name]) != _as_typed(self[name])
        ]

    def _use_least_values(self) -> None:
        """Have errors name the field's minimum, rather than the column's, which is 0."""
        for name in self.section.fields:
            least = _LEAST.get(name) or next(
                (
                    validator.limit_value
                    for validator in getattr(self.Meta.model, name).field.validators
                    if isinstance(validator, MinValueValidator) and validator.limit_value > 0
                ),
                None,
            )
            if least is not None:
                field = self.fields[name]
                field.widget.attrs["min"] = least
                rest = [
                    validator
                    for validator in field.validators
                    if not isinstance(validator, MinValueValidator)
                ]
                field.validators = [MinValueValidator(least), *rest]

    def _fit_to(self, config: Instrument) -> None:
        """Keep only the fields that this protocol uses, in its words."""
        if config.eligibility is None:
            self.fields.pop("is_eligibility_on", None)
        elif "is_eligibility_on" in self.fields:
            self.fields["is_eligibility_on"].help_text = config.eligibility.rule or (
                "Asks the questions before the work. Off: everyone may take part."
            )
        if config.design.checks_take_places and "set_size" in self.fields:
            self.fields[
                "set_size"
            ].help_text = (
                "How many items a person gets at a time. Checks and repeats are among them."
            )
        if not config.comprehension and not self.instance.is_check_on:
            self.fields.pop("is_check_on", None)
        if not config.aids:
            self.fields.pop("is_aided", None)
        elif "is_aided" in self.fields:
            aids = "; ".join(aid.label for aid in config.aids)
            self.fields[
                "is_aided"
            ].help_text = f"Off shows the instrument exactly. On adds: {aids}."

    def _lock(self) -> None:
        for name in DESIGN:
            if name in self.fields:
                self.fields[name].disabled = True
        if "opens_at" in self.fields and has_opened(self.instance):
            self.fields["opens_at"].disabled = True
            self.fields["opens_at"].help_text = "The study has opened, so this can’t be changed."
        tick = self.fields["is_new_version"]
        tick.label = name_new_version(self.instance.version)
        tick.help_text = (
            "From now on people see the changed texts. A changed consent text is put to "
            "participants again. Answers keep the version under which they were given."
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._check_bonus(cleaned)
        self._check_dates(cleaned)
        # Browsers send CRLF; without this, saving unchanged texts would change them.
        return {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in cleaned.items()
        }

    def _check_bonus(self, cleaned: dict[str, Any]) -> None:
        if cleaned.get("has_bonus") and "max_sets" in cleaned and cleaned["max_sets"] is None:
            self.add_error(
                "max_sets",
                "A bonus for all sets needs a number of sets. Enter how many a person may "
                "complete, or untick the bonus.",
            )
        if cleaned.get("bonus") is not None and not cleaned.get("has_bonus"):
            self.add_error(
                "bonus", "Tick “Bonus for all sets”, or leave its amount empty: none is promised."
            )

    def _check_dates(self, cleaned: dict[str, Any]) -> None:
        opens_at, closes_at = cleaned.get("opens_at"), cleaned.get("closes_at")
        if opens_at and closes_at and closes_at <= opens_at:
            self.add_error("closes_at", "Choose a moment after the opening.")

    def clean_opens_at(self) -> Any:
        return self._find_moment("opens_at")

    def clean_closes_at(self) -> Any:
        return self._find_moment("closes_at")

    def _find_moment(self, name: str) -> Any:
        moment = self.cleaned_data[name]
        if moment and name in self.changed_data and moment <= now():
            raise ValidationError("Choose a moment in the future.")
        return moment

    def values(self) -> dict[str, Any]:
        """Return the cleaned settings by the name of their column."""
        return {
            name: self.cleaned_data[name] for name in self.section.fields if name in self.fields
        }


def _as_typed(field: forms.BoundField) -> str:
    """Return the value as a browser would send it."""
    value = field.field.prepare_value(field.value())
    return "" if value in (None, False) else str(value).replace("\r\n", "\n").strip()


@dataclass(frozen=True, kw_only=True)
class ShownGroup:
    """The fields of a group, as a page shows them."""

    key: str
    title: str
    fields: list[forms.BoundField]
    is_paired: bool
    is_locked: bool
    is_partly_locked: bool = False


def list_groups(form: SectionForm, options: forms.Form | None) -> Iterator[ShownGroup]:
    """Return what a section's page asks, under headings; the protocol's options last."""
    for number, group in enumerate(form.section.groups, start=1):
        fields = [form[name] for name in group.names if name in form.fields]
        if fields:
            yield ShownGroup(
                key=f"group-{number}",
                title=group.title,
                fields=fields,
                is_paired=group.is_paired,
                is_locked=form.is_frozen and all(field.name in DESIGN for field in fields),
                is_partly_locked=form.is_frozen and any(field.name in DESIGN for field in fields),
            )
    if options is not None:
        yield ShownGroup(
            key="options",
            title="Options of the protocol",
            fields=list(options),
            is_paired=False,
            is_locked=form.is_frozen,
        )


def make_options_form(study: Study, section: Section, data: Any = None) -> forms.Form | None:
    """Return the protocol's own form with this study's options, locked once it is launched."""
    if not section.has_options or study.config.options_form is None:
        return None
    form = study.config.options_form(
        data, initial=study.config.default_options | study.options, prefix="option"
    )
    if study.version_id is not None:
        for field in form.fields.values():
            field.disabled = True
    use_our_words(form.fields.values())
    return form
