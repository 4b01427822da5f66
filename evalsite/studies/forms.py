"""Forms for making a study and for its settings."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator

from evalsite.lib.clock import now
from evalsite.protocol import Protocol, installed_protocols
from evalsite.studies.models import Study
from evalsite.studies.set_size import FEWEST
from evalsite.studies.setting_changes import DESIGN, name_new_version
from evalsite.studies.versions import protocol_instructions

_MINUTES = "%Y-%m-%dT%H:%M"
_LOCKED = (
    "Fixed since launch: answers that were collected under different rules can't be compared. "
    "Make a new study for another design."
)
_LOCKED_WORK = f"{_LOCKED} Only the answers per item can be changed, on the Overview."
_IN_OUR_WORDS = {
    "min_value": "Enter %(limit_value)s or more.",
    "max_value": "Enter %(limit_value)s or less.",
    "max_length": "Enter %(limit_value)d characters or fewer; these are %(show_value)d.",
    "max_digits": "Enter a smaller amount.",
    "max_whole_digits": "Enter a smaller amount.",
    "max_decimal_places": "Enter an amount with two decimal places or fewer.",
}


class NewStudyForm(forms.Form):
    """What a study needs to begin: a title and a protocol."""

    title = forms.CharField(
        max_length=120,
        help_text="Participants read it too. It can be changed later.",
        error_messages={"required": "Enter a title."},
    )
    protocol = forms.ChoiceField(
        widget=forms.RadioSelect,
        error_messages={"required": "Choose a protocol."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.protocols = installed_protocols()
        field = self.fields["protocol"]
        field.choices = [(name, config.title) for name, config in self.protocols.items()]  # type: ignore[attr-defined]
        if len(self.protocols) == 1:
            field.initial = next(iter(self.protocols))
        use_our_words(self.fields.values())

    def cards(self) -> list[dict[str, Any]]:
        """Return each protocol as a card to choose."""
        chosen = self["protocol"].value()
        return [
            {
                "name": name,
                "title": config.title,
                "summary": config.summary,
                "columns": _needed_columns(config),
                "is_chosen": name == chosen,
            }
            for name, config in self.protocols.items()
        ]


def _needed_columns(config: Protocol) -> str:
    """Return the columns a batch must have, as they are called in its file."""
    names = ["system", "output"]
    # where an item has one output, each row is an item, named or not
    if config.outputs[1] > 1:
        names.insert(0, "item")
    return ", ".join(names + [column.name for column in config.inputs if column.is_required])


def use_our_words(fields: Iterable[forms.Field]) -> None:
    """Fields with these error messages, which never cut off what is typed or pasted."""
    for field in fields:
        field.error_messages = {**_IN_OUR_WORDS, **field.error_messages}
        # a browser cuts at this length silently; the server refuses and says why
        field.widget.attrs.pop("maxlength", None)


@dataclass(frozen=True, kw_only=True)
class Section:
    """Some fields of the settings that belong together."""

    key: str
    title: str
    note: str
    fields: list[forms.BoundField]
    is_paired: bool  # short fields, two in a row
    own_instructions: str = ""  # the protocol's, for who wants to start from them


_LEAST = {"minutes_per_set": 1, "bonus": Decimal("0.01")}


class SettingsForm(forms.ModelForm):
    """All settings of a study, except the protocol's own options."""

    revision = forms.IntegerField(widget=forms.HiddenInput)
    is_new_version = forms.BooleanField(required=False)

    language = forms.CharField(
        max_length=35,
        validators=[
            RegexValidator(
                r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z",
                "Enter a language code, such as en, de or pt-BR.",
            )
        ],
        help_text="The language of the items, as a code such as en, de or pt-BR.",
    )
    currency = forms.CharField(
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "Enter three capital letters, such as GBP.")],
        help_text="Three letters, such as GBP, EUR or USD.",
    )

    class Meta:
        model = Study
        fields = (
            "title", "organisation", "contact_name", "contact_email", "headline", "summary",
            "language", "consent", "instructions",
            "k", "set_size", "max_sets", "max_items", "has_bonus", "bonus", "groups", "item_order",
            "check_every", "repeat_percent", "repeat_distance", "lease_minutes",
            "expected_participants", "is_practice_on", "may_skip_practice",
            "is_check_on", "is_qualification_on", "pass_mark", "is_eligibility_on", "minimum_age",
            "recognise_days", "is_aided", "minutes_per_set", "pay_per_set", "currency", "closes_at",
        )  # fmt: skip
        labels = {
            "consent": "Consent text",
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
            "recognise_days": "Days to recognise people in later studies",
            "is_aided": "Aids",
            "minutes_per_set": "Minutes per set",
            "pay_per_set": "Pay per set",
            "closes_at": "Closing date and time (UTC)",
        }
        help_texts = {
            "organisation": "Who runs the study. It is shown on every page.",
            "contact_email": "Whom participants write to.",
            "headline": "One line above the summary on the first page. May be empty.",
            "summary": "What people will do, in two sentences.",
            "consent": (
                "Markdown. Replace every [REPLACE: …] by your own words: a study can't be "
                "launched while one is left."
            ),
            "instructions": (
                "Markdown. Leave empty for the protocol's own instructions, which are shown below: "
                "to change a part of them, copy them into this box."
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
                "So many of a person’s items are shown to them a second time, with the outputs in "
                "another order, to see how steady they are. 10 is usual, 0 is off. Off as well "
                f"for who can’t get {FEWEST} items. Repeats never count in results."
            ),
            "repeat_distance": "How many items a repeat comes after its first showing, at least.",
            "has_bonus": (
                "Annotators who complete the maximum number of sets earn a bonus. They read "
                "before they start; you pay it, and the People page says to whom it is due."
            ),
            "bonus": "In the currency of the pay. Leave empty to promise a bonus without a sum.",
            "groups": "Items that share one input, such as the replies to one review.",
            "lease_minutes": (
                "A place that is left unfinished goes to someone else after this time. Until "
                "a person saves a first answer, their places are kept for 15 to 30 minutes at most."
            ),
            "expected_participants": (
                "If you know it: the launch then checks that so many can finish the design."
            ),
            "is_practice_on": (
                "Practice items come first, each explained once it is answered. They never count."
            ),
            "may_skip_practice": (
                "Adds a button to the practice pages, for people who know the task already."
            ),
            "is_qualification_on": (
                "The practice items that have a gold are asked as a test, with two tries: it takes "
                "the place of practice. Who fails both gets no work. Without a gold, questions on "
                "the instructions are asked."
            ),
            "pass_mark": "How much of the qualification must be as the gold suggests.",
            "is_check_on": (
                "After the instructions, people answer the protocol's questions about them. All "
                "must be right by the second try; otherwise the study ends for them. Nobody is "
                "rejected for it, and their minutes are paid as a bonus."
            ),
            "minimum_age": (
                "People confirm it when they agree to take part. Leave empty not to ask."
            ),
            "recognise_days": (
                "A code made from the platform ID of everyone who agrees is kept for so long, so "
                "that later studies can keep people out or require them. The consent text must "
                "say so. 0 keeps none."
            ),
            "minutes_per_set": "Shown on the first page. Leave empty for the protocol's estimate.",
            "pay_per_set": "Leave empty if nothing is paid.",
            "closes_at": ("In UTC, not local time. No new sets start after it. Optional."),
        }
        widgets = {
            "summary": forms.Textarea(attrs={"rows": 3}),
            "consent": forms.Textarea(attrs={"rows": 16}),
            "instructions": forms.Textarea(attrs={"rows": 6}),
            "closes_at": forms.DateTimeInput(attrs={"type": "datetime-local"}, format=_MINUTES),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study, config = self.instance, self.instance.config
        self.is_frozen = study.version_id is not None
        self.fields["revision"].initial = study.revision
        for field in self.fields.values():
            field.error_messages["required"] = "This can't be empty."
        use_our_words(self.fields.values())
        self._use_least_values()
        self._fit_to(config)
        if self.is_frozen:
            self._lock()
        else:
            del self.fields["is_new_version"]

    def _use_least_values(self) -> None:
        """Have errors name the field's minimum, rather than the column's, which is 0."""
        for name in self.Meta.fields:
            least = _LEAST.get(name) or next(
                (
                    one.limit_value
                    for one in getattr(self.Meta.model, name).field.validators
                    if isinstance(one, MinValueValidator) and one.limit_value > 0
                ),
                None,
            )
            if least is not None:
                field = self.fields[name]
                field.widget.attrs["min"] = least
                others = [one for one in field.validators if not isinstance(one, MinValueValidator)]
                field.validators = [MinValueValidator(least), *others]

    def _fit_to(self, config: Protocol) -> None:
        """Keep only the fields that this protocol uses, in its words."""
        if config.eligibility is None:
            del self.fields["is_eligibility_on"]
        else:
            self.fields["is_eligibility_on"].help_text = config.eligibility.rule or (
                "Asks the questions before the work. Off: everyone may take part."
            )
        if config.design.checks_take_places:
            self.fields[
                "set_size"
            ].help_text = (
                "How many items a person gets at a time. Checks and repeats are among them."
            )
        if not config.comprehension:
            del self.fields["is_check_on"]
        if not config.aids:
            del self.fields["is_aided"]
        else:
            aids = "; ".join(aid.label for aid in config.aids)
            self.fields[
                "is_aided"
            ].help_text = f"Off shows the instrument exactly. On adds: {aids}."

    def _lock(self) -> None:
        for name in DESIGN:
            if name in self.fields:
                self.fields[name].disabled = True
        tick = self.fields["is_new_version"]
        tick.label = name_new_version(self.instance.version)
        tick.help_text = (
            "From now on people see the changed texts. A changed consent text is put to "
            "participants again. Answers keep the version under which they were given."
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self._check_bonus(cleaned)
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

    def clean_closes_at(self) -> Any:
        moment = self.cleaned_data["closes_at"]
        if moment and "closes_at" in self.changed_data and moment <= now():
            raise ValidationError("Choose a moment in the future (in UTC).")
        return moment

    def values(self) -> dict[str, Any]:
        """Return the cleaned settings by the name of their column."""
        return {name: self.cleaned_data[name] for name in self.Meta.fields if name in self.fields}


_SECTIONS = (
    ("texts", "Texts", "What participants read before and next to the items.", (
        "title", "organisation", "contact_name", "contact_email", "headline", "summary",
        "language", "consent", "instructions",
    )),
    ("options", "Protocol options", "", ()),
    ("work", "Work", "", (
        "k", "set_size", "max_sets", "max_items", "has_bonus", "bonus", "groups", "item_order",
        "check_every", "repeat_percent", "repeat_distance", "lease_minutes", "is_practice_on",
        "may_skip_practice", "is_check_on", "is_qualification_on", "pass_mark",
        "is_eligibility_on", "minimum_age", "recognise_days", "is_aided", "expected_participants",
    )),
    ("pay", "Time and pay", "", (
        "minutes_per_set", "pay_per_set", "currency", "closes_at",
    )),
)  # fmt: skip


def settings_sections(form: SettingsForm, options: forms.Form | None) -> Iterator[Section]:
    """Return the settings in the order of their page, with the protocol's options among them."""
    for key, title, note, names in _SECTIONS:
        fields = [form[name] for name in names if name in form.fields]
        if key == "options":
            fields = list(options) if options is not None else []
        is_locked = form.is_frozen and key in ("options", "work")
        if fields:
            yield Section(
                key=key,
                title=title,
                note=(_LOCKED_WORK if key == "work" else _LOCKED) if is_locked else note,
                fields=fields,
                is_paired=key in ("work", "pay"),
                own_instructions=protocol_instructions(form.instance) if key == "texts" else "",
            )


def make_options_form(study: Study, data: Any = None) -> forms.Form | None:
    """Return the protocol's own form with this study's options, locked once it is launched."""
    if study.config.options_form is None:
        return None
    form = study.config.options_form(
        data, initial=study.config.default_options | study.options, prefix="option"
    )
    if study.version_id is not None:
        for field in form.fields.values():
            field.disabled = True
    use_our_words(form.fields.values())
    return form
