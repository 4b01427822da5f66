"""Worked examples and practice items in the form of the builder."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.building.parameters import Plain, read_whole
from evalsite.instruments.scales import NA, Scale, installed_scales, read_scale
from evalsite.instruments.schema import write_structure
from evalsite.lib.limited import read_json

_MOST = 100
# several answers of which none is chosen, as in a gold column
NOTHING = "-"


def find_scale(criterion: Any) -> Scale | None:
    """Return the scale of a question of a draft; None as long as it isn't right."""
    data: Any = criterion.get("scale") if isinstance(criterion, dict) else None
    try:
        scale = read_scale(data)
    except ValueError:
        return None
    is_right = scale.kind in installed_scales() and not list(scale.find_faults(""))
    return scale if is_right else None


def read_structure(text: str, kind: str) -> Any:
    """Return the list that the text of a conversation holds; any other text as it is.

    A table stays text: as a list, its columns would lose their order where JSON is stored.
    """
    if kind != "conversation":
        return text
    try:
        data = read_json(text)
    except ValueError:
        return text
    return data if isinstance(data, list) else text


@dataclass(frozen=True)
class Renamed:
    """The names that questions and columns have in the form, by their new names."""

    questions: Mapping[str, str]
    columns: Mapping[str, str]


def name_columns(columns: Iterable[Plain]) -> list[str]:
    """Return a name for each column under which examples keep its text.

    That is the column's own name, unless an earlier column has it too: no text overwrites another.
    """
    seen: Counter[str] = Counter()
    names = []
    for column in columns:
        name = str(column.get("name", ""))
        seen[name] += 1
        names.append(f"{name}-{seen[name]}" if seen[name] > 1 else name)
    return names


def read_examples(
    data: Mapping[str, str], part: str, draft: Plain, base: Plain, renamed: Renamed
) -> list[Plain]:
    """Read the items of this part, "examples" or "practice"; empty ones are left out."""
    count = read_whole(data.get(f"{part}-count", ""))
    listed = base.get(part)
    before: list[Any] = listed if isinstance(listed, list) else []
    found = []
    for number in range(min(count, _MOST) if isinstance(count, int) else 0):
        kept = before[number] if number < len(before) and isinstance(before[number], dict) else {}
        if item := _read_item(data, f"{part}-{number}", part, draft, kept, renamed):
            found.append(item)
    return found


def _read_item(
    data: Mapping[str, str], at: str, part: str, draft: Plain, kept: Plain, renamed: Renamed
) -> Plain | None:  # fmt: skip
    columns = draft["item"].get("inputs", [])
    known = kept.get("inputs", {})
    inputs = {
        # a number or a list that nobody changed stays one
        name: known[was]
        if text and str(write_structure(known.get(was, ""))) == text
        else read_structure(text, str(column.get("kind", "")))
        for name, column in zip(name_columns(columns), columns, strict=True)
        for was in [renamed.columns.get(name, name)]
        for text in [data.get(f"{at}-in-{was}", "").strip()]
    }
    described = draft["item"].get("outputs", {})
    most, kind = described.get("most", 1), described.get("kind", "")
    texts = [
        data.get(f"{at}-out-{number}", "").strip()
        for number in range(most if isinstance(most, int) else 1)
    ]
    earlier = [*kept.get("outputs", ()), *[None for _ in texts]]
    outputs: list[Any] = [
        # a list that nobody changed stays one, whatever its keys
        was if write_structure(was) == text else read_structure(text, str(kind))
        for text, was in zip(texts, earlier, strict=False)
        if text
    ]
    why = data.get(f"{at}-why", "").strip()
    own = _read_own_columns(data, at, draft, kept, renamed)
    if not (outputs or why or own or any(inputs.values())):
        return None
    item = dict(kept)
    item.pop("columns", None)
    item |= {"columns": own} if own else {}
    item |= {
        "inputs": {name: text for name, text in inputs.items() if text},
        "outputs": outputs,
        "why": why,
    }
    name = "gold" if part == "practice" else "ratings"
    before = kept.get(name, {})
    answers = {}
    for criterion in draft["criteria"]:
        key = criterion.get("key", "")
        was = renamed.questions.get(key, key)
        said = data.get(f"{at}-answer-{was}", "").strip()
        if not said:
            continue
        is_gold = part == "practice"
        if said == write_answer(before.get(was), criterion, is_gold=is_gold):
            answers[key] = before[was]
        else:
            read = _read_gold if is_gold else _read_rating
            answers[key] = read(said, criterion, len(outputs))
    item.pop(name, None)
    return item | ({name: answers} if answers else {})


def _read_own_columns(
    data: Mapping[str, str], at: str, draft: Plain, kept: Plain, renamed: Renamed
) -> Plain:
    """Read what an example says of its only output: statements, or turns."""
    found = {}
    inputs, columns = (draft["item"].get(name, []) for name in ("inputs", "output_columns"))
    names = name_columns([*inputs, *columns])[len(inputs) :]
    for name, column in zip(names, columns, strict=True):
        was = renamed.columns.get(name, name)
        text = data.get(f"{at}-in-{was}", "").strip().replace("\r\n", "\n")
        if text and text == write_cell(kept, was):
            found[name] = kept["columns"][was]
        elif text:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            found[name] = [lines if column.get("kind") == "statements" else text]
    return found


