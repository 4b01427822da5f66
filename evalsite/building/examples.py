"""Worked examples and practice items in the form of the builder."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.building.parameters import Plain, read_whole
from evalsite.protocol.data import read_structure, write_structure
from evalsite.protocol.faults import Faults
from evalsite.protocol.scale import Scale, get_scale

_MOST = 100


def find_scale(criterion: Any) -> Scale | None:
    """Return the scale of a question of a draft; None as long as it isn't right."""
    data = criterion.get("scale") if isinstance(criterion, dict) else None
    if not isinstance(data, dict):
        return None
    try:
        cls, faults = get_scale(str(data.get("kind"))), Faults()
    except LookupError:
        return None
    cls.check_data(data, "", faults)
    return None if faults else cls.from_data(data)


def read_examples(
    data: Mapping[str, str], part: str, draft: Plain, base: Plain, renamed: Mapping[str, str]
) -> list[Plain]:
    """Read the items of this part, "examples" or "practice"; empty ones are left out.

    `renamed`: the new keys of questions, by those that the form has.
    """
    form_keys = {new: old for old, new in renamed.items()}
    count = read_whole(data.get(f"{part}-count", ""))
    listed = base.get(part)
    before: list[Any] = listed if isinstance(listed, list) else []
    found = []
    for number in range(min(count, _MOST) if isinstance(count, int) else 0):
        kept = before[number] if number < len(before) and isinstance(before[number], dict) else {}
        if item := _read_item(data, f"{part}-{number}", part, draft, kept, form_keys):
            found.append(item)
    return found


def _read_item(
    data: Mapping[str, str], at: str, part: str, draft: Plain, kept: Plain,
    form_keys: Mapping[str, str],
) -> Plain | None:  # fmt: skip
    columns = {one.get("name", ""): one.get("kind", "") for one in draft["item"].get("inputs", [])}
    known = kept.get("inputs", {})
    inputs = {
        # a number or a list that nobody changed stays one
        name: known[name]
        if text and str(write_structure(known.get(name, ""))) == text
        else read_structure(text, str(kind))
        for name, kind in columns.items()
        for text in [data.get(f"{at}-in-{name}", "").strip()]
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
    if not (outputs or why or any(inputs.values())):
        return None
    item = dict(kept)
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
        was = form_keys.get(key, key)
        said = data.get(f"{at}-answer-{was}", "").strip()
        if not said:
            continue
        is_gold = part == "practice"
        if said == write_answer(before.get(was), criterion, is_gold=is_gold):
            answers[key] = before[was]
        else:
            answers[key] = _read_answer(said, criterion, len(outputs), is_gold=is_gold)
    item.pop(name, None)
    return item | ({name: answers} if answers else {})


def _read_answer(text: str, criterion: Plain, outputs: int, *, is_gold: bool) -> Any:
    """Return an answer in the notation of instruments; what can't be read stays text."""
    scale = find_scale(criterion)
    is_by_turn = criterion.get("per") == "turn"
    if scale is not None and is_gold:
        count = len(text.split(",")) if is_by_turn else outputs
        try:
            scale.parse_gold(text, [str(number) for number in range(1, count + 1)])
            return [scale.gold_to_data(text)] if is_by_turn else scale.gold_to_data(text)
        except (ValidationError, ValueError, LookupError, TypeError):
            return text
    parts = [read_whole(one) for one in text.split(",")]
    if is_by_turn:
        return [parts]
    if criterion.get("per") == "output":
        return parts
    return parts[0] if len(parts) == 1 else parts


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
        return ", ".join("" if one is None else str(one) for one in answer)
    return str(answer)
