"""Which answers to the questions about people allow taking part: a form of its own."""

from collections.abc import Iterable
from typing import Any

from django import forms

from evalsite.builder.answers import read_number
from evalsite.builder.boxes import list_rows
from evalsite.builder.controls import Plain
from evalsite.builder.forms import PartForm, Piece, name_at
from evalsite.builder.posts import clean
from evalsite.builder.reader import Reader
from evalsite.instruments.schema import Eligibility, EntryQuestion

_RULES = {
    "": "any answer", "only": "one of these answers", "none_of": "none of these answers",
    "range": "a number from … to …",
}  # fmt: skip
# a function decides, as only protocols that are installed with the site have one
_KEPT = "kept"
_FIELDS = ("rule", "answers", "least", "most")


def _get_accept(draft: Plain) -> Any:
    eligibility = draft.get("eligibility")
    return eligibility.get("accept", {}) if isinstance(eligibility, dict) else {}


def _write_rule(accept: Any, question: Plain) -> dict[str, str]:
    """Return what the fields show of the rule of a question."""
    shown = dict.fromkeys(_FIELDS, "")
    if isinstance(accept, str):
        return shown | {"rule": _KEPT}
    rule = accept.get(str(question.get("key"))) if isinstance(accept, dict) else None
    labels = {str(c.get("value")): str(c.get("label")) for c in list_rows(question.get("choices"))}
    if isinstance(rule, list):
        return shown | {
            "rule": "only",
            "answers": "\n".join(labels.get(str(v), str(v)) for v in rule),
        }
    if isinstance(rule, dict) and "none_of" in rule:
        answers = "\n".join(labels.get(str(v), str(v)) for v in rule["none_of"])
        return shown | {"rule": "none_of", "answers": answers}
    if isinstance(rule, dict):
        ends = {end: str(rule.get(end, "")) for end in ("least", "most")}
        return shown | {"rule": "range"} | ends
    return shown


def make_rule(form: PartForm, plain: Plain) -> Iterable[Piece]:
    """Return the form of the rule of a question about people."""
    shown = _write_rule(_get_accept(form.draft.plain), plain)
    at = f"{form.place}.accept"
    fields = forms.Form(prefix=name_at(at), label_suffix="")
    kept = {_KEPT: "decided by a function, which is kept"} if shown["rule"] == _KEPT else {}
    fields.fields = {
        "rule": forms.ChoiceField(
            label="May take part with", choices=_RULES | kept, initial=shown["rule"]
        ),
        "answers": forms.CharField(
            label="Answers, one per line", initial=shown["answers"],
            widget=forms.Textarea(attrs={"rows": 2, "cols": None}),
        ),
        **{
            end: forms.CharField(
                label=f"At {end}", initial=shown[end],
                widget=forms.TextInput(attrs={"class": "num", "inputmode": "numeric"}),
            )
            for end in ("least", "most")
        },
    }  # fmt: skip
    place = f"eligibility.accept.{plain.get('key')}"
    yield Piece(
        "rule", title="May take part with", id=f"id_{name_at(at)}", form=fields, is_wide=True,
        errors=form.draft.list_faults(place),
    )  # fmt: skip


def read_rules(reader: Reader, place: str, before: Plain, plain: Plain) -> None:
    """Read the rules of all questions into what is accepted."""
    accept = before.get("accept")
    old_questions = {
        str(question.get("key")): question for question in list_rows(before.get("questions"))
    }
    renamed = {new: old for old, new in reader.renamed[f"{place}.questions"].items()}
    rules: Plain = {}
    for number, question in enumerate(list_rows(plain.get("questions"))):
        key = str(question.get("key"))
        old = old_questions.get(renamed.get(key, key), {})
        at = f"{place}.questions.{number}.accept"
        entered = {name: reader.post.read(name_at(at, name)) for name in _FIELDS}
        known = accept.get(str(old.get("key"))) if isinstance(accept, dict) else None
        if entered == {name: clean(text) for name, text in _write_rule(accept, old).items()}:
            rule = _follow_choices(reader, f"{place}.questions.{number}.choices", known)
        else:
            rule = _read_rule(entered, question, old)
        if rule is not None:
            rules[key] = rule
    if isinstance(accept, str) or (not plain.get("questions") and accept is None):
        return
    if rules != accept and (plain != before or rules):
        plain["accept"] = rules


def _read_rule(entered: dict[str, str], question: Plain, old: Plain) -> Any:
    if entered["rule"] == "range":
        ends = {end: read_number(entered[end]) for end in ("least", "most")}
        return {end: value for end, value in ends.items() if value is not None}
    values = {
        str(choice.get("label")): choice.get("value")
        for choices in (old.get("choices"), question.get("choices"))
        for choice in list_rows(choices)
    }
    lines = [line.strip() for line in entered["answers"].splitlines() if line.strip()]
    answers = [values.get(line, line) for line in lines]
    return {"only": answers, "none_of": {"none_of": answers}}.get(entered["rule"])


def _follow_choices(reader: Reader, at: str, rule: Any) -> Any:
    """Let a rule name answers by their new names in files."""
    renamed = reader.renamed.get(at, {})
    if isinstance(rule, list):
        return [renamed.get(value, value) for value in rule]
    if isinstance(rule, dict) and isinstance(rule.get("none_of"), list):
        return {"none_of": [renamed.get(value, value) for value in rule["none_of"]]}
    return rule


PARTS = {EntryQuestion.__name__: make_rule}
READERS = {Eligibility.__name__: read_rules}
