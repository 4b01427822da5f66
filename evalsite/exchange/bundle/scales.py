"""The scales of a bundle's own instrument, as plain data: which values they allow."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from evalsite.protocol.version_0_1 import read_criteria

Scale = Mapping[str, Any]
Scales = dict[str, Scale]


def find_scales(
    about: Mapping[str, Any], contents: Mapping[int, Mapping[str, Any]]
) -> dict[int | None, Scales]:
    """The scale of each criterion, by version; None: before the first launch."""
    found: dict[int | None, Scales] = {None: _list_scales(about["instrument"])}
    for number, content in contents.items():
        found[number] = _list_scales(content["instrument"])
    return found


def _list_scales(instrument: Mapping[str, Any]) -> Scales:
    return {
        one.key: {"kind": one.scale.kind} | asdict(one.scale) for one in read_criteria(instrument)
    }


def is_on_scale(scale: Scale, position: int | None, value: int | None) -> bool:
    """Whether this is a value of the scale; `position` is that of the output it is about."""
    if value is None:
        return False
    match scale["kind"]:
        case "likert":
            return position is not None and value in {point["value"] for point in scale["points"]}
        case "magnitude":
            return position is not None and scale["minimum"] <= value <= scale["maximum"]
        case "decision":
            return position is not None and value in (0, 1)
        case "preference":
            return value == (0 if position is None else 1)
    return False
