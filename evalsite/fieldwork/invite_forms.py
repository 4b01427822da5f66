"""The forms of Invite: people by name, what each of them rates, the open link, and panels."""

import re
from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from evalsite.core.mail import is_mail_on
from evalsite.fieldwork.invitations import Named, Terms, parse_people
from evalsite.fieldwork.shares import Rates, list_columns, parse_numbers
from evalsite.lib.clock import now
from evalsite.people.models import Expert, OutcomeCode, Recruitment
from evalsite.people.platforms import Outcome
from evalsite.studies.forms import use_our_words
from evalsite.studies.models import Study
from evalsite.studies.settings import SETTINGS
from evalsite.studies.summary_lines import name_unit

PREVIEW = "preview"
CHOSEN = "chosen"
_LONGEST_LIST = 20_000
_HTTPS = "Enter a link that begins with https://"
_CODE = RegexValidator(
    r"\A[0-9A-Za-z_-]{1,40}\Z", "Enter letters, digits, “-” and “_”, 40 characters at most."
)


class TermsForm(forms.Form):
    """What people rate, and by when."""

    rates = forms.ChoiceField(
        label="Each of them rates",
        choices=[
            (Rates.ALL, "everything"),
            (Rates.SHARE, "an equal share"),
            (CHOSEN, "items you choose"),
        ],
        widget=forms.RadioSelect,
        initial=Rates.ALL,
    )
    column = forms.ChoiceField(
        label="Column",
        required=False,
        help_text="Each person gets the items that carry their name.",
    )
    numbers = forms.CharField(
        label="Or numbers of items",
        required=False,
        max_length=500,
        help_text="As under Items, for example 1-30, 45.",
    )
    due_on = forms.DateField(
        label="Due",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        error_messages={"invalid": "Enter a date such as 2026-11-30."},
    )
    is_reminded = forms.BooleanField(
        label="Send reminders",
        help_text="After 3 days, and 7 days before the due date.",
        required=False,
    )
    do = forms.CharField(required=False)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        columns: Any = self.fields["column"]
        columns.choices = [("", "None"), *((name, name) for name in list_columns(study))]
        if not is_mail_on():
            del self.fields["is_reminded"]
        use_our_words(self.fields.values())

    @property
    def action(self) -> str:
        """Return which button was pressed."""
        return str(self.data.get("do", ""))

    def clean_numbers(self) -> str:
        numbers = str(self.cleaned_data["numbers"])
        if numbers:
            parse_numbers(numbers)
        return numbers

    def clean_due_on(self) -> Any:
        due_on = self.cleaned_data["due_on"]
        if due_on is not None and "due_on" in self.changed_data and due_on < now().date():
            raise ValidationError("Choose a day that isn’t over.", code="past")
        return due_on

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        is_chosen = cleaned.get("rates") == CHOSEN and "numbers" in cleaned
        if is_chosen and bool(cleaned.get("column")) == bool(cleaned["numbers"]):
            self.add_error("column", "Choose a column, or enter numbers of items below it.")
        return cleaned

    def read_terms(self) -> Terms:
        values = self.cleaned_data
        rates, selection = values["rates"], ""
        if rates == CHOSEN:
            rates = Rates.COLUMN if values["column"] else Rates.NUMBERS
            selection = values["column"] or values["numbers"]
        return Terms(
            rates=rates,
            selection=selection,
            due_on=values["due_on"],
            is_reminded=values.get("is_reminded", False),
        )


class InviteForm(TermsForm):
    """Whom to invite, what they rate, and by when."""

    names = forms.CharField(
        label="Names, one per line",
        max_length=_LONGEST_LIST,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Enter a name."},
    )
    max_items = forms.IntegerField(required=False)
    # the newest invitation when the page was opened: who presses twice invites once
    newest = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        setting = SETTINGS["max_items"]
        if study.is_launched:
            del self.fields["max_items"]
        else:
            self.fields["max_items"] = forms.IntegerField(
                label=f"Most {name_unit(study)}s per person",
                required=False,
                min_value=1,
                help_text=setting.help,
                initial=study.max_items,
                widget=forms.NumberInput(attrs={"class": "num"}),
            )
        mail = "Add an e-mail in angle brackets to have the link sent. " if is_mail_on() else ""
        self.fields["names"].help_text = f"{mail}Only your team sees names."
        use_our_words(self.fields.values())

    def clean_names(self) -> list[Named]:
        return parse_people(self.cleaned_data["names"])


