"""Questions: what an item asks a person about what, settled once.

Pages, drafts, gold, files of ratings and simulated people go through this list.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import COMMENT, Scale
from evalsite.instruments.schema import Criterion, Example, Instrument


class ShownOutput(Protocol):
    """An output, as the database has it or as `number_texts` makes it."""

    @property
    def pk(self) -> Any: ...
    @property
    def position(self) -> int: ...
    @property
    def text(self) -> str: ...


class NumberedText(NamedTuple):
    """A text in place of an output that wasn't read from the database."""

    pk: int
    position: int
    text: str


def number_texts(texts: Iterable[str]) -> list[NumberedText]:
    """Return these texts as outputs with the ids 1, 2, ..."""
    return [NumberedText(number, number, text) for number, text in enumerate(texts, start=1)]


class Question(NamedTuple):
    """A criterion, asked about an output, a turn or an item.

    `scale`: as this item and this person see it. `name`: of its field on a page; it never holds
    what produced an output. `label`: what messages call what it is about. `output`: its id; None:
    it is about the item. `place`: of the output on the page, from 1; 0: none. `turn`: of the only
    output, from 1; 0: all of it. `output_ids` are those of the item as uploaded; `order` has the
    index of each, by its place on the page.
    """

    criterion: Criterion
    scale: Scale
    name: str
    label: str
    output: int | None
    place: int
    turn: int
    output_ids: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def comment_name(self) -> str:
        return f"{self.name}.{COMMENT}"

    @property
    def subject(self) -> int:
        """Return the number by which conditions know what it is about: 0 for the only output."""
        return self.turn or (self.place if len(self.order) > 1 else 0)

    @property
    def rank(self) -> int:
        """Return its place among the questions of its criterion, by the order of the upload."""
        return self.turn or (self.order[self.place - 1] if self.place else 0)

    def make_field(self, *, is_one_of_several: bool) -> forms.Field:
        """Make its form field, which cleans an entry to an answer."""
        return self.scale.make_field(
            self.criterion, self.label, is_one_of_several=is_one_of_several
        )

    def read_rows(self, rows: Iterable[AnswerRow]) -> Any | None:
        """Return the value that its rows hold; None: it wasn't answered."""
        answered = [row for row in rows if row.part != COMMENT]
        return self.scale.read_rows(answered, self.output_ids) if answered else None

    def find_problem(self, rows: Iterable[AnswerRow]) -> str:
        """Return why a page would not have taken these rows as an answer; "" if it would."""
        value = self.read_rows(rows)
        entry = "" if value is None else self.write_entry(value)
        try:
            self.make_field(is_one_of_several=False).clean(entry)
        except ValidationError as error:
            return error.messages[0]
        return ""

    def make_rows(self, answer: Any, about: AnswerRow) -> tuple[AnswerRow, ...]:
        """Return what to store of an answer."""
        shown = [self.output_ids[index] for index in self.order]
        return self.scale.make_rows(answer, about, shown)

    def write_entry(self, value: Any) -> str:
        """Return the entry on this page that means this value."""
        return self.scale.write_entry(value, self.order)


def list_questions(
    instrument: Instrument,
    inputs: Mapping[str, Any],
    outputs: Sequence[ShownOutput],
    *,
    seed: str = "",
    criteria: Iterable[Criterion] | None = None,
) -> list[Question]:
    """Return what is asked about an item, in the order of its page.

    `outputs` are in the order of the page. `seed`: of the person, who may see options in an order
    of their own. `criteria`: those that are asked, if that is not all of them. With one output a
    question is named after its criterion; with several, after criterion and place; about a turn,
    after criterion and turn.
    """
    positions = sorted(output.position for output in outputs)
    order = tuple(positions.index(output.position) for output in outputs)
    output_ids = tuple(output.pk for output in sorted(outputs, key=lambda output: output.position))
    count = len(outputs)
    names = [name_output(instrument, place, count) for place in range(1, count + 1)]
    questions = []
    for criterion in instrument.criteria if criteria is None else criteria:
        scale = criterion.scale.for_item(inputs, instrument.conversations).for_outputs(names)
        if seed and scale.is_of_person:
            scale = scale.for_person(f"{seed}/{criterion.key}")
        targets = [(0, 0)]
        if criterion.turns is not None:
            text = outputs[0].text if count == 1 else ""
            targets = [(1, turn) for turn in criterion.turns.list_turns(inputs, text)]
        elif criterion.per_output:
            targets = [(place, 0) for place in range(1, count + 1)]
        for place, turn in targets:
            number = turn or (place if count > 1 else 0)
            name = f"{criterion.key}-{number}" if number else criterion.key
            label = (
                _("Turn %(number)s") % {"number": turn}
                if turn
                else names[place - 1]
                if place
                else instrument.item.output_name
            )
            output = outputs[place - 1].pk if place else None
            asked = scale.for_output(outputs[place - 1].text) if place else scale
            questions.append(
                Question(criterion, asked, name, label, output, place, turn, output_ids, order)
            )
    return questions


def name_output(instrument: Instrument, place: int, outputs: int) -> str:
    """Return what a page calls an output: "Response", "Utterance 2", "Response B", "sys1".

    `place`: from 1; 0: none.
    """
    if outputs == 1 or not place:
        return instrument.item.output_name
    letters = instrument.layout.letters
    if place > len(letters):
        return f"{instrument.item.output_name} {place}"
    name = letters[place - 1]
    return name if len(name) > 1 else f"{instrument.item.output_name} {name}"


def match_rows(
    questions: Iterable[Question], rows: Iterable[AnswerRow]
) -> Iterator[tuple[Question, list[AnswerRow]]]:
    """Return each question with its rows, its comment among them."""
    by_subject: dict[tuple[str, int], list[AnswerRow]] = {}
    for row in rows:
        by_subject.setdefault((row.criterion, row.asked_turn), []).append(row)
    for question in questions:
        answered = by_subject.get((question.criterion.key, question.turn), ())
        is_of_item = question.output is None
        yield question, [row for row in answered if is_of_item or row.output == question.output]


def group_questions(questions: Iterable[Question]) -> dict[str, list[Question]]:
    """Return the questions of each criterion, in the order of the upload."""
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.criterion.key, []).append(question)
    for group in groups.values():
        group.sort(key=lambda question: question.rank)
    return groups


def read_values(questions: Iterable[Question], rows: Iterable[AnswerRow]) -> list[Any | None]:
    """Return the value of each question; None where it wasn't answered."""
    return [question.read_rows(answered) for question, answered in match_rows(questions, rows)]


# --- what examples say --------------------------------------------------------------------------


def read_ratings(criterion: Criterion, example: Example) -> tuple[Any, ...]:
    """Return the values that a worked example has for this criterion; () if it has none."""
    if criterion.key not in example.ratings:
        return ()
    data, scale = example.ratings[criterion.key], criterion.scale
    if criterion.per_turn:
        return tuple(
            None if answer is None else scale.rating_from_data([answer])[0] for answer in data[0]
        )
    return scale.rating_from_data([data] if criterion.is_asked_once else data)


def write_gold(instrument: Instrument, example: Example) -> dict[str, str]:
    """Write what is right in a practice item in the notation of gold columns, by criterion."""
    gold = {}
    for key, data in example.gold.items():
        criterion = instrument.criterion_by_key[key]
        answers = [data] if criterion.is_asked_once else data[0] if criterion.per_turn else data
        gold[key] = criterion.scale.gold_from_data(answers)
    return gold
