"""Checks of translations."""

from collections.abc import Mapping
from typing import Any

from evalsite.instruments.texts import LANGUAGE, list_texts
from evalsite.protocol.faults import Faults, check_text


def check_translations(content: Mapping[str, Any], faults: Faults) -> None:
    """Check translations against an instrument that has no fault otherwise."""
    translations = content.get("translations", {})
    if not isinstance(translations, Mapping):
        faults.add("type", "translations", "must be an object")
        return
    known = list_texts(content) if translations else {}
    for language, texts in translations.items():
        at = f"translations.{language}"
        if not LANGUAGE.fullmatch(str(language)) or language == content.get("language"):
            faults.add("bad_language", at, "must be the tag of another language")
        if not isinstance(texts, Mapping):
            faults.add("type", at, "must be an object")
            continue
        for address, text in texts.items():
            if address not in known:
                faults.add("unknown_address", f"{at}.{address}", "names no text of the instrument")
            check_text(text, f"{at}.{address}", faults)
