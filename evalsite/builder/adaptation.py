"""An instrument with what a study's file holds: its kinds, further inputs, a box for comments."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

from evalsite.builder.fitting import FirstItem, Fit
from evalsite.instruments.schema import Instrument
from evalsite.instruments.texts import digest_content

Content = dict[str, Any]

_NOTE = "Comments (optional)"
# a text without marks or turns is shown alike by these
_SHOW_TEXT = ("markdown", "code", "dialogue", "meaning representation", "review", "whole number")


def has_comment_box(config: Instrument) -> bool:
    """Tell whether people can always write a comment."""
    comments = [criterion.comment for criterion in config.criteria]
    return config.has_note or any(comment and not comment.if_ for comment in comments)


def adapt(fit: Fit, first: FirstItem, *, has_comments: bool, added: Collection[str]) -> Content:
    """Return an instrument as this file needs it; its own content if it needs no change.

    `added` are inputs of the file that are shown as well. What is shown as published stays so.
    """
    base: Content = fit.entry.config.to_data()
    if fit.entry.is_as_published:
        return base
    content, changes = deepcopy(base), Content()
    _keep_names(content, fit)
    if not first.is_empty and (kinds := _find_kinds(fit, first)):
        changes["kinds"] = kinds
        _set_kinds(content, kinds)
    unused = fit.list_unused(first)
    if names := [name for name in unused if name in added]:
        changes["inputs"] = names
        _show_inputs(content, names, first)
    if has_comments and not has_comment_box(fit.entry.config):
        changes["note"] = True
        content["note"] = _NOTE
    if content == base:
        return base
    origin = {"key": base["key"], "version": base["version"], "sha256": digest_content(base)}
    return content | {"based_on": origin | changes}


def name_sources(fit: Fit, added: Collection[str]) -> dict[str, str]:
    """Return the inputs of the file by the names that they have in the adapted instrument."""
    is_fixed = fit.entry.is_as_published
    return {**fit.inputs, **({} if is_fixed else {name: name for name in added})}


def _keep_names(content: Content, fit: Fit) -> None:
    """Keep the name in the file of a text that stands for the prompt, for later files, too."""
    for column in content["item"]["inputs"]:
        name = fit.inputs.get(column["name"], column["name"])
        if name not in (column["name"], *column.get("aliases", [])):
            column["aliases"] = [*column.get("aliases", []), name]


def _find_kinds(fit: Fit, first: FirstItem) -> dict[str, str]:
    """Return the kinds in which the file differs from the instrument, by input or "output"."""
    config = fit.entry.config
    kinds = {
        column.name: (column.kind, first.inputs[fit.inputs[column.name]].kind)
        for column in config.item.inputs
        if column.name in fit.inputs
    }
    kinds["output"] = (config.item.outputs.kind, first.output_kind)
    return {
        name: new
        for name, (old, new) in kinds.items()
        if new != old and not (new == "text" and old in _SHOW_TEXT)
    }


def _set_kinds(content: Content, kinds: Mapping[str, str]) -> None:
    parts = [("output", content["item"]["outputs"])]
    parts += [(column["name"], column) for column in content["item"]["inputs"]]
    for name, part in parts:
        part["kind"] = kinds.get(name, part["kind"])
    for example in (*content.get("examples", []), *content.get("practice", [])):
        for name in kinds.keys() & example["inputs"].keys():
            example["inputs"][name] = _write_as(example["inputs"][name], kinds[name])


def _write_as(value: Any, kind: str) -> Any:
    """Write a conversation of an example as the text that this kind shows."""
    if kind == "conversation" or not isinstance(value, list):
        return value
    if len(value) == 1:
        return value[0].get("content", "")
    turns = [f"{turn.get('role', '')}: {turn.get('content', '')}".capitalize() for turn in value]
    return "\n\n".join(turns)


def _show_inputs(content: Content, names: Collection[str], first: FirstItem) -> None:
    for name in names:
        label = name.replace("_", " ").strip()
        content["item"]["inputs"].append({
            "name": name, "label": label[:1].upper() + label[1:],
            "kind": first.inputs[name].kind, "required": False,
        })  # fmt: skip
    if content["layout"].get("inputs") == "none":
        content["layout"].pop("inputs")
