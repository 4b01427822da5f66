"""Instruments as plain data, in the single shape `evalsite.instrument/1`: written and read."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from evalsite.instruments.schema import Eligibility, ItemParts
from evalsite.lib.limited import read_json
from evalsite.protocol.installed_scales import get_scale
from evalsite.protocol.parts import (
    Aid,
    CheckQuestion,
    Comment,
    Condition,
    Criterion,
    Design,
    Example,
    Ignore,
    Layout,
    Source,
    Turns,
)

if TYPE_CHECKING:
    from evalsite.protocol.instrument import Protocol

FORMAT = "evalsite.instrument/1"
# texts of pages; files that were written earlier have them as x_...
_PAGE_TEXTS = ("page_note", "help_label")
_OWN_KEYS = frozenset({"x_highlight", *(f"x_{name}" for name in _PAGE_TEXTS)})
# kinds of texts that data may hold as a list
STRUCTURED = frozenset({"conversation", "table"})
_CRITERION_TEXTS = ("definition", "summary", "question", "range_note")


# --- written ----------------------------------------------------------------------


def write_instrument(protocol: "Protocol") -> dict[str, Any]:
    """Return an instrument as plain data; what has its default is left out."""
    data: dict[str, Any] = {
        "format": FORMAT,
        "key": protocol.key,
        "version": protocol.version,
        "language": protocol.language,
        "title": protocol.title,
        "summary": protocol.summary,
        "source": protocol.source.to_data(),
        "instructions": protocol.instructions,
        "item": protocol.item.to_data(),
        "layout": protocol.layout.to_data(),
        "criteria": [_write_criterion(criterion) for criterion in protocol.criteria],
    }  # fmt: skip
    criteria = {criterion.key: criterion for criterion in protocol.criteria}
    optional = {
        "instructions_title": protocol.instructions_title,
        "examples": [_write_example(one, criteria, protocol) for one in protocol.examples],
        "practice": [_write_example(one, criteria, protocol) for one in protocol.practice],
        "comprehension": [question.to_data() for question in protocol.comprehension],
        "eligibility": protocol.eligibility and protocol.eligibility.to_data(),
        "ignore": protocol.ignore and protocol.ignore.to_data(),
        "design": protocol.design.to_data(),
        "aids": [aid.to_data() for aid in protocol.aids],
        "hooks": dict(protocol.hooks),
        "based_on": dict(protocol.based_on or {}),
        "translations": {name: dict(texts) for name, texts in protocol.translations.items()},
    }
    data |= {name: value for name, value in optional.items() if value}
    if protocol.note is not None:
        data["note"] = protocol.note
    if protocol.highlight is not None:
        data["x_highlight"] = protocol.highlight
    for name in _PAGE_TEXTS:
        if text := getattr(protocol, name):
            data[name] = text
    if protocol.minutes_per_item != 1:
        data["minutes_per_item"] = protocol.minutes_per_item
    return data | dict(protocol.extras)


def _write_criterion(criterion: Criterion) -> dict[str, Any]:
    data: dict[str, Any] = {
        "key": criterion.key, "label": criterion.label, "per": criterion.asked_per,
    }  # fmt: skip
    data |= {name: text for name in _CRITERION_TEXTS if (text := getattr(criterion, name))}
    data |= {"turns": criterion.turns.to_data()} if criterion.turns else {}
    data |= {} if criterion.required else {"required": False}
    data |= {"comment": criterion.comment.to_data()} if criterion.comment else {}
    data |= {"ask_if": criterion.ask_if.to_data()} if criterion.ask_if else {}
    data |= {"better": criterion.better} if criterion.better else {}
    return data | {"scale": criterion.scale.to_data()}


def _write_example(
    example: Example, criteria: Mapping[str, Criterion], protocol: "Protocol"
) -> dict[str, Any]:
    own = {column.name for column in protocol.columns if column.is_of_output}
    kinds = {column.name: column.kind for column in protocol.columns}
    columns = {name: [text.splitlines()] for name, text in example.inputs.items() if name in own}
    data: dict[str, Any] = {
        **({"label": example.label} if example.label else {}),
        **({"criterion": example.criterion} if example.criterion else {}),
        "inputs": {
            name: read_structure(text, kinds.get(name, ""))
            for name, text in example.inputs.items()
            if name not in own
        },
        **({"columns": columns} if columns else {}),
        "outputs": [read_structure(text, protocol.item.outputs.kind) for text in example.outputs],
        "why": example.why,
    }
    if example.ratings:
        data["ratings"] = {
            # an unknown criterion is a fault that the check names
            key: criteria[key].rating_to_data(values) if key in criteria else list(values)
            for key, values in example.ratings.items()
        }
    if example.gold:
        data["gold"] = {
            key: criteria[key].gold_to_data(text) if key in criteria else text
            for key, text in example.gold.items()
        }
    if example.marked:
        data["marked"] = {name: list(passages) for name, passages in example.marked.items()}
    return data


def write_structure(text: Any) -> Any:
    """Write a conversation or a table that data holds as a list as the text of a file."""
    if not isinstance(text, list):
        return text
    # stored JSON has lost the order of keys: role and content come first, as in most files
    first = ("role", "content")
    said = [
        {name: one[name] for name in (*first, *sorted(one.keys() - set(first))) if name in one}
        if isinstance(one, dict) and "role" in one
        else one
        for one in text
    ]
    return json.dumps(said, ensure_ascii=False)


def read_structure(text: str, kind: str) -> Any:
    """Return the list that the text of a conversation holds; any other text as it is.

    A table stays text: as a list, its columns would lose their order where JSON is stored.
    """
    if kind != "conversation":
        return text
    try:
        found = read_json(text)
    except ValueError:
        return text
    return found if isinstance(found, list) else text


# --- read -------------------------------------------------------------------------


def read_instrument(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an instrument that was found to be without fault."""
    criteria = tuple(_read_criterion(one) for one in data["criteria"])
    return {
        "key": data["key"],
        "version": data["version"],
        "language": data["language"],
        "title": data["title"],
        "summary": data["summary"],
        "source": Source.model_validate(data["source"]),
        "instructions_title": data.get("instructions_title", ""),
        "instructions": data["instructions"],
        "item": ItemParts.model_validate(data["item"]),
        "layout": Layout.model_validate(data["layout"]),
        "criteria": criteria,
        **_read_examples(data, criteria),
        "eligibility": Eligibility.model_validate(data["eligibility"])
        if data.get("eligibility")
        else None,
        "ignore": Ignore.model_validate(data["ignore"]) if "ignore" in data else None,
        "design": Design.model_validate(data.get("design", {})),
        "aids": tuple(map(Aid.model_validate, data.get("aids", []))),
        "note": data.get("note"),
        "highlight": data.get("x_highlight"),
        **{name: data.get(name, data.get(f"x_{name}", "")) for name in _PAGE_TEXTS},
        "minutes_per_item": data.get("minutes_per_item", 1.0),
        "hooks": dict(data.get("hooks", {})),
        "based_on": data.get("based_on"),
        "translations": data.get("translations", {}),
        "extras": {
            name: value for name, value in data.items()
            if name.startswith("x_") and name not in _OWN_KEYS
        },
    }  # fmt: skip


