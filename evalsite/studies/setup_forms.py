"""Set up: the forms of its pages, made from the settings of a study as they are declared."""

from copy import copy
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.utils import timezone

from evalsite.core.accounts.time_zones import name_zone
from evalsite.lib.clock import now
from evalsite.studies.forms import use_our_words
from evalsite.studies.languages import guess_language_of
from evalsite.studies.models import Study
from evalsite.studies.set_size import (
    FEWEST,
    SECONDS_A_QUESTION,
    WORDS_A_MINUTE,
    is_by_reading,
    most_items,
)
from evalsite.studies.setting_changes import (
    DESIGN,
    SHOWN,
    digest_settings,
    has_opened,
    name_new_version,
)
from evalsite.studies.settings import SETTINGS, Place, list_settings
from evalsite.studies.summary_lines import minutes_per_set, name_unit

UTC = ZoneInfo("UTC")
_MINUTES = "%Y-%m-%dT%H:%M"


class MomentField(forms.DateTimeField):
    """A date and time as the clocks of a time zone show them."""

    zone: ZoneInfo = UTC

    def to_python(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        with timezone.override(self.zone):
            return super().prepare_value(value)


def describe_fields(page: str) -> type:
    """Return the inner class Meta of the form of a page: the fields that its settings declare."""
    settings = list_settings(page)
    return type(
        "Meta",
        (),
        {
            "model": Study,
            "fields": [setting.name for setting in settings],
            "labels": {setting.name: setting.label for setting in settings},
            "help_texts": {setting.name: setting.help for setting in settings},
            "widgets": {
                setting.name: forms.Textarea(attrs={"rows": setting.lines})
                for setting in settings
                if setting.lines
            },
        },
    )


class SettingsForm(forms.ModelForm):
    """What the forms of Set up share: two people who edit, and what is frozen since launch."""

    page: ClassVar[str]
    # what was saved when the page was opened
    seen = forms.CharField(widget=forms.HiddenInput)
    is_new_version = forms.BooleanField(required=False)

    def __init__(self, *args: Any, zone: ZoneInfo = UTC, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone  # of the person who reads and enters dates
        self.is_frozen = self.instance.version_id is not None
        self.fit_to_study()
        for name, field in self.fields.items():
            field.error_messages["required"] = "This can't be empty."
            if name in SETTINGS:
                self._use_bounds(name)
            if isinstance(field.widget, forms.NumberInput):
                field.widget.attrs["class"] = "num"
        use_our_words(self.fields.values())
        if self.is_frozen:
            self._lock()
        if not (self.is_frozen and set(self.fields) & set(SHOWN)):
            del self.fields["is_new_version"]
        self.fields["seen"].initial = digest_settings(self.instance, self.names)

    @property
    def names(self) -> list[str]:
        """Return the settings that this page saves."""
        return [name for name in self.fields if name in SETTINGS]

    @property
    def action(self) -> str:
        """Return which button was pressed."""
        return str(self.data.get("do", ""))

    @property
    def in_sight(self) -> list[forms.BoundField]:
        return [self[name] for name in self.names if SETTINGS[name].place == Place.SIGHT]

    @property
    def more(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Return the fields under More, with the heading above them."""
        groups: dict[str, list[forms.BoundField]] = {}
        for name in self.names:
            if SETTINGS[name].place == Place.MORE:
                groups.setdefault(SETTINGS[name].group, []).append(self[name])
        return list(groups.items())

    @property
    def has_errors_in_more(self) -> bool:
        return any(field.errors for _, fields in self.more for field in fields)

    def fit_to_study(self) -> None:
        """Leave out the fields that this study has no use for, and put others in its words."""

    def note_change(self) -> list[tuple[str, Any]]:
        """Take note of what someone else saved: what now differs from the fields, by label.

        Saving again replaces it.
        """
        saved = type(self)(instance=Study.objects.get(pk=self.instance.pk), zone=self.zone)
        self.data = {**{name: self.data[name] for name in self.data}, "seen": saved["seen"].value()}
        return [
            (str(self[name].label), saved[name].value())
            for name in self.names
            if name in saved.fields and _as_typed(saved[name]) != _as_typed(self[name])
        ]

    def _use_bounds(self, name: str) -> None:
        """Check the bounds and the pattern of the setting instead of the column's."""
        setting, field = SETTINGS[name], self.fields[name]
        if setting.pattern is not None:
            field.validators.append(RegexValidator(*setting.pattern))
        if isinstance(field, forms.ChoiceField):
            return
        for bound, kind, attribute in (
            (setting.least, MinValueValidator, "min"),
            (setting.most, MaxValueValidator, "max"),
        ):
            if bound is not None:
                field.widget.attrs[attribute] = bound
                rest = [check for check in field.validators if not isinstance(check, kind)]
                field.validators = [kind(bound), *rest]

    def _lock(self) -> None:
        for name in self.names:
            if name in DESIGN:
                self.fields[name].disabled = True
        tick = self.fields["is_new_version"]
        tick.label = name_new_version(self.instance.version)
        tick.help_text = (
            "From now on people see the changed texts. A changed consent text is put to "
            "participants again. Answers keep the version under which they were given."
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        # Browsers send CRLF; without this, saving unchanged texts would change them.
        return {
            name: value.replace("\r\n", "\n") if isinstance(value, str) else value
            for name, value in cleaned.items()
        }

    def values(self) -> dict[str, Any]:
        """Return the cleaned settings by the name of their column."""
        return {name: self.cleaned_data[name] for name in self.names}


class ReadForm(SettingsForm):
    """What people read before they rate."""

    page = "read"
    language = forms.CharField(
        max_length=SETTINGS["language"].longest,
        label=SETTINGS["language"].label,
        help_text=SETTINGS["language"].help,
        widget=forms.TextInput(attrs={"list": "languages"}),
    )
    organisation = forms.CharField(max_length=120, label=SETTINGS["organisation"].label)
    contact_email = forms.EmailField(label=SETTINGS["contact_email"].label)
    title = forms.CharField(max_length=120, label=SETTINGS["title"].label)
    summary = forms.CharField(
        max_length=300,
        required=False,
        label=SETTINGS["summary"].label,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    has_notice = forms.TypedChoiceField(
        choices=[(True, "A short notice on the first page"), (False, "A consent page")],
        coerce=lambda value: value == "True",
        label=SETTINGS["has_notice"].label,
        widget=forms.RadioSelect,
    )
    withdrawable_until = forms.DateField(
        required=False,
        label=SETTINGS["withdrawable_until"].label,
        help_text=SETTINGS["withdrawable_until"].help,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    Meta = describe_fields("read")

    def fit_to_study(self) -> None:
        config = self.instance.config
        if not config.comprehension and not self.instance.is_check_on:
            del self.fields["is_check_on"]
        # an instrument that was built here has its aids in itself
        if not config.aids or self.instance.instrument_id is not None:
            del self.fields["is_aided"]
        else:
            aids = "; ".join(aid.label for aid in config.aids)
            self.fields[
                "is_aided"
            ].help_text = f"Off shows the instrument exactly. On adds: {aids}."
        guess = guess_language_of(self.instance)
        if guess:
            self.initial["language"] = guess

    def clean_withdrawable_until(self) -> Any:
        day = self.cleaned_data["withdrawable_until"]
        if day and "withdrawable_until" in self.changed_data and day <= now().date():
            raise ValidationError("Choose a day in the future.", code="past")
        return day


class WorkForm(SettingsForm):
    """How many answers, by how many people, for how much."""

    page = "work"
    opens_at = MomentField(
        required=False,
        label=SETTINGS["opens_at"].label,
        help_text=SETTINGS["opens_at"].help,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTES),
    )
    closes_at = MomentField(
        required=False,
        label=SETTINGS["closes_at"].label,
        help_text=SETTINGS["closes_at"].help,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTES),
    )
    currency = forms.CharField(
        label=SETTINGS["currency"].label,
        widget=forms.TextInput(attrs={"list": "currencies", "class": "num"}),
    )
    groups = forms.ChoiceField(
        label=SETTINGS["groups"].label,
        choices=[
            (Study.Groups.FREE, "may go to different people"),
            (Study.Groups.TOGETHER, "go to the same person, one after another"),
            (Study.Groups.ONCE, "never go to the same person"),
        ],
    )
    item_order = forms.ChoiceField(
        label=SETTINGS["item_order"].label,
        choices=[
            (Study.ItemOrder.RANDOM, "Random and balanced"),
            (Study.ItemOrder.UPLOADED, "As uploaded"),
            (Study.ItemOrder.BLOCKED, "Related items one after another"),
        ],
    )
    Meta = describe_fields("work")

    def fit_to_study(self) -> None:
        study, fields = self.instance, self.fields
        unit, design = name_unit(study), study.config.design
        fields["k"].label = f"Answers per {unit}"
        fields[
            "k"
        ].help_text = f"Each by a different person. {design.k} is the instrument’s default."
        fields["set_size"].label = f"{unit.capitalize()}s in a set"
        checks = "Checks are among them." if design.checks_take_places else "Checks come on top."
        fields["set_size"].help_text = f"What one person gets at a time. {checks}"
        estimate = copy(study)
        estimate.minutes_per_set = None
        source = (
            f"the time to read it at {WORDS_A_MINUTE} words a minute, and {SECONDS_A_QUESTION} "
            "seconds a question"
            if is_by_reading(study)
            else "by the instrument’s estimate"
        )
        fields[
            "minutes_per_set"
        ].help_text = f"Empty: {minutes_per_set(estimate)} for a full set, {source}."
        if unit != "item":
            fields["groups"].label = f"{unit.capitalize()}s of the same item"
        local = now().astimezone(self.zone)
        note = f"In {name_zone(self.zone)}, where it is {local:%H:%M} now: your account’s."
        for name in ("opens_at", "closes_at"):
            field = cast(MomentField, self.fields[name])
            field.zone = self.zone
            field.help_text = f"{field.help_text} {note}"
        if has_opened(study):
            self.fields["opens_at"].disabled = True
            self.fields["opens_at"].help_text = "The study has opened, so this can’t be changed."

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("bonus") and "max_sets" in cleaned and cleaned["max_sets"] is None:
            self.add_error(
                "max_sets",
                "A bonus for all sets needs a number of sets. Enter how many a person may "
                "complete, or leave the bonus empty.",
            )
        opens_at, closes_at = cleaned.get("opens_at"), cleaned.get("closes_at")
        if opens_at and closes_at and closes_at <= opens_at:
            self.add_error("closes_at", "Choose a moment after the opening.")
        return cleaned

    def clean_opens_at(self) -> Any:
        return self._clean_moment("opens_at")

    def clean_closes_at(self) -> Any:
        return self._clean_moment("closes_at")

    def _clean_moment(self, name: str) -> Any:
        moment = self.cleaned_data[name]
        if moment and name in self.changed_data and moment <= now():
            raise ValidationError("Choose a moment in the future.")
        return moment


class QualityForm(SettingsForm):
    """Checks, who may take part, and what else guards the answers."""

    page = "quality"
    checks_per_person = forms.TypedChoiceField(
        label=SETTINGS["checks_per_person"].label,
        coerce=int,
        choices=[(number, str(number)) for number in range(4)],
    )
    repeat_percent = forms.TypedChoiceField(
        label=SETTINGS["repeat_percent"].label,
        help_text=SETTINGS["repeat_percent"].help,
        coerce=int,
    )
    Meta = describe_fields("quality")

    def fit_to_study(self) -> None:
        study, config = self.instance, self.instance.config
        pages = max(most_items(study) or study.set_size, FEWEST)
        # the share that gives one person of so many pages one or two of them again
        shares = {0: "None", **{-(-100 * n // pages): f"{n} per person" for n in (1, 2)}}
        shares.setdefault(study.repeat_percent, f"{study.repeat_percent}% of the pages")
        cast(Any, self.fields["repeat_percent"]).choices = list(shares.items())
        if config.eligibility is None:
            del self.fields["is_eligibility_on"]
        else:
            self.fields["is_eligibility_on"].help_text = config.eligibility.rule or (
                "Asks the questions before the work. Off: everyone may take part."
            )
        self.fields["checks_per_person"].widget.attrs["class"] = "auto"
        # the page has another form in the middle of this one
        for field in self.fields.values():
            field.widget.attrs["form"] = "settings"


def _as_typed(field: forms.BoundField) -> str:
    """Return the value as a browser would send it."""
    value = field.field.prepare_value(field.value())
    return "" if value in (None, False) else str(value).replace("\r\n", "\n").strip()


def make_options_form(study: Study, data: Any = None) -> forms.Form | None:
    """Return the protocol's own form with this study's options, locked once it is launched.

    Its field `seen` is the digest of the options as they were when the page was opened.
    """
    if study.config.options_form is None:
        return None
    options = study.config.default_options | study.options
    form = study.config.options_form(data, initial=options, prefix="option")
    if study.version_id is not None:
        for field in form.fields.values():
            field.disabled = True
    form.fields["seen"] = forms.CharField(
        widget=forms.HiddenInput, initial=digest_settings(study, ["options"])
    )
    use_our_words(form.fields.values())
    return form
