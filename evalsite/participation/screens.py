"""One item as one participant meets it: its row, its outputs in order, its slot."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.utils.crypto import salted_hmac

from evalsite.handout.models import Annotation, Slot, order_for
from evalsite.instruments.answer import HIGHLIGHTS, AnswerRow
from evalsite.instruments.questions import Question, list_questions, match_rows
from evalsite.instruments.scales import COMMENT
from evalsite.lib.passages import Span
from evalsite.lib.prepared import Prepared
from evalsite.participation.forms import RatingForm, read_entered
from evalsite.participation.highlights import marks_fields, write_marks
from evalsite.participation.view_models import (
    NO_GROUP,
    GroupPlace,
    ItemView,
    add_marks,
    view_item,
)
from evalsite.people.models import Participant
from evalsite.studies.gold import find_gold
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.versions import shown_content

_SALT = "evalsite.handout.order"
_outputs_of = Prepared(lambda item: Output.objects.filter(item=item).order_by("position"))


@dataclass
class Screen:
    """An item with its outputs in the order that this participant sees."""

    study: Study
    item: Item
    order: list[int]
    outputs: list[Output]
    slot: Slot | None = None
    # the answer so far; None: there is none
    answer: Annotation | None = None
    # whose screen it is, where people see options in orders of their own
    participant_id: int = 0

    @cached_property
    def questions(self) -> list[Question]:
        """What is asked of this item: everything, but a qualification asks only what it scores."""
        config, criteria = self.study.config, None
        if self.item.kind == Item.Kind.PRACTICE and self.study.is_qualification_on:
            criteria = find_gold(config, self.item.gold) or None
        seed = f"{self.study.seed}/{self.participant_id}"
        return list_questions(config, self.item.inputs, self.outputs, seed=seed, criteria=criteria)

    def make_form(self, data: Mapping[str, Any], *, with_marks: bool = True) -> RatingForm:
        """Return the form that judges these entries."""
        outputs = self.outputs if with_marks else ()
        return RatingForm(data, config=self.study.config, questions=self.questions, outputs=outputs)

    def read_entered(self, data: Mapping[str, Any]) -> dict[str, str]:
        """Return the raw text of what these data enter."""
        return read_entered(self.study.config, self.questions, data)

    def order_mark(self, participant: Participant) -> str:
        """Return the same for the same outputs in the same places, without telling which."""
        phrases = f"{participant.pk}/{self.item.pk}/{self.order}"
        return salted_hmac(_SALT, phrases, algorithm="sha256").hexdigest()[:12]

    @cached_property
    def content(self) -> dict:
        return shown_content(self.study)

    def view(
        self,
        values: Mapping[str, str],
        errors: Mapping[str, str] | None = None,
        *,
        is_disabled: bool = False,
        with_marks: bool = False,
        group: GroupPlace = NO_GROUP,
        prefix: str = "",
    ) -> ItemView:
        """Return what a page shows. `with_marks`: highlights, too, where they are left out.

        `prefix`: of the names of controls, on a page of several items.
        """
        texts = [output.text for output in self.outputs]
        view = view_item(
            self.study.config,
            inputs=self.item.inputs,
            texts=texts,
            options=self.content["options"],
            values=values,
            errors=errors,
            questions=self.questions,
            is_aided=self.content["settings"]["is_aided"],
            is_disabled=is_disabled,
            group=group,
            prefix=prefix,
        )
        is_left_out = is_disabled or self.item.kind == Item.Kind.PRACTICE
        if is_left_out and not with_marks:
            return view
        return add_marks(view, self.study.config, texts=texts, values=values, errors=errors or {})


def load_screen(participant: Participant, item: Item, slot: Slot | None) -> Screen:
    """Return the item as this person sees it, in this slot or without one."""
    outputs = _outputs_of.all(item.pk)
    order = order_for(participant, item, len(outputs), slot)
    return in_order(participant.study, item, outputs, order, slot, participant_id=participant.pk)


def in_order(
    study: Study,
    item: Item,
    outputs: list[Output],
    order: list[int],
    slot: Slot | None = None,
    *,
    participant_id: int = 0,
) -> Screen:
    by_position = {output.position: output for output in outputs}
    shown = [by_position[position] for position in order]
    return Screen(study, item, order, shown, slot, participant_id=participant_id)


def answered_screen(annotation: Annotation, study: Study) -> Screen:
    """Return the screen as it was when this annotation was submitted."""
    outputs = list(annotation.item.outputs.all())
    screen = in_order(
        study, annotation.item, outputs, annotation.order_shown,
        participant_id=annotation.participant_id,
    )  # fmt: skip
    screen.answer = annotation
    return screen


def entered_values(screen: Screen, annotation: Annotation) -> dict[str, str]:
    """Return the entries of an answered item, by question name."""
    rows = annotation.list_rows()
    values = entered_ratings(screen, rows)
    if annotation.note:
        values["note"] = annotation.note
    return values | _entered_marks(screen, rows)


def entered_ratings(screen: Screen, rows: Iterable[AnswerRow]) -> dict[str, str]:
    """Return the entries of the questions and of comments on them, by their names."""
    values = {}
    for question, answered in match_rows(screen.questions, rows):
        value = question.read_rows(answered)
        if value is not None:
            values[question.name] = question.write_entry(value)
        for row in answered:
            if row.part == COMMENT:
                values[question.comment_name] = row.text
            elif question.scale.keeps_typed and row.value is not None and row.text:
                values[question.name] = row.text
    return values


def _entered_marks(screen: Screen, rows: Sequence[AnswerRow]) -> dict[str, str]:
    entries = {}
    for field in marks_fields(screen.study.config, len(screen.outputs)):
        output = screen.outputs[field.number - 1]
        spans = [
            Span(row.start, row.end)
            for row in rows
            if row.criterion == HIGHLIGHTS and row.output == output.pk
            if row.start is not None and row.end is not None
        ]
        entries[field.name] = write_marks(spans, output.text)
    return entries