def _read_examples(data: Mapping[str, Any], criteria: Iterable[Criterion]) -> dict[str, Any]:
    """Return worked examples, practice items and questions on the instructions."""
    known = {criterion.key: criterion for criterion in criteria}
    kinds = {one["name"]: one["kind"] for one in data["item"]["inputs"]}
    return {
        "examples": tuple(_read_example(one, known, kinds) for one in data.get("examples", [])),
        "practice": tuple(_read_example(one, known, kinds) for one in data.get("practice", [])),
        "comprehension": tuple(map(CheckQuestion.model_validate, data.get("comprehension", []))),
    }


def _read_criterion(data: Mapping[str, Any]) -> Criterion:
    scale = get_scale(data["scale"]["kind"]).from_data(data["scale"])
    return Criterion(
        key=data["key"],
        label=data["label"],
        scale=scale,
        per="" if data["per"] == scale.per else data["per"],
        turns=Turns.model_validate(data["turns"]) if "turns" in data else None,
        required=data.get("required", True),
        comment=Comment.model_validate(data["comment"]) if "comment" in data else None,
        ask_if=Condition.model_validate(data["ask_if"]) if "ask_if" in data else None,
        better=data.get("better", ""),
        **{name: data[name] for name in _CRITERION_TEXTS if name in data},
    )


def _read_example(
    data: Mapping[str, Any], criteria: Mapping[str, Criterion], kinds: Mapping[str, str]
) -> Example:
    inputs = {
        name: write_structure(given) if kinds[name] in STRUCTURED else given
        for name, given in data["inputs"].items()
    }
    # of the only output: a list of statements is a text of lines, as in a file
    columns = {
        name: one[0] if isinstance(one[0], str) else "\n".join(map(str, one[0]))
        for name, one in data.get("columns", {}).items()
    }
    return Example(
        inputs={**inputs, **columns},
        outputs=tuple(map(write_structure, data["outputs"])),
        why=data["why"],
        ratings={
            key: criteria[key].rating_from_data(one) for key, one in data.get("ratings", {}).items()
        },
        gold={key: criteria[key].gold_from_data(one) for key, one in data.get("gold", {}).items()},
        marked=data.get("marked", data.get("x_marked", {})),
        label=data.get("label", ""),
        criterion=data.get("criterion", ""),
    )
