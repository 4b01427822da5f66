"""Rename a question or a column of a draft wherever the draft refers to it."""

from collections.abc import Mapping
from typing import Any

from evalsite.building.parameters import Plain


def rename_questions(draft: Plain, renamed: Mapping[str, str]) -> None:
    """Let conditions and translations name these questions by their new keys."""
    if not renamed:
        return
    for question in draft.get("criteria", []):
        for holder, name in ((question, "ask_if"), (question.get("comment"), "if")):
            if isinstance(holder, dict) and name in holder:
                holder[name] = _rename_condition(holder[name], renamed)
    _rename_in_translations(draft, ("criteria",), renamed)


def _rename_condition(condition: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(condition, list):
        return [_rename_condition(part, renamed) for part in condition]
    if not isinstance(condition, dict):
        return condition
    new = dict(condition)
    for name in ("all", "any", "not"):
        if name in new:
            new[name] = _rename_condition(new[name], renamed)
    key = new.get("criterion")
    if isinstance(key, str):
        new["criterion"] = renamed.get(key, key)
    return new


def rename_columns(draft: Plain, renamed: Mapping[str, str]) -> None:
    """Let questions and translations name these columns by their new names."""
    for question in draft.get("criteria", []) if renamed else ():
        for part, name in (("scale", "from_column"), ("turns", "marked_by")):
            holder = question.get(part)
            named = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(holder, dict) and isinstance(named, str):
                holder[name] = renamed.get(named, named)
    _rename_in_translations(draft, ("item.inputs", "item.output_columns"), renamed)


def _rename_in_translations(
    draft: Plain, lists: tuple[str, ...], renamed: Mapping[str, str]
) -> None:
    translations = draft.get("translations")
    if renamed and isinstance(translations, dict):
        draft["translations"] = {
            language: {
                _rename_address(str(address), lists, renamed): text
                for address, text in texts.items()
            }
            if isinstance(texts, dict)
            else texts
            for language, texts in translations.items()
        }


def _rename_address(address: str, lists: tuple[str, ...], renamed: Mapping[str, str]) -> str:
    for holder in lists:
        key, _, rest = address.removeprefix(f"{holder}.").partition(".")
        if address.startswith(f"{holder}.") and key in renamed:
            return f"{holder}.{renamed[key]}.{rest}"
    return address
