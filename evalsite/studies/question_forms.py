"""Forms for the questions about people that a study asks."""

from collections.abc import Mapping
from typing import Any

from django import forms

from evalsite.instruments.faults import Faults
from evalsite.instruments.schema import EntryQuestion, NoneOf, NumberRange, Rule
from evalsite.studies.forms import use_our_words

KIND_LABELS = {
    "choice": "One answer from a list",
    "several": "Several answers from a list",
    "number": "A whole number",
    "text": "A short text",
}
_RULES = (
    ("", "anything: the answer is only recorded"),
    ("one_of", "one of these"),
    ("none_of", "none of these"),
)
# by the stable code of a fault: the field it is shown at, and what to do
_FAULTS = {
    "length": ("choices", "Enter at least two answers, one per line, and 100 at most."),
    "duplicate": ("choices", "Two of these answers are the same. Remove one."),
    "separator": ("choices", "An answer can’t contain “;”. Use another sign."),
    "not_allowed": ("answers", "Each line here must be one of the answers above."),
    "order": ("least", "The lowest number is above the highest."),
    "out_of_range": ("least", "Enter smaller numbers: nine digits at most."),
}


class ButtonForm(forms.Form):
    """The button that was pressed on a page of questions, and what it is about."""

    do = forms.CharField(required=False)
    key = forms.CharField(required=False)
    revision = forms.CharField(required=False)

    def read(self) -> dict[str, str]:
        """Return what was sent; empty texts for nothing, or what can't be read."""
        return self.cleaned_data if self.is_valid() else dict.fromkeys(self.fields, "")


# what most questions need; the rest is under More
_IN_SIGHT = ("label", "choices", "rule", "answers")


class QuestionForm(forms.Form):
    """One question about a person, and which answers allow taking part."""

    label = forms.CharField(label="Question", max_length=300)
    help = forms.CharField(
        label="Help", max_length=300, required=False, help_text="A line below it. Optional."
    )
    kind = forms.ChoiceField(label="Kind of answer", choices=list(KIND_LABELS.items()))
    choices = forms.CharField(
        label="Answers, one per line",
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="More than twelve become a list to open. For a number or a text, see More.",
    )
    rule = forms.ChoiceField(label="People may take part if they answer", choices=_RULES)
    answers = forms.CharField(
        label="These answers, one per line",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="If people choose several answers, one of these is enough.",
    )
    least = forms.IntegerField(label="Lowest number", required=False)
    most = forms.IntegerField(
        label="Highest number",
        required=False,
        help_text="For a number. Leave one or both empty for no limit.",
    )
    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, has_rule: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["rule"].required = False
        if not has_rule:
            for name in ("rule", "answers", "least", "most"):
                del self.fields[name]
        self.fields["label"].error_messages["required"] = "Enter the question."
        use_our_words(self.fields.values())

    @property
    def in_sight(self) -> list[forms.BoundField]:
        return [self[name] for name in _IN_SIGHT if name in self.fields]

    @property
    def more(self) -> list[forms.BoundField]:
        return [field for field in self.visible_fields() if field.name not in _IN_SIGHT]

    @property
    def more_words(self) -> str:
        """Return the line beside More: the values that stand there."""
        kind = KIND_LABELS.get(str(self["kind"].value() or "choice"), "")
        return f"{kind}. Help: {'yes' if self['help'].value() else 'none'}."

    @property
    def has_errors_in_more(self) -> bool:
        return any(field.errors for field in self.more)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "rule" not in self.data and _lines(cleaned.get("answers", "")):
            # the short form on the page of Set up names those who may take part
            cleaned["rule"] = "one_of"
        if cleaned.get("rule") and not _lines(cleaned.get("answers", "")) and not self.is_number:
            self.add_error("answers", "Enter the answers that decide, one per line.")
        return cleaned

    @property
    def is_number(self) -> bool:
        return self.cleaned_data.get("kind") == "number"

    @property
    def has_choices(self) -> bool:
        return self.cleaned_data.get("kind") in ("choice", "several")

    def question(self, key: str, known: EntryQuestion | None) -> dict[str, Any]:
        """Return the question as data; `known`: as it was, whose answers keep their values."""
        cleaned = self.cleaned_data
        data = {"key": key, "label": cleaned["label"], "kind": cleaned["kind"]}
        if cleaned["help"]:
            data["help"] = cleaned["help"]
        if self.has_choices:
            values = {choice.label: choice.value for choice in known.choices} if known else {}
            data["choices"] = [
                {"value": values.get(label, label), "label": label}
                for label in _lines(cleaned["choices"])
            ]
        return data

    def find_rule(self, question: Mapping[str, Any]) -> Any:
        """Return the rule on the answers as data; None: the answer is only recorded."""
        cleaned = self.cleaned_data
        if self.is_number:
            ends = {name: cleaned.get(name) for name in ("least", "most")}
            return {name: end for name, end in ends.items() if end is not None} or None
        if not cleaned.get("rule"):
            return None
        values = {choice["label"]: choice["value"] for choice in question.get("choices", ())}
        answers = [values.get(line, line) for line in _lines(cleaned["answers"])]
        return {"none_of": answers} if cleaned["rule"] == "none_of" else answers

    def add_faults(self, faults: Faults) -> None:
        """Show each fault at the field that mends it."""
        for fault in faults:
            name, words = _FAULTS.get(fault.code, (None, f"{fault.place} {fault.message}"))
            if fault.code == "length" and ".accept" in fault.place:
                name, words = "answers", "Enter the answers that decide, one per line."
            self.add_error(name, forms.ValidationError(words, code=fault.code))


class WordsForm(forms.Form):
    """What people read about who may take part."""

    refusal = forms.CharField(
        label="For people who can’t take part",
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="They read it on their last page, after the decision. Leave empty for "
        "“This study needs a different group of people.”",
    )
    rule = forms.CharField(
        label="For people from a platform, before they start",
        required=False,
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="A platform that states your conditions before it sends people wants them on the "
        "first page too. Nobody else reads this. Leave empty to state nothing.",
    )
    revision = forms.IntegerField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        use_our_words(self.fields.values())


def initial_of(question: EntryQuestion, rule: Rule | None) -> dict[str, Any]:
    """Return what the form of this question begins with."""
    labels = question.labels
    initial: dict[str, Any] = {
        "label": question.label,
        "help": question.help,
        "kind": question.asks_for,
        "choices": "\n".join(labels.values()),
    }
    if isinstance(rule, NumberRange):
        return initial | {"least": rule.least, "most": rule.most}
    if rule is None:
        return initial
    answers = rule.none_of if isinstance(rule, NoneOf) else rule
    return initial | {
        "rule": "none_of" if isinstance(rule, NoneOf) else "one_of",
        "answers": "\n".join(labels.get(answer, answer) for answer in answers),
    }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