class ChangeForm(TermsForm):
    """What one person rates from now on, or who rates it instead."""

    to = forms.ChoiceField(label="Who rates it instead", required=False)

    def __init__(self, *args: Any, person: Expert, takers: list[tuple[int, str]], **kwargs: Any):
        initial = {
            "rates": CHOSEN if person.selection else person.rates,
            "column": person.selection if person.rates == Rates.COLUMN else "",
            "numbers": person.selection if person.rates == Rates.NUMBERS else "",
            "due_on": person.due_on,
            "is_reminded": person.is_reminded,
        }
        super().__init__(*args, initial=initial, **kwargs)
        rates, to = self.fields["rates"], self.fields["to"]
        rates.label = "They rate"
        if self.study.is_launched:
            # a share of what is left is what the others left
            choices = [
                (Rates.ALL, "everything"),
                (CHOSEN, "items you choose"),
                ("none", "nothing more"),
            ]
            if person.rates == Rates.SHARE:
                choices.insert(0, (Rates.SHARE, "their share, as now"))
            rates.choices = choices  # type: ignore[attr-defined]
        to.choices = [  # type: ignore[attr-defined]
            ("anyone", "Anyone who takes part"),
            *((str(pk), name) for pk, name in takers),
        ]


class ActForm(forms.Form):
    """What to do with one invitation: its number, and of a link its generation."""

    send = forms.IntegerField(required=False)
    remove = forms.IntegerField(required=False)
    renew = forms.RegexField(r"\A[0-9]{1,9}-[0-9]{1,9}\Z", required=False)


class SwitchForm(forms.Form):
    do = forms.ChoiceField(choices=[(do, do) for do in ("begin", "on", "off", "save")])


