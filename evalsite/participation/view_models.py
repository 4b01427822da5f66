"""What a page shows of an item: plain values for the templates, blind by construction.

Nothing here carries a system, an item key or a file name, so no template can leak one.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from django.utils.formats import number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.instruments.questions import (
    Question,
    group_questions,
    list_questions,
    name_output,
    number_texts,
    read_ratings,
)
from evalsite.instruments.scales import COMMENT, NA, OUTPUT, Scale
from evalsite.instruments.schema import KINDS_OF_OUTPUTS, Column, Criterion, Example, Instrument
from evalsite.lib.conversations import read_turns
from evalsite.lib.dialogue import Turn, parse_dialogue, plain_output
from evalsite.lib.markdown import render_markdown
from evalsite.lib.passages import Span
from evalsite.lib.rich_text import ShownTurn, render_rich, show_turns
from evalsite.participation.highlights import (
    MOST,
    MarksField,
    marks_fields,
    read_marks,
    write_marks,
    write_passages,
)
from evalsite.studies.gold import Feedback

# from more characters or turns on, all texts of an item get the wide column
_LONG_ITEM, _LONG_ITEM_TURNS = 900, 8

# from more characters or turns on, people can fold an input
_LONG_INPUT, _LONG_INPUT_TURNS = 600, 6
# more than a screen
_SEARCHED_TEXT = 4000
_DIALOGUES = ("dialogue", "conversation")


@dataclass(frozen=True)
class Segment:
    """A stretch of a text, marked or not.

    `numbers` are those of the marks that end with it; `level` is higher for what weighs more.
    """

    text: str
    is_marked: bool = False
    numbers: str = ""
    level: int = 0


@dataclass(frozen=True)
class DrawnTurn:
    """A turn of a conversation, with its text in segments."""

    number: int
    shown: ShownTurn
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class InputView:
    """One input: its column, and its text in segments, or those of its turns."""

    name: str
    label: str
    kind: str
    value: str
    segments: tuple[Segment, ...]
    language: str = ""  # of code
    is_source: bool = False  # passages are marked in it
    drawn_turns: tuple[DrawnTurn, ...] = ()  # of a conversation in which they are

    @cached_property
    def html(self) -> SafeString | None:
        """What it looks like, of a kind that isn't plain text; marks are shown in that."""
        if self.is_source or any(segment.is_marked for segment in self.segments):
            return None
        return render_rich(self.value, self.kind, self.language)

    @property
    def is_searched(self) -> bool:
        """Whether it is so long that the page offers to find words in it."""
        return len(self.value) > _SEARCHED_TEXT

    @property
    def is_foldable(self) -> bool:
        """Whether people can fold it to its first lines; it starts open."""
        return len(self.value) > _LONG_INPUT or self.turn_count > _LONG_INPUT_TURNS

    @property
    def size(self) -> str:
        """How much a fold holds: its turns, or its words."""
        count = self.turn_count or len(self.value.split())
        if self.turn_count:
            return ngettext("%(count)s turn", "%(count)s turns", count) % {"count": count}
        words = {"count": number_format(count, force_grouping=True)}
        return ngettext("%(count)s word", "%(count)s words", count) % words

    @cached_property
    def turn_count(self) -> int:
        if len(self.turns) > 1:
            return len(self.turns)
        # as data
        return len(read_turns(self.value) or ()) if self.kind == "conversation" else 0

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of a dialogue; none of any other input, or where it is shown as its source."""
        is_drawn = self.kind in _DIALOGUES and not self.is_source
        return parse_dialogue(self.value) if is_drawn else ()


@dataclass(frozen=True)
class QuestionView:
    """One question as a control: `name` is its form name and id, `value` what was entered.

    `scale`: as this item and this person see it.
    """

    name: str
    criterion: Criterion
    scale: Scale
    definition: SafeString
    output_label: str
    number: int = 0  # of its turn, or the place of its output; 0: it is about all of them
    value: str = ""
    error: str = ""
    is_disabled: bool = False
    comment: str = ""
    comment_error: str = ""
    when: str = ""  # in words, when it is asked; "": always
    feedback: tuple[Feedback, ...] = ()  # in practice: what is suggested, beside what was answered
    # checked, and nothing is suggested
    is_unjudged: bool = False
    turn: int = 0  # of the conversation that it is asked of; 0: of all of it

    @property
    def template(self) -> str:
        return self.scale.template

    @property
    def is_kept(self) -> bool:
        """Whether it looks the same to many people: what is typed varies too much."""
        is_plain = not (self.error or self.feedback or self.is_unjudged or self.criterion.comment)
        scale = self.scale
        is_own = scale.is_typed or scale.is_of_person or self.words
        return is_plain and not self.when and not is_own

    @property
    def entries(self) -> list[str]:
        """The parts of what was entered, where a question has several controls."""
        return self.chosen.split()

    @property
    def chosen(self) -> str:
        """What was chosen, without words of one's own."""
        return self.value.partition("\n")[0]

    @property
    def words(self) -> str:
        """What was written at an option that has a box for it."""
        return self.value.partition("\n")[2]

    @property
    def is_not_applicable(self) -> bool:
        return NA in self.entries

    @property
    def typed(self) -> str:
        """What stands in the box of a number, without the tick beside it."""
        return " ".join(entry for entry in self.entries if entry != NA)

    @property
    def rows(self) -> Any:
        """What the template of a kind with several controls goes through."""
        return self.scale.view_entry(self.value)

    @property
    def ask_if(self) -> str:
        """The condition under which it is asked, for the script of the page."""
        condition = self.criterion.ask_if
        return json.dumps(condition.to_data()) if condition else ""

    @property
    def comment_name(self) -> str:
        return f"{self.name}.{COMMENT}"

    @property
    def fingerprint(self) -> int:
        return self.criterion.fingerprint

    @property
    def control_id(self) -> str:
        """The id of the first control, where the link of an error leads."""
        return self.scale.first_control(self.name)


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

    `text` is what is shown; what is stored may hold more, see `Outputs`.
    `marks` are there if passages can be marked on this page.
    """

    number: int
    label: str
    text: str
    questions: tuple[QuestionView, ...]
    speaker: str = ""
    marks: MarksView | None = None
    html: SafeString | None = None  # of a kind that isn't plain text
    # where a question marks passages: its text as it is stored, or the turns of a conversation
    segments: tuple[Segment, ...] = ()
    drawn_turns: tuple[DrawnTurn, ...] = ()


@dataclass(frozen=True)
class TurnView:
    """A turn of a conversation, with the questions about it; without any it is shown as context.

    `next_number`: of the next turn with questions; 0 after the last.
    """

    number: int
    drawn: DrawnTurn
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
    # the turns of the only output, where questions are about them
    drawn_turns: tuple[DrawnTurn, ...] = ()

    @property
    def marks_passages(self) -> bool:
        return any(question.scale.marked_columns for question in self.questions)

    @property
    def turns(self) -> tuple[TurnView, ...]:
        """The turns of the conversation, each with its questions; none where none are rated."""
        asked = sorted({question.turn for question in self.questions} - {0})
        return tuple(
            TurnView(
                number=drawn.number,
                drawn=drawn,
                questions=tuple(
                    question for question in self.questions if question.turn == drawn.number
                ),
                next_number=next((later for later in asked if later > drawn.number), 0),
            )
            for drawn in self.drawn_turns
        )

    @property
    def has_several_turns(self) -> bool:
        return len({question.turn for question in self.questions} - {0}) > 1

    @property
    def has_panel(self) -> bool:
        """Whether something is read apart from the questions: conversations are among them."""
        return bool(self.inputs) or not self.drawn_turns

    @property
    def whole_questions(self) -> tuple[QuestionView, ...]:
        """The questions that are about no turn."""
        return tuple(question for question in self.questions if not question.turn)

    @property
    def lists_points(self) -> bool:
        """Whether scales of five points are lists, since one of them has to be."""
        scales = (question.scale for question in self.questions)
        return any(getattr(scale, "is_listed", False) for scale in scales)

    @property
    def comparing(self) -> tuple[QuestionView, ...]:
        """The first questions that compare the outputs: of a pair they stay in view."""
        asked = self.whole_questions
        return tuple(takewhile(lambda question: question.scale.compares, asked))

    @property
    def not_comparing(self) -> tuple[QuestionView, ...]:
        return self.whole_questions[len(self.comparing) :]

    @property
    def listing(self) -> str:
        """The name of the question whose list shows the texts of the outputs; "": they stand alone.

        One that isn't always asked can't show them.
        """
        listing = (question for question in self.questions if question.scale.orders)
        return next((question.name for question in listing if not question.when), "")

    @property
    def is_long(self) -> bool:
        """Whether the texts get the wider column; a wrong guess hides nothing."""
        characters = sum(len(shown.value) for shown in self.inputs)
        characters += sum(len(output.text) for output in self.outputs)
        turns = sum(shown.turn_count for shown in self.inputs) + len(self.drawn_turns)
        return characters > _LONG_ITEM or turns > _LONG_ITEM_TURNS

    @cached_property
    def reserved_note(self) -> str:
        """What all scales with reserved points say of them; "" if they say different things."""
        notes = {question.scale.points_note for question in self.questions} - {""}
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


def view_item(
    config: Instrument,
    *,
    inputs: Mapping[str, Any],
    texts: Sequence[str],
    options: Mapping[str, Any],
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    marked: Mapping[str, Sequence[str]] | None = None,
    questions: Sequence[Question] | None = None,
    is_aided: bool = False,
    is_disabled: bool = False,
    group: GroupPlace = NO_GROUP,
    prefix: str = "",
) -> ItemView:
    """Return the screen of one item. `texts` are the outputs in the order shown.

    `questions`: what is asked, if that is not what anyone is asked about such an item. `prefix`:
    of the names of controls, on a page of several items.
    """
    values, errors, marked = values or {}, errors or {}, marked or {}
    if questions is None:
        questions = list_questions(config, inputs, number_texts(texts))
    asked = tuple(
        QuestionView(
            name=f"{prefix}{question.name}",
            criterion=question.criterion,
            scale=question.scale,
            definition=_rendered(question.criterion.definition),
            output_label=question.label if question.place else "",
            number=question.turn or question.place,
            turn=question.turn,
            value=str(values.get(question.name, "" if is_disabled else question.scale.start_entry)),
            error=errors.get(question.name, ""),
            comment=str(values.get(question.comment_name, "")),
            comment_error=errors.get(question.comment_name, ""),
            when=_condition_in_words(config, question.criterion),
            is_disabled=is_disabled,
        )
        for question in questions
    )
    shown = tuple(
        _draw_input(view_input(column, inputs[column.name], marked.get(column.name, ())), asked)
        for column in config.columns
        if inputs.get(column.name) and column.kind not in KINDS_OF_OUTPUTS and column.shown
        if config.layout.inputs != "none"
    )
    outputs = _view_outputs(config, texts, shown, asked)
    has_turns = any(question.turn for question in asked)
    return ItemView(
        inputs=shown,
        outputs=outputs,
        questions=asked,
        extra=config.item_context(options, inputs),
        aids=tuple(aid.key for aid in config.aids) if is_aided else (),
        group=group,
        ignore_note=_rendered(config.ignore_note if config.has_ignore else ""),
        page_note=_rendered(config.page_note),
        drawn_turns=(outputs[0].drawn_turns or view_turns(texts[0], ())) if has_turns else (),
    )


def _condition_in_words(config: Instrument, criterion: Criterion) -> str:
    if criterion.ask_if is None:
        return ""
    condition = criterion.ask_if.describe(config.criterion_by_key)
    return _("Only if %(what)s:") % {"what": condition}


def view_input(column: Column, value: Any, marked: Sequence[str]) -> InputView:
    text = str(value)
    return InputView(
        name=column.name,
        label=column.heading,
        kind=column.kind,
        value=text,
        segments=tuple(split_marked(text, marked)),
        language=column.language,
    )


def split_marked(text: str, marked: Sequence[str]) -> list[Segment]:
    """Return the text in segments; each passage of `marked` is marked where it first occurs."""
    segments: list[Segment] = []
    rest = text
    for passage in sorted(marked, key=text.find):
        before, passage, after = rest.partition(passage)
        if not passage:
            continue
        segments += [Segment(before)] if before else []
        segments.append(Segment(passage, is_marked=True))
        rest = after
    return [*segments, Segment(rest)] if rest or not segments else segments


def view_example(config: Instrument, example: Example, options: Mapping[str, Any]) -> ItemView:
    """Return a worked example in the real layout, with its scores filled in and disabled."""
    questions = list_questions(config, example.cells, number_texts(example.texts))
    groups = group_questions(questions).values()
    values = {
        question.name: question.write_entry(value)
        for asked in groups
        # an example without ratings has no values
        for question, value in zip(asked, read_ratings(asked[0].criterion, example), strict=False)
        if value is not None
    }
    return view_item(
        config,
        inputs=example.cells,
        texts=example.texts,
        options=options,
        values=values,
        marked=example.marked,
        questions=questions,
        is_disabled=True,
    )


_html: dict[str, SafeString] = {}


def _rendered(markdown: str) -> SafeString:
    """Return a text of the protocol as HTML, rendered once: texts in the code never change."""
    if markdown not in _html:
        _html[markdown] = render_markdown(markdown)
    return _html[markdown]


def _view_outputs(
    config: Instrument,
    texts: Sequence[str],
    inputs: Sequence[InputView],
    questions: Sequence[QuestionView],
) -> tuple[OutputView, ...]:
    """Return each output with its own questions; the next line of a dialogue without its markup."""
    turns = [turn for shown in inputs for turn in shown.turns]
    speakers = {turn.speaker for turn in turns}
    next_speaker = ""
    if len(speakers) == 2 and "" not in speakers:
        (next_speaker,) = speakers - {turns[-1].speaker}
    views = []
    for number, text in enumerate(texts, start=1):
        is_turn = config.item.outputs.kind == "dialogue"
        turn = plain_output(text, speakers) if is_turn else Turn("", text)
        asked = tuple(
            question for question in questions if question.number == number and not question.turn
        )
        label = name_output(config, number, len(texts))
        speaker = turn.speaker or (next_speaker if is_turn else "")
        html = render_rich(text, config.item.outputs.kind, config.item.outputs.language)
        view = OutputView(number, label, turn.text, asked, speaker, html=html)
        is_conversation = config.item.outputs.kind == "conversation"
        views.append(_draw_output(view, text, is_conversation=is_conversation))
    return tuple(views)


def _draw_input(view: InputView, questions: Sequence[QuestionView]) -> InputView:
    """Return the input with what questions mark in it, if they do."""
    marking = [question for question in questions if view.name in question.scale.marked_columns]
    if not marking:
        return view
    marks = _list_marks(marking, view.name)
    turns = view_turns(view.value, marks) if view.kind == "conversation" else ()
    is_drawn = bool(marks) and not turns
    segments = tuple(draw_marks(view.value, marks)) if is_drawn else view.segments
    return replace(view, segments=segments, is_source=True, drawn_turns=turns)


def _draw_output(view: OutputView, text: str, *, is_conversation: bool) -> OutputView:
    marking = [question for question in view.questions if OUTPUT in question.scale.marked_columns]
    if not marking:
        return view
    marks = _list_marks(marking, OUTPUT)
    turns = view_turns(text, marks) if is_conversation else ()
    return replace(
        view, segments=() if turns else tuple(draw_marks(text, marks)), drawn_turns=turns
    )


def view_turns(text: str, marks: Sequence[Any]) -> tuple[DrawnTurn, ...]:
    """Return the turns of a conversation; none if it is shown as it is written."""
    by_turn: defaultdict[int, list[Any]] = defaultdict(list)
    for mark in marks:
        by_turn[mark.mark.turn].append(mark)
    return tuple(
        DrawnTurn(number, turn, tuple(draw_marks(turn.text, by_turn[number])) if turn.text else ())
        for number, turn in enumerate(show_turns(text), start=1)
    )


def _list_marks(questions: Sequence[QuestionView], column: str) -> list[Any]:
    marks = [mark for question in questions for mark in question.scale.list_marks(question.value)]
    return [mark for mark in marks if mark.mark.column == column]


def draw_marks(text: str, marks: Sequence[Any]) -> list[Segment]:
    """Return the text in segments, of which several marks may be about the same."""
    begins: defaultdict[int, list[Any]] = defaultdict(list)
    ends: defaultdict[int, list[Any]] = defaultdict(list)
    for mark in marks:
        begins[mark.mark.start].append(mark)
        ends[mark.mark.end].append(mark)
    segments: list[Segment] = []
    levels: list[int] = []
    places = sorted({0, len(text), *begins, *ends})
    for start, end in zip(places, [*places[1:], None], strict=True):
        for mark in begins[start]:
            if mark.is_missing:
                segments.append(Segment("", True, str(mark.number), mark.level))
            else:
                levels.append(mark.level)
        if end is None or start == end:
            continue
        closed = [mark for mark in ends[end] if not mark.is_missing]
        numbers = ", ".join(str(mark.number) for mark in closed)
        segments.append(Segment(text[start:end], bool(levels), numbers, max(levels, default=0)))
        for mark in closed:
            levels.remove(mark.level)
    return segments or [Segment(text)]


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
            lines = tuple(
                line for line in feedback if line.criterion == label and line.turn == turn
            )
            # of a question about each turn some turns may have none
            is_unjudged = not lines and not (turn and label in judged)
            question = replace(question, feedback=lines, is_unjudged=is_unjudged)
            explained.add((label, turn))
        questions.append(question)
    return replace(view, questions=tuple(questions))


def add_marks(
    view: ItemView,
    config: Instrument,
    *,
    texts: Sequence[str],
    values: Mapping[str, str],
    errors: Mapping[str, str],
) -> ItemView:
    """Return the screen with the marked passages of each output, where passages can be marked."""
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
    """Return what fits of the values, drawn and ready to be posted again; lines as entered."""
    spans = read_marks(values, field, text).spans
    return MarksView(
        name=field.name,
        passages_name=field.passages,
        segments=tuple(split_spans(text, spans)),
        value=write_marks(spans, text),
        passages=values.get(field.passages, write_passages(spans, text)),
        error=errors.get(field.name) or errors.get(field.passages, ""),
    )


def split_spans(text: str, spans: Iterable[Span]) -> list[Segment]:
    """Return the text in segments, the spans marked; spans are in order and don't overlap."""
    segments: list[Segment] = []
    done = 0
    for span in spans:
        segments += [Segment(text[done : span.start])] if span.start > done else []
        segments.append(Segment(text[span.start : span.end], is_marked=True))
        done = span.end
    return [*segments, Segment(text[done:])] if done < len(text) else segments
