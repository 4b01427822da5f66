"""What a page shows of an item: plain values for the templates, blind by construction.

Nothing here carries a system, an item key or a file name, so no template can leak one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from evalsite.annotation.pages.highlights import (
    MOST,
    MarksField,
    Span,
    marks_fields,
    read_marks,
    write_marks,
    write_passages,
)
from evalsite.annotation.pages.input_view import InputView, Segment, view_input
from evalsite.annotation.pages.question_view import QuestionView
from evalsite.lib.dialogue import Turn, plain_output
from evalsite.lib.markdown import render_markdown
from evalsite.lib.rich_text import render_rich, render_turns
from evalsite.protocol import Criterion, Example, Protocol
from evalsite.protocol.parts import COMMENT, NOT_SHOWN
from evalsite.studies.gold import Feedback

# from more characters or turns on, all texts of an item get the wide column
_LONG_ITEM, _LONG_ITEM_TURNS = 900, 8


@dataclass(frozen=True)
class MarksView:
    """The passages that are marked in an output: in its text, and in the fields that post them."""

    name: str
    passages_name: str
    segments: tuple[Segment, ...]
    value: str
    passages: str
    error: str = ""
    most: int = MOST


@dataclass(frozen=True)
class OutputView:
    """One output in the place where it is shown, from 1, with the questions about it.

    `text` is what is shown; what is stored may hold more, see `Protocol.output_kind`.
    `marks` are there if passages can be marked on this page.
    """

    number: int
    label: str
    text: str
    questions: tuple[QuestionView, ...]
    speaker: str = ""
    marks: MarksView | None = None
    html: SafeString | None = None  # of a kind that isn't plain text


@dataclass(frozen=True)
class TurnView:
    """A turn of a conversation, with the questions about it; without any it is shown as context.

    `next_number`: of the next turn with questions; 0 after the last.
    """

    number: int
    html: SafeString
    questions: tuple[QuestionView, ...] = ()
    next_number: int = 0


@dataclass(frozen=True)
class GroupPlace:
    """An item's position among those of its set that share its input; size 0: not shown."""

    letter: str = ""
    place: int = 0
    size: int = 0


NO_GROUP = GroupPlace()


@dataclass(frozen=True)
class ItemView:
    """One screen: inputs, outputs in shown order, and all questions in page order."""

    inputs: tuple[InputView, ...]
    outputs: tuple[OutputView, ...]
    questions: tuple[QuestionView, ...]
    extra: dict[str, Any] = field(default_factory=dict)
    aids: tuple[str, ...] = ()
    group: GroupPlace = NO_GROUP
    ignore_note: str = ""
    page_note: str = ""
    # of the only output, where questions are about its turns
    said: tuple[SafeString, ...] = ()

    @property
    def turns(self) -> tuple[TurnView, ...]:
        """The turns of the conversation, each with its questions; none where none are rated."""
        asked = sorted({one.turn for one in self.questions} - {0})
        return tuple(
            TurnView(
                number=number,
                html=html,
                questions=tuple(one for one in self.questions if one.turn == number),
                next_number=next((one for one in asked if one > number), 0),
            )
            for number, html in enumerate(self.said, start=1)
        )

    @property
    def has_several_turns(self) -> bool:
        return len({one.turn for one in self.questions} - {0}) > 1

    @property
    def has_panel(self) -> bool:
        """Whether something is read apart from the questions: conversations are among them."""
        return bool(self.inputs) or not self.said

    @property
    def whole_questions(self) -> tuple[QuestionView, ...]:
        """The questions that are about no turn."""
        return tuple(one for one in self.questions if not one.turn)

    @property
    def lists_points(self) -> bool:
        """Whether scales of five points are lists, since one of them has to be."""
        scales = (question.criterion.scale for question in self.questions)
        return any(getattr(scale, "is_listed", False) for scale in scales)

    @property
    def comparing(self) -> tuple[QuestionView, ...]:
        """The first questions that compare the outputs: of a pair they stay in view."""
        asked = self.whole_questions
        return tuple(takewhile(lambda question: question.criterion.scale.compares, asked))

    @property
    def not_comparing(self) -> tuple[QuestionView, ...]:
        return self.whole_questions[len(self.comparing) :]

    @property
    def is_long(self) -> bool:
        """Whether the texts get the wider column; a wrong guess hides nothing."""
        characters = sum(len(shown.value) for shown in self.inputs)
        characters += sum(len(output.text) for output in self.outputs)
        turns = sum(shown.turn_count for shown in self.inputs) + len(self.said)
        return characters > _LONG_ITEM or turns > _LONG_ITEM_TURNS

    @cached_property
    def reserved_note(self) -> str:
        """What all scales with reserved points say of them; "" if they say different things."""
        notes = {question.criterion.scale.points_note for question in self.questions} - {""}
        return notes.pop() if len(notes) == 1 else ""

    @property
    def extra_key(self) -> str:
        """One text for each content of `extra`, for parts of pages that are kept."""
        return repr(self.extra)

    @property
    def group_letter(self) -> str:
        return self.group.letter

    @property
    def place_in_group(self) -> int:
        return self.group.place

    @property
    def group_size(self) -> int:
        return self.group.size