class RoundForm(forms.ModelForm):
    """The settings of a panel or of the open link, with the codes and links of its outcomes."""

    do = forms.CharField(required=False)

    class Meta:
        model = Recruitment
        fields = (
            "places",
            "sets_per_person",
            "has_further_sets",
            "refuses_phones",
            "takes_typed_ids",
        )
        labels = {
            "places": "People",
            "sets_per_person": "Submissions per person",
            "has_further_sets": "Pay further sets as a bonus",
            "refuses_phones": "Phones",
            "takes_typed_ids": "People may type their ID",
        }
        help_texts = {
            "sets_per_person": "Above 1, allow as many there, too.",
            "has_further_sets": "In the same visit, instead of a new submission for each set.",
            "takes_typed_ids": "If the link has lost it. Such people are marked.",
        }
        widgets = {
            "places": forms.NumberInput(attrs={"class": "num", "min": 1}),
            "sets_per_person": forms.NumberInput(attrs={"class": "num", "min": 1}),
            "refuses_phones": forms.Select(
                choices=[(False, "Allowed"), (True, "Not allowed: ask people to return")]
            ),
        }

    def __init__(
        self, *args: Any, stored: list[OutcomeCode], possible: set[Outcome], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.possible = possible
        platform = self.instance.adapter
        self.codes = {code.outcome: code for code in stored}
        self.fields["refuses_phones"].required = False
        if not platform.hands_back:
            for name in ("sets_per_person", "has_further_sets"):
                del self.fields[name]
            self.fields["places"].label = "Most people"
            self.fields["refuses_phones"].widget = forms.CheckboxInput()
            self.fields["refuses_phones"].label = "Not on phones"
        else:
            self.fields["places"].required = True
            name = self.instance.name_for_people or "the panel"
            self.fields["places"].help_text = f"The same number as on {name}."
        if platform.person is None or not platform.needs_person:
            del self.fields["takes_typed_ids"]
        self._add_fields()
        for field in self.fields.values():
            field.error_messages["required"] = "This can't be empty."
        use_our_words(self.fields.values())

    @property
    def settings(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("setting_")]

    @property
    def in_more(self) -> list[forms.BoundField]:
        """Return the fields that aren't part of a step."""
        in_steps = {"do", "places", "link_completed", "code_completed"}
        if self.settings:
            in_steps |= {"link_screened_out", "link_no_place"}
        names = [name for name in self.fields if not name.startswith("setting_")]
        return [self[name] for name in names if name not in in_steps]

    def _add_fields(self) -> None:
        """Add what this panel asks for."""
        platform = self.instance.adapter
        for setting in platform.settings:
            self.fields[f"setting_{setting.name}"] = forms.CharField(
                label=setting.label,
                help_text=setting.help,
                required=setting.is_required,
                initial=self.instance.settings.get(setting.name, setting.initial),
                validators=[RegexValidator(rf"\A(?:{setting.pattern})\Z", setting.refusal)],
            )
        if platform.is_open_link:
            self.fields["is_from_one_place"] = forms.BooleanField(
                label="Many people come from one place",
                help_text="For a class or a lab that shares one internet connection. Without it, "
                "people of one network hold 5 sets or 30% of the places at a time, so that a "
                "script can’t take them all. This holds for panels, too.",
                required=False,
                initial=self.instance.study.is_from_one_place,
            )
        if platform.takes_own_code:
            self.fields["own_code"] = forms.CharField(
                label="Completion code",
                required=False,
                initial=getattr(self.codes.get(Outcome.COMPLETED), "code", ""),
                help_text="Empty: a code of its own for each finished set.",
                validators=[_CODE],
            )
        for outcome, leaves in platform.exits.items():
            if outcome not in self.possible:
                continue
            if leaves.takes_link:
                self.fields[f"link_{outcome}"] = self._make_link_field(outcome)
            if leaves.takes_code and not leaves.starts_with_code and not platform.takes_own_code:
                is_done = outcome == Outcome.COMPLETED
                self.fields[f"code_{outcome}"] = forms.ChoiceField(
                    label="People who finish get" if is_done else LABELS[outcome],
                    required=False,
                    choices=[
                        ("", "the link" if is_done else "Ask people to return"),
                        ("code", "a code, made here" if is_done else "Make a code"),
                    ],
                    initial="code" if getattr(self.codes.get(outcome), "code", "") else "",
                )

    def _make_link_field(self, outcome: Outcome) -> forms.URLField:
        label = f"Link: {LABELS[outcome].lower()}" if self.instance.number else "Link back"
        return forms.URLField(
            label=label,
            required=False,
            max_length=500,
            assume_scheme="https",
            initial=getattr(self.codes.get(outcome), "link", ""),
            error_messages={"invalid": _HTTPS},
            help_text=self.instance.adapter.exits[outcome].advice,
            validators=[RegexValidator(r"\Ahttps://", _HTTPS, flags=re.IGNORECASE)],
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in ("places", "sets_per_person"):
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

    def find_codes(self) -> dict[Outcome, str | bool]:
        """Return for each outcome that may have a code whether it is to have one, or the code."""
        codes: dict[Outcome, str | bool] = {
            Outcome(name): bool(value) for name, value in self._list_cleaned("code_")
        }
        if "own_code" in self.fields:
            codes[Outcome.COMPLETED] = self.cleaned_data["own_code"]
        return codes

    def _list_cleaned(self, prefix: str) -> Iterator[tuple[str, Any]]:
        for name, value in self.cleaned_data.items():
            if name.startswith(prefix):
                yield name.removeprefix(prefix), value


# as researchers read them
LABELS = {
    Outcome.COMPLETED: "Finished",
    Outcome.SCREENED_OUT: "Screened out",
    Outcome.FAILED_CHECK: "Failed the check of the instructions",
    Outcome.NO_CONSENT: "No consent",
    Outcome.NO_PLACE: "All places taken",
    Outcome.WRONG_DEVICE: "On a phone",
}
