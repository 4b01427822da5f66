"""What refers to a question or an option by its key, when the key changes."""

from collections.abc import Mapping
from typing import Any

from evalsite.building.parameters import Plain

Renames = Mapping[str, str]


def rename_in_draft(draft: Plain, renamed: Renames) -> None:
    """Let conditions and translations name these questions by their new keys."""
    if not renamed:
        return
    for question in draft.get("criteria", []):
        for holder, name in ((question, "ask_if"), (question.get("comment"), "if")):
            if isinstance(holder, dict) and name in holder:
                holder[name] = _rename_condition(holder[name], renamed)
    translations = draft.get("translations")
    if isinstance(translations, dict):
        draft["translations"] = {
            language: _rename_addresses(texts, renamed) for language, texts in translations.items()
        }


def _rename_condition(condition: Any, renamed: Renames) -> Any:
    if isinstance(condition, list):
        return [_rename_condition(part, renamed) for part in condition]
    if not isinstance(condition, dict):
        return condition
    found = dict(condition)
    for name in ("all", "any", "not"):
        if name in found:
            found[name] = _rename_condition(found[name], renamed)
    key = found.get("criterion")
    if isinstance(key, str):
        found["criterion"] = renamed.get(key, key)
    return found


def _rename_addresses(texts: Any, renamed: Renames) -> Any:
    if not isinstance(texts, dict):
        return texts
    return {_rename_address(str(address), renamed): text for address, text in texts.items()}


def _rename_address(address: str, renamed: Renames) -> str:
    first, _, rest = address.partition(".")
    key, _, rest = rest.partition(".")
    return f"criteria.{renamed[key]}.{rest}" if first == "criteria" and key in renamed else address