@dataclass(frozen=True)
class Progress:
    """How far a participant is in a set."""

    done: int
    total: int
    minutes_left: int | None = None

    @property
    def words(self) -> str:
        return _("%(done)s of %(total)s done") % {"done": self.done, "total": self.total}


def question_names(
    config: Protocol, outputs: int, criteria: Sequence[Criterion] | None = None
) -> list[tuple[str, Criterion, int]]:
    """Form name, criterion and number of the output (0: of all) for each question, in page order.

    Of a question about a turn it is the number of the turn, which its name ends with.

    `criteria` are those that are asked, where that is not all of them (`Screen.criteria`).
    With one output a question is named after its criterion; with several, after criterion and
    the place of the output on the page. Names never hold what produced an output.
    """
    found = []
    for criterion in config.criteria if criteria is None else criteria:
        if criterion.per_turn:
            found += [
                (f"{criterion.key}-{turn}", criterion, turn) for turn in criterion.asked_turns
            ]
        elif not criterion.per_output:
            found.append((criterion.key, criterion, 0))
        elif outputs == 1:
            found.append((criterion.key, criterion, 1))
        else:
            found += [
                (f"{criterion.key}-{number}", criterion, number) for number in range(1, outputs + 1)
            ]
    return found


def question_label(config: Protocol, criterion: Criterion, number: int, outputs: int) -> str:
    """What messages call what a question is about: "Turn 4", or as `output_label`."""
    if criterion.per_turn:
        return _("Turn %(number)s") % {"number": number}
    return output_label(config, number, outputs)


def output_label(config: Protocol, number: int, outputs: int) -> str:
    """What a page calls the output in this place: "Response", "Utterance 2", "Response B", "sys1".

    0 means none of them.
    """
    if outputs == 1 or not number:
        return config.output_name
    letters = config.layout.letters
    if number > len(letters):
        return f"{config.output_name} {number}"
    name = letters[number - 1]
    return name if len(name) > 1 else f"{config.output_name} {name}"