def write_cell(example: Plain, name: str) -> str:
    """Write what an example says of its only output in this column, one line for each entry."""
    columns = example.get("columns")
    cells = columns.get(name) if isinstance(columns, dict) else None
    cell = cells[0] if isinstance(cells, list) and cells else ""
    return "\n".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _read_gold(text: str, criterion: Plain, outputs: int) -> Any:
    """Return a right answer in the notation of instruments; what can't be read stays text."""
    scale = find_scale(criterion)
    if scale is None:
        return text
    is_by_turn = criterion.get("per") == "turn"
    count = len(text.split(",")) if is_by_turn else outputs
    try:
        scale.parse_gold(text, [str(number) for number in range(1, count + 1)])
        return [scale.gold_to_data(text)] if is_by_turn else scale.gold_to_data(text)
    except (ValidationError, ValueError, LookupError, TypeError):
        return text


def _read_rating(text: str, criterion: Plain, outputs: int) -> Any:
    """Return the first reading of this text that is an answer; if none is, the plainest one."""
    scale = find_scale(criterion)
    known = _name_answers(scale) if scale else {}

    def read(words: str) -> Any:
        said = words.strip()
        return known.get(said.casefold(), read_whole(said))

    def read_several(words: str) -> list[Any]:
        return [] if words.strip() == NOTHING else [read(one) for one in words.split()]

    parts, per = text.split(","), str(criterion.get("per"))
    alone = [read(text), read_several(text), text]
    lists: list[Any] = [[read(one) for one in parts], [read_several(one) for one in parts]]
    if len(parts) == 1 or outputs == 1:
        lists = [*([one] for one in alone), *lists]
    is_of_item = per == "item"
    answers: list[Any] = alone if is_of_item else lists
    count = len(parts) if per == "turn" else outputs
    right = [one for one in answers if scale and _is_answer(one, scale, per, count)]
    answer = (right or [alone[0] if is_of_item else [read(one) for one in parts]])[0]
    return [answer] if per == "turn" else answer


def _name_answers(scale: Scale) -> Plain:
    """Return the answers of a question by what they may be called: value, label, word of files."""
    listed = scale.list_testable() or ()
    return (
        scale.file_words()
        | {scale.name_tested(one).casefold(): one for one in listed}
        | {str(one).casefold(): one for one in listed}
    )


def _is_answer(answer: Any, scale: Scale, per: str, outputs: int) -> bool:
    answers, count = ([answer], 1) if per == "item" else (answer, outputs)
    return (
        isinstance(answers, list)
        and len(answers) == count
        and all(scale.is_answer(one, outputs) or (one == NA and scale.has_na) for one in answers)
    )


def describe_answers(criterion: Plain) -> str:
    """Say what the rating of a worked example may be; "" as long as its question isn't right."""
    scale = find_scale(criterion)
    if scale is None:
        return ""
    names = [scale.name_tested(one) for one in scale.list_testable() or ()]
    words = ", ".join(names) if scale.needs == "pair" else scale.describe_choices()
    return f"Enter {words}."


def _list_examples(draft: Plain) -> list[tuple[Plain, str]]:
    """List the worked examples and practice items, each with the name of what holds its answers."""
    parts = (("examples", "ratings"), ("practice", "gold"))
    return [(one, name) for part, name in parts for one in draft.get(part, [])]


def take_answers(draft: Plain, key: str) -> list[Any]:
    """Take the answers to a question out of all examples, and return them in their order."""
    return [one.get(name, {}).pop(key, None) for one, name in _list_examples(draft)]


def put_answers(draft: Plain, key: str, taken: list[Any]) -> None:
    """Give the examples the answers to a question back, if they are still as many."""
    examples = _list_examples(draft)
    for (one, name), answer in zip(examples, taken, strict=False):
        if len(examples) == len(taken) and answer is not None:
            one.setdefault(name, {}).setdefault(key, answer)


def write_answer(answer: Any, criterion: Plain, *, is_gold: bool) -> str:
    """Write an answer of an example: gold as its column has it, ratings as numbers."""
    if answer is None:
        return ""
    if criterion.get("per") == "turn" and isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    scale = find_scale(criterion)
    if scale is not None and is_gold and not isinstance(answer, str):
        try:
            return scale.gold_from_data(answer)
        except (ValueError, LookupError, TypeError, AttributeError):
            return str(answer)
    if isinstance(answer, list):
        if criterion.get("per") == "item" and scale is not None and scale.asked[0] != "item":
            return _write_part(answer)
        return ", ".join(map(_write_part, answer))
    return str(answer)


def _write_part(part: Any) -> str:
    if isinstance(part, list):
        return " ".join(map(str, part)) or NOTHING
    return "" if part is None else str(part)
