"""A question in the builder: its kind of answer, whose own form follows, and when it is asked."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from django import forms

from evalsite.builder.boxes import get_object, list_rows
from evalsite.builder.conditions import make_condition, read_condition
from evalsite.builder.controls import Plain, list_controls
from evalsite.builder.forms import Draft, PartForm, Piece, name_at
from evalsite.builder.reader import Reader
from evalsite.instruments.parts import Part
from evalsite.instruments.scales import KINDS, Scale, installed_scales
from evalsite.instruments.schema import Comment, Criterion

_ASKED_OF_CONVERSATION = "for the whole conversation"


def get_title(kind: str) -> str:
    """Return what a researcher calls this kind of answer."""
    return KINDS[kind].name_title() if kind in KINDS else kind


def list_offered() -> dict[str, str]:
    """List the kinds of answers that a new question may have, with their titles."""
    extras = {kind: part.model_fields["kind"].json_schema_extra for kind, part in KINDS.items()}
    return {
        kind: part.name_title()
        for kind, part in installed_scales().items()
        if not isinstance(extra := extras[kind], dict) or extra.get("is_offered", True)
    }


def get_scale_data(question: Any) -> Plain:
    scale = question.get("scale") if isinstance(question, dict) else None
    return scale if isinstance(scale, dict) else {}


# --- shown --------------------------------------------------------------------------


def make_question_pieces(form: PartForm, plain: Plain) -> Iterable[Piece]:
    """Change and add what a question shows beside the fields of its own."""
    draft, place = form.draft, form.place
    scale = get_scale_data(plain)
    kind = str(scale.get("kind", ""))
    part = KINDS.get(kind)
    _limit_choices(form, draft, plain, part)
    choices = list_offered() | {kind: get_title(kind)}
    field = forms.ChoiceField(label="Kind of answer", choices=choices, initial=kind, required=False)
    form.fields["as"] = forms.CharField(initial=kind, widget=forms.HiddenInput)
    kind_piece = form.add("kind", field, "", is_in_sight=True)
    kind_piece.errors = draft.list_faults(f"{place}.scale") if part is None else []
    kind_piece.errors += draft.faults.get(f"{place}.scale", [])
    # after the name and before the words
    form.pieces.insert(2, kind_piece)
    if part:
        scale_form = PartForm(part, scale, f"{place}.scale", draft)
        # statements that come from a column aren't in a list
        is_list_off = bool(scale.get("from_column"))
        form.pieces += [p for p in scale_form.pieces if not (is_list_off and "statements" in p.id)]
    number = int(place.split(".")[1])
    if number or plain.get("ask_if"):
        at, earlier = f"{place}.ask_if", draft.criteria[:number]
        form.pieces.append(make_condition(form, at, plain.get("ask_if"), "Only if", earlier))
    return ()


def _limit_choices(form: PartForm, draft: Draft, plain: Plain, part: type[Scale] | None) -> None:
    """Leave out what this kind of answer can't have, unless the draft has it."""
    item, per = draft.item, str(plain.get("per", ""))
    is_conversation = get_object(item, "outputs").get("kind") == "conversation"
    is_one = get_object(draft.plain, "layout").get("outputs") == "one"
    field: Any = form.fields["per"]
    asked = set(part.asked if part else ()) | {per}
    if not is_conversation:
        asked -= {"turn"} - {per}
    if is_one and "output" in asked:
        asked -= {"item"} - {per}  # the item is its output
    words = dict(field.choices)
    if is_conversation and is_one:
        words["output"] = _ASKED_OF_CONVERSATION
    field.choices = [(value, words[value]) for value in words if value in asked]
    has_turns = is_conversation or per == "turn"
    form.pieces = [
        piece
        for piece in form.pieces
        if (has_turns or not piece.id.endswith("-turns"))
        and (not piece.id.endswith("-better") or plain.get("better") or (part and part.directed))
    ]


# --- read ---------------------------------------------------------------------------


