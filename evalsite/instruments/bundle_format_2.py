"""Instruments as bundles of format 2 hold them: the questions, without the rest.

What that shape lacks (names on pages, layout, design) is taken from the installed protocol.
"""

from collections.abc import Mapping, Set
from typing import Any

from evalsite.instruments.installed import find_folder
from evalsite.instruments.scales import KINDS
from evalsite.instruments.schema import FORMAT, Criterion, Instrument

Plain = dict[str, Any]
# the response that is preferred, or neither, as a step of the scale
_STEPS = {0: 0, 1: -1, 2: 1}


def read_stored(data: Mapping[str, Any], key: str) -> Instrument:
    """Read the instrument of a study of this protocol, in whichever shape it was stored."""
    return Instrument.model_validate(data if data.get("format") == FORMAT else _convert(data, key))


def read_criteria(data: Mapping[str, Any]) -> list[Criterion]:
    """Read the criteria of an instrument in either shape; ValueError for an unknown scale."""
    is_old = data.get("format") != FORMAT
    criteria = [_convert_criterion(old) if is_old else old for old in data["criteria"]]
    return [Criterion.model_validate(criterion) for criterion in criteria]


def _convert(data: Mapping[str, Any], key: str) -> Plain:
    try:
        protocol = find_folder(key).instrument.to_data()
    except LookupError:
        protocol = _describe_unknown(key)
    renamed = {"ignore": "ignore", "x_highlight": "highlight_hint", "note": "note_label"}
    compared = {
        criterion["key"]
        for criterion in data["criteria"]
        if (kind := KINDS.get(criterion["scale"]["kind"])) and kind.compares
    }
    return protocol | {
        "criteria": list(map(_convert_criterion, data["criteria"])),
        "item": protocol["item"] | {"inputs": list(map(_convert_column, data["inputs"]))},
        "examples": [_convert_example(example, compared) for example in data["examples"]],
        "comprehension": data["comprehension"],
        **{name: data[old] for name, old in renamed.items() if name in protocol},
    }


def _describe_unknown(key: str) -> Plain:
    """Return what is known of a protocol that isn't installed: its name."""
    return {
        "format": FORMAT,
        "key": key,
        "version": 1,
        "language": "en",
        "title": key,
        "summary": key,
        "source": dict.fromkeys(("cite", "licence", "exact", "ours"), "not known"),
        "instructions": "The instructions are not known.",
        "item": {"inputs": [], "outputs": {"kind": "text", "least": 1, "most": 1}},
        "layout": {"outputs": "one", "questions": "beside"},
        "note": "",
    }


def _convert_column(data: Mapping[str, Any]) -> Plain:
    column = {name: value for name, value in data.items() if name != "is_required"}
    return column | {"required": data["is_required"]}


def _convert_criterion(data: Mapping[str, Any]) -> Plain:
    """Return a criterion by the names that its parts have now."""
    scale = dict(data["scale"])
    kind = KINDS.get(scale["kind"])
    if "tie" in scale:
        labels = zip((-1, 0, 1), ("first", "tie", "second"), strict=True)
        scale["points"] = [{"value": value, "label": scale.pop(name)} for value, name in labels]
    for name, parameter, value in (
        ("stacked", "display", "stacked"),
        ("is_out_of", "out_of", True),
    ):
        if scale.pop(name, False):
            scale[parameter] = value
    texts = {name: text for name, text in data.items() if name != "scale" and text}
    return texts | {"per": kind.asked[0] if kind else "output", "scale": scale}


def _convert_example(data: Mapping[str, Any], compared: Set[str]) -> Plain:
    ratings = {
        key: _STEPS[values[0]] if key in compared else values
        for key, values in data["ratings"].items()
    }
    example = {name: value for name, value in data.items() if value and name != "gold"}
    return {"why": "", **example, "ratings": ratings}