def view_item(
    config: Protocol,
    *,
    inputs: Mapping[str, Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    marked: Mapping[str, Sequence[str]] | None = None,
    criteria: Sequence[Criterion] | None = None,
    is_aided: bool = False,
    is_disabled: bool = False,
    group: GroupPlace = NO_GROUP,
) -> ItemView:
    """The screen of one item. `texts` are the outputs in the order shown."""
    values, errors, marked = values or {}, errors or {}, marked or {}
    criteria = config.bind(inputs, texts) if criteria is None else criteria
    questions = tuple(
        QuestionView(
            name=name,
            criterion=criterion,
            definition=_rendered(criterion.definition),
            output_label=question_label(config, criterion, number, len(texts)) if number else "",
            number=number,
            turn=number if criterion.per_turn else 0,
            value=str(values.get(name, "")),
            error=errors.get(name, ""),
            comment=str(values.get(f"{name}.{COMMENT}", "")),
            comment_error=errors.get(f"{name}.{COMMENT}", ""),
            when=_condition_in_words(config, criterion),
            is_disabled=is_disabled,
        )
        for name, criterion, number in question_names(config, len(texts), criteria)
    )
    shown = tuple(
        view_input(column, inputs[column.name], marked.get(column.name, ()))
        for column in config.inputs
        if inputs.get(column.name) and column.kind not in NOT_SHOWN and column.is_shown
        if config.layout.inputs != "none"
    )
    return ItemView(
        inputs=shown,
        outputs=_view_outputs(config, texts, shown, questions),
        questions=questions,
        extra=config.item_context(options, inputs),
        aids=tuple(aid.key for aid in config.aids) if is_aided else (),
        group=group,
        ignore_note=_rendered(config.ignore_note if config.has_ignore else ""),
        page_note=_rendered(config.page_note),
        said=tuple(render_turns(texts[0])) if any(one.turn for one in questions) else (),
    )


def _condition_in_words(config: Protocol, criterion: Criterion) -> str:
    if criterion.ask_if is None:
        return ""
    what = criterion.ask_if.describe(config.criterion_by_key)
    return _("Only if %(what)s:") % {"what": what}


def view_example(config: Protocol, example: Example, options: Mapping[str, Any]) -> ItemView:
    """A worked example in the real layout, with the given scores filled in and disabled."""
    count = len(example.outputs)
    criteria = config.bind(example.inputs, example.outputs)
    given = {
        criterion.key: criterion.write_entries(example.ratings[criterion.key], range(count))
        for criterion in criteria
        if criterion.key in example.ratings
    }
    values = {
        name: given[criterion.key][number]
        for name, criterion, number in question_names(config, count, criteria)
        if number in given.get(criterion.key, ())
    }
    return view_item(
        config,
        inputs=example.inputs,
        texts=example.outputs,
        options=options,
        values=values,
        marked=example.marked,
        is_disabled=True,
    )


_html: dict[str, SafeString] = {}


def _rendered(markdown: str) -> SafeString:
    """A text of the protocol as HTML, rendered once: it is part of the code, so it can't change."""
    if markdown not in _html:
        _html[markdown] = render_markdown(markdown)
    return _html[markdown]


def _view_outputs(
    config: Protocol,
    texts: Sequence[str],
    inputs: Sequence[InputView],
    questions: Sequence[QuestionView],
) -> tuple[OutputView, ...]:
    """Each output with its own questions; the next line of a dialogue without its markup."""
    turns = [turn for shown in inputs for turn in shown.turns]
    speakers = {turn.speaker for turn in turns}
    views = []
    for number, text in enumerate(texts, start=1):
        is_turn = config.output_kind == "dialogue"
        turn = plain_output(text, speakers) if is_turn else Turn("", text)
        own = tuple(one for one in questions if one.number == number and not one.turn)
        label = output_label(config, number, len(texts))
        speaker = turn.speaker or (_whose_turn(turns) if is_turn else "")
        html = render_rich(text, config.output_kind, config.output_language)
        views.append(OutputView(number, label, turn.text, own, speaker, html=html))
    return tuple(views)


def add_feedback(view: ItemView, feedback: Sequence[Feedback]) -> ItemView:
    """Return the screen with what is suggested at the first question of each criterion.

    Where nothing is suggested, the page says so.
    """
    questions: list[QuestionView] = []
    explained: set[tuple[str, int]] = set()
    judged = {line.criterion for line in feedback}
    for question in view.questions:
        label, turn = question.criterion.label, question.turn
        if (label, turn) not in explained:
            own = tuple(line for line in feedback if line.criterion == label and line.turn == turn)
            # of a question about each turn some turns may have none
            is_unjudged = not own and not (turn and label in judged)
            question = replace(question, feedback=own, is_unjudged=is_unjudged)
            explained.add((label, turn))
        questions.append(question)
    return replace(view, questions=tuple(questions))


def add_marks(
    view: ItemView,
    config: Protocol,
    *,
    texts: Sequence[str],
    values: Mapping[str, str],
    errors: Mapping[str, str],
) -> ItemView:
    """The screen with the marked passages of each output, where passages can be marked."""
    fields = {field.number: field for field in marks_fields(config, len(texts))}
    outputs = tuple(
        replace(output, marks=_view_marks(fields[output.number], text, values, errors))
        for output, text in zip(view.outputs, texts, strict=True)
        if output.number in fields
    )
    return replace(view, outputs=outputs) if outputs else view


def _view_marks(
    field: MarksField, text: str, values: Mapping[str, str], errors: Mapping[str, str]
) -> MarksView:
    """What fits of the values, drawn and ready to be posted again; lines as they were entered."""
    spans = read_marks(values, field, text).spans
    return MarksView(
        name=field.name,
        passages_name=field.passages,
        segments=tuple(split_spans(text, spans)),
        value=write_marks(spans, text),
        passages=values.get(field.passages, write_passages(spans, text)),
        error=errors.get(field.name) or errors.get(field.passages, ""),
    )


def _whose_turn(turns: Sequence[Turn]) -> str:
    """Who speaks next in a dialogue of two; "" if more, or fewer, take part."""
    speakers = {turn.speaker for turn in turns}
    others = speakers - {turns[-1].speaker} if turns else set()
    return others.pop() if len(speakers) == 2 and "" not in speakers else ""


def split_spans(text: str, spans: Iterable[Span]) -> list[Segment]:
    """The text in segments, those of the spans marked; spans are in order and don't overlap."""
    segments: list[Segment] = []
    done = 0
    for span in spans:
        segments += [Segment(text[done : span.start])] if span.start > done else []
        segments.append(Segment(text[span.start : span.end], is_marked=True))
        done = span.end
    return [*segments, Segment(text[done:])] if done < len(text) else segments
