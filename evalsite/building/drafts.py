"""The form of the builder, read into the draft of an instrument: plain data, right or wrong.

What the form has no field for stays as it was in the draft.
"""

from collections import Counter
from collections.abc import Container, Mapping
from copy import deepcopy
from typing import Any

from evalsite.building.examples import Renamed, name_columns, read_examples
from evalsite.building.parameters import (
    TABLE,
    Parameter,
    Plain,
    is_key_of,
    list_needed,
    list_parameters,
    make_key,
    read_text,
    read_whole,
    start_scale,
)
from evalsite.building.renames import rename_columns, rename_questions
from evalsite.building.starts import follow_kind, follow_outputs, make_column
from evalsite.building.tables import read_table
from evalsite.instruments.scales import installed_scales
from evalsite.instruments.schema import KINDS_OF_OUTPUTS

# more questions or rows than a form may have are read no further
MOST = 400
_TEXTS = ("title", "summary", "instructions_title", "instructions", "language")
_NEEDED = ("title", "summary", "instructions", "language")
DESIGN = (("k", 3), ("set_size", 10))
_CRITERION_TEXTS = ("question", "definition", "summary", "range_note")


def read_revision(data: Mapping[str, str]) -> int:
    """Return the revision that this form was filled from; -1 where it doesn't say."""
    text = data.get("revision", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def read_draft(data: Mapping[str, str], base: Plain, kept_keys: Container[str] = ()) -> Plain:
    """Return the draft that this form says; `base` is the one that it was filled from.

    `kept_keys`: questions of a version, whose columns don't follow their names any more.
    """
    draft = deepcopy(base)
    for name in _TEXTS:
        # spaces at the ends of a text that nobody changed stay
        if name in data and read_text(data[name]) != read_text(str(draft.get(name, ""))):
            _set(draft, name, read_text(data[name]), keep=name in _NEEDED)
    _read_key(data, draft)
    columns = _read_item(data, draft)
    questions = _read_questions(data, draft, base, kept_keys)
    rename_columns(draft, {was: name for name, was in columns.items() if was != name})
    renamed = Renamed({new: old for old, new in questions.items()}, columns)
    for part in ("examples", "practice"):
        if f"{part}-count" in data:
            _set(draft, part, read_examples(data, part, draft, base, renamed) or None)
    if "check-count" in data:
        _set(draft, "comprehension", _read_comprehension(data) or None)
    _read_rest(data, draft)
    return draft


def _read_key(data: Mapping[str, str], draft: Plain) -> None:
    if data.get("key", "").strip():
        draft["key"] = data["key"].strip()


def _set(holder: Plain, name: str, value: Any, *, keep: bool = False) -> None:
    """Set a key, or drop it for None; `keep` leaves an empty text, for the check to name."""
    if value is None and not keep:
        holder.pop(name, None)
    else:
        holder[name] = "" if value is None else value


def _numbers(data: Mapping[str, str], part: str) -> range:
    count = read_whole(data.get(f"{part}-count", ""))
    return range(min(count, MOST) if isinstance(count, int) and count > 0 else 0)


# --- page ---------------------------------------------------------------------------


def _read_item(data: Mapping[str, str], draft: Plain) -> dict[str, str]:
    """Read what is shown; return what examples call each column in the form, by its new name."""
    item, layout = draft.setdefault("item", {}), draft.setdefault("layout", {})
    for name in ("name", "names", "output_name"):
        if f"item-{name}" in data:
            _set(item, name, read_text(data[f"item-{name}"]))
    columns = _read_columns(data, item) if "in-count" in data else {}
    if "outputs" not in data:
        return columns
    outputs = item.setdefault("outputs", {})
    _set(outputs, "kind", read_text(data.get("out-kind", "text")))
    follow_outputs(draft, layout.get("outputs"), data["outputs"])
    layout["outputs"] = data["outputs"]
    most = read_whole(data.get("out-most", "")) or 3
    least = outputs.get("least") if outputs.get("most") == most else 2
    bounds = {"one": (1, 1), "pair": (2, 2)}.get(data["outputs"], (least, most))
    outputs["least"], outputs["most"] = bounds
    layout["questions"] = data.get("questions", "beside")
    place = data.get("inputs-place", "above")
    if place != layout.get("inputs", "above"):
        layout["inputs"] = place
    if data.get("order", layout.get("order", "random")) != layout.get("order", "random"):
        layout["order"] = data["order"]
    return columns


def list_columns(item: Plain) -> list[Plain]:
    """List the columns of an item's inputs, then those of its only output."""
    return [*_objects(item.get("inputs")), *_objects(item.get("output_columns"))]


def remove_column(item: Plain, number: int) -> None:
    """Remove the column of this number, from 0, in the order of `list_columns`."""
    removed = list_columns(item)[number : number + 1]
    for name in ("inputs", "output_columns"):
        if name in item:
            item[name] = [one for one in _objects(item[name]) if one not in removed]
    if not item.get("output_columns"):
        item.pop("output_columns", None)


def _read_columns(data: Mapping[str, str], item: Plain) -> dict[str, str]:
    before = {str(column.get("name")): column for column in list_columns(item)}
    inputs: list[Plain] = []
    own: list[Plain] = []
    form_names = name_columns(
        {"name": data.get(f"in-{number}-was", "")} for number in _numbers(data, "in")
    )
    input_names: list[str] = []
    own_names: list[str] = []
    listed = list(before.values())
    for number, form_name in enumerate(form_names):
        at = f"in-{number}"
        was = data.get(f"{at}-was", "")
        if was not in before and number < len(listed):
            # of a page that was only looked at: the draft still has the name from before
            before[was] = listed[number]
        column = _read_input(data, at, before)
        can_be_own = column["kind"] in KINDS_OF_OUTPUTS and data.get("outputs", "one") == "one"
        if can_be_own and data.get(f"{at}-of", "output") == "output":
            names = ("name", "label", "kind", "aliases", "required")
            own.append({name: column[name] for name in names if column.get(name, "") != ""})
            own_names.append(form_name)
        else:
            inputs.append(column)
            input_names.append(form_name)
    item["inputs"] = inputs
    _set(item, "output_columns", own or None)
    new = name_columns([*inputs, *own])
    # a column that the form doesn't know yet has no text to move
    return {name: was or name for name, was in zip(new, [*input_names, *own_names], strict=True)}


def _read_input(data: Mapping[str, str], at: str, before: Mapping[str, Plain]) -> Plain:
    label, was = data.get(f"{at}-label", "").strip(), data.get(f"{at}-was", "")
    column = dict(before.get(was, {}))
    name = data.get(f"{at}-name", "").strip() or make_key(label or "source")
    if name == was and is_key_of(name, "input") and label != column.get("label"):
        # the column of a new input follows its name
        name = make_key(label or "input", before)
    column |= {"name": name, "label": label, "kind": data.get(f"{at}-kind", "text")}
    if (f"{at}-required" in data) != column.get("required", True):
        _set(column, "required", None if f"{at}-required" in data else False)
    # of earlier versions: every input is shown whole
    column.pop("display", None)
    return column


def _objects(value: Any) -> list[Plain]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# --- questions ----------------------------------------------------------------------


def _read_questions(
    data: Mapping[str, str], draft: Plain, base: Plain, kept_keys: Container[str]
) -> dict[str, str]:
    """Read all questions; return the new keys of those that are called otherwise now, by old."""
    if "q-count" not in data:
        return {}
    numbers = _numbers(data, "q")
    names = [f"q-{number}" for number in numbers]
    draft["criteria"] = [_read_question(data, at, base) for at in names]
    for at, question in zip(names, draft["criteria"], strict=True):
        _follow_name(data, at, question, draft["criteria"], base, kept_keys)
    before = Counter(data.get(f"{at}-was", "") for at in names)
    renamed = {
        was: question["key"]
        for at, question in zip(names, draft["criteria"], strict=True)
        # what refers to a key that two questions had means the first of them
        if (was := data.get(f"{at}-was", "")) and was != question["key"] and before[was] == 1
    }
    rename_questions(draft, renamed)
    pers = {one["key"]: one.get("per") for one in draft["criteria"]}
    for question in draft["criteria"]:
        _set_outputs(question.get("ask_if"), pers, str(question.get("per")))
    return renamed


def _follow_name(
    data: Mapping[str, str], at: str, question: Plain, criteria: list[Plain], base: Plain,
    kept_keys: Container[str],
) -> None:  # fmt: skip
    """Let the column of a new question follow its name, until someone writes another one."""
    was = {one.get("key"): one for one in _objects(base.get("criteria"))}
    key, before = data.get(f"{at}-was", ""), was.get(question["key"], {})
    label = str(before.get("label", ""))
    is_new = question["key"] == key and key not in kept_keys and is_key_of(key, label)
    if is_new and question["label"] not in ("", label):
        taken = {one["key"] for one in criteria if one is not question}
        question["key"] = make_column(question["label"], taken)


_WIDTHS = {"item": 0, "output": 1, "turn": 2}


def is_narrower(per: Any, than: Any) -> bool:
    """Tell whether a question that is asked per `per` may have several answers for one `than`."""
    return _WIDTHS.get(str(per), 0) > _WIDTHS.get(str(than), 0)


def _set_outputs(condition: Any, pers: Mapping[str, Any], per: str) -> None:
    """Let a condition on a narrower question say which of its answers, and no other."""
    inner = condition.get("not", condition) if isinstance(condition, dict) else {}
    if not isinstance(inner, dict) or "criterion" not in inner:
        return
    if is_narrower(pers.get(inner["criterion"]), per):
        inner.setdefault("outputs", "any")
    else:
        inner.pop("outputs", None)


def _read_question(data: Mapping[str, str], at: str, base: Plain) -> Plain:
    was = {one.get("key"): one for one in _objects(base.get("criteria"))}
    before = deepcopy(was.get(data.get(f"{at}-was", ""), {}))
    label = data.get(f"{at}-label", "").strip()
    question = before | {"key": data.get(f"{at}-key", "").strip(), "label": label}
    if not question["key"]:
        question["key"] = make_column(label, ())
    for name in _CRITERION_TEXTS:
        if f"{at}-{name}" in data:
            _set(question, name, read_text(data[f"{at}-{name}"]))
    question["scale"] = _read_scale(data, at, before.get("scale"))
    scale = installed_scales().get(str(question["scale"].get("kind")))
    if f"{at}-per" in data:
        question["per"] = data[f"{at}-per"]
    is_other = data.get(f"{at}-kind") != (before.get("scale") or {}).get("kind")
    if scale and is_other:
        question["per"] = scale.asked[0]
    _read_turns(data, at, question)
    _read_extras(data, at, question)
    if scale and is_other:
        follow_kind(question, before, scale)
    return question


def _read_turns(data: Mapping[str, str], at: str, question: Plain) -> None:
    """Read which turns a question is asked of, where it is asked of turns."""
    if question.get("per") != "turn":
        question.pop("turns", None)
    elif f"{at}-roles" in data:
        roles = [role for one in data[f"{at}-roles"].split(",") if (role := one.strip())]
        marked = data.get(f"{at}-marked", "")
        question["turns"] = {"roles": roles, **({"marked_by": marked} if marked else {})}
    else:
        question.setdefault("turns", {"roles": ["assistant"]})


def _read_scale(data: Mapping[str, str], at: str, before: Any) -> Plain:
    kind = data.get(f"{at}-kind", "")
    scale = installed_scales().get(kind)
    before = before if isinstance(before, dict) else {}
    if scale is None:
        return {**before, "kind": kind or before.get("kind", "")}
    if before.get("kind") != kind:
        return start_scale(scale, before)
    found = _read_parameters(data, f"{at}-p", list_parameters(scale), before, list_needed(scale))
    if found.get("from_column"):
        found.pop("statements", None)  # one of the two
    elif before.get("from_column") and not found.get("from_column"):
        found = start_scale(scale, found)
    return found


def _read_parameters(
    data: Mapping[str, str], at: str, parameters: Mapping[str, Parameter], before: Plain,
    needed: Container[str],
) -> Plain:  # fmt: skip
    found = dict(before)
    for name, parameter in parameters.items():
        field = f"{at}-{name}"
        if parameter.parts:
            _set(found, name, _read_group(data, field, parameter, before.get(name)))
        elif parameter.control == "table":
            if f"{field}-count" in data:
                entries = read_table(data, field, parameter, before.get(name))
                _set(found, name, entries or None, keep=name in needed)
                found.setdefault(name, []) if name in needed else None
        elif field in data or parameter.control == "flag":
            value = parameter.read(data.get(field, ""), before.get(name))
            _set(found, name, value or (None if name not in needed else value),
                 keep=name in needed)  # fmt: skip
            if value == 0 and not isinstance(value, bool):
                found[name] = value
    return found


def _read_group(
    data: Mapping[str, str], at: str, parameter: Parameter, before: Any
) -> Plain | None:
    """Read the parts of a parameter; without an entry in its table it is left out."""
    if not isinstance(before, dict) or f"{at}-{TABLE}-count" not in data:
        return before if isinstance(before, dict) else None
    found = _read_parameters(data, at, parameter.parts, before, parameter.needed_parts)
    return found if found.get(TABLE) else None


def _read_extras(data: Mapping[str, str], at: str, question: Plain) -> None:
    """Read a question's comment, whether it is required, and when it is asked."""
    if f"{at}-may-require" in data:
        _set(question, "required", None if f"{at}-required" in data else False)
    if f"{at}-comment" in data:
        asks = data[f"{at}-comment"]
        _set(question, "comment", {**question.get("comment", {}), "ask": asks} if asks else None)
    if f"{at}-if" in data:
        _set(question, "ask_if", _read_condition(data, at, question.get("ask_if")))


def _read_condition(data: Mapping[str, str], at: str, before: Any) -> Plain | None:
    key, test = data[f"{at}-if"], data.get(f"{at}-test", "is")
    if not key:
        return None
    inner = before.get("not", before) if isinstance(before, dict) else {}
    is_same = inner.get("criterion") == key
    said = [one.strip() for one in data.get(f"{at}-what", "").split(",") if one.strip()]
    if f"{at}-ticks" in data:
        said = [one for one in data[f"{at}-ticks"].split() if f"{at}-tick-{one}" in data]
    answers: Any = [read_whole(one) for one in said]
    if test in ("at_least", "at_most"):
        answers = answers[0] if answers else 0
    elif test == "answered":
        answers = True
    was = inner.get(test)
    if isinstance(answers, list) and isinstance(was, list) and len(was) == len(answers):
        # the order of a file stays
        answers = was if all(one in was for one in answers) else answers
    condition = {"criterion": key, test: answers}
    if outputs := data.get(f"{at}-which", inner.get("outputs", "") if is_same else ""):
        condition["outputs"] = outputs
    return {"not": condition} if f"{at}-not" in data else condition


# --- before and after ---------------------------------------------------------------


def _read_comprehension(data: Mapping[str, str]) -> list[Plain]:
    found = []
    for number in _numbers(data, "check"):
        at = f"check-{number}"
        question = data.get(f"{at}-question", "").strip()
        choices, right = read_starred(data.get(f"{at}-choices", ""))
        why = data.get(f"{at}-why", "").strip()
        if question or choices or why:
            found.append({
                "question": question, "choices": choices, "right": right[0] if right else "",
                "why": why,
            })  # fmt: skip
    return found


def read_starred(text: str) -> tuple[list[str], list[str]]:
    """Read answers, one a line; also return those that begin with a star."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    starred = [line[1:].strip() for line in lines if line.startswith("*")]
    return [line[1:].strip() if line.startswith("*") else line for line in lines], starred


def _read_rest(data: Mapping[str, str], draft: Plain) -> None:
    if "entry-count" in data:
        _set(draft, "eligibility", _read_eligibility(data, draft.get("eligibility")))
    _read_design(data, draft)
    if "source-cite" in data:
        source = draft.setdefault("source", {})
        for name in ("cite", "licence", "exact", "ours"):
            source[name] = data.get(f"source-{name}", "").strip()
        for name in ("url", "notice"):
            _set(source, name, read_text(data.get(f"source-{name}", "")))


def _read_design(data: Mapping[str, str], draft: Plain) -> None:
    if "design" in data:
        design = dict(draft.get("design", {}))
        for name, default in DESIGN:
            value = read_whole(data.get(f"design-{name}", ""))
            if value != design.get(name, default):
                _set(design, name, value)
        _set(draft, "design", design or None)
        minutes = _read_number(data.get("minutes", "").strip())
        if minutes != draft.get("minutes_per_item", 1.0):
            _set(draft, "minutes_per_item", minutes)


def _read_number(text: str) -> float | str | None:
    try:
        return float(text) if text else None
    except ValueError:
        return text


def _read_eligibility(data: Mapping[str, str], before: Any) -> Plain | None:
    questions: list[Plain] = []
    accept: dict[str, list[Any]] = {}
    kept = before if isinstance(before, dict) else {}
    was = {one.get("key"): one for one in _objects(kept.get("questions"))}
    for number in _numbers(data, "entry"):
        at = f"entry-{number}"
        label = data.get(f"{at}-label", "").strip()
        choices, allowed = read_starred(data.get(f"{at}-choices", ""))
        if not label and not choices:
            continue
        key = data.get(f"{at}-key", "") or make_key(label, [one["key"] for one in questions])
        known = was.get(key, {})
        values = {one.get("label"): one.get("value") for one in _objects(known.get("choices"))}
        for words in choices:
            values.setdefault(words, make_key(words, values.values()))
        questions.append({
            **known, "key": key, "label": label,
            "choices": [{"value": values[words], "label": words} for words in choices],
        })  # fmt: skip
        if allowed:
            accept[key] = [values[words] for words in choices if words in allowed]
    if not questions:
        return None
    return {
        **kept,
        "questions": questions,
        "rule": data.get("entry-rule", "").strip(),
        "refusal": data.get("entry-refusal", "").strip(),
        "accept": accept,
    }


# --- questions whose column changes ----------------------------------------------------
