"""Checks of worked examples, practice items and questions on the instructions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsite.protocol.data import STRUCTURED, write_structure
from evalsite.protocol.faults import Faults, check_keys, check_list, check_text
from evalsite.protocol.installed_scales import get_scale
from evalsite.protocol.parts import Turns

# by criterion: what it is asked per, and its scale as data
Scales = Mapping[str, tuple[str, Mapping[str, Any]]]


def check_comprehension(questions: Any, faults: Faults) -> None:
    for number, question in enumerate(check_list(questions, "comprehension", faults)):
        at = f"comprehension.{number}"
        needed = {"question", "choices", "right", "why"}
        if not check_keys(question, at, faults, needed=needed, optional=()):
            continue
        for name in ("question", "why"):
            check_text(question.get(name, "-"), f"{at}.{name}", faults)
        if "choices" not in question:
            continue
        choices = check_list(question["choices"], f"{at}.choices", faults, least=2, most=6)
        for place, choice in enumerate(choices):
            check_text(choice, f"{at}.choices.{place}", faults)
        if "right" in question and question["right"] not in choices:
            faults.add("no_right_answer", f"{at}.right", "must be one of the choices")


def check_examples(
    data: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    scales: Scales,
    faults: Faults,
) -> None:
    """Check examples and practice against an instrument that has no fault otherwise."""
    outputs = data["item"]["outputs"]
    listed = data["item"].get("output_columns", [])
    own = {column["name"]: column for column in listed}
    for name in ("examples", "practice"):
        for number, example in enumerate(check_list(data.get(name, []), name, faults)):
            place = f"{name}.{number}"
            if not check_keys(
                example, place, faults,
                needed={"inputs", "outputs", "why"},
                optional={"ratings", "gold", "label", "criterion", "columns"},
            ):  # fmt: skip
                continue
            # ratings may speak for themselves, a practice item has to explain
            may_be_empty = name == "examples" and bool(example.get("ratings"))
            check_text(example.get("why", "-"), f"{place}.why", faults, may_be_empty=may_be_empty)
            check_text(example.get("label", "-"), f"{place}.label", faults)
            if "criterion" in example and example["criterion"] not in list(scales):
                at = f"{place}.criterion"
                faults.add("unknown_criterion", at, "isn't a criterion of this instrument")
            _check_inputs(example.get("inputs", {}), place, columns, faults, own)
            texts = check_list(
                example.get("outputs", []), f"{place}.outputs", faults,
                least=outputs["least"], most=outputs["most"],
            )  # fmt: skip
            _check_columns(example.get("columns", {}), place, own, len(texts), faults)
            for output, text in enumerate(texts):
                at = f"{place}.outputs.{output}"
                _check_structure(text, outputs["kind"], at, faults)
            turns = _list_turns(data["criteria"], example, place, faults)
            _check_answers(example, place, scales, len(texts), turns, faults)
            _check_marked(example, place, faults)
    practice = data.get("practice", [])
    has_gold = isinstance(practice, list) and any(
        isinstance(one, Mapping) and one.get("gold") for one in practice
    )
    if practice and not has_gold and not data.get("comprehension"):
        faults.add(
            "no_gold", "practice", "needs gold on at least one item, or comprehension questions"
        )


def _check_structure(given: Any, kind: str, place: str, faults: Faults) -> None:
    """Check a text, or a conversation or a table, which may be given as a list."""
    if isinstance(given, list) and kind in STRUCTURED:
        _check_records(given, kind, place, faults)
    else:
        check_text(given, place, faults)


def _check_records(records: list[Any], kind: str, place: str, faults: Faults) -> None:
    """Check a conversation or a table that is given as a list."""
    needed = {"role", "content"} if kind == "conversation" else set()
    if not records:
        faults.add("empty_text", place, "must not be empty")
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            faults.add("type", f"{place}.{number}", "must be an object")
        for key in sorted(needed - set(record if isinstance(record, Mapping) else needed)):
            faults.add("missing_key", f"{place}.{number}.{key}", "is required")


def _check_columns(
    columns: Any, place: str, own: Mapping[str, Mapping[str, Any]], outputs: int, faults: Faults
) -> None:
    """Check what an example says of each output: lines, as a text or as a list."""
    at = f"{place}.columns"
    if not isinstance(columns, Mapping):
        faults.add("type", at, "must be an object")
        return
    for name in columns:
        if name not in own:
            faults.add("unknown_column", f"{at}.{name}", "isn't a column of the outputs")
    for name, column in own.items():
        if name in columns:
            _check_cells(columns[name], f"{at}.{name}", outputs, faults)
        elif column.get("required", True):
            faults.add("missing_key", f"{at}.{name}", "is required")


def _check_cells(cells: Any, place: str, outputs: int, faults: Faults) -> None:
    for number, cell in enumerate(check_list(cells, place, faults, least=outputs, most=outputs)):
        at = f"{place}.{number}"
        for line in check_list([cell] if isinstance(cell, str) else cell, at, faults, least=1):
            check_text(line, at, faults)


def _check_inputs(
    inputs: Any,
    place: str,
    columns: Mapping[str, Mapping[str, Any]],
    faults: Faults,
    own: Mapping[str, Any],
) -> None:
    if not isinstance(inputs, Mapping):
        faults.add("type", f"{place}.inputs", "must be an object")
        return
    for name in inputs:
        if name not in columns or name in own:
            faults.add(
                "unknown_column", f"{place}.inputs.{name}", "isn't an input of this instrument"
            )
    for name, column in columns.items():
        if column.get("required", True) and name not in inputs and name not in own:
            faults.add("missing_key", f"{place}.inputs.{name}", "is required")
        kind = column.get("kind")
        if name in inputs and kind in STRUCTURED:
            _check_structure(inputs[name], kind, f"{place}.inputs.{name}", faults)


def _check_answers(
    example: Mapping[str, Any],
    place: str,
    scales: Scales,
    outputs: int,
    turns: Mapping[str, int],
    faults: Faults,
) -> None:
    for part in ("ratings", "gold"):
        answers = example.get(part, {})
        if not isinstance(answers, Mapping):
            faults.add("type", f"{place}.{part}", "must be an object")
            continue
        for key, answer in answers.items():
            at = f"{place}.{part}.{key}"
            if key not in scales:
                faults.add("unknown_criterion", at, "isn't a criterion of this instrument")
                continue
            per, data = scales[key]
            scale = get_scale(data["kind"]).from_data(data)
            check = scale.check_rating if part == "ratings" else scale.check_gold
            if per == "turn":
                _check_by_turn(answer, turns.get(key), check, at, faults)
            elif per == scale.per:
                check(answer, outputs, at, faults)
            else:  # one answer, to all outputs together
                check([answer], 1, at, faults)


def _list_turns(
    criteria: Sequence[Mapping[str, Any]], example: Mapping[str, Any], place: str, faults: Faults
) -> dict[str, int]:
    """Return how many turns each criterion asks about, and add a fault where it can't ask any."""
    found = {}
    outputs, inputs = example.get("outputs"), example.get("inputs")
    if not isinstance(outputs, list) or len(outputs) != 1 or not isinstance(inputs, Mapping):
        return {}
    columns = example.get("columns")
    # of the one output; what is no list is a fault of its own
    own = {
        name: cells[0]
        for name, cells in (columns.items() if isinstance(columns, Mapping) else ())
        if isinstance(cells, list) and cells
    }
    for criterion in criteria:
        if criterion["per"] != "turn":
            continue
        turns = Turns(
            roles=tuple(criterion["turns"]["roles"]),
            marked_by=criterion["turns"].get("marked_by", ""),
        )
        text = str(write_structure(outputs[0]))
        column, words = turns.find_fault({**inputs, **own}, text)
        if words:
            in_cell = f"{place}.{'columns' if column in own else 'inputs'}.{column}"
            faults.add("no_turns", in_cell if column else f"{place}.outputs.0", words)
        else:
            found[criterion["key"]] = len(turns.list_turns({**inputs, **own}, text))
    return found


def _check_by_turn(
    answer: Any, turns: int | None, check: Callable[..., None], place: str, faults: Faults
) -> None:
    """Check a list, for each output, of answers to its turns; null: that turn wasn't asked."""
    for number, answers in enumerate(check_list(answer, place, faults, least=1, most=1)):
        at = f"{place}.{number}"
        if turns is None:
            continue
        for turn, one in enumerate(check_list(answers, at, faults, least=turns, most=turns)):
            if one is not None:
                check([one], 1, f"{at}.{turn}", faults)


def _check_marked(example: Mapping[str, Any], place: str, faults: Faults) -> None:
    """Check that the passages to mark occur in the inputs."""
    inputs, marked = example.get("inputs", {}), example.get("x_marked", {})
    if not isinstance(inputs, Mapping) or not isinstance(marked, Mapping):
        faults.add("type", f"{place}.x_marked", "must be an object, as must the inputs")
        return
    for column, passages in marked.items():
        at = f"{place}.x_marked.{column}"
        for passage in check_list(passages, at, faults):
            if str(passage) not in str(inputs.get(column, "")):
                faults.add("quote_not_found", at, f"has {passage!r}, which isn't in this input")
