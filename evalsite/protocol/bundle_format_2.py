"""Instruments as bundles of format 2 hold them: the questions, without the rest.

What that shape lacks (names on pages, layout, design) is taken from the installed protocol.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalsite.instruments.schema import ItemParts, Outputs
from evalsite.protocol.data import FORMAT
from evalsite.protocol.installed import find_folder
from evalsite.protocol.installed_scales import get_scale
from evalsite.protocol.instrument import Protocol
from evalsite.protocol.parts import (
    CheckQuestion,
    Criterion,
    Example,
    Ignore,
    InputColumn,
    Layout,
    Source,
)
from evalsite.protocol.scale import Scale


def read_stored(data: Mapping[str, Any], key: str) -> Protocol:
    """Read the instrument of a study of this protocol, in whichever shape it was stored."""
    if data.get("format") == FORMAT:
        return Protocol.from_stored(data)
    return _convert(data, _find_protocol(key))


def _find_protocol(key: str) -> Protocol:
    """Return the installed protocol; one without names if there is none."""
    try:
        return find_folder(key).instrument
    except LookupError:
        unknown = Source(cite="not known", licence="not known", exact="not known", ours="not known")
        return Protocol(
            key=key,
            title=key,
            summary="",
            source=unknown,
            criteria=(),
            item=ItemParts(inputs=[], outputs=Outputs(kind="text", least=1, most=1)),
            note="",
            layout=Layout(outputs="one", questions="beside"),
        )


def read_criteria(data: Mapping[str, Any]) -> tuple[Criterion, ...]:
    """Read the criteria of an instrument in either shape; LookupError for an unknown scale."""
    if data.get("format") == FORMAT:
        return Protocol.from_stored(data).criteria
    return tuple(_read_criterion(one) for one in data["criteria"])


def _convert(data: Mapping[str, Any], protocol: Protocol) -> Protocol:
    ignore = data["ignore"]
    return replace(
        protocol,
        criteria=tuple(_read_criterion(one) for one in data["criteria"]),
        item=protocol.item.model_copy(
            update={"inputs": [_read_column(one) for one in data["inputs"]]}
        ),
        examples=tuple(_read_example(one) for one in data["examples"]),
        comprehension=tuple(map(CheckQuestion.model_validate, data["comprehension"])),
        ignore=protocol.ignore and Ignore.model_validate(ignore),
        highlight=None if protocol.highlight is None else data["highlight_hint"],
        note=None if protocol.note is None else data["note_label"],
    )  # fmt: skip


def _read_column(data: Mapping[str, Any]) -> InputColumn:
    return InputColumn(
        name=data["name"],
        label=data["label"],
        kind=data["kind"],
        aliases=data["aliases"],
        required=data["is_required"],
        together=data["together"],
    )


def _read_criterion(data: Mapping[str, Any]) -> Criterion:
    fields = {name: value for name, value in data["scale"].items() if name != "kind"}
    scale: Scale = get_scale(data["scale"]["kind"]).from_fields(fields)
    return Criterion(**{**data, "scale": scale})


def _read_example(data: Mapping[str, Any]) -> Example:
    ratings = {key: tuple(values) for key, values in data["ratings"].items()}
    return Example(**{**data, "outputs": tuple(data["outputs"]), "ratings": ratings})
