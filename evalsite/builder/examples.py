"""Worked examples and practice items in the builder: texts of an item, and the answers to it."""

from collections.abc import Iterable, Iterator
from typing import Any

from django import forms

from evalsite.builder.answers import describe_answers, read_answer, write_answer
from evalsite.builder.boxes import get_object, list_rows, list_rows_in_place
from evalsite.builder.controls import Plain
from evalsite.builder.forms import PartForm, Piece, name_at
from evalsite.builder.posts import clean
from evalsite.builder.reader import Reader
from evalsite.instruments.schema import Example, write_structure
from evalsite.lib.limited import read_json

_MOST_OUTPUTS = 10
# of a conversation: what is nested deeper stays text
_DEEPEST = 30
# how texts of these kinds are written in a box
_STRUCTURES = {
    "conversation": "A JSON list of turns, each with “role” and “content”.",
    "table": "CSV, with the names of its columns first.",
    "statements": "One per line.",
    "spans": 'JSON such as [{"quote": "the passage"}].',
}  # fmt: skip
_PARTS = {"examples": "ratings", "practice": "gold"}


def write_text(text: Any) -> str:
    """Write a text as a box shows it; what is a list in data, as JSON."""
    return "" if text is None else str(write_structure(text))


def read_structure(text: str, kind: str) -> Any:
    """Return the list that the text of a conversation holds; any other text as it is."""
    if kind != "conversation":
        return text
    try:
        turns = read_json(text, most_depth=_DEEPEST)
    except ValueError:
        return text
    return turns if isinstance(turns, list) else text


def _write_cell(example: Plain, name: str) -> str:
    """Write what an example says of its only output in this column, one line for each entry."""
    columns = example.get("columns")
    cells = columns.get(name) if isinstance(columns, dict) else None
    cell = cells[0] if isinstance(cells, list) and cells else ""
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _count_outputs(item: Plain, example: Plain) -> int:
    outputs = item.get("outputs")
    most = outputs.get("most", 1) if isinstance(outputs, dict) else 1
    count = most if isinstance(most, int) else 1
    return min(max(count, 1, len(example.get("outputs", ()))), _MOST_OUTPUTS)


def list_names(columns: list[Plain]) -> list[str]:
    """Return a name for each column under which examples keep its text.

    That is the column's own name, unless an earlier column has it too: no text overwrites another.
    """
    names: list[str] = []
    for column in columns:
        name = str(column.get("name", ""))
        again = sum(known == name or known.startswith(f"{name}-") for known in names)
        names.append(f"{name}-{again + 1}" if name in names else name)
    return names


# --- shown --------------------------------------------------------------------------


def make_example_pieces(form: PartForm, plain: Plain) -> Iterable[Piece]:
    """Put the texts of an item and the answers to it before the rest of an example."""
    draft, part = form.draft, form.place.split(".")[0]
    pieces = [*_make_texts(form, plain), *_make_answers(form, plain, part)]
    keys = {str(c.get("key")): str(c.get("label")) for c in draft.criteria}
    shown = str(plain.get("criterion", ""))
    lost = {shown: f"{shown} (no longer a question)"} if shown and shown not in keys else {}
    of_one = forms.ChoiceField(
        label="About", choices=[("", "all questions"), *(keys | lost).items()], initial=shown,
        required=False,
    )  # fmt: skip
    form.pieces = [*pieces, *form.pieces]
    yield form.add("criterion", of_one, f"{form.place}.criterion")


def _make_texts(form: PartForm, plain: Plain) -> Iterator[Piece]:
    draft, at = form.draft, form.place
    inputs = list_rows(draft.item.get("inputs"))
    names = list_names(draft.columns)
    for number, column in enumerate(draft.columns):
        name, label = names[number], str(column.get("label") or column.get("name"))
        is_input = number < len(inputs)
        text = (
            write_text(get_object(plain, "inputs").get(name))
            if is_input
            else _write_cell(plain, name)
        )
        place = f"{at}.{'inputs' if is_input else 'columns'}.{name}"
        yield form.add(f"in-{number}", _make_area(label, text, str(column.get("kind"))), place)
    kind = get_object(draft.item, "outputs").get("kind")
    count = _count_outputs(draft.item, plain)
    form.fields["outs"] = forms.CharField(initial=count, widget=forms.HiddenInput)
    listed = plain.get("outputs", [])
    for number in range(count):
        label = f"Output {number + 1}" if count > 1 else "Output"
        text = write_text(listed[number]) if number < len(listed) else ""
        place = f"{at}.outputs" if count == 1 else f"{at}.outputs.{number}"
        yield form.add(f"out-{number}", _make_area(label, text, str(kind)), place)
    if draft.plain.get("x_highlight") or plain.get("marked") or plain.get("x_marked"):
        marked = get_object(plain, "marked") or get_object(plain, "x_marked")
        for number, column in enumerate(inputs):
            label = f"Marked in {column.get('label')}, one per line"
            text = "\n".join(map(str, marked.get(names[number], ())))
            place = f"{at}.marked.{names[number]}"
            yield form.add(f"marked-{number}", _make_area(label, text), place)


def _make_area(label: str, text: str, kind: str = "") -> forms.CharField:
    """Make a box for a text of this kind."""
    rows = min(max(2, text.count("\n") + 1), 12)
    area = forms.Textarea(attrs={"rows": rows, "cols": None, "dir": "auto"})
    help_text = _STRUCTURES.get(kind, "")
    return forms.CharField(
        label=label, initial=text, widget=area, required=False, help_text=help_text
    )


