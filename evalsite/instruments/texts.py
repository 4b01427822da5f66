"""Texts of an instrument by address, and their translations.

An address names entries of lists by their key, value or name, so that it survives another order:
`criteria.errors.scale.severities.minor.label`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Any

LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_TEXTS = frozenset({
    "title", "summary", "instructions", "instructions_title", "label", "question", "definition",
    "help", "text", "notes", "why", "yes", "no", "tie", "low", "high", "best", "worst", "none",
    "not_applicable", "both_good", "both_bad", "note", "hint", "name", "names", "output_name",
    "choices", "right", "rule", "refusal", "reserved_note", "range_note", "unit",
    "page_note", "help_label", "menu",
})  # fmt: skip
# not for participants, or of the researcher's own making
_LEFT_OUT = frozenset({"translations", "source", "examples", "practice", "hooks", "based_on"})


def digest_content(content: Mapping[str, Any]) -> str:
    """Return the name of this content: the SHA-256 of its JSON, sorted and without spaces."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def list_texts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that people read, by address, in the order of the format."""
    return {address: text for address, text, _, _ in _walk(content, "")}


def _walk(value: Any, place: str) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield the address and words of each text, with what holds it and its key there."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            if (not place and name in _LEFT_OUT) or str(name).startswith("x_"):
                continue
            at = f"{place}.{name}" if place else str(name)
            if name in _TEXTS and _is_for_people(name, place):
                yield from _walk_texts(value, name, part, at)
            else:
                yield from _walk(part, at)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            mark: Any = number
            if isinstance(part, Mapping):
                mark = part.get("key", part.get("value", part.get("name", number)))
            yield from _walk(part, f"{place}.{mark}")


def _is_for_people(name: str, place: str) -> bool:
    """Tell whether a key that often holds a text does so here: an input's name is a column."""
    return not (name == "name" and place.startswith("item.inputs"))


def _walk_texts(holder: Any, name: str, part: Any, at: str) -> Iterator[tuple[str, str, Any, Any]]:
    if isinstance(part, str):
        yield at, part, holder, name
    elif isinstance(part, list) and all(isinstance(text, str) for text in part):
        for number, text in enumerate(part):
            yield f"{at}.{number}", text, part, number
    else:
        yield from _walk(part, at)


def translate(content: dict[str, Any], language: str) -> dict[str, Any]:
    """Return the instrument in this language; as it is where nobody has translated it."""
    translations = content.get("translations", {})
    texts = translations.get(language) or translations.get(language.partition("-")[0])
    if not texts or language == content["language"]:
        return content
    shown: dict[str, Any] = deepcopy(content)
    for address, _, holder, name in list(_walk(shown, "")):
        if address in texts:
            holder[name] = texts[address]
    del shown["translations"]
    return shown | {"language": language}