def read_question(reader: Reader, place: str, before: Plain, plain: Plain) -> None:
    """Read what the fields of a question can't say by themselves."""
    post = reader.post
    number = int(place.split(".")[1])
    was, kind = post.read(name_at(place, "as")), post.read(name_at(place, "kind"))
    scale = get_scale_data(before)
    part = KINDS.get(was)
    if part:
        filled_from = scale if scale.get("kind") == was else {"kind": was}
        scale = read_scale(reader, f"{place}.scale", filled_from, part)
    if kind != was:
        scale = change_kind(plain, scale, KINDS.get(was), kind)
    if scale != get_scale_data(before):
        plain["scale"] = scale
    earlier = list_rows(reader.base.get("criteria"))[:number]
    if not post.lacks(name_at(f"{place}.ask_if")):
        condition = read_condition(reader, f"{place}.ask_if", before.get("ask_if"), earlier)
        plain.pop("ask_if", None)
        plain |= {"ask_if": condition} if condition else {}
    if plain.get("per") != "turn":
        plain.pop("turns", None)
    elif not plain.get("turns"):
        plain["turns"] = {"roles": ["assistant"]}
    reader.questions.append(plain)


def read_scale(reader: Reader, at: str, before: Plain, part: type[Scale]) -> Plain:
    """Read the fields of a scale; statements are its own, or come from a column."""
    scale = reader.read_part(part, at, before)
    if scale.get("from_column"):
        scale.pop("statements", None)  # one of the two
    elif before.get("from_column"):
        scale = start_part(part, scale)
    return scale


def read_comment(reader: Reader, place: str, before: Plain, plain: Plain) -> None:
    """Read when a comment is asked; its question counts, too."""
    number = int(place.split(".")[1])
    known = list_rows(reader.base.get("criteria"))[: number + 1]
    condition = read_condition(reader, f"{place}.if", before.get("if"), known)
    plain.pop("if", None)
    plain |= {"if": condition} if condition else {}


def make_comment_pieces(form: PartForm, plain: Plain) -> Iterable[Piece]:
    number = int(form.place.split(".")[1])
    known = form.draft.criteria[: number + 1]
    yield make_condition(form, f"{form.place}.if", plain.get("if"), "Comment only if", known)


# --- started ------------------------------------------------------------------------


def start_part(part: type[Part], kept: Plain | None = None) -> Plain:
    """Return what a new part has in the fields that it needs, over what is kept."""
    started = {
        control.name: deepcopy(control.examples[0])
        for control in list_controls(part)
        if control.examples
    }
    return started | (kept or {})


def start_scale(part: type[Scale], before: Plain | None = None) -> Plain:
    """Return a new scale of this kind, with what the one before has that it has too."""
    before = before or {}
    controls = {control.name: control for control in list_controls(part)}
    kept = {name: value for name, value in before.items() if name in controls}
    earlier = KINDS.get(str(before.get("kind")))
    if earlier:
        known = {control.name: control for control in list_controls(earlier)}
        kept = {
            name: value
            for name, value in kept.items()
            if controls[name].kind == known[name].kind and controls[name].part == known[name].part
        }
    scale = {"kind": part.name_kind()} | start_part(part, kept)
    if scale.get("from_column"):
        scale.pop("statements", None)
    return scale


def change_kind(question: Plain, scale: Plain, old: type[Scale] | None, kind: str) -> Plain:
    """Return the scale of another kind, and let what a question starts with follow it."""
    new = KINDS.get(kind)
    if new is None:
        return {**scale, "kind": kind}
    question["per"] = new.asked[0]
    if old and old.starts_optional != new.starts_optional:
        question.pop("required", None)
        question |= {"required": False} if new.starts_optional else {}
    if not new.directed:
        question.pop("better", None)
    for is_first in (True, False):
        if old and question.get("question") == get_first_words(old, is_first=is_first):
            question["question"] = get_first_words(new, is_first=is_first)
            break
    return start_scale(new, scale)


def get_first_words(part: type[Scale], *, is_first: bool) -> str:
    """Return the question that a new one of this kind starts with."""
    if part.needs == "pair":
        return "Which one is better?"
    if part.orders:
        return "How do these texts compare?"
    if part.starts_optional:
        return "Do you have any comments?"
    return "How good is this text?" if is_first else "What do you think of it?"


PARTS = {Criterion.__name__: make_question_pieces, Comment.__name__: make_comment_pieces}
READERS = {Criterion.__name__: read_question, Comment.__name__: read_comment}