def _make_answers(form: PartForm, plain: Plain, part: str) -> Iterator[Piece]:
    is_gold, answers = part == "practice", get_object(plain, _PARTS[part])
    noun = "Right answer" if is_gold else "Rating"
    for number, criterion in enumerate(form.draft.criteria):
        key = criterion.get("key")
        field = forms.CharField(
            label=f"{noun}: {criterion.get('label')}", required=False,
            initial=write_answer(answers.get(str(key)), criterion),
            help_text=describe_answers(criterion, is_gold=is_gold),
        )  # fmt: skip
        yield form.add(f"answer-{number}", field, f"{form.place}.{_PARTS[part]}.{key}")


# --- read ---------------------------------------------------------------------------


def read_example(reader: Reader, place: str, before: Plain, plain: Plain) -> None:
    """Read the texts and answers of an example. `before`: where names follow what was renamed."""
    _read_texts(reader, place, before, plain)
    part, number = place.split(".")
    name, is_gold = _PARTS[part], part == "practice"
    # as the form was filled from it
    listed = list_rows(reader.base.get(part))
    shown = get_object(listed[int(number)], name) if int(number) < len(listed) else {}
    answers = dict(get_object(plain, name))
    for at, criterion in enumerate(reader.questions):
        text, key = reader.post.read(name_at(place, f"answer-{at}")), str(criterion.get("key"))
        old = reader.find_source("criteria", at)
        if text == clean(write_answer(shown.get(str(old.get("key"))), old)):
            continue
        answers.pop(key, None)
        if text:
            count = len(plain.get("outputs", ()))
            answers[key] = read_answer(text, criterion, count, is_gold=is_gold)
    _put(plain, name, answers)
    key = reader.post.read(name_at(place, "criterion"))
    _put(plain, "criterion", reader.renamed["criteria"].get(key, key))


def _read_texts(reader: Reader, place: str, before: Plain, plain: Plain) -> None:
    post, item = reader.post, reader.item
    inputs, columns = list_rows(item.get("inputs")), list_rows(item.get("output_columns"))
    texts, cells = dict(get_object(plain, "inputs")), dict(get_object(plain, "columns"))
    marked_before = get_object(plain, "marked") or get_object(plain, "x_marked")
    marked = dict(marked_before)
    names = list_names([*inputs, *columns])
    for number, column in enumerate([*inputs, *columns]):
        text, name = post.read(name_at(place, f"in-{number}")), names[number]
        kind = str(column.get("kind", ""))
        if number >= len(inputs):
            if text != clean(_write_cell(plain, name)):
                lines = [line.strip() for line in text.splitlines() if line.strip()]
                cells[name] = [lines if kind == "statements" else text]
                cells = cells if text else {n: c for n, c in cells.items() if n != name}
            continue
        if text != clean(write_text(texts.get(name))):
            texts[name] = read_structure(text, kind)
            texts = texts if text else {n: t for n, t in texts.items() if n != name}
        passages = post.read_if_sent(name_at(place, f"marked-{number}"))
        if passages is not None and passages != clean("\n".join(map(str, marked.get(name, ())))):
            marked[name] = [line.strip() for line in passages.splitlines() if line.strip()]
            marked = {n: lines for n, lines in marked.items() if lines}
    plain["inputs"] = texts
    _put(plain, "columns", cells)
    if marked != marked_before:
        plain.pop("x_marked", None)
        _put(plain, "marked", marked)
    plain["outputs"] = list(_read_outputs(reader, place, before))


def _read_outputs(reader: Reader, place: str, before: Plain) -> Iterator[Any]:
    kind = str(get_object(reader.item, "outputs").get("kind"))
    listed = before.get("outputs", [])
    for number in range(min(reader.post.count(name_at(place, "outs")), _MOST_OUTPUTS)):
        text = reader.post.read(name_at(place, f"out-{number}"))
        known = listed[number] if number < len(listed) else None
        if known is not None and text == clean(write_text(known)):
            yield known
        elif text:
            yield read_structure(text, kind)


def _put(plain: Plain, name: str, value: Any) -> None:
    if value:
        plain[name] = value
    elif name in plain:
        del plain[name]


# --- a question or column is removed, and comes back -----------------------------------


def _list_holders(draft: Plain, at: str) -> Iterator[tuple[Plain, str]]:
    """Yield each example, with the name of what it says of the rows of this list."""
    for part, answers in _PARTS.items():
        for example in list_rows_in_place(draft.get(part)):
            if at == "criteria":
                yield example, answers
            else:
                yield example, "inputs" if at == "item.inputs" else "columns"


def take_texts(draft: Plain, at: str, key: str) -> list[Any]:
    """Take what examples say of a question or a column, and return it in their order."""
    taken = []
    for example, name in _list_holders(draft, at):
        taken.append(get_object(example, name).pop(key, None))
        if name in example and not example[name] and name != "inputs":
            del example[name]
    return taken


def put_texts(draft: Plain, at: str, key: str, taken: list[Any]) -> None:
    """Give the examples what they said back, if they are still as many."""
    holders = list(_list_holders(draft, at))
    for (example, name), text in zip(holders, taken, strict=False):
        if len(holders) == len(taken) and text is not None:
            example.setdefault(name, {}).setdefault(key, text)


PARTS = {Example.__name__: make_example_pieces}
READERS = {Example.__name__: read_example}
